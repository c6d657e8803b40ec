//! How a command ends: its answer, and the status that a fault becomes.

use nvme::Status;

use crate::ftl::FtlError;
use crate::schedule::Fault;

/// How a command ended.
pub(super) struct Answer {
    pub(super) status: Status,
    pub(super) dw0: u32,
    pub(super) dw1: u32,
    /// Bytes for the host that go over the link right before the completion.
    pub(super) data_bytes: u64,
}

impl Answer {
    pub(super) const DONE: Answer = Answer {
        status: Status::SUCCESS,
        dw0: 0,
        dw1: 0,
        data_bytes: 0,
    };
}

impl From<Status> for Answer {
    fn from(status: Status) -> Answer {
        Answer {
            status,
            ..Answer::DONE
        }
    }
}

/// The status that tells the host of an error of the translation layer.
pub(super) fn status_of(error: FtlError, reading: bool) -> Status {
    match error {
        FtlError::NoSpace | FtlError::GroupTooLong => Status::CAPACITY_EXCEEDED,
        FtlError::NoComputeBlock(_) => Status::GROUP_FULL,
        FtlError::Flash(Fault::Uncorrectable(_) | Fault::NeedsCorrection(_)) => {
            Status::UNRECOVERED_READ_ERROR
        }
        FtlError::Flash(Fault::ProgramFailed(_) | Fault::EraseFailed(_)) if !reading => {
            Status::WRITE_FAULT
        }
        FtlError::Flash(_) => Status::INTERNAL_ERROR,
    }
}
