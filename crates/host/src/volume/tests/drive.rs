//! The drive: blocks in memory behind decoded commands, a volatile write cache if wanted, and a cut of the power
//! at any command. After a cut, each block has its durable content or any later one that was written to it: commands
//! are torn between blocks, and what was not flushed comes back in any part and order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::command::{DatasetRange, ReadWrite};
use nvme::identify::Cns;
use nvme::{
    AdminCommand, CommandId, CompletionEntry, DataPointer, HostMemory, IoCommand, QueueId,
    SearchCommand, Status, SubmissionEntry,
};
use zerocopy::{FromBytes, IntoBytes};

use super::Random;
use crate::buffer::Memory;
use crate::described;
use crate::error::Error;
use crate::search::tests::model::Model;
use crate::transport::Transport;

pub(super) const BLOCK_BYTES: usize = described::BLOCK_BYTES as usize;
pub(super) const PAGE_BLOCKS: u64 = 2;
pub(super) const BLOCKS: u64 = 160;

type Block = Vec<u8>;

#[derive(Default)]
struct State {
    durable: BTreeMap<u64, Block>,
    /// What was written since, oldest first.
    volatile: Vec<(u64, Block)>,
    has_cache: bool,
    /// Commands from now on until the power is cut.
    commands_left: Option<u64>,
    /// Commands that must fail, and how.
    failing: Option<(u64, Status)>,
    log: Vec<Sent>,
    /// What is deallocated reads as before, which the standard allows.
    keeps_deallocated: bool,
    /// Reads answer with zeroes.
    keeps_nothing: bool,
    /// Search regions.
    model: Model,
    /// A command on search regions that the cut meets has happened.
    cut_is_late: bool,
    /// It looks up no names.
    has_no_search: bool,
}

/// A command that the drive was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Read {
        first: u64,
        blocks: u64,
    },
    Write {
        first: u64,
        blocks: u64,
        durably: bool,
    },
    Flush,
    Deallocate {
        first: u64,
        blocks: u64,
    },
}

#[derive(Clone)]
pub(super) struct MemoryDrive {
    memory: Memory,
    state: Rc<RefCell<State>>,
}

impl MemoryDrive {
    pub(super) fn new() -> MemoryDrive {
        MemoryDrive {
            memory: Rc::new(RefCell::new(HostMemory::new())),
            state: Rc::default(),
        }
    }

    pub(super) fn with_cache() -> MemoryDrive {
        let drive = MemoryDrive::new();
        drive.state.borrow_mut().has_cache = true;
        drive
    }

    /// A drive on which deallocation changes nothing that can be read.
    pub(super) fn keeping_deallocated() -> MemoryDrive {
        let drive = MemoryDrive::with_cache();
        drive.state.borrow_mut().keeps_deallocated = true;
        drive
    }

    /// A drive that keeps only time: it takes everything and gives zeroes.
    pub(super) fn keeping_nothing() -> MemoryDrive {
        let drive = MemoryDrive::new();
        drive.state.borrow_mut().keeps_nothing = true;
        drive
    }

    /// A drive with the same blocks, each of which may be changed without changing these.
    pub(super) fn copy(&self) -> MemoryDrive {
        let copy = MemoryDrive::new();
        let state = self.state.borrow();
        copy.state.replace(State {
            durable: state.durable.clone(),
            volatile: state.volatile.clone(),
            has_cache: state.has_cache,
            keeps_deallocated: state.keeps_deallocated,
            model: state.model.clone(),
            ..State::default()
        });
        copy
    }

    /// The power goes while the `commands`-th command from now on is under way, counted from 0.
    pub(super) fn cut_after(&self, commands: u64) {
        self.state.borrow_mut().commands_left = Some(commands);
    }

    /// As [`MemoryDrive::cut_after`]; a command on search regions that the cut meets has happened, or not.
    pub(super) fn cut_search_after(&self, commands: u64, is_late: bool) {
        self.cut_after(commands);
        self.state.borrow_mut().cut_is_late = is_late;
    }

    /// The numbers of its search regions with the first block of the data region of each.
    pub(super) fn regions(&self) -> Vec<(u16, u64)> {
        self.state.borrow().model.regions()
    }

    /// Search regions that there may be.
    pub(super) fn limit_regions(&self, regions_max: usize) {
        self.state.borrow_mut().model.regions_max = regions_max;
    }

