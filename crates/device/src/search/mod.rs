//! Name-value lookup inside the NAND array (ANVIL): names lie transposed in blocks lent by the translation layer, and one
//! multi-wordline sense compares a key with as many of them as a page has bits. Values lie in ordinary logical pages.
//!
//! `layout` says where bits and values lie, `names` holds those that flash does not hold yet, `table` what there is. `append`
//! takes entries in, for which there is `room` in memory and in the `link_table`, `seal` programs a row of names, `find` senses
//! rows in `waves`, `again` knows what that takes, `index` which names there are where flash holds none, in `cells`, `lookup`
//! answers with values, `within` to who is within the drive, `demand` says what that has the parts of a drive do, for the cost model, `delete` takes entries out and
//! `free` rows, `intents` has deletions that are under way, `there` reads from cells which entries there are; `facts` is what
//! the journal keeps of all that, `recover` makes the tables anew from it, and `flush` has it keep what a capacitor would save.

mod again;
mod append;
mod bits;
mod cells;
mod config;
mod delete;
mod demand;
mod error;
mod facts;
mod find;
mod flush;
mod free;
mod hashes;
mod index;
mod intents;
mod layout;
mod link;
mod link_table;
mod lookup;
mod names;
mod recover;
mod regions;
mod room;
mod seal;
mod table;
mod there;
mod tuning;
mod values;
mod vectors;
mod waves;
mod within;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use media::dram::Dram;
use media::nand::{Geometry, PlaneId};
use nvme::RegionId;
use serde::{Deserialize, Serialize};
use sim::Sim;
use sim::resource::{Broadcast, Semaphore};

use crate::backend::Backend;
use crate::cache::Cache;
use crate::cores::Cores;
use crate::ftl::Ftl;
use crate::journal::FactKey;
use crate::memory::{Buffers, Dumped, Partition};
use crate::part::Part;
use crate::port::HostTransfer;
use crate::schedule::Schedule;
use again::Memos;
use config::NAME;
pub use config::SearchConfig;
pub use demand::{ExpectedMatches, LookupAhead};
pub use error::SearchError;
use index::NameIndex;
pub use index::Nearness;
use intents::Intents;
use layout::NameLayout;
use lookup::Cursors;
pub use lookup::{Asked, Done};
pub use regions::Wanted;
use table::{InUse, Table};
use tuning::Tuning;
pub use within::{Looked, Mark};

/// What name-value lookup has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SearchCounts {
    /// Entries appended.
    pub entries_appended: u64,
    /// Entries deleted.
    pub entries_deleted: u64,
    /// Lookups, their continuations and those of deletions included.
    pub lookups: u64,
    /// Senses of one plane each that compared names.
    pub senses: u64,
    /// Match vectors read out over the channels.
    pub match_vectors: u64,
    /// Bytes of these that went to the drive's DRAM.
    pub match_vector_bytes: u64,
    /// Entries found.
    pub entries_found: u64,
    /// Logical pages of values read.
    pub value_pages_read: u64,
    /// Rows of names programmed.
    pub rows_sealed: u64,
    /// Pages programmed for that.
    pub name_pages_programmed: u64,
    /// Of these, pages that crossed no channel, as the complement of another.
    pub pages_inverted: u64,
    /// Pages in which the cells of deleted entries were raised.
    pub pages_raised: u64,
    /// Rows of names moved to other blocks.
    pub rows_moved: u64,
}

