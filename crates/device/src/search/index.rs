//! Where names are among the rows of a table, for drives that keep no data: flash tells them nothing, so that they would look
//! through all names for each lookup. It costs no simulated time, and is of no use where there are data.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use arrayvec::ArrayVec;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use nvme::query::{MAX_NAME_BITS, Pattern};

use super::Search;
use super::bits::WORD;
use super::hashes::{name_hash, words_of};
use super::table::{Column, Row, Table};

/// Entries of a table that is indexed: with as many that are no more, their slots still have numbers.
const ENTRIES_MAX: u64 = 1 << 30;
/// Entries with one hash, for each row, from which on all names are looked through.
const MANY_A_ROW: u32 = 64;

/// Words of a name, at most.
const NAME_WORDS: usize = MAX_NAME_BITS as usize / WORD;

/// The names of one search region, by their hashes.
#[derive(Default)]
pub(super) struct NameIndex {
    /// Of each hash, the slot of the entry that came last.
    last: HashTable<u32>,
    slots: Vec<Slot>,
    /// The names of the slots, each as [`words_of`] gives it.
    names: Vec<u64>,
    rows: BTreeMap<u32, RowIndex>,
    /// Entries of rows that are no more.
    stale: usize,
    /// Of which version of the table these rows are.
    version: u64,
}

/// An entry that has a name, or had.
#[derive(Clone, Copy)]
struct Slot {
    entry: u32,
    hash: u32,
    /// The slot of the one with the same hash that came before; its own if none did.
    before: u32,
    /// How many have this hash up to here.
    count: u32,
}

/// What an index has of a row.
struct RowIndex {
    row: Weak<Row>,
    /// Its first entries, so many.
    entries: u32,
    /// Their slots are this one or come after it. Those of another row of this number come before.
    since: u32,
}

/// A hash that fills a word.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl NameIndex {
    /// Takes in the names of a table that it does not know yet; false as long as some are on their way.
    fn follow(&mut self, table: &Table, column: usize) -> bool {
        if self.version == table.version.get() {
            return true;
        }
        let rows = table.rows.borrow();
        let is_coming = |row: &Rc<Row>| row.pending.get() > 0;
        if rows.values().any(is_coming) || table.capacity() > ENTRIES_MAX {
            return false;
        }
        self.forget_others(&rows);
        self.make_room(&rows);
        for (number, row) in &*rows {
            let since = self.slots.len() as u32;
            let known = self.rows.entry(*number).or_insert_with(|| RowIndex {
                row: Rc::downgrade(row),
                entries: 0,
                since,
            });
            let from = std::mem::replace(&mut known.entries, row.entries.get());
            if let Some(names) = &*row.names.borrow() {
                let first = number * table.values.row_names;
                let column = names.column(column);
                column.each_name(from..row.entries.get(), |entry, name| {
                    self.add(first + entry, name);
                });
            }
        }
        self.version = table.version.get();
        true
    }

    /// Makes room for the entries that are not known yet, all at once.
    fn make_room(&mut self, rows: &BTreeMap<u32, Rc<Row>>) {
        let of_rows: usize = rows.values().map(|row| row.entries.get() as usize).sum();
        let known = |row: &RowIndex| row.entries as usize;
        let more = of_rows.saturating_sub(self.rows.values().map(known).sum());
        let slots = &self.slots;
        self.last
            .reserve(more, |slot| spread(slots[*slot as usize].hash));
        self.slots.reserve(more);
    }

    /// Forgets rows that are no more.
    fn forget_others(&mut self, rows: &BTreeMap<u32, Rc<Row>>) {
        let mut stale = 0;
        self.rows.retain(|number, known| {
            let row = rows.get(number);
            let stays = row.is_some_and(|row| Weak::ptr_eq(&known.row, &Rc::downgrade(row)));
            if !stays {
                stale += known.entries as usize;
            }
            stays
        });
        self.stale += stale;
        if self.stale * 2 > self.slots.len() {
            *self = NameIndex::default();
        }
    }
}

