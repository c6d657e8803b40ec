//! What ends a connection after an error: H2CTermReq and C2HTermReq (TCP 3.6.2.4, 3.6.2.5).

use std::mem::size_of;

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommonHeader, PduType};

/// The most bytes of the header in error that follow.
pub const TERMINATED_HEADER_BYTES_MAX: usize = 128;

/// Why (FES).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum FatalError {
    /// A field of the header is wrong; FEI says which byte.
    InvalidHeaderField = 1,
    /// A PDU that may not come now.
    SequenceError = 2,
    /// The header's digest is wrong; FEI has it.
    HeaderDigestError = 3,
    /// Data beyond what the command, or the R2T, has.
    DataOutOfRange = 4,
    /// More data than a PDU may have, or more R2Ts than may be outstanding.
    LimitExceeded = 5,
    /// Something that is not supported; FEI says which byte.
    UnsupportedParameter = 6,
}

impl FatalError {
    /// All there are.
    pub const ALL: [FatalError; 6] = [
        FatalError::InvalidHeaderField,
        FatalError::SequenceError,
        FatalError::HeaderDigestError,
        FatalError::DataOutOfRange,
        FatalError::LimitExceeded,
        FatalError::UnsupportedParameter,
    ];
}

/// H2CTermReq or C2HTermReq; as much of the header in error follows as there is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Terminate {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// FES: see [`FatalError`].
    pub status: U16,
    /// FEI: specific to it.
    pub information: [u8; 4],
    reserved_14: [u8; 10],
}

const _: () = assert!(size_of::<Terminate>() == 24);

impl Terminate {
    /// The controller's, before `terminated` bytes of the header in error.
    pub fn by_controller(error: FatalError, information: u32, terminated: usize) -> Terminate {
        Terminate::new(PduType::ControllerTerminate, error, information, terminated)
    }

    /// The host's, likewise.
    pub fn by_host(error: FatalError, information: u32, terminated: usize) -> Terminate {
        Terminate::new(PduType::HostTerminate, error, information, terminated)
    }

    fn new(kind: PduType, error: FatalError, information: u32, terminated: usize) -> Terminate {
        let mut request = Terminate::new_zeroed();
        request.header = CommonHeader::without_data(kind);
        let bytes = u32::from(kind.header_bytes()) + terminated as u32;
        request.header.bytes.set(bytes);
        request.status.set(error as u16);
        request.information = information.to_le_bytes();
        request
    }

    /// Why, if it is one of those.
    pub fn error(&self) -> Option<FatalError> {
        let mut all = FatalError::ALL.into_iter();
        all.find(|error| *error as u16 == self.status.get())
    }
}
