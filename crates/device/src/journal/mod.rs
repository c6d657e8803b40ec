//! The journal: durable facts of any size that parts of the firmware keep by (kind, key), such as the
//! format of a namespace or a saved feature. Here is what is pure of it: which facts there are, how they
//! are laid out on pages, which pages are still needed. The translation layer gives the pages
//! (`ftl/journal.rs`).
//!
//! Facts that are put together form a *group*: they come into force together, when the last page of
//! the group is on flash. Many facts share a page; what room a group leaves in its last page is filled with
//! those facts that have not moved for the longest time, so that the pages in use stay few. Of
//! each fact the group of the highest version counts. Every page names the *oldest* group that was
//! needed when it was written: recovery looks at nothing older.

mod checksum;
mod kinds;
mod page;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use media::nand::Ppa;

pub(crate) use page::open;
use page::{Record, payload, records};

/// Pages that the needed groups may span beyond twice what the facts fill, before older ones are
/// written anew in pages of their own.
const SLACK_PAGES: u64 = 8;

/// What facts are of: each kind has one part of the firmware that keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FactKind(pub u16);

/// The name of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FactKey {
    /// Of what it is.
    pub kind: FactKind,
    /// Which of these it is.
    pub key: u32,
}

impl FactKind {
    /// The name of a fact of it.
    pub const fn key(self, key: u32) -> FactKey {
        FactKey { kind: self, key }
    }
}

/// What a fact becomes: a value, or none.
pub type Change = (FactKey, Option<Box<[u8]>>);

/// A fact, or that there is none any more.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    value: Option<Box<[u8]>>,
    /// The version of the group that it is in.
    group: u64,
    /// Of a fact that is no more: the last group in which it was.
    hides: u64,
}

/// Facts written together.
#[derive(Clone, Debug, Default)]
struct Group {
    pages: Vec<Ppa>,
    /// Facts for which it is needed.
    facts: BTreeSet<FactKey>,
    /// Pages written before it.
    written: u64,
}

/// Which facts move into a group besides those that change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// All.
    All,
    /// Those that have not moved for the longest time: as many as its pages have room for, and more if the groups in use span
    /// too many pages.
    Oldest,
    /// Only as many as its pages have room for.
    Fitting,
}

/// What is to be written as one group.
#[derive(Debug)]
pub(crate) struct Draft {
    changes: BTreeMap<FactKey, Fact>,
    /// The content of each page.
    pub(crate) pages: Vec<Vec<u8>>,
    /// The oldest group needed once this one is on flash; none but itself is 0.
    pub(crate) oldest: u64,
}

/// A group found on flash.
pub(crate) struct FoundGroup {
    pub(crate) version: u64,
    /// Its pages in order, each with its payload.
    pub(crate) pages: Vec<(Ppa, Vec<u8>)>,
}

/// The current facts, and where they are.
#[derive(Debug)]
pub(crate) struct Facts {
    page_bytes: usize,
    facts: BTreeMap<FactKey, Fact>,
    groups: BTreeMap<u64, Group>,
    /// Bytes of all records of current facts.
    live_bytes: usize,
    /// Pages written in this life.
    written: u64,
}

impl Facts {
    pub(crate) fn new(page_bytes: u32) -> Facts {
        Facts {
            page_bytes: page_bytes as usize,
            facts: BTreeMap::new(),
            groups: BTreeMap::new(),
            live_bytes: 0,
            written: 0,
        }
    }

    /// What a fact is.
    pub(crate) fn get(&self, key: FactKey) -> Option<&[u8]> {
        self.facts.get(&key)?.value.as_deref()
    }

    /// The facts of a part, by key.
    pub(crate) fn of(&self, kind: FactKind) -> impl Iterator<Item = (u32, &[u8])> {
        let range = self.facts.range(kind.key(0)..=kind.key(u32::MAX));
        range.filter_map(|(key, fact)| Some((key.key, fact.value.as_deref()?)))
    }

