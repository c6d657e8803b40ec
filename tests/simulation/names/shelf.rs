//! What a data region should hold: an oracle of a few lines, and what is being changed in it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use host::search::DataRegion;
use nvme::RegionId;
use nvme::query::{Part, Pattern, Query};

use super::slots::Reshaping;

/// An entry: a name of each search region, and a value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) names: Vec<Pattern>,
    pub(super) value: Vec<u8>,
    /// Values that it may come back with after a power cut, in part: what was written over it was not flushed.
    pub(super) earlier: Vec<Vec<u8>>,
}

/// Entries by number.
pub(super) type Entries = BTreeMap<u32, Rc<Entry>>;

/// What one command is to change.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// Entries that it appends, with their numbers as soon as those are known.
    pub(super) appended: RefCell<Vec<(Option<u32>, Rc<Entry>)>>,
    /// Numbers of those that it deletes.
    pub(super) deleted: BTreeSet<u32>,
    /// It appends and deletes at one instant.
    pub(super) atomic: bool,
    pub(super) done: Cell<bool>,
}

/// A data region.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) region: DataRegion,
    pub(super) row_names: u32,
    pub(super) entries: Rc<Entries>,
    /// Entries that were appended to each row.
    given: BTreeMap<u32, u32>,
    /// Nothing is found by mistake.
    pub(super) exact: bool,
    /// What was changed since nobody looked up.
    pub(super) changes: Vec<Rc<Change>>,
    /// What a write to the values is to make of entries.
    pub(super) written: Entries,
    /// A command failed half-way, for want of space: the region is good for nothing but to be deallocated.
    pub(super) spoiled: bool,
}

/// What a lookup may find: what there was when it began, and what changed from then on.
pub(super) struct Watch {
    before: Rc<Entries>,
    from: usize,
}

/// Whose record it is.
enum Whose {
    Before,
    Fresh,
}

impl Entry {
    /// Whether a query of these search regions finds it.
    pub(super) fn matches(&self, query: &Query, region: &DataRegion) -> bool {
        let term = |term: &nvme::query::Term| {
            let mut names = region.names.iter().zip(&self.names);
            let name = names.find(|(field, _)| field.region == term.region);
            name.is_some_and(|(_, name)| term.pattern.matches(name))
        };
        query.groups().iter().any(|group| group.iter().all(term))
    }

    /// The parts of its value, or all of it.
    pub(super) fn record(&self, parts: &[Part]) -> Vec<u8> {
        if parts.is_empty() {
            return self.value.clone();
        }
        let part = |part: &Part| &self.value[part.first as usize..][..part.bytes as usize];
        parts.iter().flat_map(part).copied().collect()
    }

    /// As it is appended.
    pub(super) fn encode(&self, region: &DataRegion, into: &mut Vec<u8>) {
        for (name, field) in self.names.iter().zip(&region.names) {
            into.extend(name.name());
            if field.kind.ternary {
                into.extend(name.mask());
            }
        }
        into.extend(&self.value);
    }
}

impl Change {
    /// How many entries it appends and deletes, from which numbers on, and whether it is over.
    fn told(&self) -> String {
        let appended = self.appended.borrow();
        let first = appended.first().and_then(|(number, _)| *number);
        let (more, less, done) = (appended.len(), self.deleted.len(), self.done.get());
        format!("{more} more from {first:?} on, {less} less, over: {done}")
    }
}

impl Shelf {
    pub(super) fn new(region: DataRegion, row_names: u32, exact: bool) -> Shelf {
        Shelf {
            region,
            row_names,
            entries: Rc::default(),
            given: BTreeMap::new(),
            exact,
            changes: Vec::new(),
            written: Entries::new(),
            spoiled: false,
        }
    }

    /// Numbers of the entries that a query finds.
    pub(super) fn find(&self, query: &Query) -> BTreeSet<u32> {
        let entries = self.entries.iter();
        let found = entries.filter(|(_, entry)| entry.matches(query, &self.region));
        found.map(|(number, _)| *number).collect()
    }

