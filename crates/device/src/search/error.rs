//! Why a command of name-value lookup was not carried out.

use nvme::Status;
use nvme::query::QueryError;
use thiserror::Error;

use crate::ftl::FtlError;
use crate::schedule::Fault;

/// Why a command of name-value lookup was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The bytes of a query are none.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// What is asked for cannot be, or host memory is not there.
    #[error("{0}")]
    Refused(Status),
    /// Values or facts could not be read or written.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// Names could not be sensed or programmed.
    #[error(transparent)]
    Flash(#[from] Fault),
}

impl From<Status> for SearchError {
    fn from(status: Status) -> SearchError {
        SearchError::Refused(status)
    }
}
