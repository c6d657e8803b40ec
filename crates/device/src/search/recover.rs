//! Power-up: tables and rows from the facts of the journal, and from the cells that say which entries are there.

use std::collections::BTreeSet;
use std::rc::Rc;

use media::nand::BlockId;
use nvme::NamespaceId;

use super::Search;
use super::append::put_names;
use super::facts::{
    self, DELETIONS, DeletionFact, GONE, LOGS, LogFact, LogItem, ROWS, TABLES, TableFact,
};
use super::layout::ValueLayout;
use super::link::items_of;
use super::names::plane;
use super::table::{Row, Table};
use crate::ftl::{Dump, Lpn};
use crate::journal::Change;
use crate::memory::Dumped;
use crate::planted::{Bug, is_planted};
use crate::region::Owner;
use crate::schedule::Origin;
use crate::tenants;

/// Pages of facts after which no other table's come into force with them when the power goes: what a group leaves of its
/// last page is then little.
pub(super) const SAVED_TOGETHER_PAGES: u32 = 16;
/// The number of a row in the key of its fact.
const ROW: u32 = (1 << 20) - 1;

impl Search {
    /// Makes the tables anew.
    pub(super) async fn recover(&self) {
        for (number, bytes) in self.ftl.facts_of(TABLES) {
            if let Some(fact) = TableFact::decode(&bytes) {
                self.restore_table(number, fact);
            }
        }
        for (key, bytes) in self.ftl.facts_of(ROWS) {
            if let Some((entries, blocks)) = facts::decode_blocks(&bytes) {
                self.restore_row(key, entries, blocks);
            }
        }
        let used = self.blocks_used();
        let mut found = self.ftl.adopt_blocks(Owner::Search);
        found.retain(|block| !used.contains(block));
        self.give_back_soon(found);
        for (number, bytes) in self.ftl.facts_of(LOGS) {
            self.next_fact.set(self.next_fact.get().max(number + 1));
            let forgets = is_planted(Bug::RecoveryForgetsWaitingNames);
            if let Some(fact) = LogFact::decode(&bytes).filter(|_| !forgets) {
                self.restore_entries(number, fact);
            }
        }
        self.note_leftover();
        for (number, bytes) in self.ftl.facts_of(DELETIONS) {
            self.next_fact.set(self.next_fact.get().max(number + 1));
            self.restore_intent(number, &bytes);
        }
        let tables: Vec<Rc<Table>> = self.tables.borrow().values().cloned().collect();
        for table in &tables {
            self.restore_there(table).await;
            self.go_on_deleting(table).await;
            self.seal_full_rows(table);
            for row in table.rows_from(0) {
                if row.is_sealed() && row.live.get() == 0 {
                    self.free_soon(table, &row);
                }
            }
        }
    }

    /// Facts of tables that are none any more: a capacitor may have saved what the journal had let go of at that moment. They go
    /// before another table has the number.
    fn note_leftover(&self) {
        let tables = self.tables.borrow();
        let is_gone = |table: u32| !tables.contains_key(&table);
        let mut leftover = self.leftover.borrow_mut();
        for (key, _) in self.ftl.facts_of(ROWS) {
            leftover.extend(is_gone(key >> 20).then(|| ROWS.key(key)));
        }
        for (key, _) in self.ftl.facts_of(GONE) {
            leftover.extend(is_gone(key >> 20).then(|| GONE.key(key)));
        }
        for (number, bytes) in self.ftl.facts_of(LOGS) {
            let of = LogFact::decode(&bytes).map(|fact| fact.table);
            leftover.extend(of.is_some_and(is_gone).then(|| LOGS.key(number)));
        }
    }

    /// A deletion that was under way, unless its table is none any more.
    fn restore_intent(&self, number: u32, bytes: &[u8]) {
        let key = DELETIONS.key(number);
        let fact = DeletionFact::decode(bytes);
        match fact.filter(|fact| self.tables.borrow().contains_key(&fact.table)) {
            Some(fact) => self.intents.borrow_mut().note(key, fact, true),
            None => self.leftover.borrow_mut().push(key),
        }
    }

    /// The power is gone: the names that only memory has become facts, and what is being deleted. What a table has comes into
    /// force together; small tables share what they would take too much of pages.
    pub(super) fn save(&self) -> Dumped {
        let mut dump = self.ftl.dump();
        let mut dumped = Dumped::default();
        let enough = u64::from(SAVED_TOGETHER_PAGES) * u64::from(self.geometry.page_bytes);
        let (mut changes, mut entries) = (Vec::new(), 0);
        for table in self.tables.borrow().values() {
            entries += self.add_unsaved(table, &mut changes);
            let bytes = changes
                .iter()
                .map(|(_, fact): &Change| fact.as_ref().map_or(0, |fact| fact.len() as u64));
            if bytes.sum::<u64>() >= enough {
                save_group(
                    &mut dump,
                    &mut dumped,
                    std::mem::take(&mut changes),
                    std::mem::take(&mut entries),
                );
            }
        }
        save_group(&mut dump, &mut dumped, changes, entries);
        debug_assert!(
            dumped.lost == 0 || dump.met_failures(),
            "{} acknowledged names are lost, and no flash failed",
            dumped.lost
        );
        dumped.work = dump.work();
        dumped
    }

