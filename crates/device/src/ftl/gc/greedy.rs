//! Greedy: the block with the fewest needed pages; the lowest number among equals.

use media::nand::{BlockId, PlaneId};

use crate::ftl::blocks::Blocks;

pub(super) fn victim(blocks: &Blocks, plane: PlaneId) -> Option<BlockId> {
    blocks
        .candidates(plane)
        .min_by_key(|(_, valid)| *valid)
        .map(|(block, _)| block)
}
