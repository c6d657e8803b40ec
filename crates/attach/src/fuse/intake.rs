//! Requests of the mounted folder as they come from the kernel. Those of the drive's file are for the drive, and others are passed
//! on.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use fuser::Errno as Refusal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use zerocopy::FromBytes;

use super::attributes::DRIVE_NODE;
use super::budget::Share;
use super::data::{Data, DataPool, MUCH_BYTES, Room};
use super::device::{Device, Outcome, Reply};
use super::landing::Landing;
use super::names::Names;
use super::requests::blocks_around;
use super::wire::{Allocation, Header, Transfer, opcode};

/// Modes of fallocate(2).
const KEEP_SIZE: i32 = 0x01;
const PUNCH_HOLE: i32 = 0x02;
const ZERO_RANGE: i32 = 0x10;
/// Flags of open(2): data is to be durable when a write returns. `O_SYNC` has the bit, too.
const O_DSYNC: u32 = 0o10000;

/// What the kernel asks of the drive, and how that is answered.
pub(super) struct Request {
    pub(super) what: What,
    pub(super) reply: Reply,
}

/// What is asked of a drive.
pub(super) enum What {
    /// The logical blocks around these bytes are read to where there is room for them.
    Read {
        bytes: Range<u64>,
        blocks: Range<u64>,
        room: Room,
    },
    /// Data is written from an offset on. If it has to, it is durable then.
    Write {
        offset: u64,
        data: Data,
        is_durable: bool,
    },
    /// What was written before is durable.
    Flush(Share),
    /// These bytes are given back.
    Discard { bytes: Range<u64>, share: Share },
    /// These bytes are zeroes.
    WriteZeroes { bytes: Range<u64>, share: Share },
}

/// What has come.
pub(super) enum Received {
    /// Something for the drive.
    Request(Request),
    /// Something that is answered elsewhere, or was at once.
    Other,
    /// Nothing, yet.
    Nothing,
    /// Nothing comes any more, as nothing is mounted.
    End,
}

/// What is asked of the drive's file.
enum Asked {
    Read(Transfer),
    Write(Transfer),
    Flush,
    Allocate(Allocation),
}

/// What receives requests, while something is mounted. Whoever has it does; if nobody has it any more, a thread that refuses them.
pub(super) struct Intake {
    pub(super) device: Device,
    pub(super) names: Names,
    pub(super) landing: Landing,
    pub(super) pool: DataPool,
    /// Of the drive's file.
    pub(super) bytes: u64,
    pub(super) block_bytes: u32,
}

impl Request {
    /// Whether it brings much data.
    pub(super) fn is_much(&self) -> bool {
        matches!(&self.what, What::Write { data, .. } if data.length() > MUCH_BYTES)
    }

    /// Whether something has to be durable when it ends.
    pub(super) fn is_to_be_durable(&self) -> bool {
        match &self.what {
            What::Write { is_durable, .. } => *is_durable,
            What::Flush(_) => true,
            What::Read { .. } | What::Discard { .. } | What::WriteZeroes { .. } => false,
        }
    }
}

impl Asked {
    /// None if it is something else.
    fn of(header: &Header, more: &[u8]) -> Option<Asked> {
        if header.node != DRIVE_NODE.0 {
            return None;
        }
        let transfer = || Some(Transfer::read_from_prefix(more).ok()?.0);
        match header.opcode {
            opcode::READ => transfer().map(Asked::Read),
            opcode::WRITE => transfer().map(Asked::Write),
            opcode::FLUSH | opcode::FSYNC => Some(Asked::Flush),
            opcode::FALLOCATE => {
                let (allocation, _) = Allocation::read_from_prefix(more).ok()?;
                Some(Asked::Allocate(allocation))
            }
            _ => None,
        }
    }
}

