//! Geometry of the flash packages and the addresses in it.
//!
//! Everything is numbered globally and densely: a die is
//! `(channel * chips + chip) * dies + die`, a plane `die * planes + plane`, a block
//! `plane * blocks + block`. A page index runs over the strings of one layer before the
//! next layer begins (and over the bits of a cell first), so that filling the
//! strings layer by layer is ascending page order.

use super::mode::{BITS_PER_CELL_USUAL, PAGE_TYPES_MAX, ProgramMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Planes of a die, at most: the width of a multi-plane command.
pub const PLANES_PER_DIE_MAX: usize = 4;
/// Cells of a string, at most: the width of a page bitmap.
pub const CELLS_PER_STRING_MAX: u32 = 256;

/// What the flash packages of a drive look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels of the drive.
    pub channels: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// Dies in each chip.
    pub dies_per_chip: u32,
    /// Planes of each die, at most [`PLANES_PER_DIE_MAX`].
    pub planes_per_die: u32,
    /// Blocks of each plane.
    pub blocks_per_plane: u32,
    /// Strings (sub-blocks) of each block.
    pub strings_per_block: u32,
    /// Cells, that is data wordlines, of each string, at most [`CELLS_PER_STRING_MAX`].
    pub cells_per_string: u32,
    /// Data bytes of a page; a multiple of 8.
    pub page_bytes: u32,
    /// Spare (out-of-band) bytes of a page.
    pub spare_bytes: u32,
    /// Bits that a cell can hold: pages are numbered by them. As many as the densest mode in use needs, and at least
    /// [`BITS_PER_CELL_USUAL`].
    #[serde(skip, default = "usual")]
    pub bits_per_cell_max: u32,
}

const fn usual() -> u32 {
    BITS_PER_CELL_USUAL
}

/// A geometry no flash could have: which key, and what it may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("geometry.{key} = {value} is not possible; {allowed}")]
pub struct GeometryError {
    key: &'static str,
    value: u64,
    allowed: String,
}

/// A channel of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub u32);

/// A die, numbered over the whole drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DieId(pub u32);

/// A plane, numbered over the whole drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaneId(pub u32);

/// A block, numbered over the whole drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// A page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageAddress {
    /// The block.
    pub block: BlockId,
    /// The page index in the block, in the block's program mode.
    pub page: u32,
}

/// A physical page address: `block * pages_per_block_max + page` in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppa(pub u32);

/// Which cells of a block a page is stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wordline {
    /// The string of the block.
    pub string: u32,
    /// The position in the string.
    pub layer: u32,
    /// The bit of the cell, 0 in modes of one bit per cell.
    pub bit: u32,
}

