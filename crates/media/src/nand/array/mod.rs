//! What the cells hold besides data: wear, mode and write frontier of each block, state
//! and spare bytes of each page. It is durable; where the data itself is kept is
//! the business of [`super::storage`].

mod pages;

use std::collections::BTreeMap;

use sim::memory;

use super::cells::{Birth, Past, felt_reads};
use super::geometry::{BlockId, Geometry, PageAddress};
use super::mode::ProgramMode;
use pages::{Pages, Place};

/// What became of a page since its block was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PageState {
    /// Not programmed; it reads as ones.
    Erased = 0,
    /// Programmed.
    Programmed = 1,
    /// A power cut or reset interrupted its program; it cannot be read correctly.
    Torn = 2,
    /// Its program failed; it cannot be read correctly.
    Failed = 3,
}

impl PageState {
    fn from_code(code: u8) -> PageState {
        match code {
            0 => PageState::Erased,
            1 => PageState::Programmed,
            2 => PageState::Torn,
            _ => PageState::Failed,
        }
    }
}

/// Whether a block can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCondition {
    /// It can.
    Good,
    /// Its last erase was interrupted or failed: nothing in it can be read, nothing
    /// programmed until it is erased.
    NeedsErase,
    /// Marked bad, at the factory or since: it cannot be programmed. What it held when it was marked
    /// may be erased.
    Bad,
}

/// What the array knows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockState {
    /// Erases so far, interrupted ones included.
    pub erase_count: u32,
    /// The mode of its pages; `None` while it is erased.
    pub mode: Option<ProgramMode>,
    /// The write frontier: the lowest page that may be programmed.
    pub next_page: u32,
    /// Whether it can be used.
    pub condition: BlockCondition,
}

const NEEDS_ERASE: u8 = 1;
const BAD: u8 = 2;
/// Some page is torn or failed, so reads must look at page states.
const HAS_BAD_PAGE: u8 = 4;

/// Bytes a block takes before its first program.
#[cfg(test)]
pub(crate) const BLOCK_BYTES: usize = size_of::<Block>();

#[derive(Clone, Copy, Default)]
struct Block {
    erase_count: u32,
    /// Reads of its pages since it was erased.
    reads: u32,
    /// When its first page was programmed.
    birth: Birth,
    next_page: u16,
    mode: u8,
    flags: u8,
    /// Where its pages are kept, once one was programmed.
    place: Place,
}

/// The durable state of every block of the drive.
pub(crate) struct Array {
    blocks: Box<[Block]>,
    pages: Pages,
    /// Of pages programmed at another time, or in another way, than the first of their block.
    births: BTreeMap<(BlockId, u32), Birth>,
    /// Erases of all blocks.
    erases: u64,
    /// Erases of the block that has had most.
    erases_most: u32,
    wordlines_per_block: u32,
}

impl Array {
    pub(crate) fn new(geometry: &Geometry) -> Array {
        Array {
            blocks: vec![Block::default(); geometry.blocks() as usize].into(),
            pages: Pages::default(),
            births: BTreeMap::new(),
            erases: 0,
            erases_most: 0,
            wordlines_per_block: geometry.wordlines_per_block(),
        }
    }

    pub(crate) fn block(&self, block: BlockId) -> BlockState {
        let state = &self.blocks[block.0 as usize];
        BlockState {
            erase_count: state.erase_count,
            mode: ProgramMode::from_code(state.mode),
            next_page: u32::from(state.next_page),
            condition: match state.flags {
                flags if flags & BAD != 0 => BlockCondition::Bad,
                flags if flags & NEEDS_ERASE != 0 => BlockCondition::NeedsErase,
                _ => BlockCondition::Good,
            },
        }
    }

    /// Erases of all blocks so far, interrupted ones included.
    pub(crate) fn erases(&self) -> u64 {
        self.erases
    }

    /// Erases of the block that has had most.
    pub(crate) fn erases_most(&self) -> u32 {
        self.erases_most
    }

    /// Whether the last erase of a block was complete, and nothing was programmed since.
    pub(crate) fn is_erased(&self, block: BlockId) -> bool {
        let block = &self.blocks[block.0 as usize];
        block.mode == 0 && block.flags & NEEDS_ERASE == 0
    }

    pub(crate) fn mode(&self, block: BlockId) -> Option<ProgramMode> {
        ProgramMode::from_code(self.blocks[block.0 as usize].mode)
    }

    pub(crate) fn page_state(&self, page: PageAddress) -> PageState {
        let block = &self.blocks[page.block.0 as usize];
        self.pages.state(block.place, page.page)
    }

    /// Has the processor fetch what is known of a block that will soon be used.
    #[inline]
    pub(crate) fn prefetch_block(&self, block: BlockId) {
        memory::prefetch(&self.blocks, block.0 as usize);
    }

    /// Has the processor fetch what is known of a page that will soon be used.
    #[inline]
    pub(crate) fn prefetch(&self, page: PageAddress) {
        if let Some(block) = self.blocks.get(page.block.0 as usize) {
            self.pages.prefetch(block.place, page.page);
        }
    }

    /// Whether a sense of the page gives what was programmed, or ones if nothing was.
    pub(crate) fn is_readable(&self, page: PageAddress) -> bool {
        let flags = self.blocks[page.block.0 as usize].flags;
        if flags & (NEEDS_ERASE | HAS_BAD_PAGE) == 0 {
            return true;
        }
        flags & NEEDS_ERASE == 0
            && matches!(
                self.page_state(page),
                PageState::Erased | PageState::Programmed
            )
    }