    /// The pages that are needed.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Ppa> + '_ {
        self.groups
            .values()
            .flat_map(|group| group.pages.iter().copied())
    }

    /// The groups that are needed: version and pages, in order.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (u64, &[Ppa])> {
        self.groups
            .iter()
            .map(|(version, group)| (*version, &group.pages[..]))
    }

    /// Pages written in this life.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The group that brings `changes` into force; of a fact that is named twice the last counts. It takes `others` in
    /// as well.
    pub(crate) fn draft(&self, changes: Vec<Change>, others: Others) -> Draft {
        let changes = changes.into_iter().map(|(key, value)| {
            let before = self.facts.get(&key);
            let hides = before.map_or(0, |fact| match fact.value {
                Some(_) => fact.group,
                None => fact.hides,
            });
            let fact = Fact {
                value,
                group: 0,
                hides,
            };
            (key, fact)
        });
        let mut changes: BTreeMap<FactKey, Fact> = changes.collect();
        self.add_oldest(&mut changes, others);
        let oldest = self.oldest_without(&changes);
        let all = changes.iter().map(|(key, fact)| Record::of(*key, fact));
        Draft {
            pages: page::lay_out(all, self.page_bytes),
            changes,
            oldest,
        }
    }

    /// Takes facts into a group that have not moved for the longest time, as far as its pages have room for
    /// them; more if the groups in use span too many pages.
    fn add_oldest(&self, changes: &mut BTreeMap<FactKey, Fact>, others: Others) {
        let payload = payload(self.page_bytes);
        let mut bytes: usize = changes
            .iter()
            .map(|(key, fact)| Record::of(*key, fact).bytes())
            .sum();
        let room = bytes.div_ceil(payload).max(1) * payload;
        let limit = 2 * (self.live_bytes.div_ceil(payload) as u64) + SLACK_PAGES;
        let mut forced = payload;
        for group in self.groups.values() {
            let late = self.written - group.written > limit && others != Others::Fitting;
            for key in &group.facts {
                if changes.contains_key(key) {
                    continue;
                }
                let fact = &self.facts[key];
                let more = Record::of(*key, fact).bytes();
                if others != Others::All && bytes + more > room {
                    // A group that holds everything up goes whatever it takes.
                    if !late || forced == 0 {
                        return;
                    }
                    forced = forced.saturating_sub(more);
                }
                bytes += more;
                changes.insert(*key, fact.clone());
            }
        }
    }

    /// The oldest group that is needed when these facts are elsewhere.
    fn oldest_without(&self, changes: &BTreeMap<FactKey, Fact>) -> u64 {
        let needed = |group: &Group| group.facts.iter().any(|key| !changes.contains_key(key));
        let mut groups = self.groups.iter();
        groups
            .find(|(_, group)| needed(group))
            .map_or(0, |(version, _)| *version)
    }

    /// A group is on flash: its facts are in force. Gives the pages that are not needed any more.
    pub(crate) fn commit(&mut self, version: u64, draft: Draft, pages: Vec<Ppa>) -> Vec<Ppa> {
        let mut freed = Vec::new();
        let oldest = match draft.oldest {
            0 => version,
            oldest => oldest,
        };
        let written = self.written;
        self.written += pages.len() as u64;
        let mut group = Group {
            pages,
            facts: BTreeSet::new(),
            written,
        };
        for (key, fact) in draft.changes {
            freed.extend(self.leave_group(key));
            // That there is none need not be remembered where recovery does not look back so far.
            if fact.value.is_none() && fact.hides < oldest {
                continue;
            }
            self.live_bytes += Record::of(key, &fact).bytes();
            group.facts.insert(key);
            let fact = Fact {
                group: version,
                ..fact
            };
            self.facts.insert(key, fact);
        }
        // The newest group stays, facts or none: by it recovery knows how far to look back. If it went, one before it
        // might be the newest, and call for what has been removed since and is on flash still.
        self.groups.retain(|_, before| {
            let is_needed = !before.facts.is_empty();
            if !is_needed {
                freed.append(&mut before.pages);
            }
            is_needed
        });
        self.groups.insert(version, group);
        freed
    }

    /// A fact is not in its group any more; gives the pages of that if it was the last.
    fn leave_group(&mut self, key: FactKey) -> Vec<Ppa> {
        let Some(fact) = self.facts.remove(&key) else {
            return Vec::new();
        };
        self.live_bytes -= Record::of(key, &fact).bytes();
        let Some(group) = self.groups.get_mut(&fact.group) else {
            return Vec::new();
        };
        group.facts.remove(&key);
        if !group.facts.is_empty() {
            return Vec::new();
        }
        let emptied = self.groups.remove(&fact.group);
        emptied.map(|group| group.pages).unwrap_or_default()
    }

    /// A page of a group has been copied.
    pub(crate) fn moved(&mut self, version: u64, from: Ppa, to: Ppa) {
        if let Some(group) = self.groups.get_mut(&version)
            && let Some(page) = group.pages.iter_mut().find(|page| **page == from)
        {
            *page = to;
        }
    }

    /// Takes what recovery found: whole groups in the order of their versions, none older than the
    /// newest names.
    pub(crate) fn restore(&mut self, groups: Vec<FoundGroup>) {
        for FoundGroup { version, pages } in groups {
            let stream: Vec<u8> = pages
                .iter()
                .flat_map(|(_, payload)| payload)
                .copied()
                .collect();
            let draft = Draft {
                changes: records(&stream).collect(),
                pages: Vec::new(),
                // So that nothing that hides an older value is dropped.
                oldest: 1,
            };
            let pages = pages.into_iter().map(|(page, _)| page).collect();
            // Those freed were never taken for needed.
            self.commit(version, draft, pages);
        }
    }
}