impl NameIndex {
    /// Adds an entry to those with the same hash.
    fn add(&mut self, entry: u32, name: &[u64]) {
        let hash = name_hash(name);
        let slots = &mut self.slots;
        let slot = slots.len() as u32;
        let hash_of = |slot: &u32| slots[*slot as usize].hash;
        let found = self.last.entry(
            spread(hash),
            |slot| hash_of(slot) == hash,
            |slot| spread(hash_of(slot)),
        );
        let (before, count) = match found {
            Entry::Occupied(mut known) => {
                let before = std::mem::replace(known.get_mut(), slot);
                (before, slots[before as usize].count + 1)
            }
            Entry::Vacant(new) => {
                new.insert(slot);
                (slot, 1)
            }
        };
        slots.push(Slot {
            entry,
            hash,
            before,
            count,
        });
        self.names.extend_from_slice(name);
    }

    /// The entries with a name, the last first, those that are gone included; none if so many have its hash that it is faster to
    /// look through all names.
    fn named(&self, name: &[u64], row_names: u32) -> Option<impl Iterator<Item = u32>> {
        let hash = name_hash(name);
        let slots = &self.slots;
        let is_of = |slot: &u32| slots[*slot as usize].hash == hash;
        let last = self.last.find(spread(hash), is_of).copied();
        let many = MANY_A_ROW * self.rows.len() as u32;
        if last.is_some_and(|slot| slots[slot as usize].count > many) {
            return None;
        }
        let mut next = last;
        let with_hash = std::iter::from_fn(move || {
            let number = next?;
            let slot = slots[number as usize];
            next = (slot.before != number).then_some(slot.before);
            Some((number, slot.entry))
        });
        let named = with_hash.filter(move |(slot, entry)| {
            let first = *slot as usize * name.len();
            let row = self.rows.get(&(entry / row_names));
            self.names[first..first + name.len()] == *name
                && row.is_some_and(|row| *slot >= row.since)
        });
        Some(named.map(|(_, entry)| entry))
    }
}

impl Search {
    /// The entries of a table that have this name and no other, in ascending order; `None` unless all bits of it count, and of each name, or
    /// if names are on their way.
    pub(super) fn entries_named(
        &self,
        table: &Table,
        column: usize,
        pattern: &Pattern,
    ) -> Option<Vec<u32>> {
        let Column {
            region,
            bits,
            ternary,
        } = table.columns.borrow()[column];
        if ternary || !counts_whole(pattern, bits) {
            return None;
        }
        let mut indexes = self.indexes.borrow_mut();
        let index = indexes.entry((table.number, region)).or_default();
        if !index.follow(table, column) {
            return None;
        }
        let name: ArrayVec<u64, NAME_WORDS> = words_of(pattern.name(), bits).collect();
        let named = index.named(&name, table.values.row_names)?;
        let mut found: Vec<u32> = named.filter(|entry| table.is_there(*entry)).collect();
        found.sort_unstable();
        Some(found)
    }
}

impl Table {
    /// Whether an entry is there.
    fn is_there(&self, entry: u32) -> bool {
        let (row, at) = (entry / self.values.row_names, entry % self.values.row_names);
        let rows = self.rows.borrow();
        let row = rows.get(&row).filter(|row| row.is_there(at));
        let names = row.map(|row| row.names.borrow());
        let names = names.as_ref().and_then(|names| names.as_ref());
        names.is_some_and(|names| names.is_valid(at))
    }
}

/// Whether all of the first bits of a pattern count.
fn counts_whole(pattern: &Pattern, bits: u32) -> bool {
    let (whole, left) = (bits as usize / 8, bits % 8);
    let mask = pattern.mask();
    pattern.bits() >= bits
        && mask[..whole].iter().all(|byte| *byte == u8::MAX)
        && (left == 0 || mask[whole] | u8::MAX << left == u8::MAX)
}