impl Intake {
    /// What can be read when something has come; none while there is no room for it. The drive is rung for when there is.
    pub(super) fn reads(&self) -> Option<BorrowedFd<'_>> {
        self.pool.has_room().then(|| self.device.as_fd())
    }

    /// Receives what is next, if something has come and there is room for it.
    pub(super) fn receive(&mut self) -> Received {
        self.receive_by(|device, landing| device.receive(landing.room()))
    }

    /// The same where much data is likely to come.
    pub(super) fn receive_much(&mut self) -> Received {
        self.receive_by(|device, landing| device.receive_in(&mut landing.rooms()))
    }

    fn receive_by(
        &mut self,
        receive: impl FnOnce(&Device, &mut Landing) -> Result<Option<usize>, Errno>,
    ) -> Received {
        if !self.pool.has_room() {
            return Received::Nothing;
        }
        match receive(&self.device, &mut self.landing) {
            Ok(Some(bytes)) => self.landing.landed(bytes),
            Ok(None) => return Received::Nothing,
            Err(_) if !self.device.is_connected() => return Received::End,
            // There is no memory for it, say. The kernel tells who made the request.
            Err(_) => return Received::Other,
        }
        // The kernel sends no less.
        let Ok((header, more)) = Header::read_from_prefix(self.landing.beginning()) else {
            return Received::Other;
        };
        let Some(asked) = Asked::of(&header, more) else {
            return self.pass_on(&header);
        };
        let reply = self.device.reply(header.unique);
        match self.what(&asked) {
            Ok(what) => Received::Request(Request { what, reply }),
            Err(outcome) => {
                reply.tell(&outcome);
                Received::Other
            }
        }
    }

    /// What the drive is to do, or what becomes of it without.
    fn what(&mut self, asked: &Asked) -> Result<What, Outcome> {
        match asked {
            Asked::Read(asked) => self.read(asked),
            Asked::Write(asked) => self.write(asked),
            Asked::Flush => Ok(What::Flush(self.pool.share())),
            Asked::Allocate(asked) => self.allocate(asked),
        }
    }

    /// The bytes of a request that the file has.
    fn clamped(&self, offset: u64, length: u64) -> Range<u64> {
        offset.min(self.bytes)..offset.saturating_add(length).min(self.bytes)
    }

    fn read(&self, asked: &Transfer) -> Result<What, Outcome> {
        let bytes = self.clamped(asked.offset, asked.bytes.into());
        if bytes.is_empty() {
            return Err(Outcome::Done);
        }
        let (blocks, place) = blocks_around(&bytes, self.block_bytes);
        let length = (blocks.end - blocks.start) * u64::from(self.block_bytes);
        let room = self.pool.room(place, length as usize);
        Ok(What::Read {
            bytes,
            blocks,
            room,
        })
    }

    fn write(&mut self, asked: &Transfer) -> Result<What, Outcome> {
        let length = self.landing.data_bytes().min(asked.bytes as usize);
        let bytes = self.clamped(asked.offset, length as u64);
        if bytes.is_empty() {
            return Err(match length {
                0 => Outcome::Written(0),
                _ => Outcome::Failed(Refusal::ENOSPC),
            });
        }
        let length = (bytes.end - bytes.start) as usize;
        Ok(What::Write {
            offset: bytes.start,
            data: self.landing.data(length, &self.pool),
            is_durable: asked.flags & O_DSYNC != 0,
        })
    }

    fn allocate(&self, asked: &Allocation) -> Result<What, Outcome> {
        let mode = asked.mode & !KEEP_SIZE;
        if !matches!(mode, PUNCH_HOLE | ZERO_RANGE) {
            return Err(Outcome::Failed(Refusal::EOPNOTSUPP));
        }
        let is_beyond = asked.offset.saturating_add(asked.length) > self.bytes;
        if mode == ZERO_RANGE && is_beyond && asked.mode & KEEP_SIZE == 0 {
            return Err(Outcome::Failed(Refusal::EFBIG));
        }
        let bytes = self.clamped(asked.offset, asked.length);
        if bytes.is_empty() {
            return Err(Outcome::Done);
        }
        let share = self.pool.share();
        Ok(match mode {
            PUNCH_HOLE => What::Discard { bytes, share },
            _ => What::WriteZeroes { bytes, share },
        })
    }

    /// Waits until something has come.
    pub(super) fn wait(&self) {
        // Whatever it is, it is seen when it is received.
        let _ = poll(&mut [PollFd::new(&self.device, PollFlags::IN)], None);
    }

    /// Has all requests of data refused from now on, until nothing is mounted any more.
    fn refuse(mut self) {
        loop {
            match self.receive() {
                // Dropping it refuses it.
                Received::Request(_) | Received::Other => {}
                Received::Nothing => self.wait(),
                Received::End => return,
            }
        }
    }

    /// Has what has landed answered by who answers all but data.
    fn pass_on(&mut self, header: &Header) -> Received {
        if self.names.ask(self.landing.whole()).is_err() {
            let reply = self.device.reply(header.unique);
            reply.tell(&Outcome::Failed(Refusal::EIO));
        }
        Received::Other
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        if !self.device.is_connected() {
            return;
        }
        // What is under way may hold all room for long.
        let pool = self.pool.another();
        let other = Intake {
            device: self.device.clone(),
            names: self.names.clone(),
            landing: Landing::new(&pool),
            pool,
            bytes: self.bytes,
            block_bytes: self.block_bytes,
        };
        // Whoever makes a request waits for ever where there is no thread.
        let refuses = thread::Builder::new().name("bitline refuses".into());
        let _ = refuses.spawn(move || other.refuse());
    }
}
