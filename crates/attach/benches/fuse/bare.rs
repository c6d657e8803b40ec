//! A file that FUSE serves from memory, with the settings of a drive's file and nothing behind it.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

/// Serves a file of so many bytes at `at`, by the name `file`.
pub(crate) fn mount(at: &Path, bytes: usize) -> io::Result<BackgroundSession> {
    let mut options = fuser::Config::default();
    options.mount_options = vec![MountOption::FSName("bare".into()), MountOption::NoDev];
    fuser::spawn_mount(Bare(Mutex::new(vec![0; bytes])), at, &options)
}

/// Its bytes.
struct Bare(Mutex<Vec<u8>>);

fn attributes(node: INodeNo, bytes: usize) -> FileAttr {
    let is_root = node == INodeNo(1);
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: node,
        size: if is_root { 0 } else { bytes as u64 },
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: if is_root {
            FileType::Directory
        } else {
            FileType::RegularFile
        },
        perm: 0o700,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Bare {
    fn bytes(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Filesystem for Bare {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // As a drive's file is served.
        let wanted = InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_PARALLEL_DIROPS;
        config.add_capabilities(wanted).unwrap();
        config.set_max_write(1 << 20).unwrap();
        config.set_max_background(128).unwrap();
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "file" {
            true => {
                let attributes = attributes(INodeNo(2), self.bytes());
                reply.entry(&Duration::from_secs(1), &attributes, Generation(0));
            }
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let attributes = attributes(node, self.bytes());
        reply.attr(&Duration::from_secs(1), &attributes);
    }

    fn open(&self, _request: &Request, _node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _request: &Request,
        _node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = self.0.lock().unwrap();
        let start = bytes.len().min(offset as usize);
        let end = bytes.len().min(start + size as usize);
        reply.data(&bytes[start..end]);
    }

    fn write(
        &self,
        _request: &Request,
        _node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut bytes = self.0.lock().unwrap();
        let start = offset as usize;
        bytes[start..start + data.len()].copy_from_slice(data);
        reply.written(data.len() as u32);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}
