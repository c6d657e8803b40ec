//! The folder, and what is agreed with the kernel when it is mounted. Requests for data of the drive's file come to neither.

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use fuser::{
    Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, Request, TimeOrNow,
};

use super::attributes::{ABOUT_NODE, Attributes, DRIVE_NODE, ENTRIES, ROOT_NODE, named};
use super::data::REQUEST_BYTES_MAX;

/// Asynchronous requests that the kernel has under way at once.
const BACKGROUND_MAX: u16 = 128;
/// How long the kernel may remember names and attributes: they never change.
const FOR_LONG: Duration = Duration::from_secs(3600);

/// A folder with a drive's file: its names and attributes, and the content of the other file.
pub(super) struct Folder {
    pub(super) attributes: Attributes,
    pub(super) about: String,
}

/// What is agreed with the kernel.
pub(super) struct Settings;

impl Filesystem for Settings {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What the kernel does not have is slower, and works. It tells the nearest value for numbers that it does not take.
        for wanted in [InitFlags::FUSE_ASYNC_DIO, InitFlags::FUSE_PARALLEL_DIROPS] {
            let _ = config.add_capabilities(wanted);
        }
        if let Err(most) = config.set_max_write(REQUEST_BYTES_MAX) {
            let _ = config.set_max_write(most);
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }
}

impl Filesystem for Folder {
    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let node = name.to_str().filter(|_| parent == ROOT_NODE);
        let node = node.and_then(named);
        match node.and_then(|node| self.attributes.of(node)) {
            Some(attributes) => reply.entry(&FOR_LONG, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes.of(node) {
            Some(attributes) => reply.attr(&FOR_LONG, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// A drive has the size that it has, and nobody else's permissions.
    fn setattr(
        &self,
        _request: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let Some(attributes) = self.attributes.of(node) else {
            return reply.error(Errno::ENOENT);
        };
        let is_same = mode.is_none_or(|mode| mode & 0o7777 == u32::from(attributes.perm))
            && uid.is_none_or(|uid| uid == attributes.uid)
            && gid.is_none_or(|gid| gid == attributes.gid)
            && size.is_none_or(|size| size == attributes.size);
        match is_same {
            true => reply.attr(&FOR_LONG, &attributes),
            false => reply.error(Errno::EPERM),
        }
    }

    fn open(&self, _request: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let is_read_only = flags.acc_mode() == fuser::OpenAccMode::O_RDONLY;
        let flags = match node {
            DRIVE_NODE => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
            ABOUT_NODE if is_read_only => FopenFlags::FOPEN_KEEP_CACHE,
            ABOUT_NODE => return reply.error(Errno::EACCES),
            _ => return reply.error(Errno::EISDIR),
        };
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _request: &Request,
        node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if node != ABOUT_NODE {
            return reply.error(Errno::EIO);
        }
        let about = self.about.as_bytes();
        let start = about.len().min(offset as usize);
        let end = about.len().min(start + size as usize);
        reply.data(&about[start..end]);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _data: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(
        &self,
        _request: &Request,
        node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if node != ROOT_NODE {
            return reply.error(Errno::ENOTDIR);
        }
        for (next, (node, kind, name)) in (1..).zip(ENTRIES).skip(offset as usize) {
            if reply.add(node, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _node: INodeNo, reply: ReplyStatfs) {
        let size = self.attributes.block_bytes;
        let blocks = self.attributes.drive_bytes / u64::from(size.max(1));
        reply.statfs(blocks, 0, 0, 2, 0, size, 255, size);
    }
}
