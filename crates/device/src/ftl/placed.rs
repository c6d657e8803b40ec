//! Logical pages that are placed: written with a handle, programmed with one bit a cell and margin (ESP), not
//! randomized and without a code (Flash-Cosmos 5), in blocks of the region ([`crate::region`]). Otherwise they are logical
//! pages as any: found through the one mapping, versioned, recovered, deallocated.

use std::ops::{ControlFlow, Range};

use media::nand::{BlockId, NandError, PageAddress, PlaneId, ProgramMode};

use super::lpn::Lpn;
use super::mapping::Mapping;
use super::spare::{Content, Record};
use super::{Ftl, FtlError};
use crate::memory::BufferId;
use crate::planted::{Bug, is_planted};
use crate::region::{Handle, HandleError, Layout, Placement, Shape, Spot, next_of_string};
use crate::schedule::{Fault, Notify, Origin, Program};

/// A placed page whose program is under way.
#[derive(Clone, Copy, Debug)]
pub struct PlacedPage {
    lpn: Lpn,
    page: PageAddress,
    placement: Placement,
    version: u64,
}

/// Where the content of a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Nowhere: it reads as zeroes.
    Zeroes,
    /// In this page, which can be sensed together with others.
    Placed {
        /// The page.
        page: PageAddress,
        /// It holds the complement.
        inverse: bool,
    },
    /// In this page, if it is on flash at all, behind its code and randomized.
    Elsewhere(Option<PageAddress>),
}

/// What setting up placed pages at once has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// They are there.
    Done,
    /// This plane has no block left for them: none is there.
    Full(PlaneId),
}

impl Ftl {
    /// Opens a placement handle, or gives an open one another shape for later writes.
    ///
    /// # Errors
    /// A shape that cannot be.
    pub fn open_handle(&self, number: u16, shape: Shape) -> Result<(), HandleError> {
        let closed = self.region.borrow_mut().open(number, shape)?;
        closed
            .into_iter()
            .for_each(|block| self.look_at_region_block(block));
        Ok(())
    }

    /// Releases a placement handle; false if it was not open.
    pub fn release_handle(&self, number: u16) -> bool {
        self.region.borrow_mut().release(number)
    }

    /// An open handle.
    pub fn handle(&self, number: u16) -> Option<Handle> {
        self.region.borrow().handle(number).cloned()
    }

    /// How the handle that a block was written with spreads chunks over dies; over all of them if it is not open.
    pub fn layout_of(&self, block: BlockId) -> Layout {
        let region = self.region.borrow();
        let handle = region
            .held(block)
            .and_then(|held| region.handle(held.handle));
        handle.map_or(region.layout(), Handle::layout).clone()
    }

    /// The open handles, each with the blocks that hold pages written with it.
    pub fn handles(&self) -> Vec<(Handle, u32)> {
        let region = self.region.borrow();
        let handles = region.handles();
        handles
            .map(|(handle, blocks)| (handle.clone(), blocks))
            .collect()
    }

    /// Blocks that hold placed pages.
    pub fn compute_blocks(&self) -> usize {
        self.region.borrow().blocks()
    }

    /// Where a logical page is.
    #[inline]
    pub fn stored(&self, lpn: Lpn) -> Stored {
        let Mapping::Data(page) = self.lookup(lpn) else {
            return Stored::Zeroes;
        };
        let blocks = self.blocks.borrow();
        let address = self.geometry.page_address(page);
        if blocks.is_compute(address.block) {
            let inverse = blocks.is_inverse(page);
            Stored::Placed {
                page: address,
                inverse,
            }
        } else {
            Stored::Elsewhere(Some(address))
        }
    }

    /// An evaluation senses pages of a block of the region: it is neither erased nor emptied until [`Ftl::unpin`].
    pub fn pin(&self, block: BlockId) {
        self.region.borrow_mut().pin(block);
    }

    /// The evaluation is over.
    pub fn unpin(&self, block: BlockId) {
        if self.region.borrow_mut().unpin(block) {
            self.unparked(block);
            self.look_at_region_block(block);
        }
    }

    /// The version of a write that begins now, whose entry is at hand.
    ///
    /// # Errors
    /// The entry cannot be read.
    pub(crate) async fn begin_placed_write(&self, lpn: Lpn) -> Result<u64, FtlError> {
        self.count(|counts| counts.host_page_writes += 1);
        if self.is_cached {
            self.entry_for_write(lpn).await?;
        }
        Ok(self.next_version())
    }

