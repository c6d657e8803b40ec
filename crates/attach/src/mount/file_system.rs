//! File systems that a drive can be given.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use bitline::Config;

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

/// What a new drive that carries a file system has, unless it is told otherwise. Logical pages as long as file systems have blocks:
/// one with several would be read to be written, and no task has parts of one. A cache of what is written, as file systems flush
/// what is to last: without one, each block would be programmed alone into a page of flash that has room for several.
pub const FOR_FILE_SYSTEMS: [(&str, &str); 2] =
    [("ftl.mapping_unit_bytes", "4096"), ("cache.mode", "write")];

/// The configuration with [`FOR_FILE_SYSTEMS`], but for keys that somebody has `said`. What the drive cannot have stays as it is:
/// flash pages that cannot be divided so, or not be cached.
pub fn for_file_systems(config: Config, said: &[&str]) -> Config {
    let unsaid = FOR_FILE_SYSTEMS
        .iter()
        .filter(|(key, _)| !said.contains(key));
    unsaid.fold(config, |config, setting| {
        config.with([*setting]).unwrap_or(config)
    })
}

impl FileSystem {
    /// With what options it is mounted. What may come from anywhere is on it, and is not to give anybody the rights of root.
    pub(super) fn mount_options(self) -> &'static str {
        match self {
            // Tables of inodes that a drive has never held are zeroes: no thread of the kernel has to write them.
            FileSystem::Ext4 => "nosuid,nodev,noinit_itable",
            FileSystem::Xfs => "nosuid,nodev",
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logical_pages_are_blocks_where_they_can_be() {
        let unit_of = |page_bytes: &str| {
            let config = Config::preset(bitline::DEFAULT_PRESET).expect("the default");
            let pages = [("nand.geometry.page_bytes", page_bytes)];
            let config = config.with(pages).expect("pages can be so long");
            let unit = for_file_systems(config, &[]).value("ftl.mapping_unit_bytes");
            unit.expect("a key").to_string()
        };
        assert_eq!(unit_of("16384"), "4096");
        assert_eq!(unit_of("131072"), "0", "a thirty-second");
    }

    #[test]
    fn what_was_said_counts() {
        let cache_of = |said: &[&str]| {
            let config = Config::preset(bitline::DEFAULT_PRESET).expect("the default");
            let mode = for_file_systems(config, said).value("cache.mode");
            mode.expect("a key").to_string()
        };
        assert_eq!(cache_of(&["ftl.mapping_unit_bytes"]), "\"write\"");
        assert_eq!(cache_of(&["cache.mode"]), "\"off\"");
    }
}
