//! The slots of the cache: which page each holds, in what order they were used,
//! and which of them flash does not know yet.

use std::cell::Cell;
use std::rc::Rc;

use sim::Tenant;
use sim::memory::{self, zeroed};

use crate::ftl::Lpn;
use crate::memory::BufferId;
use crate::schedule::{Origin, Priority, Rank};

use super::sectors::Sectors;

/// Number of a slot.
pub(super) type SlotId = u32;

const NONE: SlotId = SlotId::MAX;

/// Where a slot lies: in which buffer, and from which byte on.
pub(super) type Place = (BufferId, u32);

/// A page in the cache, or a part of it.
pub(super) struct Slot {
    pub(super) lpn: Lpn,
    pub(super) place: Place,
    /// Who wrote to it last, or had it read.
    pub(super) tenant: Tenant,
    /// The rank of that.
    pub(super) rank: Rank,
    /// Sectors that it holds.
    pub(super) present: Sectors,
    /// Of these, sectors that are newer than flash and on no way there.
    pub(super) dirty: Sectors,
    /// Sectors on their way to flash.
    pub(super) flying: Sectors,
    /// When the oldest of `dirty`, and of `flying`, was written, as a number that rises.
    pub(super) dirtied: u64,
    pub(super) flew: u64,
    /// What is dirty goes to flash as soon as what is flying has landed.
    pub(super) again: bool,
    /// Evicted: the slot goes when it has landed.
    pub(super) leaving: bool,
    /// The last write-back failed.
    pub(super) failed: bool,
    /// While it is flying: the next of those that fly together to one page of flash.
    pub(super) mate: Option<SlotId>,
}

impl Slot {
    /// For whom it is written back, or read for that: whoever waits for it, of no stated priority.
    pub(super) fn origin(&self) -> Origin {
        Origin::new(self.tenant, Priority::default()).ranked(self.rank)
    }

    /// Whether it has what flash does not, written before the moment of a stamp.
    pub(super) fn holds_from_before(&self, until: u64) -> bool {
        let is_old = |sectors: Sectors, since| !sectors.is_empty() && since < until;
        is_old(self.dirty, self.dirtied) || is_old(self.flying, self.flew)
    }
}

/// Neighbours in a list. They are kept apart from the slots: changing the order of slots then
/// touches little memory.
#[derive(Clone, Copy)]
struct Links {
    before: SlotId,
    after: SlotId,
}

const UNLINKED: Links = Links {
    before: NONE,
    after: NONE,
};

/// A doubly linked list through the slots.
#[derive(Clone, Copy)]
pub(super) struct List {
    first: SlotId,
    last: SlotId,
    /// Which of a slot's links it uses.
    chain: usize,
}

impl List {
    fn new(chain: usize) -> List {
        List {
            first: NONE,
            last: NONE,
            chain,
        }
    }
}

/// All slots.
pub(super) struct Table {
    slots: Vec<Slot>,
    /// For each slot its links in the recency list, and in that of dirty or flying slots.
    links: Vec<[Links; 2]>,
    free: Vec<SlotId>,
    /// Number of the slot of each logical page, plus one; zero for none. A fresh table costs
    /// address space, and memory only as its entries are written.
    index: Vec<u32>,
    /// Slots that are not leaving, the least recently used first.
    recency: List,
    /// Slots that are dirty and not flying, the longest dirty first.
    dirty: List,
    /// Slots that are flying.
    flying: List,
    resident: u32,
    /// Slots that hold what flash does not; the translation layer looks at it, too.
    unsaved: Rc<Cell<u32>>,
}

impl Table {
    /// No slots; how many are unsaved is told in `unsaved`.
    pub(super) fn new(logical_pages: u32, unsaved: Rc<Cell<u32>>) -> Table {
        Table {
            slots: Vec::new(),
            links: Vec::new(),
            free: Vec::new(),
            index: zeroed(logical_pages as usize),
            recency: List::new(0),
            dirty: List::new(1),
            flying: List::new(1),
            resident: 0,
            unsaved,
        }
    }

