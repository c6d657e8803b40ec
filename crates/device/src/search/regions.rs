//! Regions: allocating and deallocating them, and telling what there is.

use std::rc::Rc;

use nvme::command::{RegionAllocate, RegionRecord};
use nvme::{NamespaceId, RegionId, Status};

use super::facts::{self, LOGS, TABLES, TableFact};
use super::layout::ValueLayout;
use super::table::{Column, GATE, ROWS_MAX, Row, TABLES_MAX, Table};
use super::there::without_gone;
use super::{Search, SearchError};
use crate::ftl::Lpn;
use crate::schedule::Origin;

/// Search regions of a drive.
const REGIONS_MAX: u16 = u16::MAX - 1;

/// A region that is to be allocated, as the namespace has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The command.
    pub allocate: RegionAllocate,
    /// The logical page with which the data region begins.
    pub first: Lpn,
    /// Logical pages from there to the end of the namespace.
    pub pages: u32,
}

impl Search {
    /// Bytes of the initial records of a region that is to be allocated.
    ///
    /// # Errors
    /// Invalid Field if there are more than can be.
    pub fn initial_bytes(&self, allocate: &RegionAllocate) -> Result<u64, Status> {
        let column = column_of(0, allocate);
        let value = if allocate.linked {
            0
        } else {
            allocate.value_bytes
        };
        let each = column.record_bytes() as u64 + u64::from(value);
        each.checked_mul(allocate.records.into())
            .ok_or(Status::INVALID_FIELD)
    }

    /// Allocates a search region with these initial records; gives its number.
    ///
    /// # Errors
    /// Search Region Limit Exceeded, Names Exceed Buffer, Link Table Full, Data Region Overlap, LBA Out of Range, Invalid Search
    /// Region if it is to be linked and there is no data region, Invalid Field if that is another one; those of an append.
    pub async fn allocate(
        &self,
        wanted: &Wanted,
        records: &[u8],
        origin: Origin,
    ) -> Result<u16, SearchError> {
        let region = self.free_region(0).ok_or(Status::REGION_LIMIT_EXCEEDED)?;
        if !self.layout.is_possible() || self.geometry.cells_per_string < 4 {
            return Err(Status::INVALID_FIELD.into());
        }
        match wanted.allocate.linked {
            true => self.link(wanted, records, origin).await,
            false => self.allocate_table(wanted, region, records, origin).await,
        }
    }

    /// A number that no search region has, above this one.
    pub(super) fn free_region(&self, above: u16) -> Option<u16> {
        let tables = self.tables.borrow();
        let taken = tables.values().flat_map(|table| {
            let columns = table.columns.borrow();
            let there = columns.iter().map(|column| column.region);
            let coming = table.coming.get().map(|column| column.region);
            there.chain(coming).collect::<Vec<_>>()
        });
        let mut taken: Vec<u16> = taken.filter(|number| *number > above).collect();
        taken.sort_unstable();
        let mut free =
            (above + 1..=REGIONS_MAX).zip(taken.iter().map(Some).chain(std::iter::repeat(None)));
        free.find(|(number, taken)| *taken != Some(number))
            .map(|(number, _)| number)
    }

    async fn allocate_table(
        &self,
        wanted: &Wanted,
        region: u16,
        records: &[u8],
        origin: Origin,
    ) -> Result<u16, SearchError> {
        let RegionAllocate {
            namespace,
            start,
            entries,
            value_bytes,
            ..
        } = wanted.allocate;
        let values = ValueLayout::new(wanted.first, value_bytes, self.row_names(), self.ftl.unit());
        let rows = u64::from(entries).div_ceil(self.row_names().into());
        // The number past the last has to be one, too.
        let numbered = rows * u64::from(self.row_names()) <= u64::from(u32::MAX);
        if rows > ROWS_MAX || !numbered {
            return Err(Status::REGION_LIMIT_EXCEEDED.into());
        }
        self.check_row(entries, column_of(region, &wanted.allocate).record_bytes())?;
        if rows * values.row_pages() > wanted.pages.into() {
            return Err(Status::LBA_OUT_OF_RANGE.into());
        }
        let number = {
            let tables = self.tables.borrow();
            let mut free = (0..TABLES_MAX).filter(|number| !tables.contains_key(number));
            free.next().ok_or(Status::REGION_LIMIT_EXCEEDED)?
        };
        let of = (namespace, start.get());
        let table = Rc::new(Table::new(&self.sim, number, of, values, rows as u32));
        let overlaps = |other: &Rc<Table>| {
            let (ours, theirs) = (table.pages(), other.pages());
            ours.start < theirs.end && theirs.start < ours.end
        };
        if self.tables.borrow().values().any(overlaps) {
            return Err(Status::REGION_OVERLAP.into());
        }
        self.check_links_of_table()?;
        table
            .columns
            .borrow_mut()
            .push(column_of(region, &wanted.allocate));
        // Numbers and pages are taken from now on; nobody else knows the region yet.
        self.tables.borrow_mut().insert(number, table.clone());
        let key = TABLES.key(number);
        // With what is left of tables before it: of one that had its number it would be taken for this one's.
        let (leftover, gone) = self.leftover();
        let mut changes = vec![facts::put(key, TableFact::of(&table).encode())];
        changes.extend(gone);
        if let Err(error) = self.ftl.put_facts(changes).await {
            self.tables.borrow_mut().remove(&number);
            return Err(error.into());
        }
        self.without_leftover(&leftover);
        if wanted.allocate.records > 0 {
            let appended = self
                .append(
                    (namespace, RegionId::new(region)),
                    wanted.allocate.records,
                    records,
                    origin,
                )
                .await;
            if let Err(error) = appended {
                self.drop_table(&table).await?;
                return Err(error);
            }
        }
        Ok(region)
    }

