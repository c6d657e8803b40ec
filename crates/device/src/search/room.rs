//! Room for names that wait in memory: what they count of it, and who waits for some.
//!
//! Where a capacitor saves them, they count at least half of what saving them may take, whatever is deleted among them, so
//! that its claim ([`super::SearchConfig`]) is enough for all that memory has room for. What is beyond that the journal keeps.

use std::rc::Rc;

use nvme::Status;
use sim::resource::Permit;

use super::facts::DeletionFact;
use super::table::{GATE, Row, Table};
use super::{Search, SearchError};

/// The least that an entry counts where a capacitor saves it. A fact has 12 bytes for each run of entries that are there,
/// besides their names: with every other one deleted, 6 for each and half a name.
const ENTRY_BYTES_MIN: u64 = 4;
/// What a row counts besides: half of a fact without entries (22 bytes), of how far they were given (12), and of what a run
/// takes more than is counted for its only entry (8).
const ROW_BYTES: u64 = 21;
/// Bytes of what the journal puts before a fact.
const RECORD_BYTES: u64 = 10;

/// What so many entries of a row count, with names and masks of so many bytes each.
fn room_of(entries: u32, names_bytes: usize, capacitor: bool) -> u64 {
    let (names_bytes, entries) = (names_bytes as u64, u64::from(entries));
    match (entries, capacitor) {
        (0, _) => 0,
        (_, false) => entries * names_bytes,
        (_, true) => ROW_BYTES + entries * names_bytes.max(ENTRY_BYTES_MIN),
    }
}

impl Search {
    fn room_of(&self, entries: u32, names_bytes: usize) -> u64 {
        room_of(entries, names_bytes, self.config.capacitor)
    }

    /// What records of a command count at most, however they come to lie in rows.
    pub(super) fn room_of_batch(&self, table: &Table, records: u32) -> u64 {
        let all = self.room_of(records, table.names_bytes());
        let rows = u64::from(records.div_ceil(table.values.row_names));
        all + if self.config.capacitor {
            rows * ROW_BYTES
        } else {
            0
        }
    }

    /// Checks that a row of a table for so many entries fits into memory when it is full, with names and masks of so many bytes
    /// each: as it would be programmed before, there would be less room than was asked for.
    ///
    /// # Errors
    /// Names Exceed Buffer.
    pub(super) fn check_row(&self, entries: u32, names_bytes: usize) -> Result<(), Status> {
        let room = self.room_of(entries.min(self.row_names()), names_bytes);
        if room > self.config.buffer_bytes {
            return Err(Status::NAMES_EXCEED_BUFFER);
        }
        Ok(())
    }

