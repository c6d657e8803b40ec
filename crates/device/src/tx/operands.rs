//! Files of a transaction as operands of what the drive computes in the flash array, which works on the newest version of pages.

use std::ops::Range;

use super::TxError;
use super::transaction::Transaction;
use crate::ftl::{Lpn, SnapshotId};

impl Transaction {
    /// The logical page that the first `bytes` bytes of a file begin with, if they lie in one piece from where a page of
    /// flash may begin.
    ///
    /// # Errors
    /// No such file.
    pub fn operand(&self, file: u32, bytes: u64) -> Result<Option<Lpn>, TxError> {
        let unit = self.owner.unit;
        let first = self.file(file)?.in_one_piece(self.pages_of(bytes));
        let first = first.filter(|first| first.is_multiple_of(unit.per_page()));
        Ok(first.map(Lpn))
    }

    /// Whether the newest version of the first `bytes` bytes of a file is what the transaction sees, and nothing of it is its
    /// own. Holds for this instant.
    ///
    /// # Errors
    /// No such file, or the transaction cannot go on.
    pub fn sees_newest(&self, file: u32, bytes: u64) -> Result<bool, TxError> {
        let ftl = &self.owner.ftl;
        self.each_range(file, bytes, |id, pages| {
            let gathered = self.images.borrow().range(pages.clone()).next().is_some();
            Ok(!gathered && ftl.sees_newest(id, pages)?)
        })
    }

    /// Whether nobody else has changed the first `bytes` bytes of a file since the transaction began.
    ///
    /// # Errors
    /// No such file, or the transaction cannot go on.
    pub fn is_unchanged(&self, file: u32, bytes: u64) -> Result<bool, TxError> {
        let ftl = &self.owner.ftl;
        self.each_range(file, bytes, |id, pages| Ok(ftl.is_unchanged(id, pages)?))
    }

    /// Whether `look` says so of all logical pages of the first bytes of a file; without a transaction it is always so.
    fn each_range(
        &self,
        file: u32,
        bytes: u64,
        look: impl Fn(SnapshotId, &Range<u32>) -> Result<bool, TxError>,
    ) -> Result<bool, TxError> {
        self.check_open()?;
        let Some(id) = self.transaction() else {
            return Ok(true);
        };
        for pages in self.file(file)?.first_ranges(self.pages_of(bytes)) {
            if !look(id, &pages)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes that the first `bytes` bytes of a file were read, if that matters.
    ///
    /// # Errors
    /// No such file.
    pub fn note_operand(&self, file: u32, bytes: u64) -> Result<(), TxError> {
        let ranges = self.file(file)?.first_ranges(self.pages_of(bytes));
        ranges.flatten().for_each(|page| self.note_read(Lpn(page)));
        Ok(())
    }

    /// Takes the first `bytes` bytes of a file to be written: writes of them wait for nobody then.
    ///
    /// # Errors
    /// As [`Transaction::write`].
    pub async fn take(&self, file: u32, bytes: u64) -> Result<(), TxError> {
        self.check_open()?;
        if let Some(id) = self.transaction() {
            let ranges = self.file(file)?.first_ranges(self.pages_of(bytes));
            for page in ranges.flatten() {
                let taken = self.owner.ftl.take_page(id, Lpn(page)).await;
                self.noted(taken.map_err(TxError::from))?;
            }
        }
        Ok(())
    }

    fn pages_of(&self, bytes: u64) -> u32 {
        self.owner.unit.touched(&(0..bytes)).end
    }
}