    /// What only memory has of a table becomes facts; gives how many entries these have.
    fn add_unsaved(&self, table: &Table, changes: &mut Vec<Change>) -> u64 {
        let mut entries = 0;
        for row in table.waiting_rows().iter().filter(|row| row.unsaved.get()) {
            if let Some(names) = &*row.names.borrow() {
                entries += u64::from(row.live.get());
                let mut items = vec![LogItem::Afresh];
                items.append(&mut items_of(row.entries.get(), names));
                self.log_items(table, row, items, changes);
            }
        }
        changes.extend(self.intents.borrow().unsaved(table.number));
        entries
    }

    fn restore_table(&self, number: u32, fact: TableFact) {
        let first = Lpn(fact.first);
        let row_names = self.row_names();
        let values = ValueLayout::new(first, fact.value_bytes, row_names, self.ftl.unit());
        let of = (NamespaceId::new(fact.namespace), fact.start);
        let table = Table::new(&self.sim, number, of, values, fact.rows_max);
        table.columns.replace(fact.columns);
        self.tables.borrow_mut().insert(number, Rc::new(table));
    }

    fn restore_row(&self, key: u32, entries: u32, blocks: Vec<Vec<BlockId>>) {
        let (table, number) = (key >> 20, key & ROW);
        let Some(table) = self.tables.borrow().get(&table).cloned() else {
            return;
        };
        let Some(block) = blocks.first().and_then(|blocks| blocks.first()) else {
            return;
        };
        let row = Row::new(&self.sim, number, self.geometry.plane_of_block(*block));
        row.entries.set(entries);
        row.blocks.replace(Some(blocks.into()));
        table.rows.borrow_mut().insert(number, Rc::new(row));
    }

    /// The blocks with names of a row.
    fn blocks_used(&self) -> BTreeSet<BlockId> {
        let tables = self.tables.borrow();
        let mut used = BTreeSet::new();
        for row in tables.values().flat_map(|table| table.rows_from(0)) {
            let blocks = row.blocks.borrow();
            used.extend(blocks.iter().flat_map(|blocks| blocks.iter().flatten()));
        }
        used
    }

    /// Entries whose names flash does not hold yet.
    fn restore_entries(&self, number: u32, fact: LogFact) {
        let Some(table) = self.tables.borrow().get(&fact.table).cloned() else {
            return;
        };
        let row = table.row(fact.row);
        let row = row.unwrap_or_else(|| self.new_row(&table, fact.row));
        if fact.items.first() == Some(&LogItem::Afresh) {
            let before = row.logs.take().into_iter();
            let mut leftover = self.leftover.borrow_mut();
            leftover.extend(before.map(|number| LOGS.key(number)));
        }
        row.logs.borrow_mut().push(number);
        let columns = table.columns.borrow();
        let names_bytes = table.names_bytes();
        let mut names = row.names.borrow_mut();
        let Some(names) = names.as_mut() else {
            return;
        };
        let mut end = row.entries.get();
        for item in &fact.items {
            match item {
                LogItem::Appended {
                    first,
                    count,
                    names: bytes,
                } => {
                    let record =
                        |number: u32| &bytes[number as usize * names_bytes..][..names_bytes];
                    put_names(names, &columns, (*first, *count), record);
                    end = end.max(first + count);
                }
                LogItem::Afresh => names.clear(),
                LogItem::Deleted(entries) => {
                    for entry in entries {
                        names.set_valid(*entry, false);
                        end = end.max(entry + 1);
                    }
                }
            }
        }
        row.entries.set(end);
        self.count_room(&row, names_bytes);
        row.live.set(names.live());
    }

    /// Finds out which entries of a table are there: what cells say, less what is being deleted.
    async fn restore_there(&self, table: &Rc<Table>) {
        let origin = Origin::own(tenants::RECOVERY);
        let rows = table.rows_from(0);
        let sealed: Vec<_> = rows.into_iter().filter(|row| row.is_sealed()).collect();
        // A row of each die at a time.
        for rows in sealed.chunks(self.geometry.dies() as usize) {
            let restored = rows.iter().map(async |row| {
                let Some(blocks) = row.blocks.borrow().clone() else {
                    return;
                };
                let found = match self.restored(table.number, row, &blocks, origin).await {
                    Ok(found) => found,
                    // Lookups will say so. As nobody knows what is there, nothing is given up.
                    Err(_) => plane(self.row_names()).iter().map(|word| !word).collect(),
                };
                // A drive that keeps no data says nothing.
                let nothing = plane(self.row_names());
                row.set_there(if found.is_empty() { &nothing } else { &found });
            });
            sim::join_all(restored).await;
        }
    }

    /// Goes on with what was being deleted from a table.
    async fn go_on_deleting(&self, table: &Rc<Table>) {
        let origin = Origin::own(tenants::RECOVERY);
        let named = self.intents.borrow().rows(table.number);
        for (number, entries) in &named {
            let row = table.row(*number).filter(|row| row.is_sealed());
            if let Some(row) = row {
                row.kill(entries);
            }
        }
        for (number, _) in named {
            match table.row(number).filter(|row| row.is_sealed()) {
                // What cannot be raised is gone in this life, too, and stays noted.
                Some(row) => _ = self.raise(table, &row, origin).await,
                None => self.forget_row(table, number),
            }
        }
        self.drop_leftover().await;
    }
}

/// Saves facts that come into force together, with so many entries.
fn save_group(dump: &mut Dump<'_>, dumped: &mut Dumped, changes: Vec<Change>, entries: u64) {
    if changes.is_empty() {
        return;
    }
    match dump.put_facts(changes) {
        Some(pages) => dumped.pages += u64::from(pages),
        None => dumped.lost += entries,
    }
}
