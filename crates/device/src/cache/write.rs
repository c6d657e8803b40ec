//! Writes: into slots where they may complete from there, else to flash.

use std::ops::Range;

use arrayvec::ArrayVec;
use media::dram::{ScatteredAccess, Toward};
use sim::memory::zeroed;
use sim::{Span, Time};

use super::pressure::Turn;
use super::sectors::Sectors;
use super::table::{Place, SlotId};
use super::{Cache, WriteBack};
use crate::ftl::{
    FtlError, Lpn, PageLock, PageSlice, SoleWriter, UNITS_PER_PAGE_MAX, WithoutSpace, WriteClaim,
    WriteLock,
};
use crate::memory::BufferId;
use crate::schedule::Origin;

/// Slices that lie in one buffer.
type Units = ArrayVec<PageSlice, { UNITS_PER_PAGE_MAX as usize }>;

/// How long a page counts as written before, from the first write on: a second.
const MEMORY: Span = Span::from_us(1_000_000);

/// Pages that were written a while ago or less, a bit each.
pub(super) struct Touched {
    bits: Vec<u64>,
    forget_at: Time,
}

impl Touched {
    pub(super) fn new(pages: u32) -> Touched {
        Touched {
            bits: zeroed((pages as usize).div_ceil(64)),
            forget_at: Time::ZERO,
        }
    }

    /// Whether the page was written before; from now on it was.
    fn insert(&mut self, lpn: Lpn) -> bool {
        let (word, bit) = (lpn.0 as usize / 64, 1 << (lpn.0 % 64));
        let before = self.bits[word] & bit != 0;
        self.bits[word] |= bit;
        before
    }

    /// Forgets everything if it is time to.
    fn age(&mut self, now: Time) {
        if now > self.forget_at {
            // A new table rather than zeroes written over the old one: it costs memory only
            // where it is used.
            self.bits = zeroed(self.bits.len());
            self.forget_at = now + MEMORY;
        }
    }
}

/// A command's slices on their way into the cache. Those that are admitted at the same time cross to DRAM together.
pub struct Admission<'a> {
    cache: &'a Cache,
    crossing: ScatteredAccess,
    /// When what has been sent is in DRAM.
    arrival: Time,
    /// The place among those who wait for room, kept until all slices are admitted.
    turn: Turn<'a>,
}

impl Admission<'_> {
    /// Writes slices that lie in one buffer, of pages which `lock` covers: into their slots, or to flash where they must go
    /// there, as `force` asks for what no power cut can take. When this returns, reads find them. The pages need not be
    /// locked until they are in DRAM: what comes later reaches DRAM later.
    ///
    /// # Errors
    /// Those of [`crate::ftl::Ftl::write`], if flash is waited for.
    pub async fn write(
        &mut self,
        lock: &impl SoleWriter,
        units: &[PageSlice],
        force: bool,
    ) -> Result<(), FtlError> {
        if !self.cache.goes_through(units, force) {
            self.wait_for_room().await;
        }
        // Looked at after every wait, and nothing waits until all are admitted: what there is room for now is theirs.
        // What lies in one buffer goes one way: a page that is programmed from there has no room for the rest of it.
        if self.cache.goes_through(units, force) || !self.cache.has_slots_for(units) {
            let through = self.cache.write_page_through(lock, units);
            return self.aside(through).await;
        }
        let buffer = self.cache.take_over(units);
        units.iter().for_each(|unit| self.admit(unit, buffer));
        Ok(())
    }

    /// Some pages of `claim`, as [`WriteClaim::lock`].
    pub async fn lock<'c>(&mut self, claim: &'c WriteClaim<'_>, pages: Range<u32>) -> PageLock<'c> {
        match claim.try_lock(pages.clone()) {
            Some(lock) => lock,
            None => self.aside(claim.lock(pages)).await,
        }
    }

    /// Waits for anything but room. What was admitted is sent before, and others go on, for what is waited for may be theirs.
    pub async fn aside<T>(&mut self, wait: impl Future<Output = T>) -> T {
        self.cross();
        self.turn.step_aside();
        wait.await
    }

    async fn wait_for_room(&mut self) {
        if self.turn.is_next() {
            return;
        }
        // What the arrival of one page makes room for crosses together.
        self.cross();
        if self.turn.relief().await {
            self.cache.count(|counts| counts.back_pressure_waits += 1);
        }
    }

    fn admit(&mut self, slice: &PageSlice, taken: Option<BufferId>) {
        let cache = self.cache;
        let id = cache.admit(slice, taken);
        let address = cache.address(id, Sectors::of(slice.column, slice.bytes));
        let (requester, bytes) = (slice.origin.requester(), u64::from(slice.bytes));
        cache
            .dram
            .add(&mut self.crossing, requester, address, bytes, Toward::Cells);
    }

    /// When all that was written is in DRAM.
    #[must_use = "a write is not complete before"]
    pub fn arrival(mut self) -> Time {
        self.cross();
        self.arrival
    }

    fn cross(&mut self) {
        let crossing = std::mem::take(&mut self.crossing);
        if let Some(arrival) = self.cache.dram.post_scattered(crossing) {
            // A later access may end earlier, in another bank.
            self.arrival = self.arrival.max(arrival);
        }
    }
}

