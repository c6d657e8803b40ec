//! Slots that go to flash together, where a page of flash has several logical pages.
//!
//! What is to be written back waits until as many slots wait as fill a page; data that a power cut must not take waits for
//! nobody: a flush, and a write that asks for flash, program a page that is not full. Whoever is written back takes slots
//! with it that are dirty anyway, those that have been for the longest time, rather than leave their places empty.

use std::ops::Range;

use arrayvec::ArrayVec;
use media::dram::Toward;
use sim::Time;

use super::Cache;
use super::sectors::Sectors;
use super::table::{Place, SlotId};
use super::write_back::{Departure, slice_for};
use crate::ftl::{FtlError, PageSlice, SoleWriter, UNITS_PER_PAGE_MAX};
use crate::memory::Purpose;

/// Slots, at most as many as a page of flash has logical pages.
pub(super) type Group = ArrayVec<SlotId, { UNITS_PER_PAGE_MAX as usize }>;

/// The write-back of slots that are flying. While they are, no other of their pages begins, and host
/// commands change the slots only.
struct Flight<'a> {
    cache: &'a Cache,
    group: &'a Group,
}

impl SoleWriter for Flight<'_> {
    fn covers(&self, pages: &Range<u32>) -> bool {
        let table = self.cache.table.borrow();
        let mut slots = self.group.iter().map(|id| table.slot(*id));
        slots.any(|slot| !slot.flying.is_empty() && *pages == (slot.lpn.0..slot.lpn.0 + 1))
    }
}

impl Cache {
    /// Has a slot written back together with others, as soon as there are enough of them.
    pub(super) fn gather(&self, id: SlotId) {
        if self.joins(id) && self.is_group_full() {
            self.launch_gathered(Some(id));
        }
    }

    /// The same of a slot that was evicted: others that are dirty go with it, if that fills a page.
    pub(super) fn gather_with_others(&self, id: SlotId) {
        if !self.joins(id) {
            return;
        }
        let group = self.with_longest_dirty(&self.gathering.borrow());
        if group.is_full_for(self) {
            self.gathering.borrow_mut().clone_from(&group);
            self.launch_gathered(None);
        }
    }

    /// Writes a slot back now, with what else is dirty; the rest of its page of flash stays empty. If it is flying it follows.
    pub(super) fn launch_padded(&self, id: SlotId) {
        if !self.joins(id) {
            return;
        }
        let mut group = Group::from_iter([id]);
        for other in self.gathering.borrow().iter().filter(|other| **other != id) {
            if !group.is_full_for(self) {
                group.push(*other);
            }
        }
        let group = self.with_longest_dirty(&group);
        *self.gathering.borrow_mut() = group;
        self.launch_gathered(Some(id));
    }

    /// Lets a slot wait for others; false if there is nothing to write back, or if it follows what is flying.
    fn joins(&self, id: SlotId) -> bool {
        let table = &mut *self.table.borrow_mut();
        let slot = table.slot_mut(id);
        if slot.dirty.is_empty() {
            return false;
        }
        if !slot.flying.is_empty() {
            slot.again = true;
            return false;
        }
        let mut waiting = self.gathering.borrow_mut();
        if !waiting.contains(&id) && !waiting.is_full_for(self) {
            waiting.push(id);
        }
        true
    }

    fn is_group_full(&self) -> bool {
        self.gathering.borrow().is_full_for(self)
    }

    /// A group and those slots that have been dirty for the longest time, until it is full.
    fn with_longest_dirty(&self, group: &Group) -> Group {
        let mut all = group.clone();
        let table = self.table.borrow();
        for id in table.dirty() {
            if all.is_full_for(self) {
                break;
            }
            if !group.contains(&id) && !table.slot(id).failed {
                all.push(id);
            }
        }
        all
    }

