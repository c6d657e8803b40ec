//! Data regions, each with its search regions, and their rows of names.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use media::nand::{BlockId, PlaneId};
use nvme::{NamespaceId, RegionId, Status};
use sim::Sim;
use sim::resource::{Broadcast, Semaphore};

use super::bits::ones;
use super::error::SearchError;
use super::layout::ValueLayout;
use super::names::{Names, Plane, Terms};

/// Permits of a table's gate: whoever changes what its search regions are takes all, everybody else one.
pub(super) const GATE: u64 = 1 << 20;
/// Rows of a table, at most: what the key of a fact has room for.
pub(super) const ROWS_MAX: u64 = 1 << 20;
/// Tables of a drive, likewise.
pub(super) const TABLES_MAX: u32 = 1 << 12;

/// A search region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// Its number.
    pub(super) region: u16,
    /// Bits of a name.
    pub(super) bits: u32,
    /// Names may have don't cares.
    pub(super) ternary: bool,
}

impl Column {
    /// Bytes of a name, without its mask.
    pub(super) fn name_bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Bytes of it in a record.
    pub(super) fn record_bytes(&self) -> usize {
        self.name_bytes() * (1 + usize::from(self.ternary))
    }
}

/// A data region with its search regions.
pub(super) struct Table {
    pub(super) number: u32,
    pub(super) namespace: NamespaceId,
    /// Its first logical block, as the host named it.
    pub(super) start: u64,
    pub(super) values: ValueLayout,
    /// Rows that it has room for.
    pub(super) rows_max: u32,
    /// By the number of their region.
    pub(super) columns: RefCell<Vec<Column>>,
    /// The one that is being added.
    pub(super) coming: Cell<Option<Column>>,
    pub(super) rows: RefCell<BTreeMap<u32, Rc<Row>>>,
    /// The row to which entries are appended.
    pub(super) open: Cell<Option<u32>>,
    /// Announced when a row was sealed, or could not be, a lookup ended, or a command.
    pub(super) changed: Broadcast,
    pub(super) gate: Semaphore,
    /// One update at a time: what one deletes the next must not find.
    pub(super) updates: Semaphore,
    /// Commands under way.
    pub(super) users: Cell<u32>,
    /// It is no more.
    pub(super) gone: Cell<bool>,
    /// Rises with each lookup and each deletion.
    pub(super) epoch: Cell<u64>,
    /// The epochs in which lookups began that are under way, ascending.
    pub(super) lookups: RefCell<VecDeque<u64>>,
    /// Rises with what rows there are, where they are and what is in them.
    pub(super) version: Cell<u64>,
    /// Deletions and updates so far, and moves of rows.
    pub(super) deletions: Cell<u64>,
    /// Deletions and updates alone.
    pub(super) removals: Cell<u64>,
}

/// A row of entries.
pub(super) struct Row {
    pub(super) number: u32,
    /// Where its blocks are, or will be.
    pub(super) plane: Cell<PlaneId>,
    /// Its names, as long as flash does not hold them; longer where the drive keeps no data.
    pub(super) names: RefCell<Option<Names>>,
    /// Its names are in these blocks, of each search region; none before.
    pub(super) blocks: RefCell<Option<Rc<[Vec<BlockId>]>>>,
    /// Entries that were appended to it, those under way included.
    pub(super) entries: Cell<u32>,
    /// Appends under way.
    pub(super) pending: Cell<u32>,
    /// Entries that are there.
    pub(super) live: Cell<u32>,
    /// Of a row in flash, which entries are there: what else cells say is there counts for nothing. Lookups that began
    /// before a deletion have it as it was.
    pub(super) there: RefCell<Rc<[u64]>>,
    /// Whether its cells are believed at power-up, for they are programmed with margin. Otherwise the journal keeps what is not there.
    pub(super) has_margin: Cell<bool>,
    /// Something about its names is in memory alone, for a capacitor to save.
    pub(super) unsaved: Cell<bool>,
    /// Entries that are there no more, though their cells may not say so yet.
    pub(super) due: RefCell<Option<Plane>>,
    /// What its names count of the memory for those that wait.
    pub(super) room: Cell<u64>,
    /// The facts that say what is in it, as long as flash does not hold the names.
    pub(super) logs: RefCell<Vec<u32>>,
    /// Who changes the row: seals it, deletes from it or moves it.
    pub(super) turn: Semaphore,
    /// It is being sealed.
    pub(super) sealing: Cell<bool>,
    /// Why it could not be sealed, the last time.
    pub(super) trouble: Cell<Option<SearchError>>,
}

