//! Finding the root of the last checkpoint, and what must be read beside it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use media::nand::{BlockId, PageAddress, Ppa};

use super::scan::{First, Scanner};
use crate::ftl::checkpoint::Root;
use crate::ftl::spare::Content;
use crate::region::Owner;

/// A root, and the block that it is in.
pub(super) struct FoundRoot {
    pub(super) root: Root,
    pub(super) block: BlockId,
}

impl Scanner {
    pub(super) fn sort(&self) {
        let mut scan = self.scan.borrow_mut();
        scan.records.sort_unstable_by_key(|(at, _)| *at);
    }

    /// The root of the last checkpoint that was completed, for a table of so many mapping pages.
    pub(super) async fn find_root(self: &Rc<Scanner>, mapping_pages: u32) -> Option<FoundRoot> {
        let mut blocks = self.root_blocks();
        blocks.sort_unstable();
        while let Some((_, block)) = blocks.pop() {
            self.read_blocks(&[block].into()).await;
            for pages in self.complete_roots(block) {
                if let Some(root) = self.read_root(pages).await
                    && root.mapping_pages.len() == mapping_pages as usize
                {
                    return Some(FoundRoot { root, block });
                }
            }
        }
        None
    }

    /// The blocks of roots, each with the sequence number of its first page.
    fn root_blocks(&self) -> Vec<(u64, BlockId)> {
        let scan = self.scan.borrow();
        let blocks = scan.blocks.iter().zip((0..).map(BlockId));
        blocks
            .filter_map(|((first, _), block)| match first {
                First::Record(record) if matches!(record.content, Content::Root { .. }) => {
                    Some((record.sequence, block))
                }
                _ => None,
            })
            .collect()
    }

    /// The pages of every complete root of a block, the last root first.
    fn complete_roots(&self, block: BlockId) -> Vec<Vec<Ppa>> {
        let scan = self.scan.borrow();
        let mut roots: BTreeMap<u64, BTreeMap<u16, (u64, Ppa, u16)>> = BTreeMap::new();
        for (at, record) in &scan.records {
            let page = self.unit.page(*at);
            if let Content::Root { index, count } = record.content
                && self.block_of(page) == block
            {
                // Of a page written twice, the later.
                let found = (record.sequence, page, count);
                let kept = roots.entry(record.version).or_default();
                let kept = kept.entry(index).or_insert(found);
                *kept = found.max(*kept);
            }
        }
        let complete = |pages: &BTreeMap<u16, (u64, Ppa, u16)>| {
            pages
                .values()
                .all(|page| usize::from(page.2) == pages.len())
        };
        let newest_first = roots.into_values().rev().filter(complete);
        newest_first
            .map(|pages| pages.into_values().map(|page| page.1).collect())
            .collect()
    }

    async fn read_root(self: &Rc<Scanner>, pages: Vec<Ppa>) -> Option<Root> {
        let read = Rc::new(RefCell::new(vec![Vec::new(); pages.len()]));
        let into = read.clone();
        self.read_contents(pages, move |index, _, content| {
            into.borrow_mut()[index] = content.to_vec();
        })
        .await;
        let read = read.take();
        read.iter()
            .all(|page| !page.is_empty())
            .then(|| Root::decode(&read.concat()))
            .flatten()
    }

    /// The blocks that must be read wholly, ascending.
    pub(super) fn blocks_to_scan(&self, root: Option<&FoundRoot>) -> Rc<[BlockId]> {
        let scan = self.scan.borrow();
        let listed: BTreeSet<BlockId> = root.map_or_else(BTreeSet::new, |found| {
            found.root.blocks.iter().copied().collect()
        });
        let must = |block: &BlockId| {
            let Some(FoundRoot { root, .. }) = root else {
                return true;
            };
            match scan.blocks[block.0 as usize].0 {
                First::None | First::Foreign => true,
                // Which of their pages are stored inverted is in their records only.
                First::Record(first)
                    if matches!(
                        first.content.owner(),
                        Owner::Compute | Owner::Temporary | Owner::Search
                    ) =>
                {
                    true
                }
                First::Record(first) => first.sequence >= root.begin || listed.contains(block),
            }
        };
        (0..scan.blocks.len() as u32)
            .map(BlockId)
            .filter(must)
            .collect()
    }

    pub(super) fn block_of(&self, page: Ppa) -> BlockId {
        let PageAddress { block, .. } = self.geometry.page_address(page);
        block
    }
}
