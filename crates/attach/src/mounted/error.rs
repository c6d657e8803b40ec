//! Why the drive cannot work on a file of a mounted file system.

use std::io;
use std::path::{Path, PathBuf};

/// Why the drive cannot work on a file of a mounted file system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountedError {
    /// The operating system refuses something.
    #[error("{path}: {what}: {source}", path = path.display())]
    System {
        /// Of which file.
        path: PathBuf,
        /// What was asked.
        what: &'static str,
        /// What it says.
        source: io::Error,
    },
    /// The drive does not see the file as the host does.
    #[error("{path}: {why}; {instead}", path = path.display())]
    Refused {
        /// Which file, or the mount.
        path: PathBuf,
        /// Why.
        why: String,
        /// What would be right.
        instead: String,
    },
    /// What was registered is not what is there when the run is over.
    #[error("{path}: while it was registered, {what}; {affected}", path = path.display())]
    Changed {
        /// Which file.
        path: PathBuf,
        /// What happened.
        what: String,
        /// What of the file that affects.
        affected: String,
    },
    /// The drive.
    #[error(transparent)]
    Drive(#[from] bitline::Error),
}

impl MountedError {
    pub(super) fn system(
        path: &Path,
        what: &'static str,
        error: impl Into<io::Error>,
    ) -> MountedError {
        MountedError::System {
            path: path.to_owned(),
            what,
            source: error.into(),
        }
    }

    pub(super) fn refused(
        path: &Path,
        why: impl Into<String>,
        instead: impl Into<String>,
    ) -> MountedError {
        MountedError::Refused {
            path: path.to_owned(),
            why: why.into(),
            instead: instead.into(),
        }
    }
}