impl Row {
    pub(super) fn new(sim: &Sim, number: u32, plane: PlaneId) -> Row {
        Row {
            number,
            plane: Cell::new(plane),
            names: RefCell::default(),
            blocks: RefCell::default(),
            entries: Cell::new(0),
            pending: Cell::new(0),
            live: Cell::new(0),
            there: RefCell::new(Rc::new([])),
            has_margin: Cell::new(true),
            unsaved: Cell::new(false),
            due: RefCell::default(),
            room: Cell::new(0),
            logs: RefCell::default(),
            turn: Semaphore::new(sim, 1),
            sealing: Cell::new(false),
            trouble: Cell::new(None),
        }
    }

    /// Whether flash holds its names.
    pub(super) fn is_sealed(&self) -> bool {
        self.blocks.borrow().is_some()
    }

    /// Whether a block holds names of it.
    pub(super) fn holds(&self, block: BlockId) -> bool {
        let blocks = self.blocks.borrow();
        let mut blocks = blocks.iter().flat_map(|blocks| blocks.iter()).flatten();
        blocks.any(|other| *other == block)
    }

    /// Whether an entry that names in memory have is there: they may still have what was deleted from a row in flash.
    pub(super) fn is_there(&self, entry: u32) -> bool {
        let there = self.there.borrow();
        let word = there.get(entry as usize / 64);
        !self.is_sealed() || word.is_some_and(|word| word >> (entry % 64) & 1 != 0)
    }

    /// Says which entries of a row in flash are there.
    pub(super) fn set_there(&self, there: &[u64]) {
        self.live
            .set(there.iter().map(|word| word.count_ones()).sum());
        self.there.replace(there.into());
    }

    /// Entries of a row in flash that are not there, and these.
    pub(super) fn gone_with(&self, entries: &[u32]) -> Rc<[u32]> {
        let mut there = self.there.borrow().to_vec();
        for entry in entries {
            there[*entry as usize / 64] &= !(1 << (entry % 64));
        }
        ones(there.iter().map(|word| !word)).collect()
    }

    /// Entries of a row in flash are there no more, from now on; their cells are to be raised.
    pub(super) fn kill(&self, entries: &[u32]) {
        let mut there = self.there.borrow_mut();
        let mut due = self.due.borrow_mut();
        let due = due.get_or_insert_with(|| vec![0; there.len()].into());
        let there = Rc::make_mut(&mut *there);
        let mut live = self.live.get();
        for entry in entries {
            let (word, bit) = (*entry as usize / 64, 1u64 << (entry % 64));
            live -= u32::from(there[word] & bit != 0);
            there[word] &= !bit;
            due[word] |= bit;
        }
        self.live.set(live);
    }

    /// The names of a drive that keeps no data say so, too, as soon as no lookup is under way that may find them.
    pub(super) fn tell_names(&self) {
        if let Some(names) = &mut *self.names.borrow_mut() {
            names.set_there(&self.there.borrow());
        }
    }
}

/// A command that works with a table.
pub(super) struct InUse(Rc<Table>);

impl std::ops::Deref for InUse {
    type Target = Rc<Table>;

    fn deref(&self) -> &Rc<Table> {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.users.set(self.0.users.get() - 1);
        self.0.changed.announce();
    }
}

/// A lookup, which finds what was there when it began.
pub(super) struct Snapshot<'a> {
    table: &'a Table,
    pub(super) epoch: u64,
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let lookups = &mut *self.table.lookups.borrow_mut();
        if let Ok(place) = lookups.binary_search(&self.epoch) {
            lookups.remove(place);
        }
        self.table.changed.announce();
    }
}

impl Table {
    /// None of its search regions has a row.
    pub(super) fn new(
        sim: &Sim,
        number: u32,
        (namespace, start): (NamespaceId, u64),
        values: ValueLayout,
        rows_max: u32,
    ) -> Table {
        Table {
            number,
            namespace,
            start,
            values,
            rows_max,
            columns: RefCell::default(),
            coming: Cell::new(None),
            rows: RefCell::default(),
            open: Cell::new(None),
            changed: Broadcast::new(sim),
            gate: Semaphore::new(sim, GATE),
            updates: Semaphore::new(sim, 1),
            users: Cell::new(0),
            gone: Cell::new(false),
            epoch: Cell::new(1),
            lookups: RefCell::default(),
            version: Cell::new(1),
            deletions: Cell::new(0),
            removals: Cell::new(0),
        }
    }

