//! Deletions: the cells that say that an entry is there are raised, in every search region of its data region. And updates,
//! which delete and append at one instant.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use media::nand::PageAddress;
use nvme::query::{MAX_TERMS, Pattern, Query};
use nvme::{NamespaceId, RegionId, Status};
use smallvec::smallvec;

use super::append::{Batch, Reserved};
use super::bits::{fill, ones};
use super::facts::{self, DELETIONS, DeletionFact, LOGS, LogFact, LogItem};
use super::find::Question;
use super::lookup::Done;
use super::names::Names;
use super::seal::Wear;
use super::table::{Row, Table};
use super::{Search, SearchError};
use crate::journal::{Change, FactKey};
use crate::planted::{Bug, is_planted};
use crate::schedule::{Fault, Origin, Raise};

/// Entries of a row that are deleted, by number in it.
type OfRow = (Rc<Row>, Rc<[u32]>);

/// What is to be known of a deletion when it has come into force.
#[derive(Default)]
struct Noted {
    /// Whether the journal has all of it; otherwise the capacitor saves it.
    in_journal: bool,
    /// The facts of entries that appear.
    appended: Vec<u32>,
    /// The facts of entries that memory has and that go, each of a row.
    deleted: Vec<(Rc<Row>, u32)>,
    /// The fact of those in flash, whose cells are to be raised.
    intent: Option<(FactKey, DeletionFact)>,
}

impl Search {
    /// Deletes what a query finds; gives how many entries. When this returns, no power cut brings them back.
    ///
    /// # Errors
    /// No query, a search region of another data region, no space, or flash that failed. Where it is cells of what is deleted that cannot be
    /// raised, the deletion has happened all the same, and the next life of the drive tries again.
    pub async fn delete(
        &self,
        (namespace, region): (NamespaceId, RegionId),
        query: &Query,
        origin: Origin,
    ) -> Result<u32, SearchError> {
        let (table, _) = self.table_of(namespace, region)?;
        let _gate = table.gate.acquire(1).await;
        table.column_still(region)?;
        let _turn = table.updates.acquire(1).await;
        let question = self.question(&table, query)?;
        let found = self.find_surely(&table, &question, origin).await?;
        let count = found.values().map(Vec::len).sum::<usize>() as u32;
        if count > 0 {
            let rows = rows_of(&table, found);
            self.delete_entries(&table, rows, None, origin).await?;
        }
        Ok(count)
    }

    /// Deletes what a query finds, or without one whatever has exactly the names of the records in the region, and appends
    /// the records: at one instant, for lookups as for power cuts. DW0 is the number of the first, DW1 how many were deleted.
    ///
    /// # Errors
    /// Those of [`Search::append`] and [`Search::delete`]; then neither has happened.
    pub async fn update(
        &self,
        (namespace, region): (NamespaceId, RegionId),
        query: Option<&Query>,
        (records, bytes): (u32, &[u8]),
        origin: Origin,
    ) -> Result<Done, SearchError> {
        let (table, _) = self.table_of(namespace, region)?;
        let _gate = table.gate.acquire(1).await;
        let column = table.column_still(region)?;
        let batch = Batch::new(&table, records, bytes)?;
        let reserved = self.reserve(&table, batch.len()).await?;
        self.write_stretches(&reserved, &batch, origin).await?;
        let _turn = table.updates.acquire(1).await;
        let found = match query {
            Some(query) => {
                let question = self.question(&table, query)?;
                self.find_surely(&table, &question, origin).await?
            }
            None => self.find_same(&table, column, &batch, origin).await?,
        };
        let count = found.values().map(Vec::len).sum::<usize>() as u32;
        let first = reserved.first();
        let rows = rows_of(&table, found);
        self.delete_entries(&table, rows, Some((reserved, &batch)), origin)
            .await?;
        Ok(Done {
            dw0: first,
            dw1: count,
            data_bytes: 0,
        })
    }

    /// The entries that match, by row.
    async fn find_entries(
        &self,
        table: &Table,
        question: &Question<'_>,
        origin: Origin,
    ) -> Result<BTreeMap<u32, Vec<u32>>, SearchError> {
        self.count(|counts| counts.lookups += 1);
        let mut rows = BTreeMap::new();
        let snapshot = table.snapshot();
        self.each_match((table, &snapshot), question, 0, origin, |row, found| {
            let found: Vec<u32> = found.collect();
            if !found.is_empty() {
                rows.insert(row.number, found);
            }
            true
        })
        .await?;
        Ok(rows)
    }

