//! Commands a die understands, as typed values.
//!
//! One primitive does all the sensing: for each bitline, OR over the blocks of (AND over the
//! wordlines), moved through the latches as the [`Iscm`] flags say. [`Command::Mws`] is that
//! primitive; a plain read is the same with one wordline and fixed flags, and ParaBit's serial AND and OR
//! are one-wordline senses with other flags.

mod cycles;
mod decode;
mod encode;
mod opcode;
mod wordlines;

pub use cycles::{BusCycle, CycleError};
pub use wordlines::WordlineBitmap;

use super::geometry::{BlockId, PLANES_PER_DIE_MAX, PageAddress};
use super::mode::ProgramMode;
use arrayvec::ArrayVec;

/// Blocks one multi-wordline sense can address: the address slots of its command
/// (Flash-Cosmos Figure 15).
pub const MWS_BLOCKS_MAX: usize = 4;

/// Steps by which a sense can raise its read voltage: what four bits of its flags byte tell.
pub const RAISE_MAX: u8 = 15;

/// One page per plane of a die.
pub type PageSet = ArrayVec<PageAddress, PLANES_PER_DIE_MAX>;
/// One block per plane of a die.
pub type BlockSet = ArrayVec<BlockId, PLANES_PER_DIE_MAX>;

/// A command to one die.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Senses pages, one per plane, into both latches.
    Read {
        /// The pages.
        pages: PageSet,
        /// Whether the inverse of the data is sensed.
        inverse: bool,
    },
    /// Moves what was sensed last from the S- to the C-latch, then senses pages into
    /// the S-latch while the C-latch may be read out.
    CacheRead {
        /// The pages to sense.
        pages: PageSet,
    },
    /// Ends a sequence of cache reads: moves the S- to the C-latch of these planes.
    CacheReadEnd {
        /// The planes.
        planes: PlaneMask,
    },
    /// Programs the page registers (C-latches) into pages, one per plane.
    Program {
        /// The pages.
        pages: PageSet,
        /// How, and with that how many bits a cell.
        mode: ProgramMode,
    },
    /// Programs the complement of what the page registers (C-latches) hold since the last program of their planes took it
    /// from there: the latches invert it, and no data crosses the channel (ANVIL 5.2, write inversion).
    ProgramComplement {
        /// The pages.
        pages: PageSet,
        /// How, and with that how many bits a cell.
        mode: ProgramMode,
    },
    /// Raises single cells of pages that are programmed, one per plane: what the page register (C-latch) has a zero for
    /// becomes zero, all else stays. The one exception to programming a page once: it invalidates names (ANVIL 4.3). The
    /// block has one bit a cell.
    Raise {
        /// The pages.
        pages: PageSet,
    },
    /// Erases blocks, one per plane.
    Erase {
        /// The blocks.
        blocks: BlockSet,
    },
    /// Multi-wordline sense (Flash-Cosmos 4.1, 6.2). Boxed, as it is ten times the size of the others.
    Mws(Box<Mws>),
    /// C-latch = S-latch XOR C-latch (Flash-Cosmos 6.1).
    Xor {
        /// The planes.
        planes: PlaneMask,
    },
    /// C-latch |= S-latch: ParaBit's activation of M3 (Flash-Cosmos 3.1).
    LatchTransfer {
        /// The planes.
        planes: PlaneMask,
    },
    /// S-latch = C-latch: the way that data to be programmed take, as a command of its own, so that a
    /// sensing latch that was read out can be filled again.
    LatchLoad {
        /// The planes.
        planes: PlaneMask,
    },
    /// Senses pages, spare bytes included, so that they can be programmed elsewhere in the same planes.
    CopybackRead {
        /// The pages.
        pages: PageSet,
    },
    /// Programs what the C-latches hold: after [`Command::CopybackRead`] the page read, after a
    /// [`Command::Mws`] its result.
    CopybackProgram {
        /// The pages.
        pages: PageSet,
        /// How, and with that how many bits a cell.
        mode: ProgramMode,
    },
    /// Suspends the program or erase in progress.
    Suspend,
    /// Resumes what was suspended.
    Resume,
    /// Sets a feature of the die.
    SetFeature {
        /// Which.
        feature: Feature,
        /// To what; see [`Feature`].
        value: u32,
    },
    /// Aborts whatever the die does and forgets latches and features.
    Reset,
    /// Asks for the status; keeps nothing busy.
    ReadStatus,
}

