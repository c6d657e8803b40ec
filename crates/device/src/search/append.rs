//! Appends: values go to their logical pages, names wait in memory until a row is full; the journal keeps them through a
//! power cut.

use std::rc::Rc;

use media::dram::Toward;
use nvme::{NamespaceId, RegionId, Status};
use sim::join_all;

use super::facts::{self, LOGS, LogFact, LogItem};
use super::names::Names;
use super::table::{Row, Table};
use super::{Search, SearchError};
use crate::journal::Change;
use crate::schedule::Origin;

/// Full rows of a table whose names flash does not hold yet, at most, before appends wait.
const FULL_ROWS_MAX: usize = 2;

/// Records of a command, cut up.
pub(super) struct Batch<'a> {
    bytes: &'a [u8],
    record_bytes: usize,
    names_bytes: usize,
}

/// Entries of one row that a command appends.
pub(super) struct Stretch {
    pub(super) row: Rc<Row>,
    /// The first of them in its row.
    pub(super) first: u32,
    pub(super) count: u32,
    /// The record of the first.
    record: u32,
}

/// Entries that are reserved for a command; those that it does not fill stay empty.
pub(super) struct Reserved<'a> {
    search: &'a Search,
    table: &'a Rc<Table>,
    pub(super) stretches: Vec<Stretch>,
}

impl<'a> Batch<'a> {
    /// # Errors
    /// Invalid Field if these are not so many records.
    pub(super) fn new(table: &Table, records: u32, bytes: &'a [u8]) -> Result<Batch<'a>, Status> {
        let names_bytes = table.names_bytes();
        let record_bytes = names_bytes + table.values.value_bytes as usize;
        if records as usize * record_bytes != bytes.len() {
            return Err(Status::INVALID_FIELD);
        }
        Ok(Batch {
            bytes,
            record_bytes,
            names_bytes,
        })
    }

    pub(super) fn len(&self) -> u32 {
        (self.bytes.len() / self.record_bytes) as u32
    }

    fn record(&self, number: u32) -> &'a [u8] {
        &self.bytes[number as usize * self.record_bytes..][..self.record_bytes]
    }

    /// The names and masks of a record.
    pub(super) fn names(&self, number: u32) -> &'a [u8] {
        &self.record(number)[..self.names_bytes]
    }

    fn value(&self, number: u32) -> &'a [u8] {
        &self.record(number)[self.names_bytes..]
    }
}

impl Search {
    /// Bytes of the data of so many records for the data region of a search region.
    ///
    /// # Errors
    /// Invalid Search Region; Invalid Field if there are more than can be.
    pub fn record_bytes(
        &self,
        namespace: NamespaceId,
        region: RegionId,
        records: u32,
    ) -> Result<u64, Status> {
        let (table, _) = self.table_of(namespace, region)?;
        let each = table.names_bytes() as u64 + u64::from(table.values.value_bytes);
        each.checked_mul(records.into())
            .ok_or(Status::INVALID_FIELD)
    }

    /// Appends entries, all or none of them; gives the number of the first. When this returns, no power cut takes them, and
    /// lookups that begin find them.
    ///
    /// # Errors
    /// Search Region Full; Link Table Full; Command Size Limit Exceeded for more names than memory has room for; flash without
    /// room for those of full rows, of this table or another.
    pub async fn append(
        &self,
        (namespace, region): (NamespaceId, RegionId),
        records: u32,
        bytes: &[u8],
        origin: Origin,
    ) -> Result<u32, SearchError> {
        let (table, _) = self.table_of(namespace, region)?;
        let _gate = table.gate.acquire(1).await;
        table.column_still(region)?;
        let batch = Batch::new(&table, records, bytes)?;
        let reserved = self.reserve(&table, batch.len()).await?;
        self.write_stretches(&reserved, &batch, origin).await?;
        let mut numbers = Vec::new();
        if !self.config.capacitor {
            let facts = self.log_facts(&reserved, &batch);
            numbers.extend(facts.iter().map(|(key, _)| key.key));
            self.ftl.put_facts(facts).await?;
        }
        let first = reserved.first();
        self.fill(reserved, &batch, &numbers);
        Ok(first)
    }