    /// The entries that match and not only seem to, by row: names without margin may match though they are others.
    async fn find_surely(
        &self,
        table: &Table,
        question: &Question<'_>,
        origin: Origin,
    ) -> Result<BTreeMap<u32, Vec<u32>>, SearchError> {
        let mut found = self.find_entries(table, question, origin).await?;
        if !self.config.esp {
            let all = 0..table.columns.borrow().len();
            for (number, entries) in &mut found {
                let keep = |names: &Names, _, entries: &mut Vec<u32>| {
                    *entries = ones(names.matching(&question.groups).iter().copied())
                        .filter(|entry| entries.binary_search(entry).is_ok())
                        .collect();
                };
                self.keep_named(table, (*number, all.clone()), entries, origin, keep)
                    .await?;
            }
            found.retain(|_, entries| !entries.is_empty());
        }
        Ok(found)
    }

    /// The entries that have exactly the name of a record in a search region.
    async fn find_same(
        &self,
        table: &Table,
        at: usize,
        batch: &Batch<'_>,
        origin: Origin,
    ) -> Result<BTreeMap<u32, Vec<u32>>, SearchError> {
        let patterns = {
            let columns = table.columns.borrow();
            let before = columns[..at].iter().map(|column| column.record_bytes());
            let (before, column) = (before.sum::<usize>(), columns[at]);
            let pattern = |number: u32| {
                let record = &batch.names(number)[before..][..column.record_bytes()];
                let (name, mask) = record.split_at(column.name_bytes());
                match column.ternary {
                    true => Pattern::new(column.bits, name, mask),
                    false => Pattern::exact(column.bits, name),
                }
            };
            let patterns = (0..batch.len()).map(pattern);
            patterns.collect::<Result<Vec<_>, _>>()?
        };
        let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for patterns in patterns.chunks(MAX_TERMS) {
            let groups = patterns.iter().map(|pattern| smallvec![(at, pattern)]);
            let question = Question {
                groups: groups.collect(),
            };
            for (row, entries) in self.find_entries(table, &question, origin).await? {
                found.entry(row).or_default().extend(entries);
            }
        }
        // Names without margin may match though they are others, and don't cares always do.
        let is_sure = self.config.esp && !table.columns.borrow()[at].ternary;
        for (number, entries) in &mut found {
            entries.sort_unstable();
            entries.dedup();
            if !is_sure {
                // Don't cares included, which no sense tells from ones and zeroes.
                let keep = |names: &Names, first: usize, entries: &mut Vec<u32>| {
                    let names = names.column(at - first);
                    let is_same = |entry| patterns.iter().any(|pattern| names.is(entry, pattern));
                    entries.retain(|entry| is_same(*entry));
                };
                self.keep_named(table, (*number, at..at + 1), entries, origin, keep)
                    .await?;
            }
        }
        found.retain(|_, entries| !entries.is_empty());
        Ok(found)
    }

    /// Has `keep` look at the names of entries of a row, which are in ascending order, and leave those that are meant. It is told
    /// the first search region that it has the names of: those in flash are read, as pages are, not sensed, of these regions only.
    async fn keep_named(
        &self,
        table: &Table,
        (number, columns): (u32, Range<usize>),
        entries: &mut Vec<u32>,
        origin: Origin,
        keep: impl FnOnce(&Names, usize, &mut Vec<u32>),
    ) -> Result<(), SearchError> {
        let Some(row) = table.row(number) else {
            return Ok(());
        };
        let _turn = row.turn.acquire(1).await;
        let blocks = row.blocks.borrow().clone();
        if let Some(names) = &*row.names.borrow() {
            keep(names, 0, entries);
            return Ok(());
        }
        if let Some(blocks) = blocks {
            let first = columns.start;
            let read = table.columns.borrow()[columns.clone()].to_vec();
            let mut names = self.read_names(&read, &blocks[columns], origin).await?;
            let there = entries.iter();
            there.for_each(|entry| names.set_valid(*entry, true));
            keep(&names, first, entries);
        }
        Ok(())
    }

