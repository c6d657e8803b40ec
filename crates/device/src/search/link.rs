//! One more search region for a data region: a name for each entry that there is, in memory or in flash.

use std::rc::Rc;

use media::nand::BlockId;
use nvme::Status;

use super::facts::{self, LOGS, LogFact, LogItem, TABLES, TableFact};
use super::names::{ColumnNames, Names};
use super::regions::{Wanted, column_of};
use super::table::{Column, Row, Table};
use super::{Search, SearchError};
use crate::journal::Change;
use crate::region::Owner;
use crate::schedule::Origin;

impl Search {
    /// Allocates one more search region for a data region, with a name for each of its entries.
    pub(super) async fn link(
        &self,
        wanted: &Wanted,
        records: &[u8],
        origin: Origin,
    ) -> Result<u16, SearchError> {
        let allocate = &wanted.allocate;
        let table = {
            let tables = self.tables.borrow();
            let mut tables = tables.values();
            let at = |table: &&Rc<Table>| {
                table.namespace == allocate.namespace && table.start == allocate.start.get()
            };
            tables.find(at).ok_or(Status::INVALID_REGION)?.enter()
        };
        let added_bytes = column_of(0, allocate).record_bytes();
        let _gate = self.gate_with_room(&table, added_bytes).await?;
        let linked = self.link_with_room(&table, wanted, records, origin).await;
        // If it was not, what names count is what they counted before.
        for row in table.waiting_rows() {
            self.count_room(&row, table.names_bytes());
        }
        linked
    }

