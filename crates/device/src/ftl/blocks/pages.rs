//! Which pages hold something that is still needed, and which of them hold its complement.

use std::collections::BTreeSet;

use media::nand::{BlockId, PageAddress, Ppa};
use sim::memory;

use super::{Blocks, Use};

impl Blocks {
    /// The program of an allocated page is over; `needed` says whether the page
    /// holds something that must be kept. True if the programs of a block are now over that is
    /// failing, of the SLC cache or of the region.
    #[inline]
    pub(in crate::ftl) fn settle(&mut self, address: PageAddress, needed: bool) -> bool {
        self.candidates.tick();
        let block = &mut self.blocks[address.block.0 as usize];
        block.pending -= 1;
        let (drained, usage) = (block.pending == 0, block.usage);
        let cached = block.in_slc_cache;
        if needed {
            self.validate(self.geometry.ppa(address));
        }
        if drained && usage == Use::Closed {
            self.close(address.block);
        }
        let others = matches!(usage, Use::Failing | Use::Compute);
        drained && (others || cached && usage == Use::Closed)
    }

    /// The page is needed.
    #[inline]
    pub(in crate::ftl) fn validate(&mut self, page: Ppa) {
        let bit = 1 << (page.0 % 64);
        let word = &mut self.valid[page.0 as usize / 64];
        debug_assert!(*word & bit == 0, "page {} becomes valid twice", page.0);
        *word |= bit;
        let block = self.geometry.page_address(page).block;
        #[cfg(debug_assertions)]
        assert!(
            !self.candidates.contains(block),
            "a candidate's pages are all written"
        );
        self.blocks[block.0 as usize].valid += 1;
        self.count_data(block, 1);
    }

    /// Counts needed pages of data, where that tells how much of computing's share data needs.
    #[inline]
    fn count_data(&mut self, block: BlockId, change: i32) {
        if self.shares.compute_blocks > 0 && self.usage(block) != Use::Compute {
            let plane = self.plane_mut(block);
            plane.data_pages = plane.data_pages.wrapping_add_signed(change);
        }
    }

    /// The page is not needed any more.
    #[inline]
    pub(in crate::ftl) fn invalidate(&mut self, page: Ppa) {
        let bit = 1 << (page.0 % 64);
        let word = &mut self.valid[page.0 as usize / 64];
        debug_assert!(*word & bit != 0, "page {} becomes invalid twice", page.0);
        *word &= !bit;
        let block = self.geometry.page_address(page).block;
        self.blocks[block.0 as usize].valid -= 1;
        self.candidates.lower(block);
        self.count_data(block, -1);
    }

    /// Whether the complement of what a page holds is stored.
    #[inline]
    pub(in crate::ftl) fn is_inverse(&self, page: Ppa) -> bool {
        self.inverse_pages > 0 && self.inverse[page.0 as usize / 64] & (1 << (page.0 % 64)) != 0
    }

    /// Notes whether the complement of what a page of the region holds is stored.
    pub(in crate::ftl) fn set_inverse(&mut self, page: Ppa, inverse: bool) {
        let bit = 1 << (page.0 % 64);
        let word = &mut self.inverse[page.0 as usize / 64];
        let before = *word & bit != 0;
        *word = (*word & !bit) | if inverse { bit } else { 0 };
        self.inverse_pages += u64::from(inverse);
        self.inverse_pages -= u64::from(before);
    }

    /// Has the processor fetch whether a page is needed.
    #[inline]
    pub(in crate::ftl) fn prefetch(&self, page: Ppa) {
        memory::prefetch(&self.valid, page.0 as usize / 64);
    }

    pub(in crate::ftl) fn is_valid(&self, page: Ppa) -> bool {
        self.valid[page.0 as usize / 64] & (1 << (page.0 % 64)) != 0
    }

    /// The first needed page of a block from `from_page` on.
    #[inline]
    pub(in crate::ftl) fn next_valid(&self, block: BlockId, from_page: u32) -> Option<PageAddress> {
        let stride = self.geometry.pages_per_block_max() as usize;
        let begin = block.0 as usize * stride;
        let (mut at, end) = (begin + from_page as usize, begin + stride);
        while at < end {
            let rest = self.valid[at / 64] >> (at % 64);
            if rest != 0 {
                at += rest.trailing_zeros() as usize;
                break;
            }
            at = (at / 64 + 1) * 64;
        }
        let page = (at - begin) as u32;
        (at < end).then_some(PageAddress { block, page })
    }

    /// No page is needed any more but `kept`.
    pub(in crate::ftl) fn forget_all_but(&mut self, kept: &BTreeSet<Ppa>) {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let mut from = 0;
            while let Some(page) = self.next_valid(block, from) {
                from = page.page + 1;
                let page = self.geometry.ppa(page);
                if !kept.contains(&page) {
                    self.invalidate(page);
                }
            }
        }
    }

    /// Needed pages of a block.
    pub(in crate::ftl) fn valid_pages(&self, block: BlockId) -> u32 {
        u32::from(self.blocks[block.0 as usize].valid)
    }
}