    /// Deletes entries, and has those that are reserved appear at the same instant. The caller has the turn of updates.
    ///
    /// # Errors
    /// No space for the facts, or the data region has gone: then nothing has happened. After that instant none, as long as it is noted
    /// what is to be raised.
    async fn delete_entries(
        &self,
        table: &Rc<Table>,
        rows: Vec<OfRow>,
        appended: Option<(Reserved<'_>, &Batch<'_>)>,
        origin: Origin,
    ) -> Result<(), SearchError> {
        let mut turns = Vec::with_capacity(rows.len());
        for (row, _) in &rows {
            turns.push(row.turn.acquire(1).await);
        }
        if table.gone.get() {
            return Err(Status::INVALID_REGION.into());
        }
        let (changes, noted) = self.note(table, &rows, appended.as_ref());
        if !changes.is_empty() {
            self.ftl.put_facts(changes).await?;
        }
        let is_noted = noted.intent.is_some();
        let epoch = self.happen(table, &rows, appended, noted);
        table.past(epoch).await;
        let raised = self.raise_rows(table, &rows, origin).await;
        if let Err(error) = raised
            && !is_noted
        {
            self.note_late(table, &rows, error).await?;
        }
        self.drop_leftover().await;
        drop(turns);
        for (row, _) in &rows {
            let full = row.entries.get() == table.values.row_names;
            if row.live.get() == 0 && full {
                self.free_soon(table, row);
            }
        }
        Ok(())
    }

    /// The changes with which a deletion comes into force, and what is to be known of it then. A deletion of more than one cell is
    /// noted, for the power may be cut between two of them.
    fn note(
        &self,
        table: &Table,
        rows: &[OfRow],
        appended: Option<&(Reserved<'_>, &Batch<'_>)>,
    ) -> (Vec<Change>, Noted) {
        let fact = fact_of(table, rows);
        // What is not there of rows without margin is more than a capacitor is for.
        let without_margin = |(row, _): &OfRow| row.is_sealed() && !row.has_margin.get();
        let keeps = rows.iter().any(without_margin) || !self.can_save(&fact);
        let mut changes: Vec<Change> = match appended {
            Some((reserved, batch)) if keeps => self.log_facts(reserved, batch),
            _ => Vec::new(),
        };
        let mut noted = Noted {
            in_journal: keeps,
            appended: changes.iter().map(|(key, _)| key.key).collect(),
            ..Noted::default()
        };
        for (row, entries) in rows.iter().filter(|(row, _)| keeps && !row.is_sealed()) {
            let fact = LogFact {
                table: table.number,
                row: row.number,
                items: vec![LogItem::Deleted(entries.to_vec())],
            };
            let number = self.fact_number();
            changes.push(facts::put(LOGS.key(number), fact.encode()));
            noted.deleted.push((row.clone(), number));
        }
        for (row, entries) in rows.iter().filter(|(row, _)| keeps && row.is_sealed()) {
            let gone = || facts::gone(table.number, row.number, row.gone_with(entries));
            changes.extend((!row.has_margin.get()).then(gone));
        }
        let entries: usize = rows.iter().map(|(_, entries)| entries.len()).sum();
        let single = entries == 1 && table.columns.borrow().len() == 1 && appended.is_none();
        if !fact.rows.is_empty() && !single {
            let key = DELETIONS.key(self.fact_number());
            changes.extend(keeps.then(|| facts::put(key, fact.encode())));
            noted.intent = Some((key, fact));
        }
        (changes, noted)
    }

