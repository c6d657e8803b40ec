//! What begins a connection: ICReq and ICResp (TCP 3.6.2.2, 3.6.2.3).

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommonHeader, Digests, PDU_FORMAT_VERSION, PduType};

/// ICReq.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Initialize {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// PFV.
    pub version: U16,
    /// HPDA: what the data of PDUs to the host is aligned to, dwords less one; 31 at most.
    pub alignment: u8,
    /// DGST.
    pub digests: u8,
    /// MAXR2T: R2Ts that may be outstanding for a command, less one.
    pub max_ready: U32,
    reserved_16: [u8; 112],
}

/// ICResp.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct InitializeResponse {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// PFV.
    pub version: U16,
    /// CPDA: what the data of PDUs to the controller is aligned to, dwords less one; 31 at most.
    pub alignment: u8,
    /// DGST: those of the host's that are used.
    pub digests: u8,
    /// MAXH2CDATA: the most data of an H2CData, bytes; 4096 at least.
    pub max_data: U32,
    reserved_16: [u8; 112],
}

const _: () = {
    assert!(size_of::<Initialize>() == 128);
    assert!(size_of::<InitializeResponse>() == 128);
};

/// The largest alignment, dwords less one.
const ALIGNMENT_MAX: u8 = 31;

/// Bytes of an alignment; none if it is larger than may be.
fn alignment_bytes(field: u8) -> Option<u32> {
    (field <= ALIGNMENT_MAX).then_some((u32::from(field) + 1) * 4)
}

impl Initialize {
    /// A host's that takes data at any dword and wants these digests.
    pub fn new(digests: Digests) -> Initialize {
        let mut request = Initialize::new_zeroed();
        request.header = CommonHeader::without_data(PduType::Initialize);
        request.version.set(PDU_FORMAT_VERSION);
        request.digests = digests.field();
        request
    }

    /// What data to the host is aligned to, in bytes; none if it asks for more than may be.
    pub fn alignment_bytes(&self) -> Option<u32> {
        alignment_bytes(self.alignment)
    }
}

impl InitializeResponse {
    /// A controller's that takes data at any dword, `max_data` bytes of it in a PDU.
    pub fn new(digests: Digests, max_data: u32) -> InitializeResponse {
        let mut response = InitializeResponse::new_zeroed();
        response.header = CommonHeader::without_data(PduType::InitializeResponse);
        response.version.set(PDU_FORMAT_VERSION);
        response.digests = digests.field();
        response.max_data.set(max_data);
        response
    }

    /// What data to the controller is aligned to, in bytes; none if it asks for more than may be.
    pub fn alignment_bytes(&self) -> Option<u32> {
        alignment_bytes(self.alignment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_standard_puts_them() {
        let bytes = *Initialize::new(Digests::of(3))
            .as_bytes()
            .first_chunk::<16>()
            .expect("128");
        assert_eq!(bytes, [0, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
        let response = InitializeResponse::new(Digests::of(1), 4096);
        let bytes = response.as_bytes();
        assert_eq!(bytes[..5], [1, 0, 128, 0, 128]);
        assert_eq!(bytes[11..16], [1, 0, 16, 0, 0]);
        assert_eq!(response.alignment_bytes(), Some(4));
        let mut request = Initialize::new(Digests::of(0));
        request.alignment = 31;
        assert_eq!(request.alignment_bytes(), Some(128));
        request.alignment = 32;
        assert_eq!(request.alignment_bytes(), None);
    }
}
