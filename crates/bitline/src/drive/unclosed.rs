//! Drives that could not be closed.

use super::Drive;
use crate::error::Error;

/// A drive that could not be closed, and why. It has everything that was acknowledged.
#[derive(thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct Unclosed {
    /// The drive, to be closed again, or copied.
    pub drive: Box<Drive>,
    /// Why.
    pub error: Error,
}

impl std::fmt::Debug for Unclosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl From<Unclosed> for Error {
    /// Drops the drive.
    fn from(unclosed: Unclosed) -> Error {
        unclosed.error
    }
}
