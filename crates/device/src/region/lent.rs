//! Blocks lent to an owner that knows by itself what lies where in them, until it gives them back.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use media::nand::BlockId;

use super::Owner;

/// Which blocks are lent, and to whom.
#[derive(Default)]
pub struct Lent {
    /// By owner, those that it has.
    blocks: BTreeMap<Owner, BTreeSet<u32>>,
    /// Those that recovery found, until their owner says which of them it needs.
    found: BTreeMap<Owner, Vec<BlockId>>,
    /// One that is hardly ever erased, which its owner is to move.
    cold: Option<BlockId>,
}

impl Lent {
    /// An owner has a block from now on.
    pub fn lend(&mut self, owner: Owner, block: BlockId) {
        self.blocks.entry(owner).or_default().insert(block.0);
    }

    /// A block is lent no more.
    pub fn settle(&mut self, block: BlockId) {
        for blocks in self.blocks.values_mut() {
            blocks.remove(&block.0);
        }
    }

    /// Recovery found a block that is an owner's.
    pub(super) fn find(&mut self, owner: Owner, block: BlockId) {
        self.found.entry(owner).or_default().push(block);
    }

    /// The blocks that recovery found of an owner, which has them from now on; the second time there are none.
    pub fn adopt(&mut self, owner: Owner) -> Vec<BlockId> {
        let found = self.found.remove(&owner).unwrap_or_default();
        found.iter().for_each(|block| self.lend(owner, *block));
        found
    }

    /// Whether an owner has a block.
    pub fn has(&self, owner: Owner, block: BlockId) -> bool {
        let blocks = self.blocks.get(&owner);
        blocks.is_some_and(|blocks| blocks.contains(&block.0))
    }

    /// How many blocks an owner has.
    pub fn count(&self, owner: Owner) -> usize {
        self.blocks.get(&owner).map_or(0, BTreeSet::len)
    }

    /// Whether nobody has any.
    pub fn is_empty(&self) -> bool {
        self.blocks.values().all(BTreeSet::is_empty)
    }

    /// Those among these blocks that an owner has.
    pub fn among(&self, owner: Owner, blocks: Range<u32>) -> impl Iterator<Item = BlockId> + '_ {
        let of_owner = self.blocks.get(&owner).into_iter();
        of_owner.flat_map(move |all| all.range(blocks.clone()).copied().map(BlockId))
    }

    /// The block that its owner is to move.
    pub fn cold(&self) -> Option<BlockId> {
        self.cold
    }

    /// Names it, or says that it was moved.
    pub fn set_cold(&mut self, block: Option<BlockId>) {
        self.cold = block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_recovery_found_is_adopted_once_and_has_one_owner() {
        let mut lent = Lent::default();
        lent.find(Owner::Search, BlockId(7));
        lent.find(Owner::Search, BlockId(3));
        assert!(lent.is_empty());
        assert_eq!(lent.adopt(Owner::Temporary), []);
        assert_eq!(lent.adopt(Owner::Search), [BlockId(7), BlockId(3)]);
        assert_eq!(lent.adopt(Owner::Search), []);
        lent.lend(Owner::Temporary, BlockId(5));
        let among: Vec<BlockId> = lent.among(Owner::Search, 4..8).collect();
        assert_eq!(among, [BlockId(7)]);
        assert_eq!(lent.count(Owner::Search), 2);
        lent.settle(BlockId(7));
        assert!(!lent.has(Owner::Search, BlockId(7)) && lent.has(Owner::Search, BlockId(3)));
        assert_eq!(
            [Owner::Search, Owner::Temporary].map(|owner| lent.count(owner)),
            [1, 1]
        );
    }
}
