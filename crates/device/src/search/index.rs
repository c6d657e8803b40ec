//! Where names are among the rows of a table, for drives that keep no data: flash tells them nothing, so that they would look
//! through all names for each lookup. It costs no simulated time, and is of no use where there are data.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use arrayvec::ArrayVec;
use nvme::RegionId;
use nvme::query::{MAX_NAME_BITS, Pattern};
use sim::memory;
use smallvec::SmallVec;

use super::Search;
use super::bits::WORD;
use super::cells::{Numbers, Words};
use super::hashes::{name_hash, words_of};
use super::table::{Column, Row, Table};

/// Entries of a table that is indexed: with as many that are no more, their slots still have numbers.
const ENTRIES_MAX: u64 = 1 << 30;
/// Entries with one hash, for each row, from which on all names are looked through.
const MANY_A_ROW: usize = 64;

/// Entries; most lookups find few.
pub(super) type Entries = SmallVec<[u32; 4]>;

/// Words of a name, at most.
const NAME_WORDS: usize = MAX_NAME_BITS as usize / WORD;

/// The names of one search region, by their hashes.
#[derive(Default)]
pub(super) struct NameIndex {
    /// By each hash, the slot of the entry that came last.
    last: Numbers,
    /// The entries that have a name, or had: [`Slot`] as a word, and the words of the name, as [`words_of`] gives them.
    slots: Option<Words>,
    /// How many there are.
    count: usize,
    /// Words of a slot.
    stride: usize,
    /// Bits of a name.
    bits: u32,
    /// By their number.
    rows: Vec<Option<RowIndex>>,
    /// Entries of rows that are no more.
    stale: usize,
    /// Of which version of the table these rows are.
    version: u64,
}

/// An entry, and the slot of the one with the same hash that came before.
#[derive(Clone, Copy)]
struct Slot {
    entry: u32,
    before: Option<u32>,
}

/// What an index has of a row.
struct RowIndex {
    row: Weak<Row>,
    /// Its first entries, so many.
    entries: u32,
    /// Their slots are this one or come after it. Those of another row of this number come before.
    since: u32,
}

impl Slot {
    fn to_word(self) -> u64 {
        let before = self.before.map_or(0, |slot| u64::from(slot) + 1);
        before << 32 | u64::from(self.entry)
    }

    fn of_word(word: u64) -> Slot {
        Slot {
            entry: word as u32,
            before: ((word >> 32) as u32).checked_sub(1),
        }
    }
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
        let of_rows: usize = rows.values().map(|row| row.entries.get() as usize).sum();
        let known = self.rows.iter().flatten().map(|row| row.entries as usize);
        let mut more = Vec::with_capacity(of_rows.saturating_sub(known.sum()));
        let bits = table.columns.borrow()[column].bits;
        self.stride = 1 + (bits as usize).div_ceil(WORD);
        self.bits = bits;
        let mut slots = self.make_room(more.capacity());
        for (number, row) in &*rows {
            let since = self.count as u32;
            let place = *number as usize;
            self.rows
                .resize_with(self.rows.len().max(place + 1), || None);
            let known = self.rows[place].get_or_insert_with(|| RowIndex {
                row: Rc::downgrade(row),
                entries: 0,
                since,
            });
            let from = std::mem::replace(&mut known.entries, row.entries.get());
            if let Some(names) = &*row.names.borrow() {
                let first = number * table.values.row_names;
                let column = names.column(column);
                column.each_name(from..row.entries.get(), |entry, name| {
                    more.push((name_hash(name), self.count as u32));
                    let slot = &mut slots.all_mut()[self.count * self.stride..][..self.stride];
                    slot[0] = u64::from(first + entry);
                    slot[1..].copy_from_slice(name);
                    self.count += 1;
                });
            }
        }
        self.slots = Some(slots);
        self.put(more);
        self.version = table.version.get();
        true
    }

    /// The slots, with room for so many more.
    fn make_room(&mut self, more: usize) -> Words {
        let (taken, needed) = (self.count * self.stride, (self.count + more) * self.stride);
        let before = self.slots.take();
        let room = before.as_ref().map_or(0, |slots| slots.all().len());
        match before {
            Some(slots) if needed <= room => slots,
            before => {
                // Not for every single one that is appended.
                let mut slots = Words::zeroed(needed.max(room + room / 2).max(1));
                if let Some(before) = before {
                    slots.all_mut()[..taken].copy_from_slice(&before.all()[..taken]);
                }
                slots
            }
        }
    }

    /// Puts slots, with their hashes, to the others.
    fn put(&mut self, mut more: Vec<(u32, u32)>) {
        more.sort_unstable();
        self.last.reserve(more.len());
        let Some(slots) = &mut self.slots else { return };
        for (hash, slot) in more {
            let before = self.last.put(hash, slot);
            let word = &mut slots.all_mut()[slot as usize * self.stride];
            let entry = Slot::of_word(*word).entry;
            *word = Slot { entry, before }.to_word();
        }
    }

    /// Forgets rows that are no more.
    fn forget_others(&mut self, rows: &BTreeMap<u32, Rc<Row>>) {
        for (number, place) in self.rows.iter_mut().enumerate() {
            let Some(known) = place else { continue };
            let row = rows.get(&(number as u32));
            if !row.is_some_and(|row| Weak::ptr_eq(&known.row, &Rc::downgrade(row))) {
                self.stale += known.entries as usize;
                *place = None;
            }
        }
        if self.stale * 2 > self.count {
            *self = NameIndex::default();
        }
    }

    /// The entries with a name, the last first, those that are gone included; none if so many have its hash that it is faster to
    /// look through all names.
    fn named(&self, name: &[u64], row_names: u32) -> Option<Entries> {
        let hash = name_hash(name);
        let mut next = self.last.get(hash);
        let slots = self.slots.as_ref().map_or(&[][..], Words::all);
        let mut named = Entries::new();
        let mut steps = 0..MANY_A_ROW * self.rows.len();
        while let Some(number) = next {
            steps.next()?;
            let first = number as usize * self.stride;
            let slot = Slot::of_word(slots[first]);
            next = slot.before;
            let row = self.rows.get((slot.entry / row_names) as usize);
            let is_known =
                || row.is_some_and(|row| row.as_ref().is_some_and(|row| number >= row.since));
            if slots[first + 1..first + self.stride] == *name && is_known() {
                named.push(slot.entry);
            }
        }
        Some(named)
    }
}

