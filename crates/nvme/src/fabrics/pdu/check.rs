//! What the header of a PDU must be like, whoever sends it (TCP 3.6.1, 3.6.2).

use super::{
    CommonHeader, Digests, FatalError, HEADER_BYTES_MAX, PduType, TERMINATED_HEADER_BYTES_MAX, flag,
};

/// A PDU that ends its connection: why, and the byte of the header that is wrong, or whatever else the error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error:?} at byte {information} of a PDU's header")]
pub struct PduError {
    /// FES.
    pub error: FatalError,
    /// FEI.
    pub information: u32,
}

impl PduError {
    /// A field is wrong that begins at byte `offset`.
    pub const fn field(offset: u32) -> PduError {
        PduError {
            error: FatalError::InvalidHeaderField,
            information: offset,
        }
    }

    /// It may not come now.
    pub const SEQUENCE: PduError = PduError {
        error: FatalError::SequenceError,
        information: 0,
    };
}

/// Where fields of the common header lie.
const KIND: u32 = 0;
const FLAGS: u32 = 1;
const HEADER_BYTES: u32 = 2;
const DATA_OFFSET: u32 = 3;
const BYTES: u32 = 4;

/// The type of a PDU, of which this is the common header, and its bytes of data. Sent by the host or by the controller, with the
/// digests agreed on, data aligned to `alignment` bytes.
///
/// # Errors
/// What is wrong, as it is told to whoever sent it.
pub fn check(
    header: &CommonHeader,
    is_from_host: bool,
    digests: Digests,
    alignment: u32,
) -> Result<(PduType, u32), PduError> {
    let kind = header
        .pdu_type()
        .filter(|kind| kind.is_from_host() == is_from_host)
        .ok_or(PduError::field(KIND))?;
    if header.header_bytes != kind.header_bytes() {
        return Err(PduError::field(HEADER_BYTES));
    }
    let digests = digests.on(kind);
    if (header.flags & flag::HEADER_DIGEST != 0) != digests.header {
        return Err(PduError::field(FLAGS));
    }
    let header_end = u32::from(header.header_bytes) + digests.header_bytes();
    let bytes = header.bytes.get();
    let without_data = bytes == header_end;
    if without_data {
        // PDO is of no meaning then (TCP 3.6.1), and neither is DDGSTF.
        return Ok((kind, 0));
    }
    if bytes < header_end || !kind.may_have_data() {
        return Err(PduError::field(BYTES));
    }
    if kind.is_without_digests() {
        let data = bytes - header_end;
        return match data as usize <= TERMINATED_HEADER_BYTES_MAX {
            true => Ok((kind, data)),
            false => Err(PduError::field(BYTES)),
        };
    }
    if (header.flags & flag::DATA_DIGEST != 0) != digests.data {
        return Err(PduError::field(FLAGS));
    }
    let offset = u32::from(header.data_offset);
    if offset < header_end || !offset.is_multiple_of(alignment.max(4)) {
        return Err(PduError::field(DATA_OFFSET));
    }
    let around = offset + digests.data_bytes();
    match bytes.checked_sub(around) {
        Some(data) if data > 0 => Ok((kind, data)),
        _ => Err(PduError::field(BYTES)),
    }
}

const _: () = assert!(HEADER_BYTES_MAX >= TERMINATED_HEADER_BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Digests = Digests {
        header: true,
        data: true,
    };

    #[test]
    fn headers_as_they_are_made_are_well() {
        for digests in (0..4).map(Digests::of) {
            for data in [0, 1, 512] {
                let header = CommonHeader::with_data(PduType::Command, digests, data, 32);
                let checked = check(&header, true, digests, 32);
                assert_eq!(checked, Ok((PduType::Command, data)));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let good = CommonHeader::with_data(PduType::H2cData, BOTH, 512, 4);
        let wrong = |change: fn(&mut CommonHeader)| {
            let mut header = good;
            change(&mut header);
            check(&header, true, BOTH, 4).map_err(|error| error.information)
        };
        assert_eq!(wrong(|_| ()), Ok((PduType::H2cData, 512)));
        assert_eq!(wrong(|header| header.kind = 0x08), Err(0));
        assert_eq!(wrong(|header| header.kind = 0x07), Err(0), "not the host's");
        assert_eq!(wrong(|header| header.flags = 0), Err(1));
        assert_eq!(wrong(|header| header.flags = 1), Err(1));
        assert_eq!(wrong(|header| header.header_bytes = 23), Err(2));
        assert_eq!(wrong(|header| header.data_offset = 24), Err(3));
        assert_eq!(wrong(|header| header.data_offset = 29), Err(3));
        assert_eq!(wrong(|header| header.bytes.set(20)), Err(4));
        assert_eq!(wrong(|header| header.bytes.set(32)), Err(4));
        let mut request = CommonHeader::without_data(PduType::Initialize);
        request.bytes.set(129);
        assert_eq!(check(&request, true, BOTH, 4), Err(PduError::field(4)));
    }
}