    /// Deallocates a search region: its blocks are erased when this returns, or out of use. With the last one of a data region that is none
    /// any more.
    ///
    /// # Errors
    /// Invalid Search Region; no space for the fact.
    pub async fn deallocate(
        &self,
        namespace: NamespaceId,
        region: RegionId,
    ) -> Result<(), SearchError> {
        let (table, _) = self.table_of(namespace, region)?;
        let gate = table.gate.acquire(GATE).await;
        while table.rows.borrow().values().any(|row| row.sealing.get()) {
            table.changed.next().await;
        }
        let at = table.column(region.get()).filter(|_| !table.gone.get());
        let at = at.ok_or(Status::INVALID_REGION)?;
        self.cursors.borrow_mut().forget(region.get());
        if table.columns.borrow().len() == 1 {
            table.gone.set(true);
            drop(gate);
            let plain = Rc::clone(&table);
            drop(table);
            return self.drop_table(&plain).await;
        }
        let all = table.rows_from(0);
        let mut turns = Vec::with_capacity(all.len());
        for row in &all {
            turns.push(row.turn.acquire(1).await);
        }
        let rows = table.known(&all);
        let mut fact = TableFact::of(&table);
        fact.columns.remove(at);
        let mut changes = vec![facts::put(TABLES.key(table.number), fact.encode())];
        let (mut logs, mut freed) = (Vec::new(), Vec::new());
        for row in &rows {
            if let Some(blocks) = &*row.blocks.borrow() {
                let mut left = blocks.to_vec();
                freed.extend(left.remove(at));
                let key = facts::row_key(table.number, row.number);
                changes.push(facts::put(
                    key,
                    facts::encode_blocks(row.entries.get(), &left),
                ));
            } else if let Some(names) = &*row.names.borrow() {
                let mut without = names.clone();
                without.remove_column(at);
                logs.extend(self.log_anew(&table, row, &without, &mut changes));
            }
        }
        self.ftl.put_facts(changes).await?;
        for (row, number) in logs {
            row.logs.replace(vec![number]);
            row.unsaved.set(false);
        }
        // Lookups that have begun go on with the blocks and numbers that they know.
        table.past(table.deletion()).await;
        let column = table.columns.borrow_mut().remove(at);
        self.indexes
            .borrow_mut()
            .remove(&(column.region, table.number));
        table.rows_changed();
        for row in &rows {
            if !row.is_sealed() {
                self.count_room(row, table.names_bytes());
            }
            let left = row.blocks.borrow().as_deref().map(|blocks| {
                let mut left = blocks.to_vec();
                left.remove(at);
                left
            });
            if let Some(left) = left {
                row.blocks.replace(Some(left.into()));
            }
            if let Some(names) = &mut *row.names.borrow_mut() {
                names.remove_column(at);
            }
        }
        drop(gate);
        self.give_back(freed.into_iter()).await;
        Ok(())
    }

