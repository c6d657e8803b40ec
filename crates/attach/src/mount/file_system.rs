//! File systems that a drive can be given.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::commands::{CommandError, run, run_for};

/// A file system of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
}

/// A file system that there is none of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("file system {0:?}: it is \"ext4\" or \"xfs\"")]
pub struct FileSystemError(String);

impl FromStr for FileSystem {
    type Err = FileSystemError;

    fn from_str(text: &str) -> Result<FileSystem, FileSystemError> {
        match text {
            "ext4" => Ok(FileSystem::Ext4),
            "xfs" => Ok(FileSystem::Xfs),
            _ => Err(FileSystemError(text.into())),
        }
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
        })
    }
}

/// blkid(8) found nothing that it knows.
const NOTHING_FOUND: i32 = 2;

impl FileSystem {
    /// Makes one on a device.
    pub(super) fn make(self, device: &Path) -> Result<(), CommandError> {
        let device = device.as_os_str();
        let (command, package, options): (_, _, &[&str]) = match self {
            FileSystem::Ext4 => ("mkfs.ext4", "e2fsprogs", &["-q"]),
            FileSystem::Xfs => ("mkfs.xfs", "xfsprogs", &["-q"]),
        };
        let options = options.iter().map(std::ffi::OsStr::new);
        let arguments: Vec<_> = options.chain([device]).collect();
        run(command, package, &arguments).map(drop)
    }
}

/// What a device holds, as far as blkid(8) knows it: a file system, a table of partitions, and so on. None if it holds nothing
/// that is known.
pub(super) fn held_by(device: &Path) -> Result<Option<String>, CommandError> {
    let ask = |tag: &str| {
        let arguments = ["-p", "-o", "value", "-s", tag].map(std::ffi::OsStr::new);
        let arguments: Vec<_> = arguments.into_iter().chain([device.as_os_str()]).collect();
        run_for("blkid", "util-linux", &arguments, &[NOTHING_FOUND])
    };
    for tag in ["TYPE", "PTTYPE"] {
        if let Some(held) = ask(tag)?.filter(|held| !held.is_empty()) {
            return Ok(Some(held));
        }
    }
    Ok(None)
}