/// A multi-wordline sense. A search (ANVIL 4.1, SRCH) is one, too: of each pair of cells that a bit of a name is stored in, it
/// senses the first for a key of 1, the second for 0, neither for a bit that does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mws {
    /// What happens to the latches, the same in all planes.
    pub iscm: Iscm,
    /// Steps (`mws.raise_step_mv`) by which the read voltage of the wordlines is raised for this sense, up to
    /// [`RAISE_MAX`]: fewer low cells then read as zeros, more high ones as ones (ANVIL 5.1, false-negative voltage
    /// tuning).
    pub raise: u8,
    /// What is sensed, for each plane taking part.
    pub planes: ArrayVec<MwsPlane, PLANES_PER_DIE_MAX>,
}

impl Mws {
    /// Its name: of one wordline of each plane it is a sense as a read has it.
    pub(crate) fn name(&self) -> &'static str {
        let wordlines = |plane: &MwsPlane| -> u32 {
            let slots = plane.slots.iter();
            slots.map(|slot| slot.wordlines.count()).sum()
        };
        match self.planes.iter().all(|plane| wordlines(plane) == 1) {
            true => "single-wordline sense",
            false => "multi-wordline sense",
        }
    }
}

/// The four flags of a sense (Flash-Cosmos 6.2: inverse, S-latch, C-latch, move).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Iscm {
    /// Sense the inverse; requires `init_s`.
    pub inverse: bool,
    /// Start the S-latch anew; otherwise what is sensed is ANDed to it.
    pub init_s: bool,
    /// Start the C-latch anew with zeros.
    pub init_c: bool,
    /// Afterwards OR the S-latch into the C-latch.
    pub transfer: bool,
}

/// What one plane senses: the OR of its slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MwsPlane {
    /// One to four blocks of the plane, each at most once.
    pub slots: ArrayVec<MwsSlot, MWS_BLOCKS_MAX>,
}

/// The AND of wordlines of one string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MwsSlot {
    /// The block.
    pub block: BlockId,
    /// The string of the block.
    pub string: u32,
    /// The layers of the string.
    pub wordlines: WordlineBitmap,
}

/// Planes of one die, as a bit mask of their numbers within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneMask(pub u8);

/// A settable feature of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Feature {
    /// Length of an ESP program in percent of an SLC program, 100 to 1000 (Flash-Cosmos Figure 11);
    /// 0 restores the configured `program_esp_ns`.
    EspEffort = 0xE5,
    /// Steps (`ecc.retry_step_mv`) by which the die lowers its read references in page reads; 0 as by
    /// default.
    ReadReference = 0xE6,
}

impl Iscm {
    /// The flags of a plain read.
    pub const READ: Iscm = Iscm {
        inverse: false,
        init_s: true,
        init_c: true,
        transfer: true,
    };

    /// Whether the S-latch holds nothing afterwards of what it held.
    pub(crate) const fn begins_s(self) -> bool {
        self.inverse || self.init_s
    }

    /// The flags as the low half of the byte on the bus: inverse, S, C and move from bit 0 up.
    pub const fn to_byte(self) -> u8 {
        self.inverse as u8
            | (self.init_s as u8) << 1
            | (self.init_c as u8) << 2
            | (self.transfer as u8) << 3
    }

    /// The flags of a byte on the bus; `None` when other bits are set.
    pub const fn from_byte(byte: u8) -> Option<Iscm> {
        if byte > 0xF {
            return None;
        }
        Some(Iscm {
            inverse: byte & 1 != 0,
            init_s: byte & 2 != 0,
            init_c: byte & 4 != 0,
            transfer: byte & 8 != 0,
        })
    }
}

impl PlaneMask {
    /// The first `count` planes of a die.
    pub const fn first(count: u32) -> PlaneMask {
        PlaneMask(((1u16 << count) - 1) as u8)
    }

    /// Plane `index` of a die.
    pub const fn single(index: u32) -> PlaneMask {
        PlaneMask(1 << index)
    }