    /// A change begins.
    pub(super) fn begin(&mut self, change: Change) -> Rc<Change> {
        let change = Rc::new(change);
        self.changes.push(change.clone());
        change
    }

    /// What nobody has acknowledged.
    pub(super) fn pending(&self) -> Option<Rc<Change>> {
        self.changes
            .last()
            .filter(|change| !change.done.get())
            .cloned()
    }

    /// It has happened; its entries have these numbers.
    ///
    /// # Errors
    /// Numbers that they cannot have.
    pub(super) fn happened(&mut self, change: &Change, numbers: &[u32]) -> Result<(), String> {
        change.done.set(true);
        let entries = Rc::make_mut(&mut self.entries);
        let mut appended = change.appended.borrow_mut();
        if numbers.len() != appended.len() {
            return Err(format!(
                "{} entries have {} numbers",
                appended.len(),
                numbers.len()
            ));
        }
        for (number, (of_entry, entry)) in numbers.iter().zip(&mut *appended) {
            let (row, index) = (number / self.row_names, number % self.row_names);
            let of_row = row * self.row_names..(row + 1) * self.row_names;
            let given = self.given.entry(row).or_default();
            // Numbers are used again when nothing is left of their row.
            if index < *given && entries.range(of_row).next().is_some() {
                return Err(format!(
                    "number {number} of a row of which {given} are given, and some there"
                ));
            }
            *given = index + 1;
            *of_entry = Some(*number);
            entries.insert(*number, entry.clone());
        }
        for number in &change.deleted {
            entries.remove(number);
        }
        Ok(())
    }

    /// It has not happened, nor will it.
    pub(super) fn failed(&mut self, change: &Change) {
        change.done.set(true);
        change.appended.borrow_mut().clear();
    }

    /// Numbers of the entries that were appended, as far as their rows are not free again.
    pub(super) fn given(&self) -> Vec<u32> {
        let rows = self.given.iter();
        let numbers = rows.flat_map(|(row, given)| {
            let first = row * self.row_names;
            let is_free = *given == self.row_names
                && self.entries.range(first..first + given).next().is_none();
            first..first + if is_free { 0 } else { *given }
        });
        numbers.collect()
    }

    /// Search regions are now others: one less, or one more, which has this number.
    pub(super) fn reshape(&mut self, reshaping: Option<Reshaping>, number: Option<RegionId>) {
        let all = self.entries.iter();
        match (reshaping, number) {
            (Some(Reshaping::Without(at)), _) => {
                self.region.names.remove(at);
                let entries = all.map(|(number, entry)| {
                    let mut entry = Entry::clone(entry);
                    entry.names.remove(at);
                    (*number, Rc::new(entry))
                });
                self.entries = Rc::new(entries.collect());
            }
            (Some(Reshaping::With(kind, names)), Some(region)) => {
                let at = self
                    .region
                    .names
                    .partition_point(|other| other.region < region);
                let mut field = self.region.names[0];
                (field.region, field.kind) = (region, kind);
                self.region.names.insert(at, field);
                let entries = all.map(|(number, entry)| {
                    let mut entry = Entry::clone(entry);
                    entry.names.insert(at, names[number].clone());
                    (*number, Rc::new(entry))
                });
                self.entries = Rc::new(entries.collect());
            }
            _ => {}
        }
    }

    /// A lookup begins.
    pub(super) fn watch(&self) -> Watch {
        let pending = usize::from(self.pending().is_some());
        Watch {
            before: self.entries.clone(),
            from: self.changes.len() - pending,
        }
    }