/// How far a lookup has come that will ask where a name is: the nearer it is, the more of the way there can be gone ahead of it.
/// Each step looks at what the one before had the processor fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// Its command is on its way: the cell of the name's hash will be needed.
    Coming,
    /// It begins: the slot will be.
    Here,
    /// It looks next: whether the slot's entry is there will be.
    Next,
}

impl Search {
    /// Has the processor fetch what a lookup of this name, if it is the whole of one, will look at; of no effect but on the simulator's
    /// speed: among millions of names each look waits for memory otherwise.
    pub fn prefetch(&self, region: RegionId, name: &[u8; 16], nearness: Nearness) {
        let indexes = self.indexes.borrow();
        let mut of_region = indexes.range((region.get(), 0)..=(region.get(), u32::MAX));
        let Some(((_, table), index)) = of_region.next() else {
            return;
        };
        if index.bits > 8 * name.len() as u32 {
            return;
        }
        let words: ArrayVec<u64, 2> = words_of(name, index.bits).collect();
        let hash = name_hash(&words);
        if nearness == Nearness::Coming {
            return index.last.prefetch(hash);
        }
        let Some((number, slots)) = index.last.get(hash).zip(index.slots.as_ref()) else {
            return;
        };
        let first = number as usize * index.stride;
        if nearness == Nearness::Here {
            memory::prefetch(slots.all(), first);
            return memory::prefetch(slots.all(), first + index.stride - 1);
        }
        if let Some(table) = self.tables.borrow().get(table) {
            table.prefetch(Slot::of_word(slots.all()[first]).entry);
        }
    }

    /// The entries of a table that have this name and no other, in ascending order; `None` unless all bits of it count, and of each name, or
    /// if names are on their way.
    pub(super) fn entries_named(
        &self,
        table: &Table,
        column: usize,
        pattern: &Pattern,
    ) -> Option<Entries> {
        let Column {
            region,
            bits,
            ternary,
        } = table.columns.borrow()[column];
        if ternary || !counts_whole(pattern, bits) {
            return None;
        }
        let mut indexes = self.indexes.borrow_mut();
        let index = indexes.entry((region, table.number)).or_default();
        if !index.follow(table, column) {
            return None;
        }
        let name: ArrayVec<u64, NAME_WORDS> = words_of(pattern.name(), bits).collect();
        let mut found = index.named(&name, table.values.row_names)?;
        found.retain(|entry| table.is_there(*entry));
        found.sort_unstable();
        Some(found)
    }
}

impl Table {
    /// Has the processor fetch whether an entry is there.
    fn prefetch(&self, entry: u32) {
        let (row, at) = (entry / self.values.row_names, entry % self.values.row_names);
        if let Some(row) = self.rows.borrow().get(&row) {
            memory::prefetch(&row.there.borrow(), at as usize / WORD);
            if let Some(names) = &*row.names.borrow() {
                memory::prefetch(names.there(), at as usize / WORD);
            }
        }
    }

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
