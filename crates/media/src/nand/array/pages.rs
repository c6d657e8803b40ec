//! States and spare bytes of the pages of blocks that were programmed.
//!
//! The pages of a block lie side by side in a *slot*: for each its state, the length of its
//! spare bytes, and these. Slots of equal shape lie side by side in large tables, and an
//! erased block's slot is used again: setting up a block allocates nothing, and looking at
//! a page touches one place.

use std::collections::BTreeMap;

use sim::memory;

use super::PageState;
use crate::nand::geometry::{BlockId, PageAddress};

/// Where the pages of a block are kept.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// Slot plus one; zero for none.
    slot: u32,
    shelf: u8,
}

/// The pages of all blocks that were programmed.
#[derive(Default)]
pub(super) struct Pages {
    shelves: Vec<Shelf>,
    /// Spare bytes longer than those of the first page of their block that had any.
    long: BTreeMap<(BlockId, u32), Box<[u8]>>,
}

/// Slots of equal shape.
struct Shelf {
    /// Pages of a slot.
    pages: u32,
    /// Spare bytes that a page has room for.
    stride: usize,
    /// Slots of a table, as a power of two.
    log2_slots: u32,
    tables: Vec<Vec<u8>>,
    used: u32,
    free: Vec<u32>,
}

/// The state and the length byte of a page.
const HEAD: usize = 2;
/// The length byte of a page whose spare bytes are kept aside.
const ASIDE: u8 = u8::MAX;
/// The longest spare bytes that are not. Room for them comes in steps, so there are few shapes.
const STRIDE_MAX: usize = 248;
const STRIDE_STEP: usize = 8;
/// Bytes of a table, about.
const TABLE_BYTES: usize = 64 << 20;

impl Shelf {
    /// No slots; there will be `most` at most.
    fn new(pages: u32, stride: usize, most: usize) -> Shelf {
        let slots = TABLE_BYTES / (pages as usize * (HEAD + stride));
        Shelf {
            pages,
            stride,
            log2_slots: slots.min(most).max(1).ilog2(),
            tables: Vec::new(),
            used: 0,
            free: Vec::new(),
        }
    }

    fn slot_bytes(&self) -> usize {
        self.pages as usize * (HEAD + self.stride)
    }

    /// A slot of erased pages.
    fn take(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            let bytes = self.slot_bytes();
            let (table, start) = self.locate(slot, 0);
            self.tables[table][start..start + bytes].fill(0);
            return slot;
        }
        let slot = self.used;
        self.used += 1;
        if slot as usize == self.tables.len() << self.log2_slots {
            let bytes = self.slot_bytes() << self.log2_slots;
            self.tables.push(memory::zeroed(bytes));
        }
        slot
    }

    /// The table of a page, and where in it the page begins.
    #[inline]
    fn locate(&self, slot: u32, page: u32) -> (usize, usize) {
        let slot = slot as usize;
        let within = slot & ((1 << self.log2_slots) - 1);
        let entry = within * self.pages as usize + page as usize;
        (slot >> self.log2_slots, entry * (HEAD + self.stride))
    }

    #[inline]
    fn entry(&self, slot: u32, page: u32) -> &[u8] {
        let (table, start) = self.locate(slot, page);
        &self.tables[table][start..start + HEAD + self.stride]
    }

    #[inline]
    fn entry_mut(&mut self, slot: u32, page: u32) -> &mut [u8] {
        let (table, start) = self.locate(slot, page);
        &mut self.tables[table][start..start + HEAD + self.stride]
    }
}

impl Pages {
    /// The state of a page; pages beyond the block's mode are erased.
    #[inline]
    pub(super) fn state(&self, place: Place, page: u32) -> PageState {
        match self.entry(place, page) {
            Some(entry) => PageState::from_code(entry[0]),
            None => PageState::Erased,
        }
    }

    /// Has the processor fetch what is kept of a page.
    #[inline]
    pub(super) fn prefetch(&self, place: Place, page: u32) {
        let shelf = self.shelves.get(usize::from(place.shelf));
        if let (Some(shelf), Some(slot)) = (shelf, place.slot.checked_sub(1)) {
            let (table, start) = shelf.locate(slot, page);
            memory::prefetch(&shelf.tables[table], start);
        }
    }

    /// The spare bytes of a page that was programmed.
    #[inline]
    pub(super) fn spare(&self, place: Place, page: PageAddress) -> &[u8] {
        match self.entry(place, page.page) {
            Some([_, ASIDE, ..]) => &self.long[&(page.block, page.page)],
            Some(entry) => &entry[HEAD..HEAD + usize::from(entry[1])],
            None => &[],
        }
    }

    #[inline]
    fn entry(&self, place: Place, page: u32) -> Option<&[u8]> {
        let shelf = self.shelves.get(usize::from(place.shelf))?;
        let slot = place.slot.checked_sub(1)?;
        (page < shelf.pages).then(|| shelf.entry(slot, page))
    }