impl Geometry {
    /// Checks that such flash can exist and be addressed.
    ///
    /// # Errors
    /// The first key that is out of its range, with the range.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let fail = |key, value: u32, allowed: String| {
            Err(GeometryError {
                key,
                value: u64::from(value),
                allowed,
            })
        };
        let counts = [
            ("channels", self.channels, 1 << 16),
            ("chips_per_channel", self.chips_per_channel, 1 << 16),
            ("dies_per_chip", self.dies_per_chip, 256),
            (
                "planes_per_die",
                self.planes_per_die,
                PLANES_PER_DIE_MAX as u32,
            ),
            ("blocks_per_plane", self.blocks_per_plane, 1 << 24),
            ("strings_per_block", self.strings_per_block, 256),
            (
                "cells_per_string",
                self.cells_per_string,
                CELLS_PER_STRING_MAX,
            ),
            ("page_bytes", self.page_bytes, 1 << 20),
        ];
        for (key, value, most) in counts {
            if value == 0 || value > most {
                return fail(key, value, format!("it must be 1 to {most}"));
            }
        }
        if !self.page_bytes.is_multiple_of(8) {
            return fail(
                "page_bytes",
                self.page_bytes,
                "it must be a multiple of 8".to_owned(),
            );
        }
        if self.spare_bytes > u32::from(u16::MAX) {
            return fail(
                "spare_bytes",
                self.spare_bytes,
                format!("it must be 0 to {}", u16::MAX),
            );
        }
        if !(BITS_PER_CELL_USUAL..=PAGE_TYPES_MAX as u32).contains(&self.bits_per_cell_max) {
            return fail(
                "bits_per_cell_max",
                self.bits_per_cell_max,
                format!("it must be {BITS_PER_CELL_USUAL} to {PAGE_TYPES_MAX}"),
            );
        }
        self.validate_products()
    }

    /// The part of [`Geometry::validate`] about keys that are too large only together.
    fn validate_products(&self) -> Result<(), GeometryError> {
        let pages = u64::from(self.strings_per_block)
            * u64::from(self.cells_per_string)
            * u64::from(self.bits_per_cell_max);
        let blocks = [
            self.chips_per_channel,
            self.dies_per_chip,
            self.planes_per_die,
            self.blocks_per_plane,
        ]
        .iter()
        .fold(u64::from(self.channels), |product, &count| {
            product.saturating_mul(u64::from(count))
        });
        if pages > u64::from(u16::MAX) {
            return Err(GeometryError {
                key: "strings_per_block * cells_per_string * bits of a cell",
                value: pages,
                allowed: format!("a block has at most {} pages", u16::MAX),
            });
        }
        if blocks.saturating_mul(pages) > u64::from(u32::MAX) {
            return Err(GeometryError {
                key: "pages of the drive",
                value: blocks.saturating_mul(pages),
                allowed: format!("a page address has 32 bits, so at most {}", u32::MAX),
            });
        }
        Ok(())
    }

    /// Chips of the drive.
    pub const fn chips(&self) -> u32 {
        self.channels * self.chips_per_channel
    }

    /// Dies of the drive.
    pub const fn dies(&self) -> u32 {
        self.chips() * self.dies_per_chip
    }

    /// Dies on each channel.
    pub const fn dies_per_channel(&self) -> u32 {
        self.chips_per_channel * self.dies_per_chip
    }

    /// Planes of the drive.
    pub const fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }

    /// Blocks of each die.
    pub const fn blocks_per_die(&self) -> u32 {
        self.planes_per_die * self.blocks_per_plane
    }

    /// Blocks of the drive.
    pub const fn blocks(&self) -> u32 {
        self.planes() * self.blocks_per_plane
    }

    /// Wordlines of each block, over all its strings.
    pub const fn wordlines_per_block(&self) -> u32 {
        self.strings_per_block * self.cells_per_string
    }

    /// Pages of a block programmed in `mode`.
    pub const fn pages_per_block(&self, mode: ProgramMode) -> u32 {
        self.wordlines_per_block() * mode.bits_per_cell()
    }

    /// The densest mode that a block can be programmed in.
    pub const fn densest_mode(&self) -> ProgramMode {
        match self.bits_per_cell_max {
            4 => ProgramMode::Qlc,
            _ => ProgramMode::Tlc,
        }
    }

    /// Pages of a block in the densest mode: the stride of [`Ppa`].
    pub const fn pages_per_block_max(&self) -> u32 {
        self.wordlines_per_block() * self.bits_per_cell_max
    }

    /// 64-bit words of a page.
    pub const fn page_words(&self) -> usize {
        (self.page_bytes / 8) as usize
    }

    /// The plane a block is in.
    pub const fn plane_of_block(&self, block: BlockId) -> PlaneId {
        PlaneId(block.0 / self.blocks_per_plane)
    }

    /// The die a block is in.
    pub const fn die_of_block(&self, block: BlockId) -> DieId {
        DieId(block.0 / self.blocks_per_die())
    }

    /// The die a plane is in.
    pub const fn die_of_plane(&self, plane: PlaneId) -> DieId {
        DieId(plane.0 / self.planes_per_die)
    }

    /// The channel a die is on.
    pub const fn channel_of_die(&self, die: DieId) -> ChannelId {
        ChannelId(die.0 / self.dies_per_channel())
    }

    /// The number of a plane within its die.
    pub const fn plane_in_die(&self, plane: PlaneId) -> u32 {
        plane.0 % self.planes_per_die
    }

    /// The plane numbered `index` within `die`.
    pub const fn plane_of_die(&self, die: DieId, index: u32) -> PlaneId {
        PlaneId(die.0 * self.planes_per_die + index)
    }

    /// The block numbered `index` within `plane`.
    pub const fn block_of_plane(&self, plane: PlaneId, index: u32) -> BlockId {
        BlockId(plane.0 * self.blocks_per_plane + index)
    }

    /// The numbers of all blocks of `plane`.
    pub const fn blocks_of_plane(&self, plane: PlaneId) -> Range<u32> {
        plane.0 * self.blocks_per_plane..(plane.0 + 1) * self.blocks_per_plane
    }

    /// Whether the drive has this die.
    pub const fn has_die(&self, die: DieId) -> bool {
        die.0 < self.dies()
    }

    /// The first block of the chip that `die` is in.
    pub(crate) const fn first_block_of_chip(&self, die: DieId) -> u32 {
        die.0 / self.dies_per_chip * self.dies_per_chip * self.blocks_per_die()
    }

    /// The dense form of a page address. Every address of a valid geometry fits.
    pub const fn ppa(&self, page: PageAddress) -> Ppa {
        Ppa(page.block.0 * self.pages_per_block_max() + page.page)
    }

    /// The page address of a dense one.
    pub const fn page_address(&self, ppa: Ppa) -> PageAddress {
        PageAddress {
            block: BlockId(ppa.0 / self.pages_per_block_max()),
            page: ppa.0 % self.pages_per_block_max(),
        }
    }

    /// The cells that page `page` of a block in `mode` is stored in.
    pub const fn wordline(&self, mode: ProgramMode, page: u32) -> Wordline {
        let index = page / mode.bits_per_cell();
        Wordline {
            string: index % self.strings_per_block,
            layer: index / self.strings_per_block,
            bit: page % mode.bits_per_cell(),
        }
    }

    /// The page stored in the given cells of a block in `mode`.
    pub const fn page(&self, mode: ProgramMode, wordline: Wordline) -> u32 {
        (wordline.layer * self.strings_per_block + wordline.string) * mode.bits_per_cell()
            + wordline.bit
    }

    /// The page of a block with one bit per cell at `string` and `layer`.
    pub const fn page_at(&self, string: u32, layer: u32) -> u32 {
        layer * self.strings_per_block + string
    }

    /// Where a plane is, for messages.
    pub const fn plane_place(&self, plane: PlaneId) -> PlanePlace {
        let die = self.die_of_plane(plane).0;
        let chip = die / self.dies_per_chip;
        PlanePlace {
            channel: chip / self.chips_per_channel,
            chip: chip % self.chips_per_channel,
            die: die % self.dies_per_chip,
            plane: plane.0 % self.planes_per_die,
        }
    }

    /// Where a block is, for messages.
    pub const fn block_place(&self, block: BlockId) -> BlockPlace {
        BlockPlace {
            plane: self.plane_place(self.plane_of_block(block)),
            block: block.0 % self.blocks_per_plane,
        }
    }

    /// Where a page is, for messages; `mode` is the mode of its block.
    pub const fn page_place(&self, address: PageAddress, mode: ProgramMode) -> PagePlace {
        PagePlace {
            block: self.block_place(address.block),
            page: address.page,
            wordline: self.wordline(mode, address.page),
        }
    }
}

/// Where a plane is, printed as "channel 3 chip 1 die 0 plane 1".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanePlace {
    /// The channel.
    pub channel: u32,
    /// The chip on the channel.
    pub chip: u32,
    /// The die in the chip.
    pub die: u32,
    /// The plane of the die.
    pub plane: u32,
}

/// Where a block is, printed as its plane and "block 17".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockPlace {
    /// The plane.
    pub plane: PlanePlace,
    /// The block of the plane.
    pub block: u32,
}

/// Where a page is, printed as its block and "page 5 (string 1, layer 1)".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PagePlace {
    /// The block.
    pub block: BlockPlace,
    /// The page of the block.
    pub page: u32,
    /// The cells.
    pub wordline: Wordline,
}

impl fmt::Display for PlanePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "channel {} chip {} die {} plane {}",
            self.channel, self.chip, self.die, self.plane
        )
    }
}

impl fmt::Display for BlockPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} block {}", self.plane, self.block)
    }
}

impl fmt::Display for PagePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wordline { string, layer, .. } = self.wordline;
        write!(
            f,
            "{} page {} (string {string}, layer {layer})",
            self.block, self.page
        )
    }
}