    /// Checks what a lookup found, by however many commands: numbers, each with the record. Gives how many of them were found by
    /// mistake: they are there, and do not match.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn judge(
        &self,
        watch: &Watch,
        query: &Query,
        found: &[(u32, Vec<u8>)],
    ) -> Result<u64, String> {
        let since = &self.changes[watch.from..];
        let gone: BTreeSet<u32> = since
            .iter()
            .flat_map(|change| &change.deleted)
            .copied()
            .collect();
        if !found.is_sorted_by(|a, b| a.0 < b.0) {
            return Err("records do not ascend".into());
        }
        let (mut fresh, mut dropped) = (0, 0);
        let meant = |entry: &Entry| entry.matches(query, &self.region);
        for (number, record) in found {
            let has_it = |entry: &Entry| entry.record(query.parts()) == *record;
            let whose = |may: &dyn Fn(&Entry) -> bool| self.whose(watch, *number, may);
            let meant_one = whose(&|entry| meant(entry) && has_it(entry));
            match (meant_one, whose(&has_it)) {
                (Some(Whose::Before), _) => {}
                // Values are short: what is found by mistake may have that of an entry appended since.
                (_, Some(Whose::Before)) if !self.exact => dropped += 1,
                (Some(Whose::Fresh), _) => fresh += 1,
                (None, Some(Whose::Fresh)) if !self.exact => dropped += 1,
                (None, _) => {
                    let there = watch.before.get(number).or(self.entries.get(number));
                    let meanwhile: Vec<_> = since.iter().map(|change| change.told()).collect();
                    return Err(format!(
                        "{query:?} finds {number} with {record:02x?}, one of {}, which is {there:?}; of {} before and {} now, \
                         meanwhile {meanwhile:?}",
                        found.len(),
                        watch.before.len(),
                        self.entries.len()
                    ));
                }
            }
        }
        let numbers: BTreeSet<u32> = found.iter().map(|(number, _)| *number).collect();
        let (mut stale, mut missed) = (0, 0);
        for (number, entry) in &*watch.before {
            if !meant(entry) {
                continue;
            }
            let is_found = numbers.contains(number);
            if !is_found && !gone.contains(number) {
                return Err(format!("{query:?} misses {number}, which is {entry:?}"));
            }
            stale += usize::from(is_found && gone.contains(number));
            missed += usize::from(!is_found);
        }
        let [update] = since else {
            return Ok(dropped);
        };
        let appended = update.appended.borrow();
        let all = appended.iter().filter(|(_, entry)| meant(entry)).count();
        let unmet = all.saturating_sub(fresh);
        match update.atomic {
            true if fresh > 0 && stale > 0 => {
                Err("a lookup finds what an update deletes, and what it appends".into())
            }
            true if missed > 0 && unmet > 0 => {
                Err("a lookup misses what an update deletes, and what it appends".into())
            }
            _ => Ok(dropped),
        }
    }

    /// Whose record a lookup may have found under a number: that of an entry that was there before, or of one appended since.
    fn whose(&self, watch: &Watch, number: u32, may: &dyn Fn(&Entry) -> bool) -> Option<Whose> {
        if watch.before.get(&number).is_some_and(|entry| may(entry)) {
            return Some(Whose::Before);
        }
        let is_its =
            |(of, entry): &(Option<u32>, Rc<Entry>)| of.is_none_or(|of| of == number) && may(entry);
        let mut since = self.changes[watch.from..].iter();
        let is_new = since.any(|change| change.appended.borrow().iter().any(is_its));
        is_new.then_some(Whose::Fresh)
    }

    /// Bounds for how many a query finds.
    pub(super) fn bounds(&self, watch: &Watch, query: &Query) -> (usize, usize) {
        let since = &self.changes[watch.from..];
        let is_it = |entry: &Entry| entry.matches(query, &self.region);
        let before = watch.before.iter().filter(|(_, entry)| is_it(entry));
        let (mut least, mut most) = (0, 0);
        for (number, _) in before {
            most += 1;
            least += usize::from(!since.iter().any(|change| change.deleted.contains(number)));
        }
        for change in since {
            let appended = change.appended.borrow();
            most += appended.iter().filter(|(_, entry)| is_it(entry)).count();
        }
        (least, if self.exact { most } else { usize::MAX })
    }

    /// After a power cut the drive has told which entries there are: with their values, by number. Checks that, and holds the
    /// drive to it from now on.
    ///
    /// # Errors
    /// What was lost, has come back, or came in part.
    pub(super) fn observe(&mut self, seen: &BTreeMap<u32, Vec<u8>>) -> Result<(), String> {
        let pending = self.pending();
        let fresh: Vec<u32> = seen
            .keys()
            .copied()
            .filter(|number| !self.entries.contains_key(number))
            .collect();
        let lost: BTreeSet<u32> = self
            .entries
            .keys()
            .copied()
            .filter(|number| !seen.contains_key(number))
            .collect();
        let Some(change) = pending else {
            return match (fresh.first(), lost.first()) {
                (None, None) => self.observe_values(seen),
                (Some(number), _) => Err(format!("entry {number} has come from nowhere")),
                (_, Some(number)) => {
                    Err(format!("{} entries are lost, such as {number}", lost.len()))
                }
            };
        };
        if let Some(number) = lost.iter().find(|number| !change.deleted.contains(number)) {
            return Err(format!("entry {number} is lost"));
        }
        let appended = change.appended.borrow().len();
        if !fresh.is_empty() && fresh.len() != appended {
            let mut rows = BTreeMap::<u32, u32>::new();
            for number in &fresh {
                *rows.entry(number / self.row_names).or_default() += 1;
            }
            return Err(format!(
                "{} of {appended} appended entries are there, of rows {rows:?} with {:?} given",
                fresh.len(),
                self.given
            ));
        }
        let all_or_nothing = match fresh.is_empty() {
            true => lost.is_empty(),
            false => lost == change.deleted,
        };
        if change.atomic && !all_or_nothing {
            return Err(format!(
                "an update happened in part: {} of {} entries are gone, {} of {appended} are there",
                lost.len(),
                change.deleted.len(),
                fresh.len()
            ));
        }
        if fresh.is_empty() {
            self.failed(&change);
        } else {
            let numbers = self.in_order(fresh);
            let appended = Change {
                appended: RefCell::new(change.appended.take()),
                ..Change::default()
            };
            change.done.set(true);
            self.happened(&appended, &numbers)?;
        }
        let entries = Rc::make_mut(&mut self.entries);
        lost.iter().for_each(|number| {
            entries.remove(number);
        });
        self.observe_values(seen)
    }

    /// New numbers in the order of their records: those of the row that was open come first.
    pub(super) fn in_order(&self, mut numbers: Vec<u32>) -> Vec<u32> {
        numbers.sort_unstable();
        let row = |number: u32| number / self.row_names;
        let split = numbers.partition_point(|number| row(*number) == row(numbers[0]));
        let first_fills_its_row = (numbers[split - 1] + 1).is_multiple_of(self.row_names);
        if split < numbers.len() && !first_fills_its_row {
            numbers.rotate_left(split);
        }
        numbers
    }

    /// Values are what they were, or were to be; each block, and so each byte, for itself.
    fn observe_values(&mut self, seen: &BTreeMap<u32, Vec<u8>>) -> Result<(), String> {
        let written = std::mem::take(&mut self.written);
        for (number, entry) in Rc::make_mut(&mut self.entries) {
            let value = &seen[number];
            let later = written.get(number).map(|entry| &entry.value);
            let others = || entry.earlier.iter().chain(later);
            let differs = |at: &usize| {
                let mut may = others().chain([&entry.value]);
                !may.any(|other| other[*at] == value[*at])
            };
            if (0..value.len()).any(|at| differs(&at)) {
                return Err(format!(
                    "entry {number} has the value {value:02x?}, expected {entry:?} or {later:02x?}"
                ));
            }
            if *value != entry.value || !entry.earlier.is_empty() {
                let settled = Entry {
                    names: entry.names.clone(),
                    value: value.clone(),
                    earlier: Vec::new(),
                };
                *entry = Rc::new(settled);
            }
        }
        Ok(())
    }
}