    /// Looks up no names from now on.
    pub(super) fn lose_search(&self) {
        self.state.borrow_mut().has_no_search = true;
    }

    /// Carries out a command on search regions.
    fn search(&self, command: SearchCommand) -> CompletionEntry {
        let state = &mut *self.state.borrow_mut();
        if state.has_no_search {
            return completed(Status::INVALID_OPCODE);
        }
        let memory = &mut *self.memory.borrow_mut();
        let answer = state.model.carry_out(command, memory);
        let mut entry = completed(answer.err().unwrap_or(Status::SUCCESS));
        entry.dw0.set(answer.map_or(0, |(first, _)| first));
        entry
    }

    /// The `commands`-th command that writes from now on fails.
    pub(super) fn fail_after(&self, commands: u64, status: Status) {
        self.state.borrow_mut().failing = Some((commands, status));
    }

    /// Powers up after a cut: of each block, any version since the durable one is there.
    pub(super) fn power_up(&self, random: &mut Random) {
        let state = &mut *self.state.borrow_mut();
        let mut versions: BTreeMap<u64, Vec<Block>> = BTreeMap::new();
        for (lba, block) in state.volatile.drain(..) {
            versions.entry(lba).or_default().push(block);
        }
        for (lba, mut versions) in versions {
            let kept = random.below(versions.len() as u64 + 1) as usize;
            if kept > 0 {
                state.durable.insert(lba, versions.swap_remove(kept - 1));
            }
        }
        state.commands_left = None;
    }

    pub(super) fn take_log(&self) -> Vec<Sent> {
        std::mem::take(&mut self.state.borrow_mut().log)
    }

    /// Changes a byte of what is durable.
    pub(super) fn damage(&self, lba: u64, offset: usize, change: u8) {
        let state = &mut *self.state.borrow_mut();
        let block = state
            .durable
            .entry(lba)
            .or_insert_with(|| vec![0; BLOCK_BYTES]);
        block[offset] ^= change;
    }

    pub(super) fn put(&self, lba: u64, bytes: &[u8]) {
        let state = &mut *self.state.borrow_mut();
        for (block, lba) in bytes.chunks(BLOCK_BYTES).zip(lba..) {
            state.durable.insert(lba, block.to_vec());
        }
    }

    pub(super) fn block(&self, lba: u64) -> Block {
        self.state.borrow().read(lba)
    }

    pub(super) fn erase(&self) {
        self.state.borrow_mut().durable.clear();
    }

    fn admin_data(&self, entry: &SubmissionEntry) -> (Vec<u8>, DataPointer) {
        let Ok(AdminCommand::Identify(identify)) = AdminCommand::decode(entry) else {
            panic!("a volume asks to identify and nothing else");
        };
        let page = match identify.cns {
            Cns::Namespace => described::namespace(BLOCKS, PAGE_BLOCKS as u16)
                .as_bytes()
                .to_vec(),
            Cns::Controller => described::controller("memory", BLOCKS).as_bytes().to_vec(),
            other => panic!("nobody asks for {other:?}"),
        };
        (page, identify.data)
    }

    fn put_data(&self, data: DataPointer, bytes: &[u8]) {
        let (address, length) = place(data);
        let memory = &mut *self.memory.borrow_mut();
        let into = memory.slice_mut(address, length).expect("a buffer");
        into.copy_from_slice(bytes);
    }

    fn data(&self, data: DataPointer) -> Vec<u8> {
        let (address, length) = place(data);
        self.memory
            .borrow()
            .slice(address, length)
            .expect("a buffer")
            .to_vec()
    }

