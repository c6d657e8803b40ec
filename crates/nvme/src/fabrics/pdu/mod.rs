//! The PDUs of NVMe/TCP (TCP 3.6): headers as bytes, digests, and what a header must be like.

mod check;
mod data;
mod digest;
mod init;
mod terminate;

use std::mem::size_of;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use check::{PduError, check};
pub use data::{C2hData, CapsuleCommand, CapsuleResponse, H2cData, ReadyToTransfer};
pub use digest::{DIGEST_BYTES, digest, digest_of};
pub use init::{Initialize, InitializeResponse};
pub use terminate::{FatalError, TERMINATED_HEADER_BYTES_MAX, Terminate};

/// The most data that a capsule of the admin queue, or of a Fabrics command, may carry (TCP 3.6.2.4).
pub const IN_CAPSULE_BYTES: u32 = 8192;
/// The longest header of a PDU, without its digest.
pub const HEADER_BYTES_MAX: usize = 128;
/// The version of the format (PFV).
pub const PDU_FORMAT_VERSION: u16 = 0;

/// What a PDU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PduType {
    /// ICReq: the host begins a connection.
    Initialize = 0x00,
    /// ICResp: the controller's answer.
    InitializeResponse = 0x01,
    /// H2CTermReq: the host ends a connection after an error.
    HostTerminate = 0x02,
    /// C2HTermReq: the controller does.
    ControllerTerminate = 0x03,
    /// CapsuleCmd: a command.
    Command = 0x04,
    /// CapsuleResp: its completion.
    Response = 0x05,
    /// H2CData: data to the controller.
    H2cData = 0x06,
    /// C2HData: data to the host.
    C2hData = 0x07,
    /// R2T: the controller is ready for data.
    ReadyToTransfer = 0x09,
}

impl PduType {
    /// All there are.
    pub const ALL: [PduType; 9] = [
        PduType::Initialize,
        PduType::InitializeResponse,
        PduType::HostTerminate,
        PduType::ControllerTerminate,
        PduType::Command,
        PduType::Response,
        PduType::H2cData,
        PduType::C2hData,
        PduType::ReadyToTransfer,
    ];

    /// The type of a code.
    pub fn of_code(code: u8) -> Option<PduType> {
        let mut all = PduType::ALL.into_iter();
        all.find(|kind| *kind as u8 == code)
    }

    /// HLEN: bytes of its header, which the type decides.
    pub const fn header_bytes(self) -> u8 {
        match self {
            PduType::Initialize | PduType::InitializeResponse => 128,
            PduType::Command => 72,
            _ => 24,
        }
    }

    /// Whether it comes from the host.
    pub const fn is_from_host(self) -> bool {
        matches!(
            self,
            PduType::Initialize | PduType::HostTerminate | PduType::Command | PduType::H2cData
        )
    }

    /// Whether it may carry data.
    pub const fn may_have_data(self) -> bool {
        matches!(
            self,
            PduType::HostTerminate
                | PduType::ControllerTerminate
                | PduType::Command
                | PduType::H2cData
                | PduType::C2hData
        )
    }

    /// Whether digests are never on it: they are agreed on by the first two, and the last two need none.
    pub const fn is_without_digests(self) -> bool {
        matches!(
            self,
            PduType::Initialize
                | PduType::InitializeResponse
                | PduType::HostTerminate
                | PduType::ControllerTerminate
        )
    }
}

/// Bits of FLAGS.
pub mod flag {
    /// HDGSTF: a header digest follows the header.
    pub const HEADER_DIGEST: u8 = 1 << 0;
    /// DDGSTF: a data digest follows the data.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// LAST_PDU: the last of a command's, or of those that answer an R2T.
    pub const LAST: u8 = 1 << 2;
    /// SUCCESS: the command has succeeded, and no response follows.
    pub const SUCCESS: u8 = 1 << 3;
}

