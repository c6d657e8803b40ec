//! Which units hold something that is still needed, and which pages hold the complement of it.
//!
//! Data is needed unit by unit. What else a page may hold (a record, a mapping page) takes all of it, and is needed in
//! all its slots.

use std::collections::BTreeSet;

use media::nand::{BlockId, PageAddress, Ppa};
use sim::memory;

use super::{Blocks, Use};
use crate::ftl::unit::{Slots, UnitAddress};

impl Blocks {
    /// The program of an allocated page is over; `needed` says which of its slots
    /// hold something that must be kept. True if the programs of a block are now over that is
    /// failing, of the SLC cache or of the region.
    #[inline]
    pub(in crate::ftl) fn settle(&mut self, address: PageAddress, needed: Slots) -> bool {
        self.candidates.tick();
        let block = &mut self.blocks[address.block.0 as usize];
        block.pending -= 1;
        let (drained, usage) = (block.pending == 0, block.usage);
        let cached = block.in_slc_cache;
        if !needed.is_empty() {
            self.validate(self.geometry.ppa(address), needed);
        }
        if drained && usage == Use::Closed {
            self.close(address.block);
        }
        let others = matches!(usage, Use::Failing | Use::Compute);
        drained && (others || cached && usage == Use::Closed)
    }

    /// The word of flags that a page's slots are in, and the bit of the first: no page's are in two words.
    #[inline]
    fn flags(&self, page: Ppa) -> (usize, u32) {
        let first = self.unit.at(page, 0).0;
        (first as usize / 64, first % 64)
    }

    /// These slots of a page are needed.
    #[inline]
    pub(in crate::ftl) fn validate(&mut self, page: Ppa, slots: Slots) {
        let (word, bit) = self.flags(page);
        let bits = slots.in_word(bit);
        let word = &mut self.valid[word];
        debug_assert!(*word & bits == 0, "page {} becomes valid twice", page.0);
        *word |= bits;
        let block = self.geometry.page_address(page).block;
        #[cfg(debug_assertions)]
        assert!(
            !self.candidates.contains(block),
            "a candidate's pages are all written"
        );
        // Mostly all of them: counting bits takes longer.
        let count = match slots == self.unit.all() {
            true => self.unit.per_page(),
            false => slots.len(),
        };
        self.blocks[block.0 as usize].valid += count;
        self.count_data(block, count as i32);
    }

    /// All slots of a page are needed.
    pub(in crate::ftl) fn validate_page(&mut self, page: Ppa) {
        self.validate(page, self.unit.all());
    }

    /// One more unit is needed.
    pub(in crate::ftl) fn validate_unit(&mut self, unit: UnitAddress) {
        let slot = Slots::NONE.and(self.unit.slot(unit));
        self.validate(self.unit.page(unit), slot);
    }

    /// Counts needed units of data, where that tells how much of computing's share data needs.
    #[inline]
    fn count_data(&mut self, block: BlockId, change: i32) {
        if self.shares.compute_blocks > 0 && self.usage(block) != Use::Compute {
            let plane = self.plane_mut(block);
            plane.data_units = plane.data_units.wrapping_add_signed(change);
        }
    }

    /// The unit is not needed any more.
    #[inline]
    pub(in crate::ftl) fn invalidate(&mut self, unit: UnitAddress) {
        let bit = 1 << (unit.0 % 64);
        let word = &mut self.valid[unit.0 as usize / 64];
        debug_assert!(*word & bit != 0, "unit {} becomes invalid twice", unit.0);
        *word &= !bit;
        let block = self.geometry.page_address(self.unit.page(unit)).block;
        self.blocks[block.0 as usize].valid -= 1;
        self.candidates.lower(block);
        self.count_data(block, -1);
    }

    /// Nothing of the page is needed any more.
    pub(in crate::ftl) fn invalidate_page(&mut self, page: Ppa) {
        for slot in self.valid_slots(page).iter() {
            self.invalidate(self.unit.at(page, slot));
        }
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

    /// Has the processor fetch whether a unit is needed.
    #[inline]
    pub(in crate::ftl) fn prefetch(&self, unit: UnitAddress) {
        memory::prefetch(&self.valid, unit.0 as usize / 64);
    }

    #[inline]
    pub(in crate::ftl) fn is_valid(&self, unit: UnitAddress) -> bool {
        self.valid[unit.0 as usize / 64] & (1 << (unit.0 % 64)) != 0
    }

    /// The slots of a page that are needed.
    #[inline]
    pub(in crate::ftl) fn valid_slots(&self, page: Ppa) -> Slots {
        let (word, bit) = self.flags(page);
        Slots::from_word(self.valid[word], bit, self.unit.all())
    }

    /// The first page of a block of which something is needed, from `from_page` on.
    #[inline]
    pub(in crate::ftl) fn next_valid(&self, block: BlockId, from_page: u32) -> Option<PageAddress> {
        let per_page = self.unit.per_page() as usize;
        let stride = self.geometry.pages_per_block_max() as usize * per_page;
        let begin = block.0 as usize * stride;
        let (mut at, end) = (begin + from_page as usize * per_page, begin + stride);
        while at < end {
            let rest = self.valid[at / 64] >> (at % 64);
            if rest != 0 {
                at += rest.trailing_zeros() as usize;
                break;
            }
            at = (at / 64 + 1) * 64;
        }
        let page = self.unit.page_number((at - begin) as u32);
        (at < end).then_some(PageAddress { block, page })
    }

    /// Nothing is needed any more but what is in these pages.
    pub(in crate::ftl) fn forget_all_but(&mut self, kept: &BTreeSet<Ppa>) {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let mut from = 0;
            while let Some(page) = self.next_valid(block, from) {
                from = page.page + 1;
                let page = self.geometry.ppa(page);
                if !kept.contains(&page) {
                    self.invalidate_page(page);
                }
            }
        }
    }

    /// Needed units of a block.
    #[inline]
    pub(in crate::ftl) fn valid_units(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].valid
    }
}
