//! The link table (ANVIL 4): in the drive's DRAM, an entry for each search region, each row, and each block of names, which
//! say where names and their values are. It is counted from what there is, and made anew at power-up from facts.

use nvme::Status;

use super::Search;
use super::table::{Column, Table};

/// Bytes of the entry of a search region: its number, namespace, bits, kind, entries, and where its values begin.
const REGION_BYTES: u64 = 40;
/// Bytes of the entry of a row: the first page of its values.
const ROW_BYTES: u64 = 4;
/// Bytes of the entry of a block of names: which block of the flash it is.
const BLOCK_BYTES: u64 = 4;

impl Search {
    /// Bytes that a row takes of the link table, whose names are in these search regions. A row that waits counts its blocks,
    /// too, so that there is room when it is programmed.
    fn links_of_row<'c>(&self, columns: impl Iterator<Item = &'c Column>) -> u64 {
        let blocks: usize = columns.map(|column| self.layout.blocks(column.bits)).sum();
        ROW_BYTES + BLOCK_BYTES * blocks as u64
    }

    /// Bytes that a table takes of the link table, a search region that is being added included.
    fn links_of_table(&self, table: &Table) -> u64 {
        let columns = table.columns.borrow();
        let coming = table.coming.get();
        let regions = columns.len() + usize::from(coming.is_some());
        let rows = table.rows.borrow().len() as u64;
        REGION_BYTES * regions as u64 + rows * self.links_of_row(columns.iter().chain(&coming))
    }

    /// # Errors
    /// Link Table Full if so much more does not fit.
    fn check_links(&self, more: u64) -> Result<(), Status> {
        let tables = self.tables.borrow();
        let there: u64 = tables
            .values()
            .map(|table| self.links_of_table(table))
            .sum();
        if there + more > self.config.link_table_bytes {
            return Err(Status::LINK_TABLE_FULL);
        }
        Ok(())
    }

    /// Checks that a data region with one search region has room in the link table.
    ///
    /// # Errors
    /// Link Table Full.
    pub(super) fn check_links_of_table(&self) -> Result<(), Status> {
        self.check_links(REGION_BYTES)
    }

    /// The same of one more search region for so many rows.
    ///
    /// # Errors
    /// Link Table Full.
    pub(super) fn check_links_of_column(&self, column: &Column, rows: usize) -> Result<(), Status> {
        let blocks = self.layout.blocks(column.bits) * rows;
        self.check_links(REGION_BYTES + BLOCK_BYTES * blocks as u64)
    }

    /// The same of so many more rows of a table.
    ///
    /// # Errors
    /// Link Table Full.
    pub(super) fn check_links_of_rows(&self, table: &Table, rows: u64) -> Result<(), Status> {
        if rows == 0 {
            return Ok(());
        }
        let columns = table.columns.borrow();
        self.check_links(rows * self.links_of_row(columns.iter()))
    }
}
