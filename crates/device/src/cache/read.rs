//! Reads: what of a page the cache has, and keeping what flash had.

use std::ops::Range;

use sim::{Tenant, Time};

use super::sectors::Sectors;
use super::{CHANGE_COUNTERS, Cache};
use crate::buffer::BufferId;
use crate::ftl::{Lpn, PagePart};
use crate::planted::{Bug, is_planted};

/// What the cache has of a part of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// All of it; it has been copied to the buffer.
    Hit,
    /// Some of it, which has been copied; the rest is to be read from flash.
    Part(Rest),
    /// Nothing.
    Miss,
}

/// What the cache does not have of a part of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    missing: Sectors,
    /// Bytes that the cache had.
    pub copied: u32,
}

impl Rest {
    /// The bytes from the first missing one to the last.
    pub fn hull(&self) -> Range<u32> {
        self.missing.hull()
    }
}

/// When a read began, as far as its page is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadStamp(u32);

impl Cache {
    /// Has the processor fetch what it needs to find a page that a command under way names.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        if self.is_on() {
            self.table.borrow().prefetch(lpn);
        }
        self.ftl.prefetch(lpn);
    }

    /// Looks for `bytes` bytes from `column` on of one logical page, and copies what is there
    /// to that place in `buffer`.
    #[inline]
    pub fn lookup(&self, lpn: Lpn, column: u32, bytes: u32, buffer: BufferId) -> Lookup {
        if !self.is_on() {
            return Lookup::Miss;
        }
        self.lookup_slot(lpn, column, bytes, buffer)
    }

    fn lookup_slot(&self, lpn: Lpn, column: u32, bytes: u32, buffer: BufferId) -> Lookup {
        let wanted = Sectors::of(column, bytes);
        let table = &mut *self.table.borrow_mut();
        let found = table.find(lpn);
        let there = found.map_or(Sectors::NONE, |id| table.slot(id).present & wanted);
        let Some(id) = found.filter(|_| !there.is_empty()) else {
            self.count(|counts| counts.read_misses += 1);
            return Lookup::Miss;
        };
        table.touch(id);
        self.copy(table.slot(id).buffer, buffer, there);
        let missing = wanted & !there;
        if missing.is_empty() || is_planted(Bug::CacheHitTakesStaleSectors) {
            self.count(|counts| counts.read_hits += 1);
            return Lookup::Hit;
        }
        Lookup::Part(Rest {
            missing,
            copied: there.bytes(),
        })
    }

    /// Puts what a lookup did not find, and flash had, beside what it found.
    pub fn merge(&self, rest: &Rest, from_flash: BufferId, into: BufferId) {
        self.count(|counts| counts.read_partial_hits += 1);
        self.copy(from_flash, into, rest.missing);
    }

    /// Copies sectors from one buffer to the same place of another.
    pub(super) fn copy(&self, from: BufferId, to: BufferId, sectors: Sectors) {
        self.buffers.with_pair(from, to, |from, to| {
            for run in sectors.runs() {
                to[run.clone()].copy_from_slice(&from[run]);
            }
        });
    }

    /// Moves what a hit found out of DRAM; gives the instant at which it is there.
    #[inline]
    pub fn post_hit(&self, tenant: Tenant, bytes: u32) -> Time {
        self.dram.post(tenant, u64::from(bytes))
    }

    /// Whether flash misses something of a page.
    #[inline]
    pub fn has_unsaved(&self, lpn: Lpn) -> bool {
        if !self.config.mode.caches_writes() {
            return false;
        }
        let table = self.table.borrow();
        let slot = table.find(lpn).map(|id| table.slot(id));
        slot.is_some_and(|slot| !(slot.dirty | slot.flying).is_empty())
    }

    /// Must be taken when a read of flash begins whose data [`Cache::keep`] is to keep.
    #[inline]
    pub fn read_stamp(&self, lpn: Lpn) -> ReadStamp {
        ReadStamp(self.changes[lpn.0 as usize % CHANGE_COUNTERS].get())
    }

    /// Keeps what was read from flash, unless the page has changed since `stamp`.
    #[inline]
    pub fn keep(&self, part: PagePart, stamp: ReadStamp) {
        let wanted = self.config.mode.caches_reads() && self.failed_slots.get() == 0;
        if wanted && self.read_stamp(part.lpn) == stamp {
            self.keep_unchanged(&part);
        }
    }

    fn keep_unchanged(&self, part: &PagePart) {
        let sectors = Sectors::of(part.column, part.bytes);
        let tenant = part.origin.tenant;
        let found = self.table.borrow().find(part.lpn);
        let id = found.unwrap_or_else(|| self.new_slot(part.lpn, tenant));
        let (into, new) = {
            let slot = self.table.borrow_mut();
            let slot = slot.slot(id);
            (slot.buffer, sectors & !slot.present)
        };
        self.copy(part.buffer, into, new);
        let table = &mut *self.table.borrow_mut();
        let slot = table.slot_mut(id);
        slot.present = slot.present | new;
        self.dram.post(tenant, u64::from(new.bytes()));
    }

    /// The page's content changes: what reads under way bring must not be kept.
    #[inline]
    pub(super) fn changed(&self, lpn: Lpn) {
        let counter = &self.changes[lpn.0 as usize % CHANGE_COUNTERS];
        counter.set(counter.get().wrapping_add(1));
    }
}