impl Cache {
    /// Whether writes go to flash, as nothing is cached of them or `force` asks for what no power cut can take.
    #[inline]
    pub fn writes_through(&self, force: bool) -> bool {
        !self.caches_writes.get() || (force && self.is_volatile())
    }

    /// Whether these slices go to flash: what transactions see is looked for there.
    #[inline]
    fn goes_through(&self, units: &[PageSlice], force: bool) -> bool {
        self.writes_through(force) || units.iter().any(|unit| self.ftl.is_watched(unit.lpn))
    }

    /// The slices of one command, yet to come. Whoever asks first has room first, whatever else both wait for.
    pub fn admission(&self) -> Admission<'_> {
        Admission {
            cache: self,
            crossing: ScatteredAccess::default(),
            arrival: self.sim.now(),
            turn: self.pressure.turn(),
        }
    }

    /// Whether these pages may be written to the cache: while write-backs fail, or a capacitor
    /// could not save them, only if flash misses some of each already.
    fn has_slots_for(&self, units: &[PageSlice]) -> bool {
        if self.failed_slots.get() == 0 && self.saves_more(units.len() as u32) {
            return true;
        }
        let table = self.table.borrow();
        units.iter().all(|unit| {
            let slot = table.find(unit.lpn).map(|id| table.slot(id));
            slot.is_some_and(|slot| !(slot.dirty | slot.flying).is_empty() && !slot.failed)
        })
    }

    /// Whether a capacitor, if there is one, would save so many more pages: there must be erased blocks for them, and
    /// energy.
    fn saves_more(&self, units: u32) -> bool {
        let room = || self.unsaved_most.min(self.ftl.dump_units());
        !self.config.capacitor || self.table.borrow().unsaved() + units <= room()
    }

    /// Puts a slice into its slot, which this gives, and starts what write-back follows from that. A slice of a buffer that was
    /// `taken` over stays there.
    fn admit(&self, slice: &PageSlice, taken: Option<BufferId>) -> SlotId {
        let place = taken.map(|buffer| (buffer, slice.base));
        let found = self.table.borrow().find(slice.lpn);
        let id = match found {
            Some(id) => {
                self.count(|counts| counts.write_hits += 1);
                self.make_room_to_stay(id);
                id
            }
            None => {
                self.count(|counts| counts.write_misses += 1);
                let place = place.unwrap_or_else(|| self.own_place());
                self.new_slot(slice.lpn, place, slice.origin)
            }
        };
        match place {
            Some(place) => self.move_to(id, place),
            None => self.copy_in(id, slice),
        }
        self.soil(id, slice);
        if self.is_written_back_at_once(slice.lpn) {
            match self.unit.is_page() {
                true => self.launch_or_follow(id, self.sim.now()),
                false => self.gather(id),
            }
        }
        id
    }

    /// A slot that was to go is used again.
    fn make_room_to_stay(&self, id: SlotId) {
        if self.table.borrow().slot(id).leaving {
            self.evict_if_full();
            self.table.borrow_mut().stay(id);
        }
        self.table.borrow_mut().touch(id);
    }

    /// Copies a slice to its slot.
    fn copy_in(&self, id: SlotId, slice: &PageSlice) {
        let (place, flies, present) = {
            let table = self.table.borrow();
            let slot = table.slot(id);
            (slot.place, !slot.flying.is_empty(), slot.present)
        };
        if flies && self.shared.is_shared(place.0) {
            // It may be programmed from there.
            let own = self.own_place();
            self.copy(place, own, present);
            self.move_to(id, own);
        }
        let into = self.table.borrow().slot(id).place;
        self.copy(
            (slice.buffer, slice.base),
            into,
            Sectors::of(slice.column, slice.bytes),
        );
    }

    /// A slot lies there from now on.
    fn move_to(&self, id: SlotId, place: Place) {
        let before = std::mem::replace(&mut self.table.borrow_mut().slot_mut(id).place, place);
        if before != place {
            self.leave_place(before);
        }
    }

    /// The sectors of a slice are dirty from now on.
    fn soil(&self, id: SlotId, slice: &PageSlice) {
        let sectors = Sectors::of(slice.column, slice.bytes);
        let stamp = self.stamp();
        let table = &mut *self.table.borrow_mut();
        let slot = table.slot_mut(id);
        (slot.tenant, slot.rank) = (slice.origin.tenant, slice.origin.rank());
        table.soil(id, sectors, stamp);
        self.changed(slice.lpn);
    }

    fn is_written_back_at_once(&self, lpn: Lpn) -> bool {
        match self.config.write_back {
            WriteBack::Eager => true,
            WriteBack::Lazy => false,
            WriteBack::HotCold => {
                let touched = &mut *self.touched.borrow_mut();
                let cold = !touched.insert(lpn);
                touched.age(self.sim.now());
                cold
            }
        }
    }

    /// A new slot for `lpn` in a place, empty.
    pub(super) fn new_slot(&self, lpn: Lpn, place: Place, origin: Origin) -> SlotId {
        self.evict_if_full();
        self.table.borrow_mut().insert(lpn, place, origin)
    }

    /// If all slots are taken, takes the one that was used least recently from its page. What
    /// flash misses of that leaves DRAM now and goes there.
    fn evict_if_full(&self) {
        if self.table.borrow().resident() < self.capacity {
            return;
        }
        let oldest = self.table.borrow().oldest();
        let Some(id) = oldest else { return };
        self.count(|counts| counts.evictions += 1);
        let (dirty, flying, tenant) = {
            let table = self.table.borrow();
            let slot = table.slot(id);
            (slot.dirty, slot.flying, slot.tenant)
        };
        if (dirty | flying).is_empty() {
            return self.discard(id);
        }
        self.table.borrow_mut().leave(id);
        if dirty.is_empty() {
            return;
        }
        if !self.unit.is_page() {
            return self.gather_with_others(id);
        }
        let (address, bytes) = (self.address(id, dirty), u64::from(dirty.bytes()));
        let left_dram = self.dram.post(tenant, address, bytes, Toward::Reader);
        self.launch_or_follow(id, left_dram);
    }

    /// Takes a clean slot out.
    pub(super) fn discard(&self, id: SlotId) {
        let place = self.table.borrow_mut().remove(id);
        self.leave_place(place);
    }

    /// Writes slices that lie in one buffer, of pages which `lock` covers, to one page of flash; what is in their slots
    /// follows.
    ///
    /// # Errors
    /// Those of [`crate::ftl::Ftl::write`].
    pub async fn write_page_through(
        &self,
        lock: &impl SoleWriter,
        units: &[PageSlice],
    ) -> Result<(), FtlError> {
        if !self.is_on() {
            return self.ftl.write(lock, units).await;
        }
        if units.iter().any(|unit| self.has_unsaved(unit.lpn)) {
            return Box::pin(self.write_apart(lock, units)).await;
        }
        self.write_clean(lock, units).await
    }

    /// The same where flash misses nothing of the pages.
    async fn write_clean(
        &self,
        lock: &impl SoleWriter,
        units: &[PageSlice],
    ) -> Result<(), FtlError> {
        units.iter().for_each(|unit| self.forget_one(unit.lpn));
        let written = self.ftl.write(lock, units).await;
        // Reads may have brought the old content meanwhile.
        units.iter().for_each(|unit| self.forget_one(unit.lpn));
        written
    }

    /// The same where flash misses something of a page: what is new is put there and follows it. First, for a page that is
    /// programmed from their buffer holds nothing in the places of others.
    async fn write_apart(
        &self,
        lock: &impl SoleWriter,
        units: &[PageSlice],
    ) -> Result<(), FtlError> {
        let (mut clean, mut put) = (Units::new(), Units::new());
        for unit in units {
            let found = self.table.borrow().find(unit.lpn);
            match found.filter(|_| self.has_unsaved(unit.lpn)) {
                Some(id) => {
                    self.copy_in(id, unit);
                    self.soil(id, unit);
                    put.push(*unit);
                }
                None => clean.push(*unit),
            }
        }
        if !clean.is_empty() {
            self.write_clean(lock, &clean).await?;
        }
        for unit in &put {
            self.force(unit.lpn).await?;
        }
        Ok(())
    }

    /// Flash has something else of a page, which is watched: what was cached of it before is not shown any more.
    pub fn forget(&self, lpn: Lpn) {
        if self.is_on() {
            self.forget_one(lpn);
        }
    }

    fn forget_one(&self, lpn: Lpn) {
        self.forget_clean(lpn.0..lpn.0 + 1);
    }

    /// Drops the clean slots of `pages`, and sees to it that reads under way make no new ones.
    fn forget_clean(&self, pages: Range<u32>) {
        if pages.len() >= self.changes.len() {
            (0..self.changes.len() as u32).for_each(|page| self.changed(Lpn(page)));
        } else {
            pages.clone().for_each(|page| self.changed(Lpn(page)));
        }
        while let Some(id) = self.find_within(&pages, |unsaved| !unsaved) {
            self.discard(id);
        }
    }

    /// A slot of `pages` that flash misses something of, or one of which it does not.
    fn find_within(&self, pages: &Range<u32>, wanted: impl Fn(bool) -> bool) -> Option<SlotId> {
        let table = self.table.borrow();
        if table.is_empty() {
            return None;
        }
        table.within(pages.clone()).find(|id| {
            let slot = table.slot(*id);
            wanted(!(slot.dirty | slot.flying).is_empty())
        })
    }

    /// Lets whole logical pages, which `lock` covers, be written to flash past the cache, by `write`.
    /// Nothing that was cached before goes there behind it.
    ///
    /// # Errors
    /// Those of `write`; what flash misses of pages stays cached then.
    pub async fn write_past<E>(
        &self,
        lock: &WriteLock<'_>,
        pages: Range<u32>,
        write: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        if !self.is_on() {
            return write.await;
        }
        // No write-back may bring data back behind it: what is dirty is held as if it were flying.
        let held = self.hold(lock, &pages).await;
        let written = write.await;
        self.let_go(&held, written.is_ok());
        // Some pages may have been written even if not all were.
        self.forget_clean(pages);
        written
    }

    /// Makes whole logical pages, which `lock` covers, read as zeroes. When this
    /// returns, that is on flash.
    ///
    /// # Errors
    /// No space for the record of it; the pages are then as they were, or as `without_space` says.
    pub async fn deallocate(
        &self,
        lock: &WriteLock<'_>,
        pages: Range<u32>,
        without_space: WithoutSpace,
        origin: Origin,
    ) -> Result<(), FtlError> {
        let record = (self.ftl).deallocate(lock, pages.clone(), without_space, origin);
        self.write_past(lock, pages, record).await
    }

    /// Drops all that is cached, whether flash has it or not. No host command may be under way.
    pub async fn forget_everything(&self) {
        if !self.is_on() {
            return;
        }
        let all = 0..self.ftl.logical_pages();
        let lock = self.ftl.lock(all.clone()).await;
        let held = self.hold(&lock, &all).await;
        self.let_go(&held, true);
        self.forget_clean(all);
    }
}
