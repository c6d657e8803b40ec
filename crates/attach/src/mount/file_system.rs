//! File systems that a drive can be given.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::commands::{CommandError, run, run_for};

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

/// Bytes of a block of a file system, unless it is told otherwise.
const FILE_SYSTEM_BLOCK_BYTES: u64 = 4096;
/// blkid(8) found nothing that it knows.
const NOTHING_FOUND: i32 = 2;

impl FileSystem {
    /// Makes one on a device whose drive writes so many bytes at once, a flash page: files begin at multiples of it where that
    /// can be, so that they share no page.
    pub(super) fn make(self, device: &Path, page_bytes: u64) -> Result<(), CommandError> {
        let pages = page_bytes / FILE_SYSTEM_BLOCK_BYTES;
        let (command, package, layout) = match self {
            FileSystem::Ext4 => {
                let stripe = format!("stride={pages},stripe_width={pages}");
                ("mkfs.ext4", "e2fsprogs", ["-E".to_owned(), stripe])
            }
            FileSystem::Xfs => {
                let stripe = format!("su={page_bytes},sw=1");
                ("mkfs.xfs", "xfsprogs", ["-d".to_owned(), stripe])
            }
        };
        let layout = layout.iter().filter(|_| pages > 1).map(OsStr::new);
        let arguments = [OsStr::new("-q")].into_iter().chain(layout);
        let arguments: Vec<_> = arguments.chain([device.as_os_str()]).collect();
        run(command, package, &arguments).map(drop)
    }
}

/// What a device holds, as far as blkid(8) knows it: a file system, a table of partitions, and so on. None if it holds nothing
/// that is known.
pub(super) fn held_by(device: &Path) -> Result<Option<String>, CommandError> {
    let ask = |tag: &str| {
        let arguments = ["-p", "-o", "value", "-s", tag].map(OsStr::new);
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