    /// Whether so much more fits into memory.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.buffered.get() + bytes <= self.config.buffer_bytes
    }

    /// Counts the entries of a row that waits, with names and masks of so many bytes each.
    pub(super) fn count_room(&self, row: &Row, names_bytes: usize) {
        let now = self.room_of(row.entries.get(), names_bytes);
        let before = row.room.replace(now);
        self.buffered.set(self.buffered.get() - before + now);
    }

    /// A row does not wait any more.
    pub(super) fn leave_room(&self, row: &Row) {
        let before = row.room.take();
        self.buffered.set(self.buffered.get() - before);
    }

    /// Whether the capacitor can save the fact of a deletion until its cells are raised, and what else that changes in memory. If
    /// not, the journal has to keep it.
    pub(super) fn can_save(&self, fact: &DeletionFact) -> bool {
        let intents = self.intents.borrow();
        let waiting = intents.sizes().map(|bytes| RECORD_BYTES + bytes as u64);
        let all = waiting.sum::<u64>() + RECORD_BYTES + fact.encode().len() as u64;
        // After a life with more memory there may be more names than the capacitor is for; the journal has these.
        self.config.capacitor && self.has_room(0) && all <= self.config.intents_bytes()
    }

    /// Waits until there may be more room in memory, for `table`; of the rows of `except` none is filled up for that.
    ///
    /// # Errors
    /// None will be: why a row could not be sealed, or Search Region Limit Exceeded.
    pub(super) async fn wait_for_room(
        &self,
        table: &Table,
        except: Option<&Table>,
        tried: &mut bool,
    ) -> Result<(), SearchError> {
        if !std::mem::replace(tried, true) {
            // Those of other tables too: where they could not be sealed, there may be room by now.
            self.seal_all_full_rows();
        }
        if let Some(trouble) = self.trouble(table) {
            return Err(trouble);
        }
        if !self.is_room_coming() && !self.seal_the_fullest_row(except) {
            // Nothing will make room: rows of other tables cannot be sealed, or there is none.
            let trouble = self.trouble_of_any();
            return Err(trouble.unwrap_or(Status::REGION_LIMIT_EXCEEDED.into()));
        }
        self.changed.next().await;
        Ok(())
    }

    /// The whole gate of a table, none of whose rows is being sealed, when there is room for names of so many bytes more of
    /// all its entries in memory, which count from now on.
    ///
    /// # Errors
    /// As [`Search::wait_for_room`]; Invalid Search Region if the table goes meanwhile.
    pub(super) async fn gate_with_room<'t>(
        &self,
        table: &'t Table,
        added_bytes: usize,
    ) -> Result<Permit<'t>, SearchError> {
        let mut tried = false;
        loop {
            let gate = table.gate.acquire(GATE).await;
            while table.rows.borrow().values().any(|row| row.sealing.get()) {
                table.changed.next().await;
            }
            if table.gone.get() {
                return Err(Status::INVALID_REGION.into());
            }
            let names_bytes = table.names_bytes() + added_bytes;
            let waiting = table.waiting_rows();
            let room = |row: &Rc<Row>| self.room_of(row.entries.get(), names_bytes);
            let now: u64 = waiting.iter().map(room).sum();
            let before: u64 = waiting.iter().map(|row| row.room.get()).sum();
            if now > self.config.buffer_bytes {
                return Err(Status::REGION_LIMIT_EXCEEDED.into());
            }
            if self.has_room(now.saturating_sub(before)) {
                waiting
                    .iter()
                    .for_each(|row| self.count_room(row, names_bytes));
                return Ok(gate);
            }
            drop(gate);
            self.wait_for_room(table, Some(table), &mut tried).await?;
        }
    }

    /// Why a full row of a table could not be sealed, if none is being sealed now.
    fn trouble(&self, table: &Table) -> Option<SearchError> {
        let rows = table.rows.borrow();
        let troubled = |row: &Rc<Row>| row.trouble.get().filter(|_| !row.sealing.get());
        rows.values().find_map(troubled)
    }

    /// The same of all tables.
    fn trouble_of_any(&self) -> Option<SearchError> {
        let tables = self.tables.borrow();
        tables.values().find_map(|table| self.trouble(table))
    }

    /// Has all rows sealed that are full.
    fn seal_all_full_rows(&self) {
        let tables: Vec<Rc<Table>> = self.tables.borrow().values().cloned().collect();
        tables.iter().for_each(|table| self.seal_full_rows(table));
    }

    /// Whether appends are under way, or rows are being sealed, after which there may be room.
    fn is_room_coming(&self) -> bool {
        let tables = self.tables.borrow();
        let busy = |row: &Rc<Row>| row.sealing.get() || row.pending.get() > 0;
        tables
            .values()
            .any(|table| table.rows.borrow().values().any(busy))
    }

    /// Seals the row in memory that lacks the fewest entries, whose numbers are lost until it is freed, as no full one makes
    /// room; whether there is one. If a full one could not be sealed, no other can.
    fn seal_the_fullest_row(&self, except: Option<&Table>) -> bool {
        let fullest = {
            let tables = self.tables.borrow();
            let mut fullest: Option<(u32, Rc<Table>, Rc<Row>)> = None;
            for table in tables.values().filter(|table| !table.gone.get()) {
                let is_spared = except.is_some_and(|except| std::ptr::eq(except, &**table));
                for row in table.waiting_rows() {
                    let missing = table.values.row_names - row.entries.get();
                    if missing == 0 && row.pending.get() == 0 {
                        return false;
                    }
                    let is_fuller = fullest.as_ref().is_none_or(|(least, ..)| missing < *least);
                    let has_some = row.entries.get() > 0 && row.pending.get() == 0;
                    if is_fuller && has_some && !is_spared {
                        fullest = Some((missing, table.clone(), row));
                    }
                }
            }
            fullest
        };
        let Some((_, table, row)) = fullest else {
            return false;
        };
        row.entries.set(table.values.row_names);
        self.seal_full_rows(&table);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::{LogFact, LogItem};
    use super::super::link::items_of;
    use super::super::names::Names;
    use super::*;

    /// Bytes of what saves a row with these entries, what the journal puts before it included.
    fn saved_bytes(entries: u32, names_bytes: usize, is_there: impl Fn(u32) -> bool) -> u64 {
        let mut names = Names::new(256, std::iter::once((8 * names_bytes as u32, false)));
        (0..entries).for_each(|entry| names.set_valid(entry, is_there(entry)));
        let mut items = vec![LogItem::Afresh];
        items.extend(items_of(entries, &names));
        let (table, row) = (1, 2);
        let fact = LogFact { table, row, items };
        RECORD_BYTES + fact.encode().len() as u64
    }

    #[test]
    fn what_names_count_is_at_least_half_of_what_saves_them() {
        for names_bytes in [1, 2, 3, 4, 5, 8, 12, 29, 1024] {
            for entries in [1, 2, 3, 4, 5, 63, 64, 129, 256] {
                let room = room_of(entries, names_bytes, true);
                for period in 1..6 {
                    for offset in 0..period {
                        let one = |entry: u32| entry % period == offset;
                        let both = [
                            saved_bytes(entries, names_bytes, one),
                            saved_bytes(entries, names_bytes, |entry| !one(entry)),
                        ];
                        let what =
                            format!("{entries} of {names_bytes} bytes, {offset} in {period}");
                        assert!(
                            both.iter().all(|bytes| *bytes <= 2 * room),
                            "{what}: {both:?}, {room}"
                        );
                    }
                }
            }
        }
    }
}
