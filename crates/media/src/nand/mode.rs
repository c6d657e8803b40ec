//! Program modes: how many bits a cell holds and how carefully it is programmed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bits per cell of the densest mode of a drive that is not for denser ones: page numbers of a block stay below its
/// wordlines times [`crate::nand::Geometry::bits_per_cell_max`], which is at least this.
pub const BITS_PER_CELL_USUAL: u32 = 3;
/// Types of pages in the densest mode.
pub(super) const PAGE_TYPES_MAX: usize = 4;

/// How the pages of a block are programmed. A block takes the mode of its first
/// program and keeps it until it is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum ProgramMode {
    /// One bit per cell.
    Slc = 1,
    /// One bit per cell with additional ISPP steps (Flash-Cosmos 4.2): slower to
    /// program, free of raw bit errors, fit to be computed on.
    Esp = 2,
    /// Two bits per cell.
    Mlc = 3,
    /// Three bits per cell.
    Tlc = 4,
    /// Four bits per cell.
    Qlc = 5,
}

impl ProgramMode {
    /// Every mode.
    pub const ALL: [ProgramMode; 5] = [
        ProgramMode::Slc,
        ProgramMode::Esp,
        ProgramMode::Mlc,
        ProgramMode::Tlc,
        ProgramMode::Qlc,
    ];

    /// Bits one cell holds, which is also the pages one wordline holds.
    pub const fn bits_per_cell(self) -> u32 {
        match self {
            ProgramMode::Slc | ProgramMode::Esp => 1,
            ProgramMode::Mlc => 2,
            ProgramMode::Tlc => 3,
            ProgramMode::Qlc => 4,
        }
    }

    /// Which of the pages of its cells a page of a block is: lower (0), middle (1) or upper;
    /// the last number is that of the most significant bit. MLC and QLC pages alternate; TLC pages are in the
    /// order of Yaakobi et al. (ICNC 2012), as in MQSim: six lower pages, two middle ones, then
    /// pairs in turn.
    pub const fn page_type(self, page: u32) -> usize {
        match self {
            ProgramMode::Slc | ProgramMode::Esp => 0,
            ProgramMode::Mlc => page as usize % 2,
            ProgramMode::Qlc => page as usize % 4,
            ProgramMode::Tlc => match page {
                0..=5 => 0,
                6..=7 => 1,
                _ => (page as usize - 8) / 2 % 3,
            },
        }
    }

    /// The mode of a code as stored in images; `None` for 0 and unknown codes.
    pub(crate) const fn from_code(code: u8) -> Option<ProgramMode> {
        match code {
            1 => Some(ProgramMode::Slc),
            2 => Some(ProgramMode::Esp),
            3 => Some(ProgramMode::Mlc),
            4 => Some(ProgramMode::Tlc),
            5 => Some(ProgramMode::Qlc),
            _ => None,
        }
    }
}

impl fmt::Display for ProgramMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProgramMode::Slc => "SLC",
            ProgramMode::Esp => "ESP",
            ProgramMode::Mlc => "MLC",
            ProgramMode::Tlc => "TLC",
            ProgramMode::Qlc => "QLC",
        })
    }
}