    /// Reserves entries for a command, as soon as there is room.
    ///
    /// # Errors
    /// Command Size Limit Exceeded if memory never has room for the names; those of [`Search::wait_for_room`]; Search Region
    /// Full, Link Table Full.
    pub(super) async fn reserve<'a>(
        &'a self,
        table: &'a Rc<Table>,
        count: u32,
    ) -> Result<Reserved<'a>, SearchError> {
        let bytes = self.room_of_batch(table, count);
        if bytes > self.config.buffer_bytes {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED.into());
        }
        let mut tried = false;
        while !self.has_room(bytes) || self.full_rows(table) >= FULL_ROWS_MAX {
            self.wait_for_room(table, None, &mut tried).await?;
        }
        let mut reserved = Reserved {
            search: self,
            table,
            stretches: Vec::new(),
        };
        if u64::from(count) > self.free_entries(table) {
            return Err(Status::REGION_FULL.into());
        }
        self.check_links_of_rows(table, self.new_rows(table, count))?;
        let mut record = 0;
        while record < count {
            let row = self.open_row(table).ok_or(Status::REGION_FULL)?;
            let first = row.entries.get();
            let taken = (count - record).min(table.values.row_names - first);
            row.entries.set(first + taken);
            table.rows_changed();
            self.count_room(&row, table.names_bytes());
            row.pending.set(row.pending.get() + 1);
            reserved.stretches.push(Stretch {
                row,
                first,
                count: taken,
                record,
            });
            record += taken;
        }
        Ok(reserved)
    }

    /// Rows of a table that are full though flash does not hold their names.
    fn full_rows(&self, table: &Table) -> usize {
        let rows = table.rows.borrow();
        let full = |row: &&Rc<Row>| !row.is_sealed() && row.entries.get() == table.values.row_names;
        rows.values().filter(full).count()
    }

    /// Entries that a table has room for.
    fn free_entries(&self, table: &Table) -> u64 {
        let rows = table.rows.borrow().len() as u64;
        let left = u64::from(table.rows_max).saturating_sub(rows);
        left * u64::from(table.values.row_names) + self.open_entries(table)
    }

    /// Of these the ones in rows that there are.
    fn open_entries(&self, table: &Table) -> u64 {
        let row_names = u64::from(table.values.row_names);
        let rows = table.rows.borrow();
        let unsealed = rows.values().filter(|row| !row.is_sealed());
        let open = unsealed.map(|row| row_names - u64::from(row.entries.get()));
        open.sum()
    }

    /// Rows that there have to be besides for so many entries.
    fn new_rows(&self, table: &Table, count: u32) -> u64 {
        let beyond = u64::from(count).saturating_sub(self.open_entries(table));
        beyond.div_ceil(table.values.row_names.into())
    }

    /// The row to which entries are appended, which has room for one.
    fn open_row(&self, table: &Rc<Table>) -> Option<Rc<Row>> {
        let open = table.open.get().and_then(|number| table.row(number));
        if let Some(row) = open.filter(|row| row.entries.get() < table.values.row_names) {
            return Some(row);
        }
        let partly = {
            let rows = table.rows.borrow();
            let mut rows = rows.values();
            rows.find(|row| !row.is_sealed() && row.entries.get() < table.values.row_names)
                .cloned()
        };
        if let Some(row) = partly {
            table.open.set(Some(row.number));
            return Some(row);
        }
        let number = table.next_row()?;
        let row = self.new_row(table, number);
        table.open.set(Some(number));
        Some(row)
    }

    /// A row whose names are in memory, none so far.
    pub(super) fn new_row(&self, table: &Table, number: u32) -> Rc<Row> {
        let plane = self.plane_of_row(table.number, number);
        let row = Rc::new(Row::new(&self.sim, number, plane));
        let columns = table.columns.borrow();
        let kinds = columns.iter().map(|column| (column.bits, column.ternary));
        row.names
            .replace(Some(Names::new(table.values.row_names, kinds)));
        table.rows.borrow_mut().insert(number, row.clone());
        table.rows_changed();
        row
    }

    pub(super) async fn write_stretches(
        &self,
        reserved: &Reserved<'_>,
        batch: &Batch<'_>,
        origin: Origin,
    ) -> Result<(), SearchError> {
        let table = reserved.table;
        let written = reserved.stretches.iter().map(|stretch| {
            let first = stretch.row.number * table.values.row_names + stretch.first;
            let value = move |entry: u32| batch.value(stretch.record + (entry - first));
            self.write_values(table, (first, stretch.count), value, origin)
        });
        let written = join_all(written).await;
        written.into_iter().collect::<Result<(), _>>()?;
        let bytes = u64::from(batch.len()) * batch.names_bytes as u64;
        self.pass_dram(origin, bytes, Toward::Cells).await;
        Ok(())
    }

    /// The facts that keep the names of a command's entries.
    pub(super) fn log_facts(&self, reserved: &Reserved<'_>, batch: &Batch<'_>) -> Vec<Change> {
        let facts = reserved.stretches.iter().map(|stretch| {
            let records = stretch.record..stretch.record + stretch.count;
            let mut names = Vec::with_capacity(stretch.count as usize * batch.names_bytes);
            records.for_each(|number| names.extend_from_slice(batch.names(number)));
            let item = LogItem::Appended {
                first: stretch.first,
                count: stretch.count,
                names,
            };
            let fact = LogFact {
                table: reserved.table.number,
                row: stretch.row.number,
                items: vec![item],
            };
            facts::put(LOGS.key(self.fact_number()), fact.encode())
        });
        facts.collect()
    }

    /// The entries of a command are there, kept by these facts, or, without any, by the capacitor.
    pub(super) fn fill(&self, reserved: Reserved<'_>, batch: &Batch<'_>, facts: &[u32]) {
        let facts = facts.iter().map(Some).chain(std::iter::repeat(None));
        for (stretch, fact) in reserved.stretches.iter().zip(facts) {
            let row = &stretch.row;
            if let Some(names) = &mut *row.names.borrow_mut() {
                let columns = reserved.table.columns.borrow();
                let record = |number| batch.names(stretch.record + number);
                put_names(names, &columns, (stretch.first, stretch.count), record);
            }
            row.live.set(row.live.get() + stretch.count);
            reserved.table.rows_changed();
            row.unsaved.set(row.unsaved.get() || fact.is_none());
            row.logs.borrow_mut().extend(fact);
            self.count(|counts| counts.entries_appended += u64::from(stretch.count));
        }
    }
}

/// Puts the names and masks of records in place of entries from the first on.
pub(super) fn put_names<'r>(
    names: &mut Names,
    columns: &[super::table::Column],
    (first, count): (u32, u32),
    record: impl Fn(u32) -> &'r [u8],
) {
    let mut begin = 0;
    for (at, column) in columns.iter().enumerate() {
        let place = begin..begin + column.record_bytes();
        begin = place.end;
        let name = |number| &record(number)[place.clone()];
        names.column_mut(at).put(first, count, name);
    }
    (first..first + count).for_each(|entry| names.set_valid(entry, true));
}

impl Reserved<'_> {
    /// The number of the first entry.
    pub(super) fn first(&self) -> u32 {
        let first = self.stretches.first();
        first.map_or(0, |stretch| {
            stretch.row.number * self.table.values.row_names + stretch.first
        })
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        for stretch in &self.stretches {
            let row = &stretch.row;
            row.pending.set(row.pending.get() - 1);
        }
        self.table.changed.announce();
        self.search.seal_full_rows(self.table);
        self.search.changed.announce();
    }
}