    /// Begins to program a logical page at a spot from a buffer, which holds what is to be stored; `None` if the spot's
    /// plane has no block for it.
    pub(crate) fn place(
        &self,
        (lpn, version): (Lpn, u64),
        spot: &Spot,
        inverse: bool,
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) -> Option<PlacedPage> {
        let page = self.allocate_placed(spot, 0)?;
        let placement = Placement {
            handle: spot.handle,
            inverse,
            column: spot.column,
        };
        let content = Content::Placed { lpn, placement };
        self.program_esp(page, (content, version), (from, origin), notify);
        Some(PlacedPage {
            lpn,
            page,
            placement,
            version,
        })
    }

    /// The program of a placed page is over: it takes the place of what the logical page was, or, false, is to be tried
    /// again.
    ///
    /// # Errors
    /// The flash refused.
    pub(crate) fn placed(
        &self,
        placed: &PlacedPage,
        outcome: Result<(), Fault>,
    ) -> Result<bool, FtlError> {
        match outcome {
            Ok(()) => {}
            Err(Fault::ProgramFailed(_)) => {
                self.give_up(placed.page);
                return Ok(false);
            }
            Err(fault) => {
                self.settle(placed.page, false);
                return Err(fault.into());
            }
        }
        let page = self.geometry.ppa(placed.page);
        self.settle(placed.page, true);
        self.blocks
            .borrow_mut()
            .set_inverse(page, placed.placement.inverse);
        let old = self.replace(placed.lpn, Mapping::Data(page));
        let mapped = matches!(old, Mapping::Data(_));
        let whole = 0..self.geometry.page_bytes;
        self.written.borrow_mut().note(placed.lpn, mapped, whole);
        if self.is_cached {
            self.keep_entry(placed.lpn);
        }
        Ok(true)
    }

    /// The page's version, for another try.
    pub(crate) fn version_of(placed: &PlacedPage) -> (Lpn, u64) {
        (placed.lpn, placed.version)
    }

    /// The next page of a spot; computing may have so many blocks more than its share.
    fn allocate_placed(&self, spot: &Spot, more: u32) -> Option<PageAddress> {
        let mut took = false;
        let allocated = self.region.borrow_mut().allocate(spot, |plane| {
            let block = self.blocks.borrow_mut().take_for_compute(plane, more);
            took = block.is_some();
            block
        })?;
        self.blocks.borrow_mut().begin_program(allocated.page.block);
        if let Some(closed) = allocated.closed {
            self.look_at_region_block(closed);
        }
        if took {
            self.collect(spot.plane);
        }
        Some(allocated.page)
    }

    /// Where a copy of a placed page goes that is to keep its column and string.
    pub(super) fn copy_spot(
        &self,
        from: PageAddress,
        placement: &Placement,
    ) -> Option<PageAddress> {
        let mut spot = self.region.borrow().spot_of(from, placement);
        if is_planted(Bug::CollectionForgetsStrings) {
            spot.string = 0;
        }
        self.allocate_placed(&spot, 1)
    }

    /// The page of `target` with the number that a page has in its own block.
    pub(super) fn same_place(&self, from: PageAddress, target: BlockId) -> Option<PageAddress> {
        let held = self.region.borrow().held(target)?;
        if held.failed {
            return None;
        }
        self.blocks.borrow_mut().begin_program(target);
        Some(PageAddress {
            block: target,
            page: from.page,
        })
    }

    /// Begins to program a page of a block that is lent to an evaluation.
    pub(crate) fn program_temporary(
        &self,
        page: PageAddress,
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) {
        self.program_esp(page, (Content::Temporary, 0), (from, origin), notify);
    }

    /// Begins to program a page with one bit a cell and margin.
    fn program_esp(
        &self,
        page: PageAddress,
        (content, version): (Content, u64),
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) {
        let sequence = self.next_sequence();
        self.note_program(sequence);
        let record = Record {
            content,
            version,
            sequence,
        };
        let program = Program {
            page,
            mode: ProgramMode::Esp,
            from,
            bytes: self.geometry.page_bytes,
            spare: record.encode(),
            origin,
        };
        let die = self.geometry.die_of_block(page.block);
        self.schedule.push(die, program, notify);
    }

