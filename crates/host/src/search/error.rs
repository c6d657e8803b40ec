//! What can go wrong with names and values.

use nvme::Status;
use nvme::query::QueryError;

use crate::error::Error;

/// Errors of name-value lookup. None of them has changed anything, except where it says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The drive refused, or cannot be reached.
    #[error(transparent)]
    Device(#[from] Error),
    /// A query or pattern that cannot be sent.
    #[error("query: {0}")]
    Query(#[from] QueryError),
    /// Something about the call is wrong; nothing was sent.
    #[error("{0}")]
    Usage(String),
    /// The records are not as long as names and value make them.
    #[error(
        "{count} records of {record} bytes are {wanted} bytes, not {found}: each is its names, a mask behind each that \
         may have don't cares, and its value"
    )]
    Length {
        /// How many records.
        count: u32,
        /// Bytes of each.
        record: u64,
        /// Bytes of all.
        wanted: u64,
        /// Bytes given.
        found: u64,
    },
    /// What is to be done by one command does not fit into one.
    #[error(
        "{count} records are {bytes} bytes; one command, which has all of its effect or none, transfers at most {most}"
    )]
    TooMuchAtOnce {
        /// How many records.
        count: u32,
        /// Their bytes.
        bytes: u64,
        /// Bytes that one command transfers.
        most: u64,
    },
    /// An append of several commands ended early: what the earlier ones appended is there.
    #[error("{appended} of {count} records were appended, then: {error}")]
    Partly {
        /// Records that are there.
        appended: u32,
        /// Records that were to be.
        count: u32,
        /// Why no more.
        error: Error,
    },
    /// The drive has let go of a lookup again and again before all was fetched.
    #[error(
        "the drive forgot the lookup {0} times before all was fetched: others look up at the same time; ask for less, or with \
         a larger first buffer"
    )]
    Expired(u32),
}

impl SearchError {
    pub(super) fn protocol(what: String) -> SearchError {
        SearchError::Device(Error::Protocol(what))
    }

    /// Whether it is this status of the drive.
    pub fn is_status(&self, status: Status) -> bool {
        match self {
            SearchError::Device(Error::Status(error)) => error.status.is(status),
            SearchError::Partly {
                error: Error::Status(error),
                ..
            } => error.status.is(status),
            _ => false,
        }
    }
}

impl From<nvme::MemoryError> for SearchError {
    fn from(error: nvme::MemoryError) -> SearchError {
        SearchError::Device(error.into())
    }
}