    /// Starts the write-back of all that wait; what was not written just now leaves DRAM first.
    fn launch_gathered(&self, fresh: Option<SlotId>) {
        let group = std::mem::take(&mut *self.gathering.borrow_mut());
        let mut left_dram = self.sim.now();
        for (place, id) in group.iter().enumerate() {
            let (dirty, tenant) = {
                let table = self.table.borrow();
                (table.slot(*id).dirty, table.slot(*id).tenant)
            };
            if fresh != Some(*id) {
                let (address, bytes) = (self.address(*id, dirty), u64::from(dirty.bytes()));
                let left = self.dram.post(tenant, address, bytes, Toward::Reader);
                left_dram = left_dram.max(left);
            }
            self.pressure.add(dirty.bytes());
            let table = &mut *self.table.borrow_mut();
            table.launch(*id);
            self.buffers.prefetch(table.slot(*id).place.0);
            table.slot_mut(*id).mate = group.get(place + 1).copied();
        }
        self.launch_group_at(&group, left_dram);
    }

    fn launch_group_at(&self, group: &Group, left_dram: Time) {
        if let Some(slot) = group.first() {
            self.assign(Departure {
                slot: *slot,
                left_dram,
            });
        }
    }

    /// Writes a slot and those that fly with it to one page of flash.
    pub(super) async fn write_group_back(&self, first: SlotId) {
        let group: Group = {
            let table = self.table.borrow();
            std::iter::successors(Some(first), |id| table.slot(*id).mate).collect()
        };
        self.prefetch_contents(&group);
        let mut outcomes: ArrayVec<Result<(), FtlError>, { UNITS_PER_PAGE_MAX as usize }> =
            ArrayVec::new();
        let room = self.buffers.room(Purpose::WriteBack).await;
        {
            let lent = self.lend_place(&self.table.borrow(), &group);
            // Where they lie as they are to be programmed, nothing is copied.
            let copy = lent.is_none().then(|| self.buffers.take());
            let mut units = ArrayVec::<PageSlice, { UNITS_PER_PAGE_MAX as usize }>::new();
            for (number, id) in (0..).zip(&group) {
                let base = number * self.unit.bytes();
                let whole = match &copy {
                    Some(page) => self.complete_slot(*id, (page.id(), base)).await,
                    None => Ok(self.whole_slot(*id)),
                };
                outcomes.push(whole.map(|unit| units.push(unit)));
            }
            let flight = Flight {
                cache: self,
                group: &group,
            };
            if !units.is_empty()
                && let Err(error) = self.ftl.write(&flight, &units).await
            {
                outcomes
                    .iter_mut()
                    .for_each(|outcome| *outcome = Err(error));
            }
            if let Some(buffer) = lent {
                self.leave_place((buffer, 0));
            }
        }
        drop(room);
        for (id, outcome) in group.into_iter().zip(outcomes) {
            self.write_back_over(id, outcome);
        }
    }

    /// What is to be written of a slot that holds all of its page, and is programmed from where it lies.
    pub(super) fn whole_slot(&self, id: SlotId) -> PageSlice {
        let table = self.table.borrow();
        let slot = table.slot(id);
        slice_for(slot.origin(), slot.lpn, 0, self.unit.bytes(), slot.place)
    }

    /// Copies a slot into a buffer in which its page begins at a byte, and reads what flash has of the rest of the page;
    /// gives what is to be written.
    async fn complete_slot(&self, id: SlotId, into: Place) -> Result<PageSlice, FtlError> {
        let (lpn, known, origin) = {
            let table = self.table.borrow();
            let slot = table.slot(id);
            self.copy(slot.place, into, slot.present);
            (slot.lpn, slot.present, slot.origin())
        };
        let (hull, all) = (known.hull(), self.unit.bytes());
        let bytes = hull.end - hull.start;
        let part = slice_for(origin, lpn, hull.start, bytes, into);
        if bytes == known.bytes() && (bytes == all || self.ftl.kept_on_flash(&part).is_none()) {
            return Ok(part);
        }
        let missing = Sectors::of(0, all) & !known;
        self.fill(origin, lpn, missing, into).await?;
        Ok(slice_for(origin, lpn, 0, all, into))
    }
}

/// Whether a group fills a page of flash.
trait IsFull {
    fn is_full_for(&self, cache: &Cache) -> bool;
}

impl IsFull for Group {
    fn is_full_for(&self, cache: &Cache) -> bool {
        self.len() == cache.unit.per_page() as usize
    }
}