    /// The spare bytes programmed with a page; `None` unless it was programmed completely.
    pub(crate) fn spare(&self, page: PageAddress) -> Option<&[u8]> {
        let place = self.blocks[page.block.0 as usize].place;
        let programmed = self.pages.state(place, page.page) == PageState::Programmed;
        programmed.then(|| self.pages.spare(place, page))
    }

    /// Other spare bytes, as many, of a page that was programmed completely.
    pub(crate) fn set_spare(&mut self, page: PageAddress, spare: &[u8]) {
        debug_assert_eq!(self.spare(page).map(<[u8]>::len), Some(spare.len()));
        let blocks = self.blocks.len();
        let block = &mut self.blocks[page.block.0 as usize];
        let bits = ProgramMode::from_code(block.mode).map_or(1, ProgramMode::bits_per_cell);
        let shape = (self.wordlines_per_block * bits, blocks);
        let programmed = PageState::Programmed;
        self.pages
            .program(&mut block.place, page, programmed, spare, shape);
    }

    /// Notes a read of some page of the block; gives its erases, and its reads since the last.
    #[inline]
    pub(crate) fn note_read(&mut self, block: BlockId) -> (u32, u32) {
        let block = &mut self.blocks[block.0 as usize];
        block.reads = block.reads.saturating_add(1);
        (block.erase_count, block.reads)
    }

    /// Reads of pages of the block since it was erased.
    pub(crate) fn reads(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].reads
    }

    /// Notes so many reads of pages of the block.
    #[inline]
    pub(crate) fn note_reads(&mut self, block: BlockId, reads: u32) {
        let block = &mut self.blocks[block.0 as usize];
        block.reads = block.reads.saturating_add(reads);
    }

    /// What the cells of a page have been through; `None` unless its block was programmed.
    pub(crate) fn past(&self, page: PageAddress) -> Option<Past> {
        let block = &self.blocks[page.block.0 as usize];
        let own = match self.births.is_empty() {
            true => None,
            false => self.births.get(&(page.block, page.page)),
        };
        Some(Past {
            mode: ProgramMode::from_code(block.mode)?,
            erase_count: block.erase_count,
            reads: felt_reads(block.reads),
            birth: *own.unwrap_or(&block.birth),
        })
    }

    /// Consumes a page. The caller has checked that it is the block's turn.
    pub(crate) fn program(
        &mut self,
        page: PageAddress,
        mode: ProgramMode,
        state: PageState,
        birth: Birth,
        spare: &[u8],
    ) {
        let shape = (
            self.wordlines_per_block * mode.bits_per_cell(),
            self.blocks.len(),
        );
        let block = &mut self.blocks[page.block.0 as usize];
        if block.mode == 0 {
            block.birth = birth;
        } else if block.birth != birth {
            self.births.insert((page.block, page.page), birth);
        }
        block.mode = mode as u8;
        block.next_page = block.next_page.max(page.page as u16 + 1);
        if state != PageState::Programmed {
            block.flags |= HAS_BAD_PAGE;
        }
        self.pages
            .program(&mut block.place, page, state, spare, shape);
    }

    /// Erases a block; one whose erase did not complete must be erased again.
    pub(crate) fn erase(&mut self, block: BlockId, complete: bool) {
        self.forget_pages(block);
        self.erases += 1;
        let block = &mut self.blocks[block.0 as usize];
        *block = Block {
            erase_count: block.erase_count + 1,
            flags: block.flags & BAD | if complete { 0 } else { NEEDS_ERASE },
            ..Block::default()
        };
        self.erases_most = self.erases_most.max(block.erase_count);
    }

    /// Brings a block to the state it had when a durable store was closed, its pages erased.
    pub(crate) fn restore(&mut self, block: BlockId, erase_count: u32, condition: BlockCondition) {
        self.forget_pages(block);
        let before = self.blocks[block.0 as usize].erase_count;
        self.erases = self.erases - u64::from(before) + u64::from(erase_count);
        self.blocks[block.0 as usize] = Block {
            erase_count,
            flags: match condition {
                BlockCondition::Good => 0,
                BlockCondition::NeedsErase => NEEDS_ERASE,
                BlockCondition::Bad => BAD,
            },
            ..Block::default()
        };
        self.erases_most = self.erases_most.max(erase_count);
        if erase_count < before && before == self.erases_most {
            // It may have been the one.
            let counts = self.blocks.iter().map(|block| block.erase_count);
            self.erases_most = counts.max().unwrap_or(0);
        }
    }

    fn forget_pages(&mut self, block: BlockId) {
        self.pages.erase(self.blocks[block.0 as usize].place, block);
        if self.births.is_empty() {
            return;
        }
        while let Some((&of, _)) = self.births.range((block, 0)..=(block, u32::MAX)).next() {
            self.births.remove(&of);
        }
    }

    pub(crate) fn mark_bad(&mut self, block: BlockId) {
        self.blocks[block.0 as usize].flags |= BAD;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::tests::small;

    #[test]
    fn sums_of_erases_follow_every_change() {
        let geometry = small().geometry;
        let mut array = Array::new(&geometry);
        let mut random = sim::Random::named(1, "erases");
        for _ in 0..2000 {
            let block = BlockId(random.below(u64::from(geometry.blocks())) as u32);
            match random.below(4) {
                0 => array.restore(block, random.below(300) as u32, BlockCondition::Good),
                chosen => array.erase(block, chosen > 1),
            }
            let counts =
                (0..geometry.blocks()).map(|block| array.block(BlockId(block)).erase_count);
            assert_eq!(array.erases(), counts.clone().map(u64::from).sum::<u64>());
            assert_eq!(Some(array.erases_most()), counts.max());
        }
    }
}