    /// The same by who has the whole gate of the table.
    async fn link_with_room(
        &self,
        table: &Rc<Table>,
        wanted: &Wanted,
        records: &[u8],
        origin: Origin,
    ) -> Result<u16, SearchError> {
        let allocate = &wanted.allocate;
        // Names of a record are in the order of numbers: whoever allocates one region after another is to know it.
        let last = table.columns.borrow().last().map(|column| column.region);
        let region = self.free_region(last.unwrap_or(0));
        let region = region.ok_or(Status::REGION_LIMIT_EXCEEDED)?;
        let column = column_of(region, allocate);
        self.check_row(
            allocate.entries,
            table.names_bytes() + column.record_bytes(),
        )?;
        // A row that were freed or moved meanwhile would get a fact that names blocks of others.
        let all = table.rows_from(0);
        let mut turns = Vec::with_capacity(all.len());
        for row in &all {
            turns.push(row.turn.acquire(1).await);
        }
        let rows = table.known(&all);
        let entries: u64 = rows.iter().map(|row| u64::from(row.entries.get())).sum();
        let named = u64::from(allocate.entries).div_ceil(self.row_names().into());
        let same =
            table.values.value_bytes == allocate.value_bytes && named == u64::from(table.rows_max);
        if !same || u64::from(allocate.records) != entries {
            return Err(Status::INVALID_FIELD.into());
        }
        let place = {
            let columns = table.columns.borrow();
            columns.partition_point(|other| other.region < region)
        };
        let mut records = records.chunks(column.record_bytes());
        let mut added = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut names = ColumnNames::new(self.row_names(), column.bits, column.ternary);
            let of_row: Vec<&[u8]> = records.by_ref().take(row.entries.get() as usize).collect();
            names.put(0, of_row.len() as u32, |number| of_row[number as usize]);
            added.push(names);
        }
        self.check_links_of_column(&column, rows.len())?;
        // Nobody else may take the number.
        table.coming.set(Some(column));
        let outcome = self
            .add_column(table, (place, column), &rows, added, origin)
            .await;
        table.coming.set(None);
        outcome.map(|()| region)
    }

    /// Adds a search region to the rows that there are.
    async fn add_column(
        &self,
        table: &Rc<Table>,
        (place, column): (usize, Column),
        rows: &[Rc<Row>],
        added: Vec<ColumnNames>,
        origin: Origin,
    ) -> Result<(), SearchError> {
        let mut taken: Vec<(Rc<Row>, Vec<BlockId>)> = Vec::new();
        let mut programmed = Ok(());
        for (row, names) in rows.iter().zip(&added) {
            if !row.is_sealed() {
                continue;
            }
            let into = self.program_added(row, (&column, names), &mut taken, origin);
            programmed = into.await;
            if programmed.is_err() {
                break;
            }
        }
        if programmed.is_ok() {
            let mut changes = Vec::new();
            let mut fact = TableFact::of(table);
            fact.columns.insert(place, column);
            changes.push(facts::put(TABLES.key(table.number), fact.encode()));
            for (row, blocks) in &taken {
                let mut all = row.blocks.borrow().as_deref().unwrap_or_default().to_vec();
                all.insert(place, blocks.clone());
                let key = facts::row_key(table.number, row.number);
                changes.push(facts::put(
                    key,
                    facts::encode_blocks(row.entries.get(), &all),
                ));
            }
            let mut logs = Vec::new();
            for (row, names) in rows.iter().zip(&added) {
                if row.is_sealed() {
                    continue;
                }
                if let Some(all) = &mut *row.names.borrow_mut() {
                    let mut with = all.clone();
                    with.insert_column(place, names.clone());
                    logs.extend(self.log_anew(table, row, &with, &mut changes));
                }
            }
            programmed = self.ftl.put_facts(changes).await.map_err(SearchError::from);
            if programmed.is_ok() {
                for (row, number) in logs {
                    row.logs.replace(vec![number]);
                    row.unsaved.set(false);
                }
            }
        }
        if let Err(error) = programmed {
            let blocks = taken.into_iter().flat_map(|(_, blocks)| blocks);
            self.give_back(blocks).await;
            return Err(error);
        }
        for (row, blocks) in taken {
            let mut all = row.blocks.borrow().as_deref().unwrap_or_default().to_vec();
            all.insert(place, blocks);
            row.blocks.replace(Some(all.into()));
        }
        for (row, names) in rows.iter().zip(added) {
            if let Some(all) = &mut *row.names.borrow_mut() {
                all.insert_column(place, names);
            }
        }
        table.columns.borrow_mut().insert(place, column);
        table.rows_changed();
        Ok(())
    }

    /// Programs the names of one more search region of a row.
    async fn program_added(
        &self,
        row: &Rc<Row>,
        (column, names): (&Column, &ColumnNames),
        taken: &mut Vec<(Rc<Row>, Vec<BlockId>)>,
        origin: Origin,
    ) -> Result<(), SearchError> {
        let mut all = Names::new(self.row_names(), std::iter::empty());
        all.insert_column(0, names.clone());
        all.set_there(&row.there.borrow());
        let plane = row.plane.get();
        let blocks: Vec<_> = (0..self.layout.blocks(column.bits))
            .map_while(|_| self.ftl.lend_block(Owner::Search, plane))
            .collect();
        let enough = blocks.len() == self.layout.blocks(column.bits);
        taken.push((row.clone(), blocks));
        if !enough {
            return Err(crate::ftl::FtlError::NoComputeBlock(plane.0).into());
        }
        let Some((_, blocks)) = taken.last_mut() else {
            return Ok(());
        };
        let fill = |page: &super::seal::PageOfNames, bytes: &mut [u8]| {
            super::seal::fill_page(&all, 0, page, bytes);
        };
        self.program_blocks(row.number, column, blocks, origin, fill)
            .await
    }

    /// The changes that keep all that is in a row's names in one fact, in place of those that there are.
    pub(super) fn log_anew(
        &self,
        table: &Table,
        row: &Rc<Row>,
        names: &Names,
        changes: &mut Vec<Change>,
    ) -> Option<(Rc<Row>, u32)> {
        let logs = row.logs.borrow();
        changes.extend(logs.iter().map(|number| (LOGS.key(*number), None)));
        let number = self.log_items(table, row, items_of(row.entries.get(), names), changes);
        Some((row.clone(), number))
    }

    /// The change that keeps items of a row in a fact of its own; gives its number.
    pub(super) fn log_items(
        &self,
        table: &Table,
        row: &Row,
        items: Vec<LogItem>,
        changes: &mut Vec<Change>,
    ) -> u32 {
        let fact = LogFact {
            table: table.number,
            row: row.number,
            items,
        };
        let number = self.fact_number();
        changes.push(facts::put(LOGS.key(number), fact.encode()));
        number
    }
}

/// All that is in the names of a row with so many entries.
pub(super) fn items_of(end: u32, names: &Names) -> Vec<LogItem> {
    let mut items = Vec::new();
    let (mut first, mut bytes) = (0, Vec::new());
    let columns = names.columns();
    for entry in 0..=end {
        let there = entry < end && names.is_valid(entry);
        if there {
            if bytes.is_empty() {
                first = entry;
            }
            (0..columns).for_each(|column| names.column(column).get(entry, &mut bytes));
        } else if !bytes.is_empty() {
            items.push(LogItem::Appended {
                first,
                count: entry - first,
                names: std::mem::take(&mut bytes),
            });
        }
    }
    if end > 0 && !names.is_valid(end - 1) {
        // How far entries were given.
        items.push(LogItem::Deleted(vec![end - 1]));
    }
    items
}
