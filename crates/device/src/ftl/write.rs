//! Writing and deallocating logical pages.

use std::ops::Range;

use media::core::Work;
use media::nand::{BlockId, PageAddress, PlaneId, Ppa, ProgramMode};

use super::blocks::{Stream, Use};
use super::holds::Holds;
use super::lock::{SoleWriter, debug_assert_covers};
use super::lpn::Lpn;
use super::mapping::Mapping;
use super::spare::{Content, Record};
use super::unit::Slots;
use super::{Ftl, FtlError, PageSlice, UnitAddress};
use crate::memory::{BufferId, Purpose};
use crate::planted::{Bug, is_planted};
use crate::schedule::{Fault, Origin, Program, Spare};
use crate::tenants;

/// What becomes of pages for whose deallocation there is no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutSpace {
    /// They stay as they are.
    Keep,
    /// They are forgotten first, which makes space. A power cut before the record is on flash
    /// brings them back, so whoever asks has noted that they are to go.
    Forget,
}

impl Ftl {
    /// Writes slices of up to as many logical pages as a flash page has slots, which nobody else does meanwhile, to one
    /// flash page. All lie in one buffer, each where its page's slot is there, ascending. The rest of each page keeps its
    /// content; slots that nothing is written to stay empty. When this returns, the data is on flash.
    ///
    /// # Errors
    /// No space, or the old content of a partly written page cannot be read.
    pub async fn write(&self, sole: &impl SoleWriter, units: &[PageSlice]) -> Result<(), FtlError> {
        for unit in units {
            debug_assert_covers(sole, unit.lpn.0..unit.lpn.0 + 1);
        }
        let (lead, count) = (units[0], units.len() as u32);
        self.count(|counts| counts.host_page_writes += u64::from(count));
        if self.cores.takes_time() {
            for unit in units {
                self.cores.work(unit.origin, Work::WritePage).await;
            }
        }
        if self.is_cached {
            for unit in units {
                self.entry_for_write(unit.lpn).await?;
            }
        }
        let bytes = units.iter().map(|unit| unit.bytes).sum();
        if bytes < self.geometry.page_bytes && !is_planted(Bug::PartialWriteForgetsTheRest) {
            self.complete(units).await?;
        }
        for unit in units {
            if let Mapping::Data(old) = self.lookup(unit.lpn) {
                self.blocks.borrow().prefetch(old);
            }
        }
        let version = self.next_version();
        let record = self.record_buffer();
        let holds = Holds::data(units, version, record.as_ref());
        let preferred = self.plane_for(lead.lpn);
        let from = (lead.buffer, bytes);
        let page = self
            .program(preferred, Stream::Host, from, holds, lead.origin)
            .await?;
        self.settle(page, self.slots_of(units));
        let ppa = self.geometry.ppa(page);
        for unit in units {
            let at = self.unit.at(ppa, self.slot_of(unit));
            let old = self.replace(unit.lpn, Mapping::Data(at));
            let mapped = matches!(old, Mapping::Data(_));
            self.written
                .borrow_mut()
                .note(unit.lpn, mapped, unit.column..unit.column + unit.bytes);
            if self.is_cached {
                self.keep_entry(unit.lpn);
            }
        }
        Ok(())
    }

    /// The slot that a slice has in a page programmed from its buffer.
    #[inline]
    pub(super) fn slot_of(&self, unit: &PageSlice) -> u32 {
        unit.base / self.unit.bytes()
    }

    /// Those of all slices.
    #[inline]
    pub(super) fn slots_of(&self, units: &[PageSlice]) -> Slots {
        let slots = units.iter().map(|unit| self.slot_of(unit));
        slots.fold(Slots::NONE, Slots::and)
    }

