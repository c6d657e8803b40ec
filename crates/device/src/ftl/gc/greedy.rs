//! Greedy: the block with the fewest needed pages; among equals the one that has
//! been so for the longest time.

use media::nand::BlockId;

use crate::ftl::blocks::View;

pub(super) fn victim(candidates: View<'_>) -> Option<BlockId> {
    candidates.emptiest()
}
