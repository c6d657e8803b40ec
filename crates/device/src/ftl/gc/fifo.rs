//! First in, first out: the block that was filled first (Desnoyers, SYSTOR 2012,
//! calls it LRU). One whose pages are all needed is passed over until it loses one.

use media::nand::BlockId;

use crate::ftl::blocks::View;

pub(super) fn victim(candidates: View<'_>) -> Option<BlockId> {
    candidates.oldest()
}
