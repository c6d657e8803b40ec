//! The cached mapping table (CMT): which entries of the mapping table the controller
//! has at hand. Least recently used entries make room; finding one is an index.

use sim::memory::{self, zeroed};

/// What the cache has of a logical page's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// The entry is there.
    Cached,
    /// Its mapping page is being read, and it has room already.
    Awaited,
    /// Nothing.
    Absent,
}

/// What making room for an entry led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// There was some, or a clean entry made it.
    Made,
    /// The changed entry of this logical page had to go.
    Displaced(u32),
    /// None: every entry is awaited.
    None,
}

#[derive(Clone, Copy)]
struct Slot {
    lpn: u32,
    /// The next more recently used; of a free slot the next free one.
    newer: u32,
    older: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Awaited,
    Clean,
    Changed,
}

const NONE: u32 = u32::MAX;

/// The cache. Awaited entries take room, but cannot make any.
pub(super) struct Cache {
    capacity: usize,
    /// For each logical page its slot plus one, or zero: address space, not memory, until used.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    free: u32,
    newest: u32,
    oldest: u32,
}

impl Cache {
    pub(super) fn new(logical_pages: u32, capacity: u32) -> Cache {
        Cache {
            capacity: capacity as usize,
            slot_of: zeroed(logical_pages as usize),
            slots: Vec::new(),
            free: NONE,
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Has the processor fetch what tells whether an entry is there.
    #[inline]
    pub(super) fn prefetch(&self, lpn: u32) {
        memory::prefetch(&self.slot_of, lpn as usize);
    }

    /// Looks for an entry; one that is there becomes the most recently used.
    #[inline]
    pub(super) fn touch(&mut self, lpn: u32) -> Presence {
        let Some(slot) = self.slot(lpn) else {
            return Presence::Absent;
        };
        if self.slots[slot as usize].state == State::Awaited {
            return Presence::Awaited;
        }
        if self.newest != slot {
            self.unlink(slot);
            self.link_newest(slot);
        }
        Presence::Cached
    }

    #[inline]
    fn slot(&self, lpn: u32) -> Option<u32> {
        self.slot_of[lpn as usize].checked_sub(1)
    }

    /// Whether its mapping page is being read for the entry.
    pub(super) fn is_awaited(&self, lpn: u32) -> bool {
        self.slot(lpn)
            .is_some_and(|slot| self.slots[slot as usize].state == State::Awaited)
    }

    /// Whether the entry is there.
    pub(super) fn contains(&self, lpn: u32) -> bool {
        self.slot(lpn)
            .is_some_and(|slot| self.slots[slot as usize].state != State::Awaited)
    }

    /// Makes room for the entry of `lpn`, which is absent, and has it awaited.
    #[inline]
    pub(super) fn reserve(&mut self, lpn: u32) -> Room {
        debug_assert!(self.slot(lpn).is_none(), "the entry has a slot");
        let mut room = Room::Made;
        if self.free == NONE && self.slots.len() >= self.capacity {
            match self.evict() {
                None => return Room::None,
                Some((victim, State::Changed)) => room = Room::Displaced(victim),
                Some(_) => {}
            }
        }
        let fresh = Slot {
            lpn,
            newer: NONE,
            older: NONE,
            state: State::Awaited,
        };
        let slot = self.free;
        if slot == NONE {
            self.slots.push(fresh);
            self.slot_of[lpn as usize] = self.slots.len() as u32;
        } else {
            self.free = self.slots[slot as usize].newer;
            self.slots[slot as usize] = fresh;
            self.slot_of[lpn as usize] = slot + 1;
        }
        room
    }

    /// The awaited entry has arrived: it is the most recently used. Nothing happens if none
    /// is awaited for this page.
    #[inline]
    pub(super) fn arrive(&mut self, lpn: u32) {
        let Some(slot) = self.slot(lpn) else { return };
        let entry = &mut self.slots[slot as usize];
        if entry.state == State::Awaited {
            entry.state = State::Clean;
            self.link_newest(slot);
        }
    }

    /// The awaited entry does not arrive.
    pub(super) fn give_up(&mut self, lpn: u32) {
        let Some(slot) = self.slot(lpn) else { return };
        if self.slots[slot as usize].state == State::Awaited {
            self.release(slot);
        }
    }

    /// The entry was changed, if it is there: its mapping page must be written before it goes.
    #[inline]
    pub(super) fn change(&mut self, lpn: u32) -> bool {
        let Some(slot) = self.slot(lpn) else {
            return false;
        };
        let entry = &mut self.slots[slot as usize];
        let before = std::mem::replace(&mut entry.state, State::Changed);
        if before == State::Awaited {
            // What it is now is known without the mapping page.
            self.link_newest(slot);
        }
        true
    }

    /// The mapping page of the entry has been written with what the entry says.
    pub(super) fn clean(&mut self, lpn: u32) {
        if let Some(slot) = self.slot(lpn) {
            let entry = &mut self.slots[slot as usize];
            if entry.state == State::Changed {
                entry.state = State::Clean;
            }
        }
    }

    fn evict(&mut self) -> Option<(u32, State)> {
        let slot = self.oldest;
        if slot == NONE {
            return None;
        }
        self.unlink(slot);
        let Slot { lpn, state, .. } = self.slots[slot as usize];
        self.release(slot);
        Some((lpn, state))
    }

    fn release(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        self.slot_of[entry.lpn as usize] = 0;
        entry.newer = self.free;
        self.free = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let older = self.newest;
        let entry = &mut self.slots[slot as usize];
        (entry.newer, entry.older) = (NONE, older);
        self.newest = slot;
        match older {
            NONE => self.oldest = slot,
            older => self.slots[older as usize].newer = slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_least_recently_used_entry_makes_room() {
        let mut cache = Cache::new(10, 2);
        for lpn in [3, 4] {
            assert_eq!(cache.reserve(lpn), Room::Made);
            assert_eq!(cache.touch(lpn), Presence::Awaited);
            cache.arrive(lpn);
        }
        assert_eq!(cache.touch(3), Presence::Cached);
        assert!(cache.change(4));
        assert_eq!(cache.reserve(5), Room::Displaced(4));
        assert_eq!(cache.reserve(6), Room::Made);
        assert_eq!(cache.reserve(7), Room::None);
        assert_eq!(cache.touch(3), Presence::Absent);
    }

    #[test]
    fn an_awaited_entry_that_changes_is_there() {
        let mut cache = Cache::new(10, 1);
        assert_eq!(cache.reserve(3), Room::Made);
        assert!(cache.change(3));
        cache.arrive(3);
        assert_eq!(cache.touch(3), Presence::Cached);
        assert_eq!(cache.reserve(4), Room::Displaced(3));
    }

    proptest! {
        /// Against a list, most recently used first, of (page, changed).
        #[test]
        fn it_does_what_a_list_would(
            capacity in 1u32..6,
            steps in prop::collection::vec((0u32..12, 0u8..4), 0..200),
        ) {
            let mut cache = Cache::new(12, capacity);
            let mut list: Vec<(u32, bool)> = Vec::new();
            for (lpn, step) in steps {
                let place = list.iter().position(|(other, _)| *other == lpn);
                match (step, place) {
                    (0, Some(place)) => {
                        prop_assert!(cache.change(lpn));
                        list[place].1 = true;
                    }
                    (1, Some(place)) => {
                        cache.clean(lpn);
                        list[place].1 = false;
                    }
                    (_, Some(place)) => {
                        prop_assert_eq!(cache.touch(lpn), Presence::Cached);
                        let entry = list.remove(place);
                        list.insert(0, entry);
                    }
                    (_, None) => {
                        prop_assert_eq!(cache.touch(lpn), Presence::Absent);
                        let full = list.len() == capacity as usize;
                        let expected = match full.then(|| list.pop()).flatten() {
                            Some((victim, true)) => Room::Displaced(victim),
                            _ => Room::Made,
                        };
                        prop_assert_eq!(cache.reserve(lpn), expected);
                        if step == 3 {
                            cache.give_up(lpn);
                        } else {
                            cache.arrive(lpn);
                            list.insert(0, (lpn, false));
                        }
                    }
                }
            }
        }
    }
}
