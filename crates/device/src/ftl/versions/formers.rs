//! Former versions: what a transaction may still read of pages that were changed since it began.

use std::ops::Range;

use super::{Open, SnapshotId};
use crate::ftl::mapping::Mapping;
use crate::ftl::{Ftl, Lpn, UnitAddress};
use crate::planted::{Bug, is_planted};

impl Ftl {
    /// A page that is watched changes from `old`: a transaction may have to see that. Whether `old` is to stay.
    #[cold]
    pub(in crate::ftl) fn keep_former(&self, lpn: Lpn, old: Mapping) -> bool {
        let versions = &self.versions;
        // Who began before an earlier change of the page sees what that one left.
        let since = {
            let formers = versions.formers.borrow();
            let mut of_page = formers.range((lpn.0, 0)..=(lpn.0, u64::MAX));
            of_page
                .next_back()
                .map_or(0, |((_, changed_at), _)| *changed_at)
        };
        let is_seen = {
            let sees = |open: &Open| open.number >= Some(since) && open.sees(lpn);
            versions.open.borrow().iter().flatten().any(sees)
        };
        if !is_seen {
            return false;
        }
        let unit = match old {
            Mapping::Data(unit) => Some(unit),
            Mapping::Unmapped | Mapping::Tombstone(_) => None,
        };
        let changed_at = self.next_version.get();
        let mut formers = versions.formers.borrow_mut();
        formers.insert((lpn.0, changed_at), unit);
        drop(formers);
        versions.count(|counts| counts.formers += 1);
        while self.is_over_limit() && self.give_up_oldest() {}
        // No sooner: what was given up made the room in which this lies.
        versions.note_entries(versions.entries());
        unit.is_some()
    }

    /// Whether there are more versions than there is room for.
    fn is_over_limit(&self) -> bool {
        self.versions.entries() > self.versions.entries_max()
    }

    /// Gives up the transaction that began first, as the host does not wait for anybody; false if there is none.
    fn give_up_oldest(&self) -> bool {
        let oldest = {
            let open = self.versions.open.borrow();
            let open = (0..).zip(&*open);
            let open = open.filter_map(|(place, open)| {
                let open = open.as_ref().filter(|open| !open.lost && !open.commits)?;
                Some((open.number?, SnapshotId(place)))
            });
            open.min()
        };
        let Some((_, id)) = oldest else {
            return false;
        };
        self.count(|counts| counts.snapshots_given_up += 1);
        self.give_up_snapshot(id);
        true
    }

    /// Forgets former versions of these pages that nobody sees any more.
    pub(super) fn prune_formers(&self, pages: &[Range<u32>]) {
        let mut needless: Vec<UnitAddress> = Vec::new();
        {
            let open = self.versions.open.borrow();
            let mut formers = self.versions.formers.borrow_mut();
            for pages in pages {
                let mut gone = Vec::new();
                let mut last = (u32::MAX, 0);
                for (key, unit) in formers.range((pages.start, 0)..(pages.end, 0)) {
                    let since = if last.0 == key.0 { last.1 } else { 0 };
                    last = *key;
                    let sees = |open: &Open| {
                        let began = open
                            .number
                            .is_some_and(|number| (since..key.1).contains(&number));
                        began && open.sees(Lpn(key.0))
                    };
                    if !open.iter().flatten().any(sees) {
                        gone.push(*key);
                        needless.extend(*unit);
                    }
                }
                gone.iter().for_each(|key| {
                    formers.remove(key);
                });
            }
        }
        needless.into_iter().for_each(|unit| self.forget(unit));
    }

    /// The first of the former versions of a page that a transaction of this number sees; none if that is the newest.
    pub(super) fn former(&self, lpn: Lpn, number: u64) -> Option<Option<UnitAddress>> {
        let formers = self.versions.formers.borrow();
        if formers.is_empty() {
            return None;
        }
        let mut later = formers.range((lpn.0, number + 1)..=(lpn.0, u64::MAX));
        later.next().map(|(_, unit)| *unit)
    }

    /// The first of `pages` that has changed since a transaction of this number began.
    pub(super) fn changed_since(&self, pages: &Range<u32>, number: u64) -> Option<Lpn> {
        let formers = self.versions.formers.borrow();
        if formers.is_empty() {
            return None;
        }
        let mut all = formers.range((pages.start, 0)..(pages.end, 0));
        all.find(|((_, changed_at), _)| *changed_at > number)
            .map(|((lpn, _), _)| Lpn(*lpn))
    }

    /// A unit of a page that is watched was copied: whoever names the original names the copy.
    #[cold]
    pub(in crate::ftl) fn version_moved(&self, lpn: Lpn, old: UnitAddress, new: UnitAddress) {
        if self.lookup(lpn) == Mapping::Data(old) {
            return self.mapping.borrow_mut().set(lpn, Mapping::Data(new));
        }
        if is_planted(Bug::CollectionForgetsVersions) {
            return;
        }
        let mut tentative = self.versions.tentative.borrow_mut();
        if tentative
            .get(lpn)
            .is_some_and(|delta| delta.at == Some(old))
        {
            tentative.put(lpn, Some(new));
            return;
        }
        let mut formers = self.versions.formers.borrow_mut();
        let mut of_page = formers.range_mut((lpn.0, 0)..=(lpn.0, u64::MAX));
        if let Some((_, unit)) = of_page.find(|(_, unit)| **unit == Some(old)) {
            *unit = Some(new);
        }
    }
}
