//! Write-backs: taking what is dirty to flash, by tasks that are kept for it.

use std::ops::Range;
use std::rc::Rc;
use std::task::Poll;

use sim::{TaskId, Time};

use super::Cache;
use super::sectors::Sectors;
use super::table::{Slot, SlotId};
use crate::ftl::{FtlError, Lpn, PageSlice, SoleWriter, WriteLock};
use crate::memory::{BufferId, Purpose};
use crate::planted::{Bug, is_planted};
use crate::schedule::Origin;

/// What a worker is to take to flash: which slot, of several that fly together the first, and when its data has left DRAM.
#[derive(Clone, Copy)]
pub(super) struct Departure {
    pub(super) slot: SlotId,
    pub(super) left_dram: Time,
}

/// The write-back of a slot that is flying. While it is, no other of its page begins, and host
/// commands change the slot only.
struct Flight<'a> {
    cache: &'a Cache,
    id: SlotId,
}

impl SoleWriter for Flight<'_> {
    fn covers(&self, pages: &Range<u32>) -> bool {
        let table = self.cache.table.borrow();
        let slot = table.slot(self.id);
        !slot.flying.is_empty() && *pages == (slot.lpn.0..slot.lpn.0 + 1)
    }
}

/// The tasks that write back, and what each is to do.
#[derive(Default)]
pub(super) struct Workers {
    workers: Vec<(TaskId, Option<Departure>)>,
    idle: Vec<u32>,
}

impl Cache {
    /// Starts a write-back of what is dirty of a slot, which has left DRAM at `left_dram`, or
    /// has it follow the one that is under way.
    pub(super) fn launch_or_follow(&self, id: SlotId, left_dram: Time) {
        {
            let table = &mut *self.table.borrow_mut();
            let slot = table.slot_mut(id);
            if slot.dirty.is_empty() {
                return;
            }
            if !slot.flying.is_empty() {
                slot.again = true;
                return;
            }
            self.pressure.add(slot.dirty.bytes());
            table.launch(id);
        }
        self.assign(Departure {
            slot: id,
            left_dram,
        });
    }

    /// The same at once, whether or not what is dirty fills a page of flash.
    fn launch_now(&self, id: SlotId) {
        match self.unit.is_page() {
            true => self.launch_or_follow(id, self.sim.now()),
            false => self.launch_padded(id),
        }
    }

    /// Gives a job to an idle worker, or else to a new one.
    pub(super) fn assign(&self, departure: Departure) {
        let workers = &mut *self.workers.borrow_mut();
        if let Some(number) = workers.idle.pop() {
            let worker = &mut workers.workers[number as usize];
            worker.1 = Some(departure);
            return self.sim.wake(worker.0);
        }
        let number = workers.workers.len() as u32;
        workers.workers.push((TaskId::NONE, Some(departure)));
        if let Some(cache) = self.me.upgrade() {
            self.sim.spawn_detached(cache.work(number));
        }
    }

    /// Carries out one job after another, for ever.
    async fn work(self: Rc<Cache>, number: u32) {
        loop {
            let departure = self.next_departure(number).await;
            self.sim.sleep_until(departure.left_dram).await;
            if self.unit.is_page() {
                let outcome = self.write_back(departure.slot).await;
                self.write_back_over(departure.slot, outcome);
            } else {
                self.write_group_back(departure.slot).await;
            }
            self.workers.borrow_mut().idle.push(number);
        }
    }

