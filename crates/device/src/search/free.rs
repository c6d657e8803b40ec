//! Rows none of whose entries is there any more: their blocks are erased, and their numbers are used again.

use std::rc::Rc;

use super::table::{Row, Table};
use super::there::without_gone;
use super::{Search, SearchError, facts};

impl Search {
    /// Frees a row in the background.
    pub(super) fn free_soon(&self, table: &Rc<Table>, row: &Rc<Row>) {
        if !row.is_sealed() {
            return self.seal_full_rows(table);
        }
        let (search, table, row) = (self.myself(), table.clone(), row.clone());
        self.sim.spawn_detached(async move {
            // Where there is no space for the fact, the row stays, empty; the next power-up tries again.
            let _ = search.free_row(&table, &row).await;
        });
    }

    /// A row none of whose entries is there any more: its numbers can be used again, and its blocks are erased.
    pub(super) async fn free_row(
        &self,
        table: &Rc<Table>,
        row: &Rc<Row>,
    ) -> Result<(), SearchError> {
        let _turn = row.turn.acquire(1).await;
        let is_known = table
            .row(row.number)
            .is_some_and(|known| Rc::ptr_eq(&known, row));
        let is_needed = row.live.get() > 0 || row.pending.get() > 0;
        if !is_known || is_needed || table.gone.get() {
            return Ok(());
        }
        let mut changes = self.without_logs(row);
        let blocks = row.blocks.borrow().clone();
        if blocks.is_some() {
            changes.push((facts::row_key(table.number, row.number), None));
            changes.extend(without_gone(table, row));
        }
        // One after another: each fact of a deletion that names several rows is written as the one before left it.
        let _freeing = self.freeing.acquire(1).await;
        changes.extend(self.intents.borrow().without_row(table.number, row.number));
        let (leftover, gone) = self.leftover();
        changes.extend(gone);
        self.ftl.put_facts(changes).await?;
        self.without_leftover(&leftover);
        self.forget_row(table, row.number);
        row.blocks.take();
        self.leave_room(row);
        table.rows.borrow_mut().remove(&row.number);
        table.rows_changed();
        if table.open.get() == Some(row.number) {
            table.open.set(None);
        }
        table.changed.announce();
        if let Some(blocks) = blocks {
            // Whoever began before may be sensing them, and an erased cell matches everything.
            table.past(table.deletion()).await;
            self.give_back(blocks.iter().flatten().copied()).await;
        }
        Ok(())
    }
}
