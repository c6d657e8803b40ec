//! What can be wrong with files made for MQSim.

use std::path::{Path, PathBuf};

use bitline::Error;

/// A file that cannot be used, and where in it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MqsimError {
    /// The file cannot be read.
    #[error("{}: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// Something in the file is wrong.
    #[error("{}:{line}: {what}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The file as a whole makes no sense, or asks for what this drive cannot do.
    #[error("{}: {what}", file.display())]
    Whole {
        /// The file or folder.
        file: PathBuf,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl MqsimError {
    pub(super) fn unreadable(file: &Path, error: &std::io::Error) -> MqsimError {
        MqsimError::Unreadable {
            file: file.to_owned(),
            reason: error.to_string(),
        }
    }

    pub(super) fn at(file: &Path, line: usize, what: impl Into<String>) -> MqsimError {
        MqsimError::Content {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }

    pub(super) fn whole(file: &Path, what: impl Into<String>) -> MqsimError {
        MqsimError::Whole {
            file: file.to_owned(),
            what: what.into(),
        }
    }
}

/// Why a scenario was not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its files.
    #[error(transparent)]
    Files(#[from] MqsimError),
    /// The drive.
    #[error(transparent)]
    Drive(#[from] Error),
}