    fn next_departure(&self, number: u32) -> impl Future<Output = Departure> + '_ {
        std::future::poll_fn(move |_| {
            let worker = &mut self.workers.borrow_mut().workers[number as usize];
            match worker.1.take() {
                Some(departure) => Poll::Ready(departure),
                None => {
                    worker.0 = self.sim.current();
                    Poll::Pending
                }
            }
        })
    }

    /// Writes to flash what the slot holds, which may be more than what is flying.
    async fn write_back(&self, id: SlotId) -> Result<(), FtlError> {
        let page_bytes = self.unit.bytes();
        let _room = self.buffers.room(Purpose::WriteBack).await;
        let lent = self.lend_place(&self.table.borrow(), &[id]);
        if let Some(buffer) = lent {
            // Nothing is copied.
            let flight = Flight { cache: self, id };
            let whole = self.whole_slot(id);
            let written = self.ftl.write(&flight, &[whole]).await;
            self.leave_place((buffer, 0));
            return written;
        }
        let page = self.buffers.take();
        let (lpn, known, origin) = {
            let table = self.table.borrow();
            let slot = table.slot(id);
            self.copy(slot.place, (page.id(), 0), slot.present);
            (slot.lpn, slot.present, slot.origin())
        };
        let flight = Flight { cache: self, id };
        let hull = known.hull();
        let bytes = hull.end - hull.start;
        if bytes == known.bytes() {
            let slice = slice_for(origin, lpn, hull.start, bytes, (page.id(), 0));
            return self.ftl.write(&flight, &[slice]).await;
        }
        // What is missing lies in several places: it is read at once.
        let missing = Sectors::of(0, page_bytes) & !known;
        self.fill(origin, lpn, missing, (page.id(), 0)).await?;
        let slice = slice_for(origin, lpn, 0, page_bytes, (page.id(), 0));
        self.ftl.write(&flight, &[slice]).await
    }

    /// Reads sectors of a logical page from flash to their places in a buffer in which the page begins at a byte.
    pub(super) async fn fill(
        &self,
        origin: Origin,
        lpn: Lpn,
        missing: Sectors,
        (page, base): (BufferId, u32),
    ) -> Result<(), FtlError> {
        let _room = self.buffers.room(Purpose::Rest).await;
        let rest = self.buffers.take();
        let (hull, ticket) = (missing.hull(), self.ftl.ticket());
        let (column, bytes) = (hull.start, hull.end - hull.start);
        let slice = slice_for(origin, lpn, column, bytes, (rest.id(), 0));
        self.ftl.read(slice, ticket.id().into());
        ticket.await?;
        self.copy((rest.id(), 0), (page, base), missing);
        Ok(())
    }

    /// A write-back has landed, or failed.
    pub(super) fn write_back_over(&self, id: SlotId, outcome: Result<(), FtlError>) {
        let landed = self.table.borrow().slot(id).flying;
        self.pressure.release(landed.bytes());
        match outcome {
            Ok(()) => self.count(|counts| counts.write_backs += 1),
            Err(error) => {
                self.count(|counts| counts.write_back_failures += 1);
                self.last_failure.set(Some(error));
            }
        }
        self.land(id, outcome.is_err());
        self.landed.announce();
    }

    /// What is to become of a slot that has landed.
    fn land(&self, id: SlotId, failed: bool) {
        let again = {
            let stamp = failed.then(|| self.stamp());
            let table = &mut *self.table.borrow_mut();
            table.land(id, stamp);
            let slot = table.slot_mut(id);
            self.note_failed(slot, failed);
            slot.again || slot.leaving
        };
        let (dirty, leaving) = {
            let table = self.table.borrow();
            let slot = table.slot(id);
            (!slot.dirty.is_empty(), slot.leaving)
        };
        if failed {
            self.table.borrow_mut().stay(id);
        } else if dirty && again {
            match self.unit.is_page() {
                true => self.launch_or_follow(id, self.sim.now()),
                false => self.gather(id),
            }
        } else if !dirty && (leaving || !self.config.mode.caches_reads()) {
            self.discard(id);
        }
    }

    /// Says of a slot whether its last write-back failed.
    fn note_failed(&self, slot: &mut Slot, failed: bool) {
        let before = std::mem::replace(&mut slot.failed, failed);
        let others = self.failed_slots.get() - u32::from(before);
        self.failed_slots.set(others + u32::from(failed));
    }

    /// Waits until flash has all of a page that the cache had when this was called.
    ///
    /// # Errors
    /// Those of its write-back.
    pub(super) async fn force(&self, lpn: Lpn) -> Result<(), FtlError> {
        let (until, mut tried) = (self.stamp(), false);
        loop {
            let found = self.table.borrow().find(lpn);
            let Some(id) = found else { return Ok(()) };
            let (awaited, flies, failed) = {
                let table = self.table.borrow();
                let slot = table.slot(id);
                // What failed counts as new, and is not.
                let awaited = slot.holds_from_before(until) || slot.failed;
                (awaited, !slot.flying.is_empty(), slot.failed)
            };
            if !awaited {
                return Ok(());
            }
            if tried && failed && !flies {
                return self.last_failure.get().map_or(Ok(()), Err);
            }
            tried |= !flies;
            self.launch_now(id);
            self.landed.next().await;
        }
    }

    /// Waits until flash has all of `pages` that the cache has.
    ///
    /// # Errors
    /// Those of the write-backs.
    pub async fn save(&self, pages: Range<u32>) -> Result<(), FtlError> {
        if self.config.mode.caches_writes() {
            for page in pages {
                self.force(Lpn(page)).await?;
            }
        }
        Ok(())
    }

    /// Waits until flash has everything that was written to the cache before.
    ///
    /// # Errors
    /// The last error of a write-back meanwhile; the data that it was to take to flash is still
    /// in the cache.
    pub async fn flush(&self) -> Result<(), FtlError> {
        if !self.config.mode.caches_writes() {
            return Ok(());
        }
        let (until, failures) = (self.stamp(), self.counts().write_back_failures);
        let mut forgotten = is_planted(Bug::FlushForgetsASlot);
        loop {
            if let Some(id) = self.due(until) {
                if std::mem::take(&mut forgotten) {
                    break;
                }
                self.pressure.turn().relief().await;
                // The wait may have changed things.
                if self.due(until) == Some(id) {
                    self.launch_now(id);
                }
            } else if self.is_flying(until) {
                self.landed.next().await;
            } else {
                break;
            }
        }
        if self.counts().write_back_failures == failures {
            return Ok(());
        }
        self.last_failure.get().map_or(Ok(()), Err)
    }

    /// A slot at rest that was made dirty before `until`.
    fn due(&self, until: u64) -> Option<SlotId> {
        let table = self.table.borrow();
        let first = table.longest_dirty();
        first.filter(|id| table.slot(*id).dirtied < until)
    }

    /// Whether something that was made dirty before `until` is under way.
    fn is_flying(&self, until: u64) -> bool {
        let table = self.table.borrow();
        let mut flying = table.flying();
        flying.any(|id| table.slot(id).holds_from_before(until))
    }

    /// Waits for the write-backs of `pages`, which `lock` covers, and keeps others from
    /// beginning; gives the slots held so, for [`Cache::let_go`].
    pub(super) async fn hold(&self, lock: &WriteLock<'_>, pages: &Range<u32>) -> Vec<SlotId> {
        debug_assert!(lock.covers(pages));
        while self.is_any_flying(pages) {
            self.landed.next().await;
        }
        let table = &mut *self.table.borrow_mut();
        if table.is_empty() {
            return Vec::new();
        }
        let dirty = |id: &SlotId| !table.slot(*id).dirty.is_empty();
        let held: Vec<SlotId> = table.within(pages.clone()).filter(dirty).collect();
        for id in &held {
            table.launch(*id);
            self.gathering.borrow_mut().retain(|waiting| waiting != id);
        }
        held
    }

    fn is_any_flying(&self, pages: &Range<u32>) -> bool {
        let table = self.table.borrow();
        let mut flying = table.flying();
        flying.any(|id| pages.contains(&table.slot(id).lpn.0))
    }

    /// Lets slots go that were held: what they hold is not needed any more, or dirty as before.
    pub(super) fn let_go(&self, held: &[SlotId], needless: bool) {
        for id in held {
            let table = &mut *self.table.borrow_mut();
            let flew = table.slot(*id).flew;
            table.land(*id, (!needless).then_some(flew));
            match needless {
                true => self.note_failed(table.slot_mut(*id), false),
                false => table.stay(*id),
            }
        }
        self.landed.announce();
    }
}

/// A slice that is written back, or read for that.
pub(super) fn slice_for(
    origin: Origin,
    lpn: Lpn,
    column: u32,
    bytes: u32,
    (buffer, base): (BufferId, u32),
) -> PageSlice {
    PageSlice {
        origin,
        base,
        ..PageSlice::new(lpn, column, bytes, buffer)
    }
}
