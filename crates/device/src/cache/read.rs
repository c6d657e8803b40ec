//! Reads: what of a page the cache has, and keeping what flash had.

use std::ops::Range;

use media::dram::{ScatteredAccess, Toward};
use sim::{Requester, Time};

use super::sectors::Sectors;
use super::table::{SlotId, Table};
use super::{CHANGE_COUNTERS, Cache};
use crate::ftl::{Lpn, PageSlice};
use crate::memory::BufferId;
use crate::planted::{Bug, is_planted};

/// What the cache has of a slice of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// All of it; it has been copied to the buffer.
    Hit(Found),
    /// Some of it, which has been copied; the rest is to be read from flash.
    PartialHit(Rest),
    /// Nothing.
    Miss,
}

/// What the cache does not have of a slice of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    missing: Sectors,
    /// Where in the buffer its page begins.
    base: u32,
    /// What the cache had.
    pub found: Found,
}

/// What the cache had, which is still to leave DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    address: u64,
    bytes: u32,
}

impl Found {
    /// Its address in the drive's DRAM, and its bytes.
    pub(crate) fn in_dram(&self) -> (u64, u64) {
        (self.address, self.bytes.into())
    }
}

impl Rest {
    /// The slice from the first missing byte to the last, of the one that was looked for.
    pub fn of(&self, slice: PageSlice) -> PageSlice {
        let hull = self.missing.hull();
        PageSlice {
            column: hull.start,
            bytes: hull.end - hull.start,
            ..slice
        }
    }
}

/// When a read began, as far as its page is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadStamp(u32);

impl Cache {
    /// Looks for a slice of one logical page, and copies what is there to its place.
    #[inline]
    pub fn lookup(&self, slice: &PageSlice) -> Lookup {
        if !self.is_on() {
            return Lookup::Miss;
        }
        self.lookup_slot(slice)
    }

    /// What looking for a slice would say; nothing is copied, counted or touched.
    pub fn peek(&self, slice: &PageSlice) -> Lookup {
        if !self.is_on() {
            return Lookup::Miss;
        }
        match present(&self.table.borrow(), slice) {
            None => Lookup::Miss,
            Some((id, there)) => self.lookup_of(slice, id, there),
        }
    }

    fn lookup_slot(&self, slice: &PageSlice) -> Lookup {
        let table = &mut *self.table.borrow_mut();
        let Some((id, there)) = present(table, slice) else {
            self.count(|counts| counts.read_misses += 1);
            return Lookup::Miss;
        };
        table.touch(id);
        let into = (slice.buffer, slice.base);
        self.copy(table.slot(id).place, into, there);
        let lookup = self.lookup_of(slice, id, there);
        if matches!(lookup, Lookup::Hit(_)) {
            self.count(|counts| counts.read_hits += 1);
        }
        lookup
    }

    /// What it says of a slice that these sectors are there of.
    fn lookup_of(&self, slice: &PageSlice, id: SlotId, there: Sectors) -> Lookup {
        let bytes = slice.bytes;
        let missing = Sectors::of(slice.column, bytes) & !there;
        let found = Found {
            address: self.address(id, there),
            bytes: there.bytes(),
        };
        if missing.is_empty() || is_planted(Bug::CacheHitTakesStaleSectors) {
            return Lookup::Hit(Found { bytes, ..found });
        }
        let base = slice.base;
        Lookup::PartialHit(Rest {
            missing,
            base,
            found,
        })
    }

    /// Puts what a lookup did not find, and flash had, beside what it found.
    pub fn merge(&self, rest: &Rest, from_flash: BufferId, into: BufferId) {
        self.count(|counts| counts.read_partial_hits += 1);
        self.copy((from_flash, rest.base), (into, rest.base), rest.missing);
    }

    /// Copies sectors of a page from one buffer to another; each is given with the byte at which the page begins there.
    pub(super) fn copy(&self, from: (BufferId, u32), to: (BufferId, u32), sectors: Sectors) {
        let bases = (from.1 as usize, to.1 as usize);
        self.buffers.with_pair(from.0, to.0, |from, to| {
            for run in sectors.runs() {
                let length = run.len();
                to[bases.1 + run.start..][..length]
                    .copy_from_slice(&from[bases.0 + run.start..][..length]);
            }
        });
    }

