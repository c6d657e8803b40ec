//! Deletions under way: which entries are deleted though the cells of some may not say so yet. A power cut must not leave a part
//! of one, nor may one that could not end reach entries that come later under the same numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::Search;
use super::facts::{self, DeletionFact};
use super::table::{Row, Table};
use crate::journal::{Change, FactKey};

/// A deletion under way.
struct Intent {
    fact: DeletionFact,
    /// Whether the journal has the fact; otherwise the capacitor saves it.
    in_journal: bool,
    /// Rows whose cells have still to be raised.
    due: BTreeSet<u32>,
}

/// Deletions under way, by their facts.
#[derive(Default)]
pub(super) struct Intents(BTreeMap<FactKey, Intent>);

impl Intents {
    /// Notes a deletion whose cells are to be raised.
    pub(super) fn note(&mut self, key: FactKey, fact: DeletionFact, in_journal: bool) {
        let due = fact.rows.keys().copied().collect();
        let intent = Intent {
            fact,
            in_journal,
            due,
        };
        self.0.insert(key, intent);
    }

    /// The cells of a row say what is there. Gives the facts of deletions that are over, which are to leave the journal.
    fn settle(&mut self, table: u32, row: u32) -> Vec<FactKey> {
        for intent in self.of_table(table) {
            intent.due.remove(&row);
        }
        self.end()
    }

    /// A row is free: what comes into it is not deleted. Gives facts as [`Intents::settle`] does.
    fn forget_row(&mut self, table: u32, row: u32) -> Vec<FactKey> {
        for intent in self.of_table(table) {
            intent.fact.rows.remove(&row);
        }
        self.settle(table, row)
    }

    /// A table is none any more.
    pub(super) fn forget_table(&mut self, table: u32) {
        self.0.retain(|_, intent| intent.fact.table != table);
    }

    /// What makes facts of the journal name a row no more.
    pub(super) fn without_row(&self, table: u32, row: u32) -> Vec<Change> {
        let names =
            |intent: &&Intent| intent.fact.table == table && intent.fact.rows.contains_key(&row);
        let known = self
            .0
            .iter()
            .filter(|(_, intent)| intent.in_journal && names(intent));
        let without = known.map(|(key, intent)| {
            let mut fact = intent.fact.clone();
            fact.rows.remove(&row);
            let left = !fact.rows.is_empty();
            (*key, left.then(|| fact.encode().into()))
        });
        without.collect()
    }

    /// What makes them name a table no more.
    pub(super) fn without_table(&self, table: u32) -> Vec<Change> {
        let of_table = self
            .0
            .iter()
            .filter(|(_, intent)| intent.fact.table == table);
        let known = of_table.filter(|(_, intent)| intent.in_journal);
        known.map(|(key, _)| (*key, None)).collect()
    }

    /// What the capacitor saves of those of a table.
    pub(super) fn unsaved(&self, table: u32) -> Vec<Change> {
        let of_table = self
            .0
            .iter()
            .filter(|(_, intent)| intent.fact.table == table);
        let unknown = of_table.filter(|(_, intent)| !intent.in_journal);
        unknown
            .map(|(key, intent)| facts::put(*key, intent.fact.encode()))
            .collect()
    }

    /// The journal has what [`Intents::unsaved`] gave.
    pub(super) fn saved(&mut self, table: u32) {
        let of_table = self.of_table(table);
        of_table.for_each(|intent| intent.in_journal = true);
    }

    /// Bytes of each fact that the capacitor saves.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        let unknown = self.0.values().filter(|intent| !intent.in_journal);
        unknown.map(|intent| intent.fact.encode().len())
    }

    /// The rows of a table that deletions under way name, each with entries.
    pub(super) fn rows(&self, table: u32) -> Vec<(u32, std::rc::Rc<[u32]>)> {
        let of_table = self.0.values().filter(|intent| intent.fact.table == table);
        let rows = of_table.flat_map(|intent| &intent.fact.rows);
        rows.map(|(row, entries)| (*row, entries.clone())).collect()
    }

    fn of_table(&mut self, table: u32) -> impl Iterator<Item = &mut Intent> {
        self.0
            .values_mut()
            .filter(move |intent| intent.fact.table == table)
    }

    /// Takes those that are over.
    fn end(&mut self) -> Vec<FactKey> {
        let over = self.0.iter().filter(|(_, intent)| intent.due.is_empty());
        let known = over.filter(|(_, intent)| intent.in_journal);
        let known = known.map(|(key, _)| *key).collect();
        self.0.retain(|_, intent| !intent.due.is_empty());
        known
    }
}

impl Search {
    /// The cells of a row say what is there.
    pub(super) fn settle(&self, table: &Table, row: &Row) {
        let over = self.intents.borrow_mut().settle(table.number, row.number);
        self.leftover.borrow_mut().extend(over);
    }

    /// A row is free, and so does the journal say.
    pub(super) fn forget_row(&self, table: &Table, row: u32) {
        let over = self.intents.borrow_mut().forget_row(table.number, row);
        self.leftover.borrow_mut().extend(over);
    }

    /// Facts that are to leave the journal, and the changes for that. They stay in the list until they are gone, so that whoever
    /// frees something that they name takes them along.
    pub(super) fn leftover(&self) -> (Vec<FactKey>, impl Iterator<Item = Change> + use<>) {
        let keys = self.leftover.borrow().clone();
        let changes = keys.clone().into_iter().map(|key| (key, None));
        (keys, changes)
    }

    /// They are gone.
    pub(super) fn without_leftover(&self, keys: &[FactKey]) {
        self.leftover.borrow_mut().retain(|key| !keys.contains(key));
    }

    /// Has the facts leave the journal that are to.
    pub(super) async fn drop_leftover(&self) {
        let (keys, changes) = self.leftover();
        // Without space for that they stay in the list; should the power go, what they name is raised again, which changes nothing.
        if !keys.is_empty() && self.ftl.put_facts(changes.collect()).await.is_ok() {
            self.without_leftover(&keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::facts::DELETIONS;

    fn fact(table: u32, rows: &[u32]) -> DeletionFact {
        let rows = rows.iter().map(|row| (*row, [1, 5].into()));
        DeletionFact {
            table,
            rows: rows.collect(),
        }
    }

    #[test]
    fn a_deletion_is_over_when_all_its_rows_say_so_or_are_free() {
        let mut intents = Intents::default();
        let key = |number| DELETIONS.key(number);
        intents.note(key(1), fact(0, &[2, 3]), true);
        intents.note(key(2), fact(0, &[3]), false);
        intents.note(key(3), fact(1, &[3]), true);
        assert_eq!(intents.settle(0, 2), []);
        // A fact that names a row is written anew, or goes, before the row's number is used again.
        let left = fact(0, &[2]).encode();
        assert_eq!(intents.without_row(0, 3), [facts::put(key(1), left)]);
        assert_eq!(intents.without_row(1, 3), [(key(3), None)]);
        assert_eq!(intents.unsaved(0).len(), 1);
        assert_eq!(intents.without_table(0), [(key(1), None)]);
        assert_eq!(intents.forget_row(0, 3), [key(1)]);
        assert_eq!((intents.unsaved(0), intents.rows(0)), (vec![], vec![]));
        assert_eq!(intents.settle(1, 3), [key(3)]);
        intents.note(key(4), fact(0, &[2, 3]), true);
        assert_eq!(intents.forget_row(0, 3), []);
        assert_eq!(intents.rows(0), [(2, [1, 5].into())]);
        intents.forget_table(0);
        assert_eq!(intents.settle(0, 2), []);
    }
}
