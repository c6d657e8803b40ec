//! Where vectors are: groups of them share strings, so that few senses combine them.
//!
//! A vector is cut into chunks of one page. Chunk `k` is in the same plane for every vector of
//! every group with the same [`Home`], which is all dies unless said otherwise: so all these can meet
//! in one sense. Within a group, vector after vector takes
//! the next layer of the group's current *row set*: one string per chunk, `cells_per_string` layers
//! deep. A block holds the strings of consecutive stripes of one row set of one group and of
//! nothing else; hence different groups, and different row sets of a group, are always in different
//! blocks and can be ORed in one sense.

mod group;
mod groups;
mod layout;
mod rebuild;
mod spare;
mod temporary;
#[cfg(test)]
pub(in crate::bits) mod tests;

pub use groups::{Deletion, Groups, PendingWrite, Reclaim};
pub use layout::{DieBatch, Layout, StringAddress};
pub use nvme::command::Home;
pub use rebuild::rebuild;
pub use spare::{SPARE_BYTES, VectorSpare};

use media::nand::{BlockId, PlaneId};

/// The longest vector that a page's record can state, in bits.
pub const BITS_MAX: u64 = (1 << 48) - 1;

/// A set of strings, one for every chunk, whose layers hold whole vectors of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowSetId {
    /// The group.
    pub group: u32,
    /// Number of the row set in the group; not reused while any row set of the group exists.
    pub row_set: u32,
}

/// The group of row sets that hold pages for the time of one evaluation. No vector is named so.
pub const TEMPORARY: u32 = u32::MAX;

/// Where a vector is and how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorPlacement {
    /// The strings that hold it.
    pub row_set: RowSetId,
    /// The wordline in every one of them.
    pub layer: u32,
    /// Whether its inverse is what is stored.
    pub inverse: bool,
    /// Its length in bits.
    pub bits: u64,
}

/// Who gives blocks to groups: the flash translation layer.
pub trait BlockSource {
    /// An erased block of `plane`, from now on the caller's; `None` if there is none to spare.
    fn allocate_block(&mut self, plane: PlaneId) -> Option<BlockId>;
    /// Takes back a block from [`BlockSource::allocate_block`] that was never programmed.
    fn release_block(&mut self, block: BlockId);
}
