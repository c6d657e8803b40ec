//! Which of the pages that transactions wrote count: those of transactions that have committed.

use super::scan::Scanner;
use crate::ftl::spare::Record;
use crate::ftl::{Ftl, UnitAddress};

impl Ftl {
    /// Takes from the journal who has committed. Of what was read, pages of others are forgotten, but for the blocks that they
    /// are in: while such a page is on flash, its transaction must be known not to count.
    pub(super) fn judge_transactions(&self, scanner: &Scanner) {
        self.restore_transactions();
        let mut scan = scanner.scan.borrow_mut();
        let records = std::mem::take(&mut scan.records);
        let block_of = |at: UnitAddress| scanner.block_of(scanner.unit.page(at));
        let judged = records.into_iter().filter_map(|found| {
            let judged = self.judged(found);
            if judged.is_none() {
                self.note_version(found.1.version, block_of(found.0));
            }
            judged
        });
        scan.records = judged.collect();
    }

    /// What was found, with the version that it has if it counts.
    pub(super) fn judged(
        &self,
        (at, record): (UnitAddress, Record),
    ) -> Option<(UnitAddress, Record)> {
        let version = self.judged_version(record.version)?;
        Some((at, Record { version, ..record }))
    }
}
