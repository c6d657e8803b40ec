//! What can be asked of a die, as the firmware asks it.

use std::cell::Cell;
use std::rc::Rc;

use arrayvec::ArrayVec;
use media::nand::{BlockId, Command, PLANES_PER_DIE_MAX, PageAddress, PlaneId, ProgramMode};
use sim::resource::Semaphore;

use super::origin::Origin;
use crate::memory::{BufferId, Buffers};

/// A few out-of-band bytes.
pub type SpareBytes = ArrayVec<u8, 24>;

/// The out-of-band bytes of a page, as programmed: a few, or all of a buffer, which stays as it is until the program
/// is over.
#[derive(Clone, Debug)]
pub struct Spare {
    few: SpareBytes,
    many: BufferId,
}

impl Spare {
    /// All bytes of a buffer.
    pub fn in_buffer(buffer: BufferId) -> Spare {
        Spare {
            few: SpareBytes::new(),
            many: buffer,
        }
    }

    /// Shows the bytes to `look`.
    #[inline]
    pub(super) fn with<R>(&self, buffers: &Buffers, look: impl FnOnce(&[u8]) -> R) -> R {
        if self.many == BufferId::NONE {
            return look(&self.few);
        }
        let looked = buffers.with(self.many, look);
        looked.expect("a buffer that was named is there")
    }
}

impl From<SpareBytes> for Spare {
    #[inline]
    fn from(few: SpareBytes) -> Spare {
        Spare {
            few,
            many: BufferId::NONE,
        }
    }
}

/// Planes of one die whose C-latch is read out after a computation, and where to.
pub type Outputs = ArrayVec<(PlaneId, BufferId), PLANES_PER_DIE_MAX>;

/// Senses a page and moves `bytes` of it, from `column` on, to a place of a buffer.
#[derive(Clone, Debug)]
pub struct Read {
    /// The page.
    pub page: PageAddress,
    /// First byte moved.
    pub column: u32,
    /// Bytes moved.
    pub bytes: u32,
    /// Where to.
    pub into: BufferId,
    /// First byte of it there.
    pub at: u32,
    /// The complement of what is stored is wanted (an inverse read).
    pub inverse: bool,
    /// For whom.
    pub origin: Origin,
}

/// Moves a buffer and spare bytes to a page register and programs the page.
#[derive(Clone, Debug)]
pub struct Program {
    /// The page.
    pub page: PageAddress,
    /// How.
    pub mode: ProgramMode,
    /// What.
    pub from: BufferId,
    /// How much of that was written; the rest was there before.
    pub bytes: u32,
    /// The out-of-band bytes.
    pub spare: Spare,
    /// For whom.
    pub origin: Origin,
}

/// A program, and right after it one of the complement of the same data, which the die makes of what its page register holds
/// (ANVIL 5.2, write inversion): data crosses the channel once. Nothing else is done in the plane in between, so the first of
/// both is not suspended. If it fails the second is not begun; the fault names the page that failed.
#[derive(Clone, Debug)]
pub struct ProgramPair {
    /// The first.
    pub program: Program,
    /// The page that the complement is for: one of the same block, after the first.
    pub complement: PageAddress,
    /// Its out-of-band bytes.
    pub spare: Spare,
}

/// Copies a page to another of the same plane inside the die: its data crosses no
/// channel. Ends with [`super::Fault::Uncorrectable`] of `from`, and `to` left as it was,
/// if the page cannot be read, or with [`super::Fault::NeedsCorrection`] if it has to be read
/// by the controller.
#[derive(Clone, Debug)]
pub struct Copyback {
    /// What is copied.
    pub from: PageAddress,
    /// Where to: a page of the same plane.
    pub to: PageAddress,
    /// How `to` is programmed.
    pub mode: ProgramMode,
    /// The out-of-band bytes of `to`, which the controller sends.
    pub spare: Spare,
    /// For whom.
    pub origin: Origin,
}

/// Raises single cells of a page that is programmed, in a block of one bit a cell: moves a whole buffer to the page register,
/// and bits of the page become zero where it has zeroes. It waits among the programs, after those of its block that came before,
/// and a program, erase or raise of the block that comes later does not overtake it. If it ends with
/// [`super::Fault::ProgramFailed`], each of the cells is raised or not, and the page can be read.
#[derive(Clone, Debug)]
pub struct Raise {
    /// The page.
    pub page: PageAddress,
    /// What stays: a one for each bit that does.
    pub from: BufferId,
    /// For whom.
    pub origin: Origin,
}

/// Erases a block.
#[derive(Clone, Debug)]
pub struct Erase {
    /// The block.
    pub block: BlockId,
    /// For whom.
    pub origin: Origin,
}

/// Runs commands on one die, nothing between them that would change what they leave in the latches,
/// and then moves whole C-latches out.
#[derive(Clone, Debug)]
pub struct Compute {
    /// The commands, in order.
    pub steps: Rc<[Command]>,
    /// What is read out afterwards.
    pub outputs: Outputs,
    /// Room for the outputs where they go, one permit a page: they leave the die once it is taken,
    /// and whoever asked for them gives it back. The die waits for no room: meanwhile the outputs
    /// stay in their latches under a lease, and it does other work.
    pub room: Option<Rc<Semaphore>>,
    /// Nobody wants more of the outputs than the number of their ones: their buffers keep what they hold.
    pub counted: Option<Counted>,
    /// For whom.
    pub origin: Origin,
}