    /// Has the processor fetch where the slot of a page is.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        memory::prefetch(&self.index, lpn.0 as usize);
    }

    /// The same for a slot.
    #[inline]
    pub(super) fn prefetch_slot(&self, id: SlotId) {
        memory::prefetch(&self.slots, id as usize);
    }

    #[inline]
    pub(super) fn find(&self, lpn: Lpn) -> Option<SlotId> {
        self.index[lpn.0 as usize].checked_sub(1)
    }

    #[inline]
    pub(super) fn slot(&self, id: SlotId) -> &Slot {
        &self.slots[id as usize]
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, id: SlotId) -> &mut Slot {
        &mut self.slots[id as usize]
    }

    /// Slots that are not leaving.
    pub(super) fn resident(&self) -> u32 {
        self.resident
    }

    /// Slots that hold what flash does not.
    pub(super) fn unsaved(&self) -> u32 {
        self.unsaved.get()
    }

    /// A clean, empty slot for `lpn`, which has none, as the most recently used.
    pub(super) fn insert(&mut self, lpn: Lpn, place: Place, origin: Origin) -> SlotId {
        let slot = Slot {
            lpn,
            place,
            tenant: origin.tenant,
            rank: origin.rank(),
            present: Sectors::NONE,
            dirty: Sectors::NONE,
            flying: Sectors::NONE,
            dirtied: 0,
            flew: 0,
            again: false,
            leaving: false,
            failed: false,
            mate: None,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                self.links.push([UNLINKED; 2]);
                self.slots.len() as SlotId - 1
            }
        };
        self.index[lpn.0 as usize] = id + 1;
        self.push(Which::Recency, id);
        self.resident += 1;
        id
    }

    /// Takes a clean slot out; gives the place where it lay.
    pub(super) fn remove(&mut self, id: SlotId) -> Place {
        let slot = &self.slots[id as usize];
        debug_assert!(
            slot.dirty.is_empty() && slot.flying.is_empty(),
            "a slot that goes is on flash"
        );
        let (lpn, place, leaving) = (slot.lpn, slot.place, slot.leaving);
        if !leaving {
            self.unlink(Which::Recency, id);
            self.resident -= 1;
            // The next to go, as a rule.
            memory::prefetch(&self.slots, self.recency.first as usize);
        }
        self.index[lpn.0 as usize] = 0;
        self.free.push(id);
        place
    }

    /// The slot was used.
    #[inline]
    pub(super) fn touch(&mut self, id: SlotId) {
        if self.recency.last != id && !self.slots[id as usize].leaving {
            self.unlink(Which::Recency, id);
            self.push(Which::Recency, id);
        }
    }

    /// The slot that was used least recently.
    pub(super) fn oldest(&self) -> Option<SlotId> {
        some(self.recency.first)
    }

    /// The slot is to go as soon as it has landed.
    pub(super) fn leave(&mut self, id: SlotId) {
        self.unlink(Which::Recency, id);
        self.slots[id as usize].leaving = true;
        self.resident -= 1;
    }

    /// A leaving slot stays after all.
    pub(super) fn stay(&mut self, id: SlotId) {
        if std::mem::replace(&mut self.slots[id as usize].leaving, false) {
            self.push(Which::Recency, id);
            self.resident += 1;
        }
    }

    /// Sectors of the slot were written at `stamp`.
    pub(super) fn soil(&mut self, id: SlotId, sectors: Sectors, stamp: u64) {
        let slot = &mut self.slots[id as usize];
        let (was_dirty, flies) = (!slot.dirty.is_empty(), !slot.flying.is_empty());
        slot.present = slot.present | sectors;
        slot.dirty = slot.dirty | sectors;
        if was_dirty {
            return;
        }
        slot.dirtied = stamp;
        if !flies {
            self.unsaved.update(|slots| slots + 1);
            self.push(Which::Dirty, id);
        }
    }

    /// What is dirty of the slot is on its way to flash; the slot was not flying.
    pub(super) fn launch(&mut self, id: SlotId) {
        self.unlink(Which::Dirty, id);
        let slot = &mut self.slots[id as usize];
        slot.flying = std::mem::take(&mut slot.dirty);
        slot.flew = slot.dirtied;
        slot.again = false;
        self.push(Which::Flying, id);
    }

    /// What was flying is on flash, or, if `failed`, dirty again. What is dirty then waits
    /// in the order of its age; what failed waits as if it were new.
    pub(super) fn land(&mut self, id: SlotId, failed: Option<u64>) {
        self.unlink(Which::Flying, id);
        let slot = &mut self.slots[id as usize];
        let flew = std::mem::take(&mut slot.flying);
        if let Some(stamp) = failed {
            slot.dirty = slot.dirty | flew;
            slot.dirtied = stamp;
        }
        if slot.dirty.is_empty() {
            self.unsaved.update(|slots| slots - 1);
        } else {
            self.enqueue_dirty(id);
        }
    }

    /// Puts a slot into the dirty list behind those that are dirty for longer. Few were
    /// written since this one flew off, so the place is near the end.
    fn enqueue_dirty(&mut self, id: SlotId) {
        let dirtied = self.slots[id as usize].dirtied;
        let mut before = self.dirty.last;
        while before != NONE && self.slots[before as usize].dirtied > dirtied {
            before = self.links[before as usize][1].before;
        }
        self.insert_after(Which::Dirty, before, id);
    }

    /// The slot that has been dirty for longest and is not flying.
    pub(super) fn longest_dirty(&self) -> Option<SlotId> {
        some(self.dirty.first)
    }

    /// The slots that are dirty and not flying.
    pub(super) fn dirty(&self) -> impl Iterator<Item = SlotId> + '_ {
        self.members(self.dirty)
    }

    /// The slots that are flying.
    pub(super) fn flying(&self) -> impl Iterator<Item = SlotId> + '_ {
        self.members(self.flying)
    }

    /// The slots of these pages.
    pub(super) fn within(&self, pages: std::ops::Range<u32>) -> impl Iterator<Item = SlotId> + '_ {
        let entries = &self.index[pages.start as usize..pages.end as usize];
        entries.iter().filter_map(|entry| entry.checked_sub(1))
    }

    /// Whether there is no slot at all.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    fn members(&self, list: List) -> impl Iterator<Item = SlotId> + '_ {
        std::iter::successors(some(list.first), move |id| {
            some(self.links[*id as usize][list.chain].after)
        })
    }

    fn list(&mut self, which: Which) -> &mut List {
        match which {
            Which::Recency => &mut self.recency,
            Which::Dirty => &mut self.dirty,
            Which::Flying => &mut self.flying,
        }
    }

    #[inline]
    fn push(&mut self, which: Which, id: SlotId) {
        let last = self.list(which).last;
        self.insert_after(which, last, id);
    }

    #[inline]
    fn insert_after(&mut self, which: Which, before: SlotId, id: SlotId) {
        let list = *self.list(which);
        let after = match self.links.get(before as usize) {
            Some(links) => links[list.chain].after,
            None => list.first,
        };
        self.links[id as usize][list.chain] = Links { before, after };
        self.join(which, before, id);
        self.join(which, id, after);
    }

    #[inline]
    fn unlink(&mut self, which: Which, id: SlotId) {
        let chain = self.list(which).chain;
        let Links { before, after } =
            std::mem::replace(&mut self.links[id as usize][chain], UNLINKED);
        self.join(which, before, after);
    }

    /// Makes two slots neighbours; none stands for the list's end.
    #[inline]
    fn join(&mut self, which: Which, before: SlotId, after: SlotId) {
        let chain = self.list(which).chain;
        match self.links.get_mut(before as usize) {
            Some(links) => links[chain].after = after,
            None => self.list(which).first = after,
        }
        match self.links.get_mut(after as usize) {
            Some(links) => links[chain].before = before,
            None => self.list(which).last = before,
        }
    }
}

/// Names a list.
#[derive(Clone, Copy)]
enum Which {
    Recency,
    Dirty,
    Flying,
}

#[inline]
fn some(id: SlotId) -> Option<SlotId> {
    (id != NONE).then_some(id)
}
