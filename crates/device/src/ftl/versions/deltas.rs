//! The delta mappings (TxISC III): where tentative versions are, by logical page.
//!
//! A table has, for so many pages that follow one another, the first of the entries that there are of these. It costs half a
//! byte a page, so an entry is found, made and taken out in a few steps however many there are.

use sim::memory::zeroed;

use super::{ENTRY_BYTES, SnapshotId};
use crate::ftl::{Lpn, UnitAddress};

/// Pages whose entries are in one list.
const GROUP_PAGES: u32 = 8;

/// The tentative version of a page: of one transaction, as the first that writes a page wins.
#[derive(Clone, Copy)]
pub(super) struct Delta {
    pub(super) lpn: Lpn,
    pub(super) by: SnapshotId,
    /// Where it is, once it has been programmed.
    pub(super) at: Option<UnitAddress>,
    /// The next one of its list, or of the free ones.
    next: Link,
}

/// The place of an entry plus one; zero is none.
type Link = u32;

// Whose it is names its place, too.
const _: () = assert!((size_of::<Delta>() + size_of::<u32>()) as u64 <= ENTRY_BYTES);

/// All tentative versions, of at most one transaction a page.
pub(super) struct Deltas {
    /// The first of each group of pages.
    heads: Vec<Link>,
    entries: Vec<Delta>,
    free: Link,
    count: u64,
}

impl Deltas {
    pub(super) fn new(logical_pages: u32) -> Deltas {
        Deltas {
            heads: zeroed(logical_pages.div_ceil(GROUP_PAGES) as usize),
            entries: Vec::new(),
            free: 0,
            count: 0,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// That of a page.
    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<&Delta> {
        let mut next = self.heads[head(lpn)];
        while let Some(place) = next.checked_sub(1) {
            let delta = &self.entries[place as usize];
            if delta.lpn == lpn {
                return Some(delta);
            }
            next = delta.next;
        }
        None
    }

    /// Has that of a page, if there is one, be elsewhere; gives it as it was.
    #[inline]
    pub(super) fn put(&mut self, lpn: Lpn, at: Option<UnitAddress>) -> Option<Delta> {
        let mut next = self.heads[head(lpn)];
        while let Some(place) = next.checked_sub(1) {
            let delta = &mut self.entries[place as usize];
            if delta.lpn == lpn {
                let before = *delta;
                delta.at = at;
                return Some(before);
            }
            next = delta.next;
        }
        None
    }

    /// The page of the entry at a place.
    pub(super) fn lpn(&self, place: u32) -> Lpn {
        self.entries[place as usize].lpn
    }

    /// Makes one for a page that has none; gives its place.
    #[inline]
    pub(super) fn insert(&mut self, lpn: Lpn, by: SnapshotId) -> u32 {
        debug_assert!(self.get(lpn).is_none(), "a page is of one transaction");
        let delta = Delta {
            lpn,
            by,
            at: None,
            next: self.heads[head(lpn)],
        };
        let place = match self.free.checked_sub(1) {
            Some(place) => {
                let free = &mut self.entries[place as usize];
                self.free = free.next;
                *free = delta;
                place
            }
            None => {
                self.entries.push(delta);
                self.entries.len() as u32 - 1
            }
        };
        self.heads[head(lpn)] = place + 1;
        self.count += 1;
        place
    }

    /// Takes out the one at a place.
    #[inline]
    pub(super) fn remove(&mut self, place: u32) -> Delta {
        let removed = self.entries[place as usize];
        let first = &mut self.heads[head(removed.lpn)];
        if *first == place + 1 {
            *first = removed.next;
        } else {
            let mut before = *first - 1;
            while self.entries[before as usize].next != place + 1 {
                before = self.entries[before as usize].next - 1;
            }
            self.entries[before as usize].next = removed.next;
        }
        self.entries[place as usize].next = self.free;
        self.free = place + 1;
        self.count -= 1;
        removed
    }
}

fn head(lpn: Lpn) -> usize {
    (lpn.0 / GROUP_PAGES) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sim::Random;

    use super::*;

    /// Against a map of the standard library.
    #[test]
    fn entries_are_found_made_and_taken_out() {
        let mut random = Random::named(7, "deltas");
        let (mut deltas, mut oracle) = (Deltas::new(100), BTreeMap::new());
        for step in 0..20_000 {
            let lpn = Lpn(random.below(100) as u32);
            let place = oracle.get(&lpn.0).map(|(place, _)| *place);
            match (random.below(3), place) {
                (0, None) => {
                    let place = deltas.insert(lpn, SnapshotId(step));
                    oracle.insert(lpn.0, (place, None));
                }
                (0, Some(place)) => {
                    let removed = deltas.remove(place);
                    assert_eq!(removed.lpn, lpn);
                    let (_, at) = oracle.remove(&lpn.0).expect("it is there");
                    assert_eq!(removed.at, at);
                }
                (1, _) => {
                    let at = Some(UnitAddress(step));
                    let before = deltas.put(lpn, at).map(|delta| delta.at);
                    let known = oracle.get_mut(&lpn.0);
                    assert_eq!(
                        before,
                        known.map(|known| std::mem::replace(&mut known.1, at))
                    );
                }
                _ => {
                    let found = deltas.get(lpn).map(|delta| (delta.lpn, delta.at));
                    assert_eq!(found, oracle.get(&lpn.0).map(|(_, at)| (lpn, *at)));
                }
            }
            assert_eq!(deltas.count(), oracle.len() as u64);
        }
        for (lpn, (place, _)) in oracle {
            assert_eq!(deltas.lpn(place), Lpn(lpn));
            deltas.remove(place);
        }
        assert_eq!(deltas.count(), 0);
        assert!(deltas.heads.iter().all(|head| *head == 0));
    }
}
