//! Lookups for somebody within the drive, who sees a table as it was when a mark was made.

use std::rc::Rc;

use nvme::query::{Pattern, Query};
use nvme::{NamespaceId, RegionId, Status};

use super::table::Row;
use super::values::Shape;
use super::{Search, SearchError};
use crate::schedule::Origin;

/// What was in a table at some instant.
#[derive(Clone)]
pub struct Mark {
    table: u32,
    removals: u64,
    /// The rows, and how many entries had been appended to each.
    rows: Vec<(Rc<Row>, u32)>,
}

impl Mark {
    /// Whether an entry of a row was there by then, if none was deleted since.
    fn has(&self, row: &Row, index: u32) -> bool {
        let mut rows = self.rows.iter();
        let known = rows.find(|(known, _)| std::ptr::eq(Rc::as_ptr(known), row));
        known.is_some_and(|(_, entries)| index < *entries)
    }
}

/// What a lookup came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// The value of the first entry of this name.
    Found(Vec<u8>),
    /// No entry has it.
    Nothing,
    /// Entries were deleted or updated since the mark was made, or the region is no more: what was there is not to be told.
    Changed,
}

impl Search {
    /// Notes what is in the table of a search region.
    ///
    /// # Errors
    /// Invalid Search Region.
    pub fn mark(&self, namespace: NamespaceId, region: RegionId) -> Result<Mark, Status> {
        let (table, _) = self.table_of(namespace, region)?;
        let rows = table.rows_from(0).into_iter();
        Ok(Mark {
            table: table.number,
            removals: table.removals.get(),
            rows: rows
                .map(|row| {
                    let entries = row.entries.get();
                    (row, entries)
                })
                .collect(),
        })
    }

    /// Bytes of the names of a search region.
    ///
    /// # Errors
    /// Invalid Search Region.
    pub fn name_bytes(&self, namespace: NamespaceId, region: RegionId) -> Result<usize, Status> {
        let (table, column) = self.table_of(namespace, region)?;
        let columns = table.columns.borrow();
        Ok(columns[column].name_bytes())
    }

    /// Looks a name up, all bits of it, among the entries that a mark has; among all of now if there is none.
    ///
    /// # Errors
    /// No such region, a name of another length, or flash that lost data.
    pub async fn look_up_within(
        &self,
        (namespace, region): (NamespaceId, RegionId),
        name: &[u8],
        mark: Option<&Mark>,
        origin: Origin,
    ) -> Result<Looked, SearchError> {
        let (table, column) = match self.table_of(namespace, region) {
            Ok(found) => found,
            Err(_) if mark.is_some() => return Ok(Looked::Changed),
            Err(status) => return Err(status.into()),
        };
        let bits = table.columns.borrow()[column].bits;
        let query = Query::of(region, Pattern::exact(bits, name)?);
        // What search regions there are stays as it is until all is found.
        let _gate = table.gate.acquire(1).await;
        let is_changed = mark.is_some_and(|mark| {
            let same = mark.table == table.number && mark.removals == table.removals.get();
            !same || table.column_still(region).is_err()
        });
        if is_changed {
            return Ok(Looked::Changed);
        }
        table.column_still(region)?;
        let question = self.question(&table, &query)?;
        self.count(|counts| counts.lookups += 1);
        // Until the value is read, too, for others take the place of those of entries that are deleted.
        let snapshot = table.snapshot();
        let row_names = table.values.row_names;
        let mut first = None;
        let found = self.each_match((&table, &snapshot), &question, 0, origin, |row, found| {
            let mut seen = found.filter(|index| mark.is_none_or(|mark| mark.has(row, *index)));
            first = seen.next().map(|index| row.number * row_names + index);
            first.is_none()
        });
        found.await?;
        let Some(entry) = first else {
            return Ok(Looked::Nothing);
        };
        self.count(|counts| counts.entries_found += 1);
        let whole = Shape {
            numbers: false,
            pages: false,
            parts: &[],
        };
        let value = self.read_records(&table, &[entry], &whole, origin).await?;
        Ok(Looked::Found(value))
    }
}
