//! Tasks on files of a file system that lies on the drive: the file system says where a file is, the drive works on it there.
//!
//! The host's side of TxISC (III-A): files are registered by their extents, which FIEMAP tells after an fsync. What the host has of a
//! file in its page cache is written to the drive before a run, and what a run has written is read from the drive after it. As long as a
//! file is registered it stays where it is: who has it keeps it open, and holds a lease on one that the run writes, so that
//! nobody else opens it; the kernel gives up both when the process ends, however it ends.

mod cache;
mod device;
mod error;
mod extents;
mod file;
mod file_system;
mod lease;
mod map;
mod rows;

pub use error::MountedError;
pub use file::MountedFile;
pub use file_system::{Mounted, Sharing, control_socket};
pub use rows::Rows;

use bitline::{Ended, Outcome, TaskFile};

/// Has `work` run a task over files, in their order, and settles them: a run that has committed counts as soon as this returns, for
/// everybody who reads the files.
///
/// # Errors
/// What `work` reports; of a run that has committed, that a file is not where it was, or its pages stay in the page cache.
pub fn run(
    files: Vec<MountedFile>,
    work: impl FnOnce(Vec<TaskFile>) -> Result<Outcome, bitline::Error>,
) -> Result<Outcome, MountedError> {
    let outcome = work(files.iter().map(MountedFile::task_file).collect())?;
    let has_committed = outcome.ended == Ended::Committed;
    let mut first = None;
    for file in files {
        // All are settled, also those after one that cannot be.
        let settled = file.settle(has_committed);
        first = first.or(settled.err());
    }
    first.map_or(Ok(outcome), Err)
}