    /// Fills the parts of the buffer that the host does not write.
    async fn complete(&self, units: &[PageSlice]) -> Result<(), FtlError> {
        let buffer = units[0].buffer;
        self.buffers.with_mut(buffer, |page| {
            let mut written = 0;
            for unit in units {
                let place = unit.place();
                page[written..place.start].fill(0);
                written = place.end;
            }
            page[written..].fill(0);
        });
        let is_partial = |unit: &&PageSlice| unit.bytes < self.unit.bytes();
        let holds_data = |unit: &PageSlice| matches!(self.lookup(unit.lpn), Mapping::Data(_));
        if !units.iter().filter(is_partial).any(holds_data) {
            return Ok(());
        }
        // First, as collection may move the pages while this waits.
        let _room = self.buffers.room(Purpose::Rest).await;
        let rest = self.buffers.take();
        let ticket = self.schedule.ticket();
        let mut reads = false;
        for unit in units.iter().filter(is_partial) {
            let (Mapping::Data(old), Some(missing)) = (self.lookup(unit.lpn), self.kept(unit))
            else {
                continue;
            };
            reads = true;
            self.count(|counts| counts.partial_write_reads += 1);
            let slice = PageSlice {
                column: missing.start,
                bytes: missing.end - missing.start,
                buffer: rest.id(),
                ..*unit
            };
            let (die, read) = self.read_of(old, slice);
            self.schedule.push(die, read, ticket.id().into());
        }
        if !reads {
            return Ok(());
        }
        ticket.await?;
        for unit in units.iter().filter(is_partial) {
            if let Some(missing) = self.kept_on_flash(unit) {
                let within = unit.base + missing.start..unit.base + missing.end;
                self.buffers.merge(rest.id(), buffer, unit.place(), within);
            }
        }
        Ok(())
    }

    /// What flash has of a logical page and must be kept when a slice of it is written.
    pub(crate) fn kept_on_flash(&self, unit: &PageSlice) -> Option<Range<u32>> {
        let mapped = matches!(self.lookup(unit.lpn), Mapping::Data(_));
        mapped.then(|| self.kept(unit)).flatten()
    }

    /// What must be kept of a logical page of which a slice is written.
    fn kept(&self, unit: &PageSlice) -> Option<Range<u32>> {
        let written = unit.column..unit.column + unit.bytes;
        self.written.borrow().kept(unit.lpn, &written)
    }

    /// Programs a page, elsewhere if the program fails, from a buffer of which so many bytes are new.
    /// The caller settles it.
    pub(super) async fn program(
        &self,
        preferred: PlaneId,
        stream: Stream,
        (from, bytes): (BufferId, u32),
        holds: Holds<'_>,
        origin: Origin,
    ) -> Result<PageAddress, FtlError> {
        loop {
            // Nothing may be awaited between these two: programs of a block are
            // queued in the order of its pages.
            let page = self.allocate(preferred, stream).await?;
            let sequence = self.next_sequence();
            self.note_program(sequence);
            self.note_version(holds.version(), page.block);
            let cached = self.blocks.borrow().is_in_slc_cache(page.block);
            self.count(|counts| counts.slc_cache_page_writes += u64::from(cached));
            let mode = if cached {
                ProgramMode::Slc
            } else {
                self.config.mode
            };
            let program = Program {
                page,
                mode,
                from,
                bytes,
                spare: self.spare_of(&holds, sequence),
                origin: match stream {
                    Stream::Host | Stream::SlcCache => origin,
                    Stream::Collection | Stream::Cold => Origin::own(tenants::COLLECTION),
                    Stream::Mapping => Origin::own(tenants::MAPPING),
                },
            };
            match self
                .schedule
                .perform(self.geometry.die_of_block(page.block), program)
                .await
            {
                Ok(()) => return Ok(page),
                Err(Fault::ProgramFailed(_)) => self.give_up(page),
                Err(fault) => {
                    self.settle(page, Slots::NONE);
                    return Err(fault.into());
                }
            }
        }
    }

    /// The spare bytes that say what a page holds.
    #[inline]
    fn spare_of(&self, holds: &Holds<'_>, sequence: u64) -> Spare {
        match *holds {
            Holds::Page(content, version) => {
                let record = Record {
                    content,
                    version,
                    sequence,
                };
                record.encode().into()
            }
            Holds::Units {
                units,
                version,
                record,
            } => {
                let units = units
                    .iter()
                    .map(|unit| (self.slot_of(unit), unit.lpn, version));
                record.encode(units, sequence)
            }
        }
    }

