//! Commands as cycles on the bus.
//!
//! Opcodes are ONFI's where it has them (ONFI 4.2, table 5-1) and free codes of ours elsewhere. Addresses
//! are relative to the chip, whose selection is a wire of its own: a row address is the dense
//! number of the page in the chip, least significant byte first. The multi-wordline sense has
//! Flash-Cosmos Figure 15's slots: opcode, ISCM (and above its four bits those of the raise), then block, string and page bitmap (PBM) for each
//! block, with CONT between the blocks and CONF at the end.

use super::super::geometry::Geometry;
use super::Command;

/// One cycle of the bus in a command or address phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusCycle {
    /// A command latch cycle.
    Command(u8),
    /// An address latch cycle; also the ISCM slot and the parameters of a feature.
    Address(u8),
}

/// Cycles that are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CycleError {
    /// The cycles end within a command.
    #[error("the cycles end after {at}, within a command")]
    Truncated {
        /// How many cycles there are.
        at: usize,
    },
    /// A cycle that cannot stand where it does.
    #[error("cycle {at} is {found:?}, which no command has there")]
    Unexpected {
        /// Which cycle.
        at: usize,
        /// What it is.
        found: BusCycle,
    },
    /// A field whose value no command can have.
    #[error("the {field} that ends before cycle {at} has no legal value")]
    BadField {
        /// The cycle after the field.
        at: usize,
        /// Which field.
        field: &'static str,
    },
}

/// Bytes needed for numbers below `count`.
const fn bytes_for(count: u64) -> usize {
    let bits = (u64::BITS - (count - 1).leading_zeros()) as usize;
    if bits == 0 { 1 } else { bits.div_ceil(8) }
}

/// How many cycles the parts of an address take in a geometry.
#[derive(Clone, Copy)]
pub(super) struct Widths {
    pub(super) column: usize,
    pub(super) row: usize,
    pub(super) block: usize,
    pub(super) bitmap: usize,
}

impl Widths {
    pub(super) fn of(geometry: &Geometry) -> Widths {
        let blocks = u64::from(geometry.dies_per_chip) * u64::from(geometry.blocks_per_die());
        Widths {
            column: bytes_for(u64::from(geometry.page_bytes + geometry.spare_bytes)),
            row: bytes_for(blocks * u64::from(geometry.pages_per_block_max())),
            block: bytes_for(blocks),
            bitmap: geometry.cells_per_string.div_ceil(8) as usize,
        }
    }

    /// A block address, a string and a page bitmap.
    fn slot(&self) -> usize {
        self.block + 1 + self.bitmap
    }
}

/// Parameter bytes of a feature (ONFI's P1 to P4).
pub(super) const FEATURE_BYTES: usize = 4;

impl Command {
    /// How many cycles [`Command::encode`] writes.
    pub fn cycle_count(&self, geometry: &Geometry) -> usize {
        let widths = Widths::of(geometry);
        let page = widths.column + widths.row;
        match self {
            Command::Read { pages, .. }
            | Command::CacheRead { pages }
            | Command::Raise { pages }
            | Command::CopybackRead { pages } => pages.len() * (2 + page),
            Command::Program { pages, .. }
            | Command::ProgramComplement { pages, .. }
            | Command::CopybackProgram { pages, .. } => 1 + pages.len() * (2 + page),
            Command::Erase { blocks } => blocks.len() * (2 + widths.block),
            Command::Mws(mws) => {
                let slots: usize = mws.planes.iter().map(|plane| plane.slots.len()).sum();
                2 + slots * (widths.slot() + 1)
            }
            Command::CacheReadEnd { .. }
            | Command::Xor { .. }
            | Command::LatchTransfer { .. }
            | Command::LatchLoad { .. } => 2,
            Command::SetFeature { .. } => 2 + FEATURE_BYTES,
            Command::Suspend | Command::Resume | Command::Reset | Command::ReadStatus => 1,
        }
    }
}