/// Outputs that are counted as they leave their planes.
#[derive(Clone, Debug)]
pub struct Counted {
    /// By output, bits that count; what follows does not.
    pub bits: ArrayVec<u64, PLANES_PER_DIE_MAX>,
    /// Ones found so far.
    pub ones: Rc<Cell<u64>>,
}

/// Where the data of a programmed page comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageData {
    /// The controller's memory.
    Buffer(BufferId),
    /// The controller's memory, for a page that is programmed already: its zeroes are raised.
    Raise(BufferId),
    /// Another page of the plane.
    Page(PageAddress),
}

/// A program, of any kind: all wait in one queue, so that the pages of a block
/// are programmed in order.
#[derive(Clone, Debug)]
pub(super) struct PageProgram {
    pub(super) page: PageAddress,
    /// Of a raise it is the block's, which the flash knows.
    pub(super) mode: ProgramMode,
    pub(super) data: PageData,
    pub(super) bytes: u32,
    pub(super) spare: Spare,
    /// What is programmed right after with the complement.
    pub(super) complement: Option<Box<Complement>>,
    pub(super) origin: Origin,
}

/// A page that is programmed with the complement of another.
#[derive(Clone, Debug)]
pub(super) struct Complement {
    pub(super) page: PageAddress,
    pub(super) spare: Spare,
}

impl PageProgram {
    /// The block whose content is needed: it is copied, or changed. A block is not programmed any more when it is to be
    /// erased.
    pub(super) fn source(&self) -> Option<BlockId> {
        match self.data {
            PageData::Page(from) => Some(from.block),
            PageData::Raise(_) => Some(self.page.block),
            PageData::Buffer(_) => None,
        }
    }

    pub(super) fn is_raise(&self) -> bool {
        matches!(self.data, PageData::Raise(_))
    }
}

impl From<Program> for PageProgram {
    #[inline]
    fn from(program: Program) -> PageProgram {
        PageProgram {
            page: program.page,
            mode: program.mode,
            data: PageData::Buffer(program.from),
            bytes: program.bytes,
            spare: program.spare,
            complement: None,
            origin: program.origin,
        }
    }
}

impl From<ProgramPair> for PageProgram {
    fn from(pair: ProgramPair) -> PageProgram {
        debug_assert!(
            pair.complement.block == pair.program.page.block
                && pair.complement.page > pair.program.page.page,
            "pages of a pair are in the order of their block"
        );
        PageProgram {
            complement: Some(Box::new(Complement {
                page: pair.complement,
                spare: pair.spare,
            })),
            ..PageProgram::from(pair.program)
        }
    }
}

impl From<Copyback> for PageProgram {
    fn from(copyback: Copyback) -> PageProgram {
        PageProgram {
            page: copyback.to,
            mode: copyback.mode,
            data: PageData::Page(copyback.from),
            bytes: 0,
            spare: copyback.spare,
            complement: None,
            origin: copyback.origin,
        }
    }
}

impl From<Raise> for PageProgram {
    fn from(raise: Raise) -> PageProgram {
        PageProgram {
            page: raise.page,
            mode: ProgramMode::Slc,
            data: PageData::Raise(raise.from),
            bytes: 0,
            spare: SpareBytes::new().into(),
            complement: None,
            origin: raise.origin,
        }
    }
}

/// An operation for one plane, which can be part of a multi-plane command.
pub(super) trait PlaneOperation {
    /// A block of the plane that it is for.
    fn block(&self) -> BlockId;

    /// Whether it may go in one multi-plane command with `leader`: the same page
    /// offset (in any block), the same programming mode, both inverse or neither.
    fn merges_with(&self, leader: &Self) -> bool;
}

impl PlaneOperation for Read {
    #[inline]
    fn block(&self) -> BlockId {
        self.page.block
    }

    #[inline]
    fn merges_with(&self, leader: &Read) -> bool {
        self.page.page == leader.page.page && self.inverse == leader.inverse
    }
}

impl PlaneOperation for PageProgram {
    fn block(&self) -> BlockId {
        self.page.block
    }

    fn merges_with(&self, leader: &PageProgram) -> bool {
        let same_source = match (self.data, leader.data) {
            (PageData::Buffer(_), PageData::Buffer(_))
            | (PageData::Raise(_), PageData::Raise(_)) => true,
            (PageData::Page(from), PageData::Page(leaders)) => from.page == leaders.page,
            _ => false,
        };
        let complement = |program: &PageProgram| {
            let complement = program.complement.as_ref();
            complement.map(|complement| complement.page.page)
        };
        same_source
            && self.page.page == leader.page.page
            && self.mode == leader.mode
            && complement(self) == complement(leader)
    }
}

impl PlaneOperation for Erase {
    fn block(&self) -> BlockId {
        self.block
    }

    fn merges_with(&self, _leader: &Erase) -> bool {
        true
    }
}