    /// The numbers of the planes, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..8).filter(move |&plane| self.0 & 1 << plane != 0)
    }

    /// How many planes.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

impl Command {
    /// A read of one page.
    pub fn read(page: PageAddress) -> Command {
        Command::Read {
            pages: PageSet::from_iter([page]),
            inverse: false,
        }
    }

    /// A program of one page.
    pub fn program(page: PageAddress, mode: ProgramMode) -> Command {
        Command::Program {
            pages: PageSet::from_iter([page]),
            mode,
        }
    }

    /// A raise of cells of one page.
    pub fn raise(page: PageAddress) -> Command {
        Command::Raise {
            pages: PageSet::from_iter([page]),
        }
    }

    /// An erase of one block.
    pub fn erase(block: BlockId) -> Command {
        Command::Erase {
            blocks: BlockSet::from_iter([block]),
        }
    }

    /// A multi-wordline sense.
    pub fn mws(iscm: Iscm, planes: ArrayVec<MwsPlane, PLANES_PER_DIE_MAX>) -> Command {
        Command::Mws(Box::new(Mws {
            iscm,
            raise: 0,
            planes,
        }))
    }

    /// The same sense with its read voltage raised by so many steps, up to [`RAISE_MAX`]; other commands have none to
    /// raise and stay as they are.
    #[must_use]
    pub fn raised(mut self, steps: u8) -> Command {
        if let Command::Mws(mws) = &mut self {
            mws.raise = steps;
        }
        self
    }

    /// One step of ParaBit's serial AND (Flash-Cosmos Figure 6(b)): the `first` starts the
    /// latches anew, the `last` moves the result to the C-latch.
    pub fn parabit_and_step(operand: Mws, first: bool, last: bool) -> Command {
        Command::parabit_step(
            operand,
            Iscm {
                inverse: false,
                init_s: first,
                init_c: first,
                transfer: last,
            },
        )
    }

    /// One step of ParaBit's serial OR (Flash-Cosmos Figure 6(c)): each starts the S-latch anew
    /// and moves what it sensed to the C-latch, which the `first` starts anew.
    pub fn parabit_or_step(operand: Mws, first: bool) -> Command {
        Command::parabit_step(
            operand,
            Iscm {
                inverse: false,
                init_s: true,
                init_c: first,
                transfer: true,
            },
        )
    }

    fn parabit_step(mut operand: Mws, iscm: Iscm) -> Command {
        operand.iscm = iscm;
        Command::Mws(Box::new(operand))
    }

    /// The name of the command, for messages and traces.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Read { inverse: false, .. } => "read",
            Command::Read { inverse: true, .. } => "inverse read",
            Command::CacheRead { .. } => "cache read",
            Command::CacheReadEnd { .. } => "cache read end",
            Command::Program { .. } => "program",
            Command::ProgramComplement { .. } => "complement program",
            Command::Raise { .. } => "raise",
            Command::Erase { .. } => "erase",
            Command::Mws(mws) => mws.name(),
            Command::Xor { .. } => "xor",
            Command::LatchTransfer { .. } => "latch transfer",
            Command::LatchLoad { .. } => "latch load",
            Command::CopybackRead { .. } => "copyback read",
            Command::CopybackProgram { .. } => "copyback program",
            Command::Suspend => "suspend",
            Command::Resume => "resume",
            Command::SetFeature { .. } => "set feature",
            Command::Reset => "reset",
            Command::ReadStatus => "read status",
        }
    }
}

impl Mws {
    /// A sense of single pages (of blocks with one bit per cell), one a plane, with unset flags: the
    /// operand of a ParaBit step. `wordlines` are (block, string, layer).
    pub fn single_wordlines(wordlines: impl IntoIterator<Item = (BlockId, u32, u32)>) -> Mws {
        let planes = wordlines
            .into_iter()
            .map(|(block, string, layer)| MwsPlane {
                slots: ArrayVec::from_iter([MwsSlot {
                    block,
                    string,
                    wordlines: WordlineBitmap::single(layer),
                }]),
            })
            .collect();
        Mws {
            iscm: Iscm::default(),
            raise: 0,
            planes,
        }
    }
}
