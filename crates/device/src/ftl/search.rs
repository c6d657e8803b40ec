//! Blocks that hold the names of search regions: lent as long as whoever keeps the regions wants them, over power cycles too.
//! The translation layer gives, programs and erases them; where in them which bits lie it does not know.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use media::nand::{BlockId, PageAddress, PlaneId, Ppa, ProgramMode};
use sim::Sim;
use sim::resource::Broadcast;

use super::spare::{Content, Record};
use super::{Ftl, FtlError};
use crate::memory::BufferId;
use crate::schedule::{Notify, Origin, Program, ProgramPair, Spare};

/// The blocks of search regions.
pub(super) struct SearchBlocks {
    /// Those that recovery found, until they are asked for.
    pub(super) found: RefCell<Vec<BlockId>>,
    /// Those in use, by number.
    used: RefCell<BTreeSet<u32>>,
    /// One that is hardly ever erased, which its owner is to move.
    cold: Cell<Option<BlockId>>,
    /// Announced when there is one.
    is_cold: Broadcast,
}

impl SearchBlocks {
    pub(super) fn new(sim: &Sim) -> SearchBlocks {
        SearchBlocks {
            found: RefCell::default(),
            used: RefCell::default(),
            cold: Cell::new(None),
            is_cold: Broadcast::new(sim),
        }
    }
}

/// What a page of such a block holds: bits of the names of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamePage {
    /// The search region.
    pub region: u16,
    /// The row of names.
    pub row: u32,
    /// Which slice of the names.
    pub slice: u8,
}

impl From<NamePage> for Content {
    fn from(page: NamePage) -> Content {
        let NamePage { region, row, slice } = page;
        Content::Search { region, row, slice }
    }
}

impl Ftl {
    /// A free block of `plane` for names, if computing has any left there.
    pub fn take_search_block(&self, plane: PlaneId) -> Option<BlockId> {
        let taken = self.blocks.borrow_mut().take_for_compute(plane, 0)?;
        self.search.used.borrow_mut().insert(taken.0);
        self.collect(plane);
        Some(taken)
    }

    /// The same of the most worn free block, for names that were in one that is hardly ever erased.
    pub fn take_worn_search_block(&self, plane: PlaneId) -> Option<BlockId> {
        let taken = self.blocks.borrow_mut().take_worn_for_compute(plane)?;
        self.search.used.borrow_mut().insert(taken.0);
        self.collect(plane);
        Some(taken)
    }

    /// Asks the owner of the block with names in `plane` that was erased the least to move them, if it is so many erases
    /// behind the most worn.
    pub(super) fn level_names(&self, plane: PlaneId, threshold: u32) {
        if self.search.cold.get().is_some() {
            return;
        }
        let blocks = self.blocks.borrow();
        let most = blocks.most_erases(plane);
        let used = self.search.used.borrow();
        let of_plane = used.range(self.geometry.blocks_of_plane(plane));
        let erases = of_plane.map(|block| (blocks.erases(BlockId(*block)), *block));
        if let Some((least, block)) = erases.min()
            && most - least > threshold
        {
            self.search.cold.set(Some(BlockId(block)));
            self.search.is_cold.announce();
        }
    }

    /// Waits for a block whose names are to be moved; there is no other until [`Ftl::levelled`].
    pub async fn next_cold_search_block(&self) -> BlockId {
        loop {
            match self.search.cold.get() {
                Some(block) => return block,
                None => self.search.is_cold.next().await,
            }
        }
    }

    /// The names of that block were moved, or cannot be.
    pub fn levelled(&self, moved: bool) {
        self.search.cold.set(None);
        self.count(|counts| counts.wear_levelling_blocks += u64::from(moved));
    }

    /// The blocks with names that recovery found, to be adopted or released; the second time there are none.
    pub fn found_search_blocks(&self) -> Vec<BlockId> {
        let found = self.search.found.take();
        self.search
            .used
            .borrow_mut()
            .extend(found.iter().map(|block| block.0));
        found
    }

    /// Blocks that hold names, or are about to.
    pub fn search_blocks(&self) -> usize {
        self.search.used.borrow().len()
    }

    /// Whether a page is in a block of a search region that is in use.
    pub(super) fn is_of_search(&self, page: Ppa) -> bool {
        let block = self.geometry.page_address(page).block;
        self.search.used.borrow().contains(&block.0)
    }

    /// Erases a block of [`Ftl::take_search_block`] and takes it back, unless a program failed in it: it is then out of use.
    ///
    /// # Errors
    /// The fault, if the erase failed; the block is then out of use, too.
    pub async fn release_search_block(&self, block: BlockId) -> Result<(), FtlError> {
        let settle = || {
            self.search.used.borrow_mut().remove(&block.0);
        };
        self.take_back(block, settle).await
    }

    /// Begins to program a page with names, and, if `complement` is given, that page with the complement right after.
    pub(crate) fn program_names(
        &self,
        (page, complement): (PageAddress, Option<PageAddress>),
        (holds, mode): (NamePage, ProgramMode),
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) {
        let program = Program {
            page,
            mode,
            from,
            bytes: self.geometry.page_bytes,
            spare: self.spare_of_names(holds),
            origin,
        };
        let die = self.geometry.die_of_block(page.block);
        match complement {
            None => self.schedule.push(die, program, notify),
            Some(complement) => {
                let spare = self.spare_of_names(holds);
                let pair = ProgramPair {
                    program,
                    complement,
                    spare,
                };
                self.schedule.push(die, pair, notify);
            }
        }
    }

    fn spare_of_names(&self, holds: NamePage) -> Spare {
        let sequence = self.next_sequence();
        self.note_program(sequence);
        let record = Record {
            content: holds.into(),
            version: 0,
            sequence,
        };
        record.encode().into()
    }
}
