//! The free blocks of a plane, and which of them goes next.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use media::nand::BlockId;

/// Free blocks. Those that were never used are a range, so that a drive of
/// terabytes opens at once; they have the fewest erases there are.
pub(super) struct FreeBlocks {
    fresh: Range<u32>,
    used: Used,
}

enum Used {
    /// In the order in which they were erased.
    InTurn(VecDeque<BlockId>),
    /// By number of erases, then by number.
    ByWear(BTreeSet<(u32, u32)>),
}

impl FreeBlocks {
    /// None; `by_wear` says whether the one with the fewest erases goes first.
    pub(super) fn new(by_wear: bool) -> FreeBlocks {
        FreeBlocks {
            fresh: 0..0,
            used: if by_wear {
                Used::ByWear(BTreeSet::new())
            } else {
                Used::InTurn(VecDeque::new())
            },
        }
    }

    /// All blocks of a blank plane.
    pub(super) fn fill(&mut self, fresh: Range<u32>) {
        self.fresh = fresh;
    }

    pub(super) fn len(&self) -> usize {
        let used = match &self.used {
            Used::InTurn(blocks) => blocks.len(),
            Used::ByWear(blocks) => blocks.len(),
        };
        self.fresh.len() + used
    }

    /// Adds a block that was erased `erases` times.
    pub(super) fn push(&mut self, block: BlockId, erases: u32) {
        match &mut self.used {
            Used::InTurn(blocks) => blocks.push_back(block),
            Used::ByWear(blocks) => {
                blocks.insert((erases, block.0));
            }
        }
    }

    /// Takes the block whose turn it is, or the least worn.
    pub(super) fn pop(&mut self) -> Option<BlockId> {
        if let Some(fresh) = self.fresh.next() {
            return Some(BlockId(fresh));
        }
        match &mut self.used {
            Used::InTurn(blocks) => blocks.pop_front(),
            Used::ByWear(blocks) => blocks.pop_first().map(|(_, block)| BlockId(block)),
        }
    }

    /// Takes the most worn block; if wear does not count, the last in turn.
    pub(super) fn pop_most_worn(&mut self) -> Option<BlockId> {
        let used = match &mut self.used {
            Used::InTurn(blocks) => blocks.pop_back(),
            Used::ByWear(blocks) => blocks.pop_last().map(|(_, block)| BlockId(block)),
        };
        used.or_else(|| self.fresh.next_back().map(BlockId))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_blocks_go_first_and_then_the_least_worn() {
        let mut free = FreeBlocks::new(true);
        free.fill(10..12);
        for (block, erases) in [(3, 7), (4, 2), (5, 9)] {
            free.push(BlockId(block), erases);
        }
        assert_eq!(free.pop_most_worn(), Some(BlockId(5)));
        let order: Vec<_> = std::iter::from_fn(|| free.pop())
            .map(|block| block.0)
            .collect();
        assert_eq!(order, [10, 11, 4, 3]);
    }

    #[test]
    fn without_levelling_blocks_go_in_turn() {
        let mut free = FreeBlocks::new(false);
        for (block, erases) in [(3, 7), (4, 2), (5, 9)] {
            free.push(BlockId(block), erases);
        }
        let order: Vec<_> = std::iter::from_fn(|| free.pop())
            .map(|block| block.0)
            .collect();
        assert_eq!(order, [3, 4, 5]);
    }
}
