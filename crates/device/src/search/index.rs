//! Where names are among the rows of a table, for drives that keep no data: flash tells them nothing, so that they would look
//! through all names for each lookup. It costs no simulated time, and is of no use where there are data.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use nvme::query::Pattern;

use super::Search;
use super::hashes::name_hash;
use super::table::{Column, Row, Table};

/// Entries of a table that is indexed: with as many that are no more, their slots still have numbers.
const ENTRIES_MAX: u64 = 1 << 30;
/// Entries with one hash, for each row, from which on all names are looked through.
const MANY_A_ROW: u32 = 64;

/// The names of one search region, by their hashes.
#[derive(Default)]
pub(super) struct NameIndex {
    /// The entries that have names of a hash, or had.
    chains: HashTable<Chain>,
    slots: Vec<Slot>,
    rows: BTreeMap<u32, RowIndex>,
    /// Entries of rows that are no more.
    stale: usize,
    /// Of which version of the table these rows are.
    version: u64,
}

/// The entries with names of one hash.
struct Chain {
    hash: u32,
    /// The slot of the one that came last.
    last: u32,
    count: u32,
}

/// An entry, and the slot of the one with the same hash that came before; its own if none did.
struct Slot {
    entry: u32,
    before: u32,
}

/// What an index has of a row.
struct RowIndex {
    row: Weak<Row>,
    /// Its first entries, so many.
    entries: u32,
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
        for (number, row) in &*rows {
            let known = self.rows.entry(*number).or_insert_with(|| RowIndex {
                row: Rc::downgrade(row),
                entries: 0,
            });
            let from = std::mem::replace(&mut known.entries, row.entries.get());
            if let Some(names) = &*row.names.borrow() {
                let (chains, slots) = (&mut self.chains, &mut self.slots);
                let first = number * table.values.row_names;
                names
                    .column(column)
                    .each_hash(from..row.entries.get(), |entry, hash| {
                        add(chains, slots, hash, first + entry);
                    });
            }
        }
        self.version = table.version.get();
        true
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

/// Adds an entry to those with the same hash.
fn add(chains: &mut HashTable<Chain>, slots: &mut Vec<Slot>, hash: u32, entry: u32) {
    let last = slots.len() as u32;
    let found = chains.entry(
        spread(hash),
        |chain| chain.hash == hash,
        |chain| spread(chain.hash),
    );
    let before = match found {
        Entry::Occupied(mut known) => {
            let chain = known.get_mut();
            chain.count += 1;
            std::mem::replace(&mut chain.last, last)
        }
        Entry::Vacant(new) => {
            new.insert(Chain {
                hash,
                last,
                count: 1,
            });
            last
        }
    };
    slots.push(Slot { entry, before });
}

impl NameIndex {
    /// The entries with names of a hash, the last first; none if there are so many that it is faster to look through all names.
    fn with_hash(&self, hash: u32) -> Option<impl Iterator<Item = u32>> {
        let chain = self.chains.find(spread(hash), |chain| chain.hash == hash);
        let many = MANY_A_ROW * self.rows.len() as u32;
        if chain.is_some_and(|chain| chain.count > many) {
            return None;
        }
        let mut next = chain.map(|chain| chain.last);
        Some(std::iter::from_fn(move || {
            let slot = next?;
            let Slot { entry, before } = self.slots[slot as usize];
            next = (before != slot).then_some(before);
            Some(entry)
        }))
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
        let hash = name_hash(pattern.name(), bits);
        let with_hash = index.with_hash(hash)?;
        let mut found: Vec<u32> = with_hash
            .filter(|entry| table.has_name(*entry, column, pattern.name()))
            .collect();
        found.sort_unstable();
        found.dedup();
        Some(found)
    }
}

impl Table {
    /// Whether an entry is there and has a name.
    fn has_name(&self, entry: u32, column: usize, name: &[u8]) -> bool {
        let (row, at) = (entry / self.values.row_names, entry % self.values.row_names);
        let rows = self.rows.borrow();
        let row = rows.get(&row).filter(|row| row.is_there(at));
        let names = row.map(|row| row.names.borrow());
        let names = names.as_ref().and_then(|names| names.as_ref());
        names.is_some_and(|names| names.is_valid(at) && names.column(column).has(at, name))
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