    fn carry_out(&self, command: IoCommand) {
        match command {
            IoCommand::Read(read) => {
                let state = &mut *self.state.borrow_mut();
                let (first, blocks) = range(&read);
                state.log.push(Sent::Read { first, blocks });
                let bytes: Vec<u8> = (first..first + blocks)
                    .flat_map(|lba| state.read(lba))
                    .collect();
                self.put_data(read.data, &bytes);
            }
            IoCommand::Write(write) => {
                let data = self.data(write.data);
                let state = &mut *self.state.borrow_mut();
                let (first, blocks) = range(&write);
                let durably = write.force_unit_access;
                state.log.push(Sent::Write {
                    first,
                    blocks,
                    durably,
                });
                let written = (first..).zip(data.chunks(BLOCK_BYTES).map(<[u8]>::to_vec));
                state.write(written.collect(), durably);
            }
            IoCommand::Flush { .. } => {
                let state = &mut *self.state.borrow_mut();
                state.log.push(Sent::Flush);
                state.flush(|_| true);
            }
            IoCommand::DatasetManagement(management) if management.deallocate => {
                let ranges = self.data(management.data);
                let state = &mut *self.state.borrow_mut();
                for range in ranges.chunks(DatasetRange::BYTES) {
                    let range = DatasetRange::read_from_bytes(range).expect("its size");
                    let (first, blocks) = (range.start.get(), u64::from(range.block_count.get()));
                    state.log.push(Sent::Deallocate { first, blocks });
                    if state.keeps_deallocated {
                        continue;
                    }
                    let blank = (first..first + blocks).map(|lba| (lba, vec![0; BLOCK_BYTES]));
                    state.write(blank.collect(), false);
                }
            }
            other => panic!("a volume sends no {other:?}"),
        }
    }

    /// What the last command before the cut may leave.
    fn tear(&self, command: IoCommand) {
        let state = &mut *self.state.borrow_mut();
        if let IoCommand::Write(write) = command {
            let data = self.data(write.data);
            let (first, _) = range(&write);
            let blocks = data.chunks(BLOCK_BYTES).map(<[u8]>::to_vec);
            state.volatile.extend((first..).zip(blocks));
            return;
        }
        if let (IoCommand::Search(search), true) = (command, state.cut_is_late) {
            // Nobody hears how it ended.
            let _ = state.model.carry_out(search, &mut self.memory.borrow_mut());
        }
    }
}

impl State {
    fn read(&self, lba: u64) -> Block {
        let newest = self.volatile.iter().rev().find(|(of, _)| *of == lba);
        let block = newest.map(|(_, block)| block).or(self.durable.get(&lba));
        match block {
            Some(block) if !self.keeps_nothing => block.clone(),
            _ => vec![0; BLOCK_BYTES],
        }
    }

    fn write(&mut self, blocks: Vec<(u64, Block)>, durably: bool) {
        let lbas: Vec<u64> = blocks.iter().map(|(lba, _)| *lba).collect();
        self.volatile.extend(blocks);
        if durably || !self.has_cache {
            self.flush(|lba| lbas.contains(&lba));
        }
    }

    fn flush(&mut self, is_flushed: impl Fn(u64) -> bool) {
        let (flushed, rest) = self
            .volatile
            .drain(..)
            .partition(|(lba, _)| is_flushed(*lba));
        let flushed: Vec<(u64, Block)> = flushed;
        self.volatile = rest;
        self.durable.extend(flushed);
    }
}

impl Transport for MemoryDrive {
    fn memory(&self) -> &Memory {
        &self.memory
    }

    async fn admin(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        let (page, data) = self.admin_data(entry);
        self.put_data(data, &page);
        Ok(completed(Status::SUCCESS))
    }

    async fn io(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        let command = IoCommand::decode(entry).expect("a command of the standard");
        let left = self.state.borrow().commands_left;
        if let Some(left) = left {
            if left == 0 {
                self.tear(command);
                self.state.borrow_mut().commands_left = Some(u64::MAX);
            }
            if left == 0 || left > u64::MAX / 2 {
                return Err(Error::Transport("the power is gone".into()));
            }
            self.state.borrow_mut().commands_left = Some(left - 1);
        }
        let is_read = matches!(command, IoCommand::Read(_));
        let failing = self.state.borrow_mut().failing.take();
        match failing {
            Some((0, status)) if !is_read => return Ok(completed(status)),
            Some((left, status)) => {
                let left = if is_read { left } else { left - 1 };
                self.state.borrow_mut().failing = Some((left, status));
            }
            None => {}
        }
        if let IoCommand::Search(search) = command {
            return Ok(self.search(search));
        }
        self.carry_out(command);
        Ok(completed(Status::SUCCESS))
    }
}

fn completed(status: Status) -> CompletionEntry {
    CompletionEntry::new(CommandId::new(0), QueueId::new(1), 0, status, true)
}

fn range(transfer: &ReadWrite) -> (u64, u64) {
    (
        transfer.blocks.start.get(),
        u64::from(transfer.blocks.count),
    )
}

fn place(data: DataPointer) -> (u64, u64) {
    match data {
        DataPointer::Sgl { address, length } => (address, u64::from(length)),
        DataPointer::Prp { .. } => panic!("the library sends SGLs"),
    }
}