    /// Programs a record that takes the place of others or frees pages. Where the host finds no
    /// space any more it goes where copies of collection go: so a full drive can be emptied.
    pub(super) async fn program_record(
        &self,
        preferred: PlaneId,
        from: BufferId,
        content: Content,
        version: u64,
        origin: Origin,
    ) -> Result<PageAddress, FtlError> {
        let from = (from, self.geometry.page_bytes);
        let holds = Holds::Page(content, version);
        let programmed = self.program(preferred, Stream::Host, from, holds, origin);
        match programmed.await {
            Err(FtlError::NoSpace) => {
                self.program(preferred, Stream::Collection, from, holds, origin)
                    .await
            }
            programmed => programmed,
        }
    }

    /// A program failed: the block is emptied and then retired.
    pub(super) fn give_up(&self, page: PageAddress) {
        self.count(|counts| counts.program_failures += 1);
        if self.blocks.borrow().is_compute(page.block) {
            self.region.borrow_mut().fail(page.block);
            return self.settle(page, Slots::NONE);
        }
        {
            let mut blocks = self.blocks.borrow_mut();
            // First, so that the block does not become a candidate.
            if blocks.usage(page.block) != Use::Failing {
                blocks.fail(page.block);
            }
        }
        self.settle(page, Slots::NONE);
    }

    /// The program of a page is over; `needed` says which of its slots hold something that must be kept.
    #[inline]
    pub(super) fn settle(&self, page: PageAddress, needed: Slots) {
        if self.blocks.borrow_mut().settle(page, needed) {
            self.look_after(page.block);
        }
    }

    /// The programs of a block are over that is failing, of the SLC cache or of the region.
    #[cold]
    fn look_after(&self, block: BlockId) {
        if self.blocks.borrow().is_compute(block) {
            self.look_at_region_block(block);
            self.region_changed.announce();
        } else {
            self.collect(self.geometry.plane_of_block(block));
        }
    }

    /// A fresh page, of the `preferred` plane if it has one or will have one, else of another plane.
    async fn allocate(&self, preferred: PlaneId, stream: Stream) -> Result<PageAddress, FtlError> {
        loop {
            if let Some(page) = self.try_allocate(preferred, stream) {
                return Ok(page);
            }
            self.make_room(preferred);
            let state = &self.planes[preferred.0 as usize];
            if !state.exhausted.get() {
                state.space.next().await;
                continue;
            }
            let planes = self.geometry.planes();
            let others = (1..planes).map(|step| PlaneId((preferred.0 + step) % planes));
            if let Some(page) = others
                .clone()
                .find_map(|plane| self.try_allocate(plane, stream))
            {
                return Ok(page);
            }
            others.clone().for_each(|plane| self.make_room(plane));
            let busy = others
                .clone()
                .find(|plane| !self.planes[plane.0 as usize].exhausted.get());
            match busy {
                Some(plane) => self.planes[plane.0 as usize].space.next().await,
                None => return Err(FtlError::NoSpace),
            }
        }
    }

    #[inline]
    pub(super) fn try_allocate(&self, plane: PlaneId, stream: Stream) -> Option<PageAddress> {
        let allocated = self.blocks.borrow_mut().allocate(plane, stream)?;
        self.schedule.nand().prefetch(allocated.page);
        if allocated.filled {
            self.block_filled(plane);
        }
        Some(allocated.page)
    }

    /// Points a logical page elsewhere; what it pointed to before, which this gives, is not
    /// needed any more.
    pub(super) fn replace(&self, lpn: Lpn, new: Mapping) -> Mapping {
        let old = {
            let mut mapping = self.mapping.borrow_mut();
            let old = mapping.get(lpn);
            mapping.set(lpn, new);
            old
        };
        let stays = self.is_watched(lpn) && self.keep_former(lpn, old);
        match old {
            Mapping::Unmapped => {}
            Mapping::Data(_) if stays => {}
            Mapping::Data(at) => self.forget(at),
            Mapping::Tombstone(page) => {
                let mut tombstones = self.tombstones.borrow_mut();
                let live = tombstones
                    .get_mut(&page)
                    .expect("a tombstone in the table is counted");
                *live -= 1;
                if *live == 0 {
                    tombstones.remove(&page);
                    self.forget_page(page);
                }
            }
        }
        old
    }