    /// All of a deletion happens, for lookups that begin: at one instant. Gives its epoch.
    fn happen(
        &self,
        table: &Table,
        rows: &[OfRow],
        appended: Option<(Reserved<'_>, &Batch<'_>)>,
        noted: Noted,
    ) -> u64 {
        let epoch = table.deletion();
        table.removals.set(table.removals.get() + 1);
        if let Some((key, fact)) = noted.intent {
            let in_journal = noted.in_journal;
            self.intents.borrow_mut().note(key, fact, in_journal);
        }
        for (row, number) in noted.deleted {
            row.logs.borrow_mut().push(number);
        }
        for (row, entries) in rows {
            self.count(|counts| counts.entries_deleted += entries.len() as u64);
            table.rows_changed();
            if row.is_sealed() {
                row.kill(entries);
            } else if let Some(names) = &mut *row.names.borrow_mut() {
                let gone = |entry: &u32| names.set_valid(*entry, false);
                entries.iter().for_each(gone);
                row.unsaved.set(row.unsaved.get() || !noted.in_journal);
                row.live.set(names.live());
            }
        }
        if let Some((reserved, batch)) = appended {
            self.fill(reserved, batch, &noted.appended);
        }
        epoch
    }

    /// Raises the cells of what was deleted.
    async fn raise_rows(
        &self,
        table: &Rc<Table>,
        rows: &[OfRow],
        origin: Origin,
    ) -> Result<(), SearchError> {
        let mut outcome = Ok(());
        for (row, _) in rows {
            outcome = outcome.and(self.raise(table, row, origin).await);
        }
        outcome
    }

    /// Notes a deletion that would be of one cell, but that cell could not be raised.
    async fn note_late(
        &self,
        table: &Table,
        rows: &[OfRow],
        failed: SearchError,
    ) -> Result<(), SearchError> {
        let (key, fact) = (DELETIONS.key(self.fact_number()), fact_of(table, rows));
        if fact.rows.is_empty() {
            return Ok(());
        }
        let in_journal = !self.config.capacitor;
        if in_journal {
            let kept = self.ftl.put_facts(vec![facts::put(key, fact.encode())]);
            // Nobody could say any more that the entry is there no more: the host is told why.
            kept.await.map_err(|_| failed)?;
        }
        self.intents.borrow_mut().note(key, fact, in_journal);
        Ok(())
    }

    /// Raises the cells of all entries of a row that are to be, in all its search regions. The caller has the row's turn, and no lookup is
    /// under way that may find them.
    pub(super) async fn raise(
        &self,
        table: &Rc<Table>,
        row: &Row,
        origin: Origin,
    ) -> Result<(), SearchError> {
        let (blocks, due) = (row.blocks.borrow().clone(), row.due.borrow().clone());
        let (Some(blocks), Some(due)) = (blocks, due) else {
            return Ok(());
        };
        row.tell_names();
        let outcome = {
            let _room = self.buffers.rooms(1).await;
            let stays = self.buffers.take();
            self.buffers.with_mut(stays.id(), |page| {
                fill(due.iter().map(|word| !word), page);
            });
            let ticket = self.schedule.ticket();
            let columns = match is_planted(Bug::DeletionRaisesOneRegion) {
                true => &blocks[..1],
                false => &blocks[..],
            };
            for of_column in columns {
                let page: PageAddress =
                    self.layout
                        .page(&self.geometry, of_column, 0, self.layout.valid_layer());
                let raise = Raise {
                    page,
                    from: stays.id(),
                    origin,
                };
                let die = self.geometry.die_of_block(page.block);
                self.schedule.push(die, raise, ticket.id().into());
            }
            self.count(|counts| counts.pages_raised += blocks.len() as u64);
            ticket.await
        };
        match outcome {
            Ok(()) => {
                row.due.take();
                self.settle(table, row);
                Ok(())
            }
            Err(Fault::ProgramFailed(_)) => self.move_row(table, row, Wear::Fresh).await,
            Err(fault) => Err(fault.into()),
        }
    }
}

/// The rows of entries, which are there as long as nobody else deletes.
fn rows_of(table: &Table, found: BTreeMap<u32, Vec<u32>>) -> Vec<OfRow> {
    let of_row = |(number, entries): (u32, Vec<u32>)| Some((table.row(number)?, entries.into()));
    found.into_iter().filter_map(of_row).collect()
}

/// What a deletion deletes in flash, of rows whose cells are to say so.
fn fact_of(table: &Table, rows: &[OfRow]) -> DeletionFact {
    let sealed = rows
        .iter()
        .filter(|(row, _)| row.is_sealed() && row.has_margin.get());
    let sealed = sealed.map(|(row, entries)| (row.number, entries.clone()));
    DeletionFact {
        table: table.number,
        rows: sealed.collect(),
    }
}
