//! The file system, as the kernel asks for it. Requests of the drive's file become jobs on the drive's thread, which
//! answers them.

use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::time::Duration;

use bitline::Error;
use fuser::{
    Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::attributes::{ABOUT_NODE, Attributes, DRIVE_NODE, ENTRIES, ROOT_NODE, named};
use super::data::{DataPool, REQUEST_BYTES_MAX};
use super::errors::errno;
use super::replies::{MUCH_BYTES, Replies};
use super::requests;
use crate::engine::{Handle, Kind, Served};
use crate::notes::Notes;

/// Asynchronous requests that the kernel has under way at once.
const BACKGROUND_MAX: u16 = 128;
/// How long the kernel may remember names and attributes: they never change.
const FOR_LONG: Duration = Duration::from_secs(3600);

/// Modes of fallocate(2).
const KEEP_SIZE: i32 = 0x01;
const PUNCH_HOLE: i32 = 0x02;
const ZERO_RANGE: i32 = 0x10;
/// Flags of open(2): data is to be durable when a write returns. `O_SYNC` has the bit, too.
const O_DSYNC: i32 = 0o10000;

/// A folder with a drive's file.
pub(super) struct DriveFolder {
    pub(super) drive: Handle,
    pub(super) attributes: Attributes,
    pub(super) about: String,
    pub(super) data: DataPool,
    pub(super) replies: Replies,
    pub(super) notes: Notes,
}

impl DriveFolder {
    /// The bytes of a request that the file has.
    fn clamped(&self, offset: u64, length: u64) -> Range<u64> {
        let end = self.attributes.drive_bytes;
        offset.min(end)..offset.saturating_add(length).min(end)
    }

    /// Has a request carried out on the drive's thread, and `answer` told what came of it and how many bytes were moved.
    fn submit<T: Send + 'static, F>(
        &self,
        kind: Kind,
        bytes: Range<u64>,
        work: impl FnOnce(Served) -> F + Send + 'static,
        answer: impl FnOnce(Result<T, Errno>) + Send + 'static,
    ) where
        F: Future<Output = Result<T, Error>> + 'static,
    {
        let notes = self.notes.clone();
        let submitted = self.drive.submit(move |_, served| {
            let begun = served.begin(kind);
            let telling = served.clone();
            // The work is made where it is waited for, or there would be room for it twice.
            served.spawn(async move {
                let done = work(telling.clone()).await;
                begun.end(bytes.end - bytes.start, done.is_ok());
                let done = done.map_err(|error| errno(&error, kind, &bytes, &notes));
                telling.tell(move || answer(done));
                if kind == Kind::Flush {
                    telling.tell_all();
                }
            });
        });
        // A drive that is gone has dropped the job, and with it the reply, which then says EIO.
        drop(submitted);
        // While the drive is at it.
        self.drive.tell_waiting();
    }

    fn flush(&self, reply: ReplyEmpty) {
        let share = self.data.share();
        let work = |served: Served| async move {
            let _share = share;
            flush(&served).await
        };
        self.submit(Kind::Flush, 0..0, work, |done| answer(reply, done));
    }
}

/// Makes durable what was acknowledged. Writes that are told of by then do not wait for the disk beneath.
async fn flush(served: &Served) -> Result<(), Error> {
    served.tell_all();
    served.durable().flush().await
}

fn answer(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

impl Filesystem for DriveFolder {
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
        if node == ABOUT_NODE {
            let about = self.about.as_bytes();
            let start = about.len().min(offset as usize);
            let end = about.len().min(start + size as usize);
            return reply.data(&about[start..end]);
        }
        let bytes = self.clamped(offset, size.into());
        if bytes.is_empty() {
            return reply.data(&[]);
        }
        let block_bytes = self.attributes.block_bytes;
        let (blocks, place) = requests::blocks_around(&bytes, block_bytes);
        let length = (blocks.end - blocks.start) * u64::from(block_bytes);
        let room = self.data.room(place, length as usize);
        let replies = self.replies.clone();
        let work = |served: Served| async move { requests::read(&served, blocks, room).await };
        self.submit(Kind::Read, bytes, work, move |read| match read {
            Ok(read) if read.bytes().len() >= MUCH_BYTES => replies.send(reply, read),
            Ok(read) => reply.data(read.bytes()),
            Err(errno) => reply.error(errno),
        });
    }

    fn write(
        &self,
        _request: &Request,
        node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let bytes = self.clamped(offset, data.len() as u64);
        if node != DRIVE_NODE {
            return reply.error(Errno::EACCES);
        }
        if bytes.is_empty() {
            return match data.is_empty() {
                true => reply.written(0),
                false => reply.error(Errno::ENOSPC),
            };
        }
        let length = (bytes.end - bytes.start) as u32;
        let data = self.data.holding(&data[..length as usize]);
        let is_durable = flags.0 & O_DSYNC != 0;
        let work = move |served: Served| async move {
            requests::write(&served, offset, data).await?;
            match is_durable {
                true => flush(&served).await,
                false => Ok(()),
            }
        };
        self.submit(Kind::Write, bytes, work, move |done| match done {
            Ok(()) => reply.written(length),
            Err(errno) => reply.error(errno),
        });
    }

    fn flush(&self, _: &Request, node: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        match node {
            DRIVE_NODE => DriveFolder::flush(self, reply),
            _ => reply.ok(),
        }
    }

    fn fsync(&self, _: &Request, node: INodeNo, _: FileHandle, _data: bool, reply: ReplyEmpty) {
        match node {
            DRIVE_NODE => DriveFolder::flush(self, reply),
            _ => reply.ok(),
        }
    }

    fn fallocate(
        &self,
        _request: &Request,
        node: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if node != DRIVE_NODE {
            return reply.error(Errno::EACCES);
        }
        let is_beyond = offset.saturating_add(length) > self.attributes.drive_bytes;
        let kind = match mode & !KEEP_SIZE {
            PUNCH_HOLE => Kind::Discard,
            ZERO_RANGE if is_beyond && mode & KEEP_SIZE == 0 => return reply.error(Errno::EFBIG),
            ZERO_RANGE => Kind::WriteZeroes,
            _ => return reply.error(Errno::EOPNOTSUPP),
        };
        let bytes = self.clamped(offset, length);
        if bytes.is_empty() {
            return reply.ok();
        }
        let (share, range) = (self.data.share(), bytes.clone());
        let work = move |served: Served| async move {
            let _share = share;
            match kind {
                Kind::Discard => requests::discard(&served, range).await,
                _ => requests::zero(&served, range).await,
            }
        };
        self.submit(kind, bytes, work, |done| answer(reply, done));
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