/// Name-value lookup of a drive.
pub struct Search {
    me: Weak<Search>,
    sim: Sim,
    config: SearchConfig,
    geometry: Geometry,
    layout: NameLayout,
    schedule: Rc<Schedule>,
    ftl: Rc<Ftl>,
    cache: Rc<Cache>,
    buffers: Rc<Buffers>,
    port: Rc<HostTransfer>,
    cores: Rc<Cores>,
    dram: Rc<Dram>,
    /// Where in it names wait for their row to be full.
    partition: Partition,
    tables: RefCell<BTreeMap<u32, Rc<Table>>>,
    cursors: RefCell<Cursors>,
    /// What lookups of a table took, by its number, as long as its rows stay as they are.
    memos: RefCell<BTreeMap<u32, Memos>>,
    /// Where names are, by search region and table, for drives that keep no data: lookups of a table that has gone may still be
    /// under way when its region's number is another's.
    indexes: RefCell<BTreeMap<(u16, u32), NameIndex>>,
    tuning: Tuning,
    /// What names that wait count of the memory for them.
    buffered: Cell<u64>,
    /// The number of the next fact that has one of its own.
    next_fact: Cell<u32>,
    /// Deletions under way.
    intents: RefCell<Intents>,
    /// One at a time changes facts of deletions under way, as rows that they name become free.
    freeing: Semaphore,
    /// Facts of what is over or gone, which have still to go.
    leftover: RefCell<Vec<FactKey>>,
    /// Announced when a table has gone, or a row was sealed.
    changed: Broadcast,
    counts: Cell<SearchCounts>,
}

impl Search {
    /// Lookup of a drive at power-up, with the regions of an earlier life on media that are not `blank`.
    pub async fn power_up(
        backend: &Backend,
        config: &SearchConfig,
        cache: Rc<Cache>,
        blank: bool,
    ) -> Rc<Search> {
        let Backend { sim, schedule, .. } = backend;
        let geometry = schedule.geometry().clone();
        let search = Rc::new_cyclic(|me| Search {
            me: me.clone(),
            sim: sim.clone(),
            config: *config,
            layout: NameLayout::new(&geometry),
            geometry,
            schedule: schedule.clone(),
            ftl: backend.ftl.clone(),
            cache,
            buffers: backend.buffers.clone(),
            port: backend.port.clone(),
            cores: backend.cores.clone(),
            dram: backend.dram.clone(),
            partition: backend.dram_map.search,
            tables: RefCell::default(),
            cursors: RefCell::default(),
            memos: RefCell::default(),
            indexes: RefCell::default(),
            tuning: Tuning::new(sim),
            buffered: Cell::new(0),
            next_fact: Cell::new(0),
            intents: RefCell::default(),
            freeing: Semaphore::new(sim, 1),
            leftover: RefCell::default(),
            changed: Broadcast::new(sim),
            counts: Cell::default(),
        });
        if !blank {
            search.recover().await;
            search.drop_leftover().await;
        }
        search
    }

    /// What was done so far.
    pub fn counts(&self) -> SearchCounts {
        self.counts.get()
    }

    /// Entries of a row: bits of a flash page.
    fn row_names(&self) -> u32 {
        self.geometry.page_bytes * 8
    }

    /// The plane that a row is to be in, if there is room.
    fn plane_of_row(&self, table: u32, row: u32) -> PlaneId {
        layout::plane_of_turn(&self.geometry, table.wrapping_add(row))
    }

    /// The table of a search region, in use until what this gives is dropped.
    ///
    /// # Errors
    /// Invalid Search Region.
    fn table_of(
        &self,
        namespace: nvme::NamespaceId,
        region: RegionId,
    ) -> Result<(InUse, usize), nvme::Status> {
        let tables = self.tables.borrow();
        let mut of_namespace = tables.values().filter(|table| table.namespace == namespace);
        let found = of_namespace.find_map(|table| {
            let column = table.column(region.get())?;
            Some((table.enter(), column))
        });
        found.ok_or(nvme::Status::INVALID_REGION)
    }

    fn fact_number(&self) -> u32 {
        let number = self.next_fact.get();
        self.next_fact.set(number.wrapping_add(1));
        number
    }

    fn count(&self, change: impl FnOnce(&mut SearchCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    fn myself(&self) -> Rc<Search> {
        let me = self.me.upgrade();
        me.expect("whoever asks holds it")
    }
}

impl Part for Search {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Moves names for the sake of wear, and so that they are found.
    fn serve(self: Rc<Search>) {
        self.sim.spawn_detached(self.clone().level_wear());
        self.sim.spawn_detached(self.clone().refresh_names());
    }

    fn power_lost(&self) -> Dumped {
        self.save()
    }
}
