//! What the kernel is told of a request that failed, and what the log is told.

use std::ops::Range;

use bitline::inside::nvme::Status;
use bitline::{Error, HostError};
use fuser::Errno;

use crate::engine::Kind;
use crate::notes::Notes;

/// The number for an error of the drive, which is noted in words.
pub(super) fn errno(error: &Error, kind: Kind, bytes: &Range<u64>, notes: &Notes) -> Errno {
    let what = match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Flush => "flush",
        Kind::Discard => "discard",
        Kind::WriteZeroes => "write zeroes",
        Kind::Task | Kind::Admin | Kind::Other => "request",
    };
    let (start, length) = (bytes.start, bytes.end - bytes.start);
    notes.note(match length {
        0 => format!("{what} failed: {error}"),
        _ => format!("{what} of {length} bytes at byte {start} failed: {error}"),
    });
    match error {
        Error::Host(HostError::Status(failed)) if failed.status == Status::CAPACITY_EXCEEDED => {
            Errno::ENOSPC
        }
        Error::Host(HostError::Memory(_)) => Errno::ENOMEM,
        Error::InVolume { .. } => Errno::EPERM,
        _ => Errno::EIO,
    }
}
