//! Names that a capacitor would save become facts while there is power: an image has what is on flash, whatever becomes of the
//! process that has the rest.

use super::Search;
use super::table::{GATE, InUse};
use crate::ftl::FtlError;

impl Search {
    /// Has the journal keep what only memory has. It costs nothing where that is so anyway.
    ///
    /// # Errors
    /// No space for the facts.
    pub async fn flush(&self) -> Result<(), FtlError> {
        let tables: Vec<InUse> = {
            let tables = self.tables.borrow();
            tables.values().map(|table| table.enter()).collect()
        };
        for table in &tables {
            let _gate = table.gate.acquire(GATE).await;
            let rows = table.waiting_rows();
            let mut turns = Vec::new();
            for row in &rows {
                turns.push(row.turn.acquire(1).await);
            }
            if table.gone.get() {
                continue;
            }
            let (mut changes, mut logs) = (Vec::new(), Vec::new());
            for row in rows.iter().filter(|row| row.unsaved.get()) {
                if let Some(names) = &*row.names.borrow() {
                    logs.extend(self.log_anew(table, row, names, &mut changes));
                }
            }
            changes.extend(self.intents.borrow().unsaved(table.number));
            if changes.is_empty() {
                continue;
            }
            self.ftl.put_facts(changes).await?;
            for (row, number) in logs {
                row.logs.replace(vec![number]);
                row.unsaved.set(false);
            }
            self.intents.borrow_mut().saved(table.number);
        }
        Ok(())
    }
}
