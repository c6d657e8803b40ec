//! What the host library cannot do.

use nvme::{MemoryError, Status};

/// A command completed with a status other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{command}: {status}")]
#[non_exhaustive]
pub struct StatusError {
    /// The command's name.
    pub command: &'static str,
    /// How it ended.
    pub status: Status,
}

impl StatusError {
    /// A command of this name ended like this.
    pub fn new(command: &'static str, status: Status) -> StatusError {
        StatusError { command, status }
    }
}

/// Errors of the host library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The drive answered with an error.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// Host memory for a transfer cannot be had.
    #[error("memory for the transfer: {0}")]
    Memory(#[from] MemoryError),
    /// Something about the call is wrong; nothing was sent.
    #[error("{0}")]
    Usage(String),
    /// The drive said something that makes no sense.
    #[error("the drive answered with what the standard does not allow: {0}")]
    Protocol(String),
    /// The transport is gone.
    #[error("the drive cannot be reached: {0}")]
    Transport(String),
}

impl Error {
    /// The status of a completion as a result.
    ///
    /// # Errors
    /// A status other than success.
    pub fn check(command: &'static str, status: Status) -> Result<(), Error> {
        if status.is_success() {
            Ok(())
        } else {
            Err(StatusError { command, status }.into())
        }
    }
}