    /// A data region is none any more, nor are its search regions.
    async fn drop_table(&self, table: &Rc<Table>) -> Result<(), SearchError> {
        table.gone.set(true);
        // What is being sealed would keep a fact of a row after that of its table is gone.
        while table.rows.borrow().values().any(|row| row.sealing.get()) {
            table.changed.next().await;
        }
        // Nor may a row be moved meanwhile.
        let all = table.rows_from(0);
        let mut turns = Vec::with_capacity(all.len());
        for row in &all {
            turns.push(row.turn.acquire(1).await);
        }
        let rows = table.known(&all);
        let mut changes = vec![(TABLES.key(table.number), None)];
        for row in &rows {
            if row.is_sealed() {
                changes.push((facts::row_key(table.number, row.number), None));
                changes.extend(without_gone(table, row));
            }
            let logs = row.logs.borrow();
            changes.extend(logs.iter().map(|number| (LOGS.key(*number), None)));
        }
        let freeing = self.freeing.acquire(1).await;
        changes.extend(self.intents.borrow().without_table(table.number));
        let kept = self.ftl.put_facts(changes).await;
        if let Err(error) = kept {
            table.gone.set(false);
            return Err(error.into());
        }
        self.intents.borrow_mut().forget_table(table.number);
        drop(freeing);
        self.tables.borrow_mut().remove(&table.number);
        self.memos.borrow_mut().remove(&table.number);
        self.indexes
            .borrow_mut()
            .retain(|(_, of), _| *of != table.number);
        // Who waits for one is a user; it sees that the table is gone.
        drop(turns);
        while table.users.get() > 0 {
            table.changed.next().await;
        }
        let mut blocks = Vec::new();
        for row in &rows {
            match row.blocks.take() {
                Some(of_row) => blocks.extend(of_row.iter().flatten().copied()),
                None => self.leave_room(row),
            }
        }
        self.give_back(blocks.into_iter()).await;
        self.changed.announce();
        Ok(())
    }

    /// Deallocates all regions of a namespace, or of all; gives how many there were.
    ///
    /// # Errors
    /// No space for the facts.
    pub async fn forget_namespace(
        &self,
        namespace: Option<NamespaceId>,
    ) -> Result<usize, SearchError> {
        let of_namespace =
            |table: &&Rc<Table>| namespace.is_none_or(|namespace| table.namespace == namespace);
        let tables: Vec<Rc<Table>> = {
            let tables = self.tables.borrow();
            tables.values().filter(of_namespace).cloned().collect()
        };
        for table in &tables {
            let regions: Vec<u16> = {
                let columns = table.columns.borrow();
                columns.iter().map(|column| column.region).collect()
            };
            for region in regions {
                self.cursors.borrow_mut().forget(region);
            }
            self.drop_table(table).await?;
        }
        Ok(tables.len())
    }

    /// The logical pages of the values that a search region is for.
    ///
    /// # Errors
    /// Invalid Search Region.
    pub fn values_of(
        &self,
        namespace: NamespaceId,
        region: RegionId,
    ) -> Result<std::ops::Range<u32>, Status> {
        let (table, _) = self.table_of(namespace, region)?;
        let pages = table.pages();
        Ok(pages.start as u32..pages.end as u32)
    }

    /// The search regions of a namespace, by number.
    pub fn report(&self, namespace: NamespaceId) -> Vec<RegionRecord> {
        let tables = self.tables.borrow();
        let of_namespace = tables.values().filter(|table| table.namespace == namespace);
        let mut records: Vec<RegionRecord> = of_namespace
            .flat_map(|table| self.records_of(table))
            .collect();
        records.sort_by_key(|record| record.region.get());
        records
    }

    fn records_of(&self, table: &Table) -> Vec<RegionRecord> {
        let rows = table.rows.borrow();
        // Numbers of entries have 32 bits, and so have those of blocks.
        let sum = |of: &dyn Fn(&Row) -> u32| rows.values().map(|row| of(row)).sum::<u32>();
        let waiting = |row: &Row| if row.is_sealed() { 0 } else { row.live.get() };
        let columns = table.columns.borrow();
        let records = columns.iter().enumerate().map(|(at, column)| {
            let blocks = |row: &Row| {
                let blocks = row.blocks.borrow();
                blocks.as_ref().map_or(0, |blocks| blocks[at].len() as u32)
            };
            RegionRecord {
                region: column.region.into(),
                name_bits: (column.bits as u16).into(),
                ternary: u32::from(column.ternary).into(),
                start: table.start.into(),
                capacity: u32::try_from(table.capacity()).unwrap_or(u32::MAX).into(),
                entries: sum(&|row| row.entries.get()).into(),
                live: sum(&|row| row.live.get()).into(),
                buffered: sum(&waiting).into(),
                value_bytes: table.values.value_bytes.into(),
                blocks: sum(&blocks).into(),
                row_pages: u32::try_from(table.values.row_pages())
                    .unwrap_or(u32::MAX)
                    .into(),
                row_names: table.values.row_names.into(),
            }
        });
        records.collect()
    }
}

pub(super) fn column_of(region: u16, allocate: &RegionAllocate) -> Column {
    Column {
        region,
        bits: allocate.name_bits,
        ternary: allocate.ternary,
    }
}