    /// Notes a page of a block that has `pages` in its mode; there are `blocks` blocks in all.
    #[inline]
    pub(super) fn program(
        &mut self,
        place: &mut Place,
        page: PageAddress,
        state: PageState,
        spare: &[u8],
        (pages, blocks): (u32, usize),
    ) {
        let fits = !spare.is_empty() && spare.len() <= STRIDE_MAX;
        if place.slot == 0 || (fits && self.shelves[usize::from(place.shelf)].stride == 0) {
            let room = if fits { spare.len() } else { 0 };
            self.settle(place, room.next_multiple_of(STRIDE_STEP), (pages, blocks));
        }
        let shelf = &mut self.shelves[usize::from(place.shelf)];
        let aside = spare.len() > shelf.stride;
        let entry = shelf.entry_mut(place.slot - 1, page.page);
        entry[0] = state as u8;
        if aside {
            entry[1] = ASIDE;
            self.long.insert((page.block, page.page), spare.into());
        } else {
            entry[1] = spare.len() as u8;
            entry[HEAD..HEAD + spare.len()].copy_from_slice(spare);
        }
    }

    /// Gives a block a slot with room for so many spare bytes, and moves there what it has.
    #[cold]
    fn settle(&mut self, place: &mut Place, stride: usize, (pages, blocks): (u32, usize)) {
        let fitting = |shelf: &Shelf| (shelf.pages, shelf.stride) == (pages, stride);
        let shelf = self.shelves.iter().position(fitting).unwrap_or_else(|| {
            self.shelves.push(Shelf::new(pages, stride, blocks));
            self.shelves.len() - 1
        });
        let before = *place;
        *place = Place {
            slot: self.shelves[shelf].take() + 1,
            shelf: u8::try_from(shelf).expect("modes times steps of strides are few"),
        };
        if before.slot > 0 {
            for page in 0..pages {
                // The stride was zero, so there is no more than the head.
                let from = self.shelves[usize::from(before.shelf)].entry(before.slot - 1, page);
                let head = [from[0], from[1]];
                self.shelves[shelf].entry_mut(place.slot - 1, page)[..HEAD].copy_from_slice(&head);
            }
            self.free(before);
        }
    }

    fn free(&mut self, place: Place) {
        if let Some(slot) = place.slot.checked_sub(1) {
            self.shelves[usize::from(place.shelf)].free.push(slot);
        }
    }

    /// Forgets the pages of a block.
    pub(super) fn erase(&mut self, place: Place, block: BlockId) {
        self.free(place);
        if self.long.is_empty() {
            return;
        }
        let of_block = (block, 0)..=(block, u32::MAX);
        while let Some((key, _)) = self.long.range(of_block.clone()).next() {
            let key = *key;
            self.long.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: (u32, usize) = (32, 4);

    #[test]
    fn spare_bytes_of_any_length_come_back() {
        let lengths = [300, 0, 12, 12, 254, 255, 3, 0, 13];
        for first in 0..lengths.len() {
            let mut pages = Pages::default();
            let mut place = Place::default();
            let at = |page: usize| PageAddress {
                block: BlockId(2),
                page: page as u32,
            };
            let spare = |page: usize| vec![page as u8 + 1; lengths[(first + page) % lengths.len()]];
            for page in 0..lengths.len() {
                let state = PageState::Programmed;
                pages.program(&mut place, at(page), state, &spare(page), SHAPE);
            }
            for page in 0..lengths.len() {
                assert_eq!(pages.spare(place, at(page)), spare(page), "order {first}");
                assert_eq!(pages.state(place, page as u32), PageState::Programmed);
            }
            assert_eq!(pages.spare(place, at(31)), b"");
            assert_eq!(pages.state(place, 32), PageState::Erased);
        }
    }

    #[test]
    fn an_erased_blocks_slot_is_used_again_and_blank() {
        let mut pages = Pages::default();
        let programmed = |pages: &mut Pages, block: u32, spare: &[u8]| {
            let mut place = Place::default();
            for page in 0..32 {
                let page = PageAddress {
                    block: BlockId(block),
                    page,
                };
                pages.program(&mut place, page, PageState::Torn, spare, SHAPE);
            }
            place
        };
        for round in 0..10 {
            let short = programmed(&mut pages, 0, &[7; 16]);
            let long = programmed(&mut pages, 1, &[8; 300]);
            pages.erase(long, BlockId(1));
            pages.erase(short, BlockId(0));
            assert!(pages.long.is_empty(), "round {round}");
            let mut place = Place::default();
            let page = PageAddress {
                block: BlockId(3),
                page: 1,
            };
            pages.program(&mut place, page, PageState::Programmed, &[9; 16], SHAPE);
            assert_eq!(pages.state(place, 0), PageState::Erased);
            assert_eq!(pages.state(place, 1), PageState::Programmed);
            pages.erase(place, BlockId(3));
        }
        let used: Vec<u32> = pages.shelves.iter().map(|shelf| shelf.used).collect();
        assert_eq!(used, [1, 1]);
    }
}
