//! What the parts of a drive have to do for an operation.

use std::rc::Rc;

use media::core::Work;
use media::dram::Toward;
use media::nand::{PageAddress, ProgramMode};
use sim::{Energy, Span};

use super::Account;
use crate::memory::Partition;
use crate::schedule::Read;

/// A command of the host, and everything that it has the drive do.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Bytes fetched from host memory besides the queue entry: an expression, or a query.
    pub fetched_bytes: u64,
    /// What the firmware does before the dies do anything.
    pub firmware: Vec<Work>,
    /// The dies' shares, side by side; or one that has work for all of them.
    pub dies: Vec<DieDemand>,
    /// Bytes sent before the completion, at the end: a count, or records.
    pub answer_bytes: u64,
}

/// What one die's share of an operation is.
#[derive(Clone, Debug)]
pub struct DieDemand {
    /// Its stages, one after the other, each with its batches.
    pub stages: Vec<(Rc<StageDemand>, Vec<BatchDemand>)>,
}

/// What is done with every batch of a stage.
#[derive(Debug)]
pub struct StageDemand {
    /// The fetches of a batch, in order.
    pub fetches: Vec<Fetch>,
    /// What the controller does with a batch.
    pub ops: Vec<Op>,
    /// Fetches that are on their way at a time.
    pub ahead: usize,
    /// Page buffers that each die's share has at a time.
    pub buffers: u32,
    /// A batch keeps its buffers until the controller is done with it: then the next is asked for, not when its pages are here.
    pub keeps: bool,
    /// Pages wait for the accelerator in its buffer.
    pub through_accelerator: bool,
    /// Where the result goes.
    pub destination: Destination,
}

/// Pages brought from the array.
#[derive(Debug)]
pub struct Fetch {
    /// Commands of a die, for one plane and each number of planes more; none where pages are only read.
    pub commands: Vec<Vec<Command>>,
}

/// What dies are asked for the pages of a batch.
#[derive(Clone, Debug)]
pub enum AskedOfDies {
    /// The commands of the fetch: dies, and for how many planes each.
    Commands(Vec<(u32, u32)>),
    /// To read parts of pages, wherever these are, while those that the drive's DRAM has leave it.
    Reads {
        /// Those that flash has.
        reads: Vec<PageRead>,
        /// The address and the bytes of each of the others.
        cached: Vec<(u64, u64)>,
    },
}

/// A page that is read for itself, as any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// The page.
    pub page: PageAddress,
    /// How it is programmed.
    pub mode: ProgramMode,
    /// Bytes of it that are moved.
    pub bytes: u32,
    /// The complement of what is stored is wanted.
    pub inverse: bool,
}

impl PageRead {
    /// A read that the translation layer tells of, of a page of this mode.
    pub(crate) fn of(read: &Read, mode: ProgramMode) -> PageRead {
        PageRead {
            page: read.page,
            mode,
            bytes: read.bytes,
            inverse: read.inverse,
        }
    }
}

/// A command of a die.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its cycles on the channel.
    pub cycles: Span,
    /// The die's work.
    pub array: Span,
    /// What each plane spends.
    pub energy: Energy,
    /// On which account.
    pub account: Account,
}

impl Command {
    /// Both as one, the first and the other, on the account of the first.
    pub fn then(self, other: Command) -> Command {
        Command {
            cycles: self.cycles + other.cycles,
            array: self.array + other.array,
            energy: self.energy + other.energy,
            account: self.account,
        }
    }
}

/// One step of the controller for a batch.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Waits for the next fetch; its pages go to the accelerator as they come, or not.
    Fetched {
        /// Whether they do.
        operand: bool,
    },
    /// The accelerator takes in so many pages of each plane.
    Accelerate(u64),
    /// The batch's bytes move into or out of a part of the drive's DRAM.
    Dram(Partition, Toward),
    /// A core does this as often as the batch says, in one go.
    Work(Work),
}

/// Where the pages of a result go.
#[derive(Clone, Copy, Debug)]
pub enum Destination {
    /// To the host.
    Host,
    /// Nowhere: they are counted.
    Nowhere,
    /// Into the die whose share it is.
    Die,
}

/// A page of some planes of a die.
#[derive(Clone, Debug)]
pub struct BatchDemand {
    /// The die whose share it is.
    pub die: u32,
    /// Pages.
    pub pages: u32,
    /// Bytes of the result, or of what goes through the drive's DRAM.
    pub bytes: u64,
    /// How often a core does its work.
    pub works: u64,
    /// By fetch: what dies are asked for.
    pub asked: Vec<AskedOfDies>,
    /// Pages of the die that a result is programmed into: the plane and the page of its block. Those of several planes
    /// with one number are programmed together.
    pub programmed: Vec<(u32, u32)>,
}