    /// Waits until the entries of `lpns` have been at hand, all asked for together: one read of a mapping page serves
    /// all that are in it.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub(crate) async fn entries_for(
        &self,
        lpns: impl Iterator<Item = Lpn>,
    ) -> Result<(), FtlError> {
        if self.is_cached {
            self.entries_for_lookup(lpns).await?;
        }
        Ok(())
    }

    /// Waits until a page may have been won for a spot, or something else changed.
    ///
    /// # Errors
    /// Nothing is under way that could win one.
    pub(crate) async fn win_compute_page(&self, spot: &Spot) -> Result<(), FtlError> {
        if !self.compact(spot) && self.lent.get() == 0 {
            return Err(FtlError::NoComputeBlock(spot.plane.0));
        }
        self.region_changed.next().await;
        Ok(())
    }

    /// Begins to empty a block of the region in the plane of a spot, if that wins a page for it; whether anything is
    /// under way.
    fn compact(&self, spot: &Spot) -> bool {
        let plane = spot.plane;
        let region = self.region.borrow();
        let stuck = self.is_region_stuck(plane);
        let coming = {
            let blocks = self.blocks.borrow();
            let mut held = region.blocks_of(plane);
            held.any(|(block, held)| {
                let settled = blocks.is_drained(block) && blocks.valid_pages(block) > 0;
                held.busy || (held.failed && !stuck) || (!held.open && !settled)
            })
        };
        if coming || stuck {
            return coming;
        }
        let victim = self.region_victim(spot);
        drop(region);
        if let Some(block) = victim {
            self.begin_region(block);
        }
        victim.is_some()
    }

    /// The block of the region that is emptied for the fewest copies, if that wins a block: where its column has room for
    /// them, or another of the column fits into a fresh block together with it. Otherwise one of the spot's own column
    /// that would not fill a fresh block: then that has room.
    fn region_victim(&self, spot: &Spot) -> Option<BlockId> {
        let region = self.region.borrow();
        let mut columns: Vec<(u16, u32, u32, u32, BlockId)> = Vec::new();
        for (block, held) in region.blocks_of(spot.plane) {
            let at_rest = !held.open && self.blocks.borrow().is_drained(block);
            if at_rest && !region.is_pinned(block) {
                let valid = self.blocks.borrow().valid_pages(block);
                let height = self.layers_needed(block);
                columns.push((held.handle, held.column, height, valid, block));
            }
        }
        columns.sort_unstable();
        let layers = self.geometry.cells_per_string;
        let mut best: Option<(u32, BlockId)> = None;
        let mut own = None;
        for of_column in columns.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (handle, column, height, valid, block) = of_column[0];
            let into_open = height <= region.room(handle, column);
            let together = of_column
                .get(1)
                .is_some_and(|next| height + next.2 <= layers);
            if (handle, column) == (spot.handle, spot.column) && height < layers {
                own = Some(block);
            }
            if (into_open || together) && best.is_none_or(|(least, _)| valid < least) {
                best = Some((valid, block));
            }
        }
        best.map(|(_, block)| block).or(own)
    }

    /// The layers that the needed pages of a block take in another, one after the other.
    fn layers_needed(&self, block: BlockId) -> u32 {
        let strings = self.geometry.strings_per_block;
        let blocks = self.blocks.borrow();
        let mut free = 0;
        let mut needed = blocks.next_valid(block, 0);
        while let Some(page) = needed {
            free = next_of_string(free, page.page % strings, strings) + 1;
            needed = blocks.next_valid(block, page.page + 1);
        }
        free.div_ceil(strings)
    }

    /// Empties a block of the region if it is failing, or erases it if nothing of it is needed; unless an evaluation or
    /// a program is at it.
    pub(super) fn look_at_region_block(&self, block: BlockId) {
        if self.is_collection_held() {
            return;
        }
        let due = {
            let (region, blocks) = (self.region.borrow(), self.blocks.borrow());
            region.held(block).is_some_and(|held| {
                let at_rest = !held.busy && !region.is_pinned(block) && blocks.is_drained(block);
                at_rest && (held.failed || blocks.valid_pages(block) == 0)
            })
        };
        if due {
            self.begin_region(block);
        }
    }

    /// The same of all blocks, after power-up.
    pub(super) fn look_at_region(&self) {
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            let blocks: Vec<BlockId> = {
                let region = self.region.borrow();
                region.blocks_of(plane).map(|(block, _)| block).collect()
            };
            blocks
                .into_iter()
                .for_each(|block| self.look_at_region_block(block));
        }
    }

    /// A block is erased, or out of use: the region's no more.
    pub(super) fn leave_region(&self, block: BlockId) {
        let mut blocks = self.blocks.borrow_mut();
        if blocks.is_compute(block) {
            blocks.release_from_compute(block);
            self.region.borrow_mut().forget(block);
        }
    }

    /// Moves the block of the region in `plane` that was erased the least to the most worn free block, if it is so many
    /// erases behind the most worn.
    pub(super) fn level_region(&self, plane: PlaneId, threshold: u32) {
        let coldest = {
            let (region, blocks) = (self.region.borrow(), self.blocks.borrow());
            let at_rest = region.blocks_of(plane).filter(|(block, held)| {
                let closed = !held.open && blocks.is_drained(*block);
                closed && !held.busy && !held.failed && !region.is_pinned(*block)
            });
            let coldest = at_rest.min_by_key(|(block, _)| blocks.erases(*block));
            let most = blocks.most_erases(plane);
            coldest.filter(|(block, _)| most - blocks.erases(*block) > threshold)
        };
        let Some((block, _)) = coldest else { return };
        let target = self.blocks.borrow_mut().take_worn_for_compute(plane);
        if let Some(target) = target {
            self.begin_region_levelling(block, target);
        }
    }

    /// Sets up a run of logical pages of zeroes at once, where writing them one after the other with `handle` would put
    /// them, with the same records: a power cut right after it recovers them. Takes no simulated time.
    ///
    /// # Errors
    /// The media refused.
    pub fn place_at_once(
        &self,
        handle: &Handle,
        lpns: Range<u32>,
        inverse: bool,
        mut observe: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<AtOnce, NandError> {
        let holds_data = self.schedule.nand().borrow().holds_data();
        let words = self.schedule.nand().borrow().geometry().page_words();
        let ones = (inverse && holds_data).then(|| vec![u64::MAX; words]);
        let rows = handle.rows(lpns);
        if let Some(plane) = self.plane_without_room(handle, &rows) {
            return Ok(AtOnce::Full(plane));
        }
        let mut done = 0;
        for (chunks, first) in rows {
            for (chunk, lpn) in chunks.zip(first..) {
                let spot = handle.spot(chunk);
                let page = self.allocate_placed(&spot, 0);
                let page = page.expect("there are blocks for all of them");
                self.place_page_at_once(Lpn(lpn), page, &spot, inverse, ones.as_deref())?;
                done += 1;
            }
            if observe(done).is_break() {
                break;
            }
        }
        Ok(AtOnce::Done)
    }

    /// A plane that has not as many blocks as rows would take, if there is one.
    fn plane_without_room(&self, handle: &Handle, rows: &[(Range<u64>, u32)]) -> Option<PlaneId> {
        let (region, blocks) = (self.region.borrow(), self.blocks.borrow());
        let chunks = rows.iter().flat_map(|(chunks, _)| chunks.clone());
        let needed = region.blocks_needed(chunks.map(|chunk| handle.spot(chunk)));
        let mut needed = needed.into_iter();
        needed.find_map(|(plane, needed)| {
            let plane = PlaneId(plane);
            (blocks.claimable(plane) < needed as usize).then_some(plane)
        })
    }

    fn place_page_at_once(
        &self,
        lpn: Lpn,
        page: PageAddress,
        spot: &Spot,
        inverse: bool,
        words: Option<&[u64]>,
    ) -> Result<(), NandError> {
        let placement = Placement {
            handle: spot.handle,
            inverse,
            column: spot.column,
        };
        let record = Record {
            content: Content::Placed { lpn, placement },
            version: self.next_version(),
            sequence: self.next_sequence(),
        };
        let placed = self.schedule.nand().borrow_mut().place_page(
            page,
            ProgramMode::Esp,
            &record.encode(),
            words,
        );
        self.settle(page, placed.is_ok());
        placed?;
        let page = self.geometry.ppa(page);
        self.blocks.borrow_mut().set_inverse(page, inverse);
        self.replace(lpn, Mapping::Data(page));
        Ok(())
    }
}
