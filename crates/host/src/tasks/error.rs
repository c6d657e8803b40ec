//! What can go wrong with programs before one runs.

use nvme::Status;
use nvme::task::{Ended, RequestError};

use crate::error::Error;

/// Errors of programs. None of them has changed anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The drive refused, or cannot be reached.
    #[error(transparent)]
    Device(#[from] Error),
    /// The files of a run cannot be so.
    #[error("the run's files: {0}")]
    Request(#[from] RequestError),
    /// The module is none that can run.
    #[error("{0}")]
    Module(String),
    /// A run over memory failed.
    #[error("the run {}: {reason}", .ended.name())]
    Failed {
        /// How it ended.
        ended: Ended,
        /// Why.
        reason: String,
    },
    /// Something about the call is wrong; nothing was sent.
    #[error("{0}")]
    Usage(String),
}

impl TaskError {
    /// Whether it is this status of the drive.
    pub fn is_status(&self, status: Status) -> bool {
        match self {
            TaskError::Device(Error::Status(error)) => error.status.is(status),
            _ => false,
        }
    }
}
