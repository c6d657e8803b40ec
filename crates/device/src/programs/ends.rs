//! What a run ends with whose transaction failed, as its task does not see it.

use crate::ftl::{Lpn, VersionError};
use crate::task::FileError;
use crate::tx::{Transaction, TxError};

/// What a run ends with whose transaction failed so.
pub(crate) fn told(error: &TxError, transaction: &Transaction) -> FileError {
    let reason = match error {
        TxError::Version(VersionError::Conflict(page)) => {
            located(transaction, *page).map(|place| {
                format!("{place} were changed by somebody else since the transaction began")
            })
        }
        TxError::Version(VersionError::Taken(page)) => located(transaction, *page).map(|place| {
            format!("another transaction, which is still open, has written to {place}")
        }),
        _ => None,
    };
    failed(error, reason.unwrap_or_else(|| error.to_string()))
}

/// What a run ends with, for this reason.
pub(crate) fn failed(error: &TxError, reason: String) -> FileError {
    match error {
        TxError::Version(VersionError::Lost) => FileError::Lost { reason },
        error if error.is_conflict() => FileError::Conflict { reason },
        error if error.is_full() => FileError::Full { reason },
        _ => FileError::Device { reason },
    }
}

/// Where a page is, as who registered the files knows it.
fn located(transaction: &Transaction, page: Lpn) -> Option<String> {
    let (file, bytes) = transaction.bytes_of(page)?;
    Some(format!(
        "bytes {} to {} of file {file}",
        bytes.start, bytes.end
    ))
}