    /// A unit is not needed any more; where nothing could be collected, something can be now.
    pub(super) fn forget(&self, at: UnitAddress) {
        {
            let mut blocks = self.blocks.borrow_mut();
            // A page lost to an uncorrectable error was invalidated when it was found.
            if blocks.is_valid(at) {
                blocks.invalidate(at);
            }
        }
        self.look_at_block(self.geometry.page_address(self.unit.page(at)).block);
    }

    /// The same of what takes a page as a whole.
    pub(super) fn forget_page(&self, page: Ppa) {
        self.blocks.borrow_mut().invalidate_page(page);
        self.look_at_block(self.geometry.page_address(page).block);
    }

    /// Something of a block is not needed any more.
    #[inline]
    fn look_at_block(&self, block: BlockId) {
        if self.blocks.borrow().is_compute(block) {
            return self.look_at_region_block(block);
        }
        let plane = self.geometry.plane_of_block(block);
        if self.planes[plane.0 as usize].exhausted.get() {
            self.collections.try_again();
            self.collect(plane);
        }
    }

    /// Makes whole logical pages, which nobody else changes meanwhile, read as zeroes. When
    /// this returns, that is on flash: one record stands for all of them.
    ///
    /// # Errors
    /// No space for the record.
    pub async fn deallocate(
        &self,
        sole: &impl SoleWriter,
        pages: Range<u32>,
        without_space: WithoutSpace,
        origin: Origin,
    ) -> Result<(), FtlError> {
        debug_assert_covers(sole, pages.clone());
        let holds_data = |lpn: &u32| matches!(self.lookup(Lpn(*lpn)), Mapping::Data(_));
        let Some(first) = pages.clone().find(holds_data) else {
            return Ok(());
        };
        let last = pages.rev().find(holds_data).unwrap_or(first);
        if is_planted(Bug::DeallocationLeavesNoRecord) {
            for lpn in (first..=last).map(Lpn) {
                self.replace(lpn, Mapping::Unmapped);
            }
            return Ok(());
        }
        // First: from its version on, a deallocation must be among those under way.
        let _room = self.buffers.room(Purpose::Record).await;
        let version = self.next_version();
        let content = Content::Tombstone {
            start: Lpn(first),
            count: last - first + 1,
        };
        let preferred = self.plane_for(Lpn(first));
        let blank = self.buffers.take();
        self.buffers.with_mut(blank.id(), |page| page.fill(0xFF));
        self.deallocating.borrow_mut().insert(version);
        let mut programmed = self
            .program_record(preferred, blank.id(), content, version, origin)
            .await;
        let mut forgotten = Vec::new();
        if programmed == Err(FtlError::NoSpace) && without_space == WithoutSpace::Forget {
            forgotten.extend((first..=last).filter(holds_data));
            for lpn in &forgotten {
                self.replace(Lpn(*lpn), Mapping::Unmapped);
            }
            programmed = self
                .program_record(preferred, blank.id(), content, version, origin)
                .await;
        }
        let Ok(page) = programmed else {
            self.deallocating.borrow_mut().remove(&version);
            return programmed.map(|_| ());
        };
        self.count(|counts| counts.tombstones += 1);
        self.settle(page, self.unit.all());
        let page = self.geometry.ppa(page);
        let held = |lpn: &u32| holds_data(lpn) || forgotten.binary_search(lpn).is_ok();
        let live = (first..=last).filter(held).count() as u32;
        self.tombstones.borrow_mut().insert(page, live);
        let (held, empty): (Vec<u32>, Vec<u32>) = (first..=last).partition(held);
        for lpn in held {
            self.replace(Lpn(lpn), Mapping::Tombstone(page));
        }
        // The record names these, too: what a transaction writes to them meanwhile is older.
        for lpn in empty
            .into_iter()
            .map(Lpn)
            .filter(|lpn| self.is_watched(*lpn))
        {
            self.keep_former(lpn, Mapping::Unmapped);
        }
        self.deallocating.borrow_mut().remove(&version);
        Ok(())
    }

    /// The version below which every deallocation is in the table, now that versions have come
    /// to `next`.
    pub(super) fn deallocated_below(&self, next: u64) -> u64 {
        self.deallocating.borrow().first().copied().unwrap_or(next)
    }
}