    /// Moves what a hit found out of DRAM; gives the instant at which it is there.
    #[inline]
    pub fn post_hit(&self, requester: Requester, found: Found) -> Time {
        let bytes = u64::from(found.bytes);
        self.dram
            .post(requester, found.address, bytes, Toward::Reader)
    }

    /// As [`Cache::post_hit`], for one of several that leave DRAM together.
    #[inline]
    pub fn add_hit(&self, access: &mut ScatteredAccess, requester: Requester, found: Found) {
        let (address, bytes) = (found.address, u64::from(found.bytes));
        self.dram
            .add(access, requester, address, bytes, Toward::Reader);
    }

    /// When what was added has left DRAM, if anything was.
    #[inline]
    pub fn post_hits(&self, access: ScatteredAccess) -> Option<Time> {
        self.dram.post_scattered(access)
    }

    /// Where sectors of a slot begin in DRAM. A slot that was evicted has left it.
    pub(super) fn address(&self, id: SlotId, sectors: Sectors) -> u64 {
        let slot = u64::from(id % self.capacity);
        let bytes = u64::from(self.unit.bytes());
        self.partition.address(slot * bytes) + u64::from(sectors.hull().start)
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

    /// Whether flash misses something of any of these pages.
    pub fn has_unsaved_of(&self, pages: &[Range<u32>]) -> bool {
        let caches = self.config.mode.caches_writes();
        caches
            && pages
                .iter()
                .cloned()
                .flatten()
                .any(|page| self.has_unsaved(Lpn(page)))
    }

    /// Must be taken when a read of flash begins whose data [`Cache::keep`] is to keep.
    #[inline]
    pub fn read_stamp(&self, lpn: Lpn) -> ReadStamp {
        ReadStamp(self.changes[lpn.0 as usize % CHANGE_COUNTERS].get())
    }

    /// Keeps what was read from flash, unless the page has changed since `stamp`.
    #[inline]
    pub fn keep(&self, slice: PageSlice, stamp: ReadStamp) {
        let wanted = self.config.mode.caches_reads() && self.failed_slots.get() == 0;
        if wanted && self.read_stamp(slice.lpn) == stamp {
            self.keep_unchanged(&slice);
        }
    }

    fn keep_unchanged(&self, slice: &PageSlice) {
        let sectors = Sectors::of(slice.column, slice.bytes);
        let found = self.table.borrow().find(slice.lpn);
        let id = found.unwrap_or_else(|| {
            let place = self.own_place();
            self.new_slot(slice.lpn, place, slice.origin)
        });
        let (into, new) = {
            let slot = self.table.borrow_mut();
            let slot = slot.slot(id);
            (slot.place, sectors & !slot.present)
        };
        self.copy((slice.buffer, slice.base), into, new);
        let table = &mut *self.table.borrow_mut();
        let slot = table.slot_mut(id);
        slot.present = slot.present | new;
        if !new.is_empty() {
            let (address, bytes) = (self.address(id, new), u64::from(new.bytes()));
            self.dram
                .post(slice.origin.requester(), address, bytes, Toward::Cells);
        }
    }

    /// The page's content changes: what reads under way bring must not be kept.
    #[inline]
    pub(super) fn changed(&self, lpn: Lpn) {
        let counter = &self.changes[lpn.0 as usize % CHANGE_COUNTERS];
        counter.set(counter.get().wrapping_add(1));
    }
}

/// The slot that has sectors of a slice, and those.
#[inline]
fn present(table: &Table, slice: &PageSlice) -> Option<(SlotId, Sectors)> {
    let wanted = Sectors::of(slice.column, slice.bytes);
    let id = table.find(slice.lpn)?;
    let there = table.slot(id).present & wanted;
    (!there.is_empty()).then_some((id, there))
}
