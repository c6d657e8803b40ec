//! What there is in the file system: a folder with two files, and what `stat` says of them.

use std::time::SystemTime;

use fuser::{FileAttr, FileType, INodeNo};
use rustix::process::{getgid, getuid};

/// The name of the drive's file.
pub const DRIVE: &str = "drive";
/// The name of the file that says what the drive is, as JSON.
pub(crate) const ABOUT: &str = "about";

pub(super) const ROOT_NODE: INodeNo = INodeNo(1);
pub(super) const DRIVE_NODE: INodeNo = INodeNo(2);
pub(super) const ABOUT_NODE: INodeNo = INodeNo(3);

/// What `stat` says of the nodes.
pub(super) struct Attributes {
    pub(super) drive_bytes: u64,
    pub(super) about_bytes: u64,
    /// What is a good size of requests.
    pub(super) block_bytes: u32,
    pub(super) since: SystemTime,
}

impl Attributes {
    /// Those of a node; none if there is no such node.
    pub(super) fn of(&self, node: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match node {
            ROOT_NODE => (FileType::Directory, 0o755, 0),
            DRIVE_NODE => (FileType::RegularFile, 0o600, self.drive_bytes),
            ABOUT_NODE => (FileType::RegularFile, 0o444, self.about_bytes),
            _ => return None,
        };
        let time = self.since;
        Some(FileAttr {
            ino: node,
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: 1,
            uid: getuid().as_raw(),
            gid: getgid().as_raw(),
            rdev: 0,
            blksize: self.block_bytes,
            flags: 0,
        })
    }
}

/// The node that has this name in the folder.
pub(super) fn named(name: &str) -> Option<INodeNo> {
    match name {
        DRIVE => Some(DRIVE_NODE),
        ABOUT => Some(ABOUT_NODE),
        _ => None,
    }
}

/// All entries of the folder, in order.
pub(super) const ENTRIES: [(INodeNo, FileType, &str); 4] = [
    (ROOT_NODE, FileType::Directory, "."),
    (ROOT_NODE, FileType::Directory, ".."),
    (DRIVE_NODE, FileType::RegularFile, DRIVE),
    (ABOUT_NODE, FileType::RegularFile, ABOUT),
];