/// What every PDU begins with (CH).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct CommonHeader {
    /// PDU-Type: see [`PduType`].
    pub kind: u8,
    /// FLAGS: see [`flag`].
    pub flags: u8,
    /// HLEN: bytes of the header, this one included, without its digest.
    pub header_bytes: u8,
    /// PDO: where the data begins; 0 without data.
    pub data_offset: u8,
    /// PLEN: bytes of all of it, digests included.
    pub bytes: U32,
}

const _: () = assert!(size_of::<CommonHeader>() == CommonHeader::BYTES);

impl CommonHeader {
    /// Bytes of it.
    pub const BYTES: usize = 8;

    /// That of a PDU without data, digests not counted.
    pub fn without_data(kind: PduType) -> CommonHeader {
        CommonHeader {
            kind: kind as u8,
            flags: 0,
            header_bytes: kind.header_bytes(),
            data_offset: 0,
            bytes: u32::from(kind.header_bytes()).into(),
        }
    }

    /// That of a PDU that has been agreed to have these digests, with `data` bytes of data that begins at a multiple of
    /// `alignment`, which is a multiple of four.
    pub fn with_data(kind: PduType, digests: Digests, data: u32, alignment: u32) -> CommonHeader {
        let mut header = CommonHeader::without_data(kind);
        let header_bytes = u32::from(kind.header_bytes()) + digests.header_bytes();
        header.flags |= if digests.header {
            flag::HEADER_DIGEST
        } else {
            0
        };
        if data == 0 {
            header.bytes.set(header_bytes);
            return header;
        }
        let offset = header_bytes.next_multiple_of(alignment.max(4));
        header.data_offset = offset as u8;
        header.flags |= if digests.data { flag::DATA_DIGEST } else { 0 };
        header.bytes.set(offset + data + digests.data_bytes());
        header
    }

    /// What bytes begin with.
    pub fn of(bytes: [u8; CommonHeader::BYTES]) -> CommonHeader {
        zerocopy::transmute!(bytes)
    }

    /// The PDU's type.
    pub fn pdu_type(&self) -> Option<PduType> {
        PduType::of_code(self.kind)
    }
}

/// Digests that host and controller have agreed on (DGST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// HDGST_ENABLE: on headers.
    pub header: bool,
    /// DDGST_ENABLE: on data.
    pub data: bool,
}

impl Digests {
    /// Those of a DGST field.
    pub const fn of(field: u8) -> Digests {
        Digests {
            header: field & 1 != 0,
            data: field & 2 != 0,
        }
    }

    /// The DGST field.
    pub const fn field(self) -> u8 {
        self.header as u8 | (self.data as u8) << 1
    }

    /// Bytes of a header's digest.
    pub const fn header_bytes(self) -> u32 {
        if self.header { DIGEST_BYTES as u32 } else { 0 }
    }

    /// Bytes of a data digest.
    pub const fn data_bytes(self) -> u32 {
        if self.data { DIGEST_BYTES as u32 } else { 0 }
    }

    /// Those on PDUs of that type.
    pub const fn on(self, kind: PduType) -> Digests {
        match kind.is_without_digests() {
            true => Digests {
                header: false,
                data: false,
            },
            false => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_add_up() {
        let both = Digests::of(3);
        let header = CommonHeader::with_data(PduType::C2hData, both, 512, 64);
        assert_eq!((header.header_bytes, header.data_offset), (24, 64));
        assert_eq!(header.bytes.get(), 64 + 512 + 4);
        assert_eq!(header.flags, 3);
        let none = CommonHeader::with_data(PduType::Response, both, 0, 4);
        assert_eq!((none.bytes.get(), none.flags), (28, 1));
        let bare = CommonHeader::with_data(PduType::Command, Digests::default(), 8, 4);
        assert_eq!((bare.data_offset, bare.bytes.get()), (72, 80));
        assert_eq!(CommonHeader::of(*zerocopy::transmute_ref!(&bare)), bare);
        assert_eq!(both.field(), 3);
    }
}