    /// Says that rows are others now, or elsewhere, or that something else is in them.
    pub(super) fn rows_changed(&self) {
        self.version.set(self.version.get() + 1);
    }

    /// Counts a command, until what this gives is dropped.
    pub(super) fn enter(self: &Rc<Table>) -> InUse {
        self.users.set(self.users.get() + 1);
        InUse(self.clone())
    }

    /// The logical pages of its values.
    pub(super) fn pages(&self) -> std::ops::Range<u64> {
        let first = u64::from(self.values.first.0);
        first..first + u64::from(self.rows_max) * self.values.row_pages()
    }

    /// Entries that it has room for.
    pub(super) fn capacity(&self) -> u64 {
        u64::from(self.rows_max) * u64::from(self.values.row_names)
    }

    /// Which of its search regions a number is.
    pub(super) fn column(&self, region: u16) -> Option<usize> {
        let columns = self.columns.borrow();
        columns.iter().position(|column| column.region == region)
    }

    /// Bytes of the names and masks of a record.
    pub(super) fn names_bytes(&self) -> usize {
        let columns = self.columns.borrow();
        columns.iter().map(Column::record_bytes).sum()
    }

    /// The same for a command that has waited, during which the region may have gone.
    ///
    /// # Errors
    /// Invalid Search Region.
    pub(super) fn column_still(&self, region: RegionId) -> Result<usize, Status> {
        let column = self.column(region.get()).filter(|_| !self.gone.get());
        column.ok_or(Status::INVALID_REGION)
    }

    pub(super) fn row(&self, number: u32) -> Option<Rc<Row>> {
        self.rows.borrow().get(&number).cloned()
    }

    /// The rows from one on, ascending.
    pub(super) fn rows_from(&self, first: u32) -> Vec<Rc<Row>> {
        let rows = self.rows.borrow();
        rows.range(first..).map(|(_, row)| row.clone()).collect()
    }

    /// The rows whose names flash does not hold, ascending.
    pub(super) fn waiting_rows(&self) -> Vec<Rc<Row>> {
        let rows = self.rows.borrow();
        let waiting = rows.values().filter(|row| !row.is_sealed());
        waiting.cloned().collect()
    }

    /// Of these rows those that are not free by now.
    pub(super) fn known(&self, rows: &[Rc<Row>]) -> Vec<Rc<Row>> {
        let there = self.rows.borrow();
        let is_known = |row: &&Rc<Row>| {
            let known = there.get(&row.number);
            known.is_some_and(|known| Rc::ptr_eq(known, row))
        };
        rows.iter().filter(is_known).cloned().collect()
    }

    /// The number that the next row has, if there may be one.
    pub(super) fn next_row(&self) -> Option<u32> {
        let rows = self.rows.borrow();
        let free = (0..self.rows_max).zip(rows.keys().map(Some).chain(std::iter::repeat(None)));
        let mut free = free.filter(|(number, taken)| *taken != Some(number));
        free.next().map(|(number, _)| number)
    }

    /// Bytes of the names and masks of an entry that these terms are about.
    pub(super) fn asked_bytes(&self, groups: &[Terms<'_>]) -> u64 {
        let columns = self.columns.borrow();
        let asked = columns.iter().enumerate().filter(|(place, _)| {
            let mut terms = groups.iter().flatten();
            terms.any(|(column, _)| column == place)
        });
        asked.map(|(_, column)| column.record_bytes() as u64).sum()
    }

    /// Begins a lookup, of what is there now.
    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        let epoch = self.epoch.get();
        self.epoch.set(epoch + 1);
        self.lookups.borrow_mut().push_back(epoch);
        Snapshot { table: self, epoch }
    }

    /// The epoch of a deletion or an update that happens now: lookups that began before do not notice, but for those that
    /// wait to be gone on with, which are over.
    pub(super) fn deletion(&self) -> u64 {
        self.deletions.set(self.deletions.get() + 1);
        let epoch = self.epoch.get();
        self.epoch.set(epoch + 1);
        epoch
    }

    /// Waits until the lookups are over that began before `epoch`.
    pub(super) async fn past(&self, epoch: u64) {
        while self
            .lookups
            .borrow()
            .front()
            .is_some_and(|first| *first < epoch)
        {
            self.changed.next().await;
        }
    }
}
