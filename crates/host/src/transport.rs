//! How commands reach a drive.

use nvme::{CompletionEntry, SubmissionEntry};

use crate::buffer::Memory;
use crate::error::Error;

/// A way to a drive: in process, or whatever carries queue entries and data.
///
/// The futures are driven by whoever drives the transport; they hold no clock.
pub trait Transport {
    /// The memory that the drive can reach.
    fn memory(&self) -> &Memory;

    /// Sends an admin command and waits for its completion. The transport
    /// chooses the command identifier.
    ///
    /// # Errors
    /// If the transport itself fails; a status other than success is no such error.
    fn admin(
        &self,
        entry: &SubmissionEntry,
    ) -> impl Future<Output = Result<CompletionEntry, Error>>;

    /// Sends an I/O command and waits for its completion.
    ///
    /// # Errors
    /// As [`Transport::admin`].
    fn io(&self, entry: &SubmissionEntry) -> impl Future<Output = Result<CompletionEntry, Error>>;
}
