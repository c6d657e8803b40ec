//! The data cache: page slots in the drive's DRAM, between the front end and the
//! translation layer.
//!
//! A slot holds sectors of one logical page; where a flash page has several, slots go to flash together (`gather`). Reads find them there, whatever put
//! them there. A cached write completes when it is in DRAM; its sectors are *dirty*
//! until a write-back takes them to flash, *flying* while it does. Of a page at most
//! one write-back flies at a time, so its versions reach flash in order; the range
//! locks of the translation layer keep host commands for the same page apart.
//!
//! What has failed to reach flash stays in its slot, and as long as there is such a
//! slot writes of other pages complete only when they are on flash: the host learns
//! of the trouble from them, and from Flush.

mod config;
mod dump;
mod gather;
mod places;
mod prefetch;
mod pressure;
mod read;
mod sectors;
mod table;
mod write;
mod write_back;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use media::dram::Dram;
use serde::{Deserialize, Serialize};
use sim::Sim;
use sim::resource::Broadcast;

use crate::backend::Backend;
use crate::ftl::{Ftl, FtlError, MappingUnit};
use crate::memory::{Buffers, Partition};
pub use config::{CacheConfig, CacheConfigError, CacheMode, WriteBack};
use gather::Group;
use places::SharedBuffers;
pub use prefetch::Step;
use pressure::Pressure;
pub use read::{Found, Lookup, ReadStamp, Rest};
use table::Table;
pub use write::Admission;
use write::Touched;
use write_back::Workers;

/// What the data cache has done, in pages of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheCounts {
    /// Pages that a command read wholly from the cache.
    pub read_hits: u64,
    /// Pages of which a part came from the cache and the rest from flash.
    pub read_partial_hits: u64,
    /// Pages read from flash.
    pub read_misses: u64,
    /// Pages written to a slot that was there.
    pub write_hits: u64,
    /// Pages written to a new slot.
    pub write_misses: u64,
    /// Slots taken from their pages to be used for others.
    pub evictions: u64,
    /// Pages written back to flash.
    pub write_backs: u64,
    /// Write-backs that failed; the data stayed in the cache.
    pub write_back_failures: u64,
    /// Times that a write waited because too much was on its way to flash.
    pub back_pressure_waits: u64,
}

/// The data cache of a drive.
pub struct Cache {
    sim: Sim,
    config: CacheConfig,
    capacity: u32,
    /// Slots that a capacitor has the energy to save.
    unsaved_most: u32,
    unit: MappingUnit,
    ftl: Rc<Ftl>,
    buffers: Rc<Buffers>,
    /// Buffers that slots have in common.
    shared: SharedBuffers,
    dram: Rc<Dram>,
    /// Where in it the slots lie.
    partition: Partition,
    table: RefCell<Table>,
    pressure: Pressure,
    touched: RefCell<Touched>,
    /// Announced whenever a write-back has landed.
    landed: Broadcast,
    workers: RefCell<Workers>,
    /// Slots that are to go to flash as soon as they fill a page there.
    gathering: RefCell<Group>,
    /// For the workers, which are tasks of their own.
    me: Weak<Cache>,
    /// Whether writes may complete in DRAM: the host can forbid it where that is volatile.
    caches_writes: Cell<bool>,
    /// Slots whose last write-back failed.
    failed_slots: Cell<u32>,
    last_failure: Cell<Option<FtlError>>,
    /// Rises with each write and each flush.
    next_stamp: Cell<u64>,
    /// Changes of pages, counted by page number modulo their number: what a read brings
    /// from flash is kept only if the page has not changed meanwhile.
    changes: Vec<Cell<u32>>,
    counts: RefCell<CacheCounts>,
}

/// Counters of changes; pages far apart may share one.
const CHANGE_COUNTERS: usize = 1 << 12;

impl Cache {
    /// An empty cache: what it held is on flash, or was lost.
    pub fn power_up(backend: &Backend, config: &CacheConfig) -> Rc<Cache> {
        let Backend { sim, ftl, .. } = backend;
        let geometry = backend.schedule.geometry();
        let back_pressure = u64::from(config.back_pressure_pages) * u64::from(geometry.page_bytes);
        let cached_pages = if config.mode.is_on() {
            ftl.logical_pages()
        } else {
            0
        };
        Rc::new_cyclic(|me| Cache {
            sim: sim.clone(),
            capacity: config.capacity_slots(ftl.unit()),
            unsaved_most: config.unsaved_slots_max(ftl.unit()),
            unit: ftl.unit(),
            table: RefCell::new(Table::new(cached_pages, ftl.unsaved())),
            pressure: Pressure::new(sim, back_pressure),
            touched: RefCell::new(Touched::new(cached_pages)),
            landed: Broadcast::new(sim),
            workers: RefCell::default(),
            gathering: RefCell::default(),
            me: me.clone(),
            caches_writes: Cell::new(config.mode.caches_writes()),
            failed_slots: Cell::new(0),
            last_failure: Cell::new(None),
            next_stamp: Cell::new(1),
            changes: vec![Cell::new(0); CHANGE_COUNTERS],
            counts: RefCell::default(),
            config: config.clone(),
            ftl: ftl.clone(),
            buffers: backend.buffers.clone(),
            shared: SharedBuffers::default(),
            dram: backend.dram.clone(),
            partition: backend.dram_map.cache,
        })
    }

    /// Whether an acknowledged write may be lost with the power, unless it was flushed.
    pub fn is_volatile(&self) -> bool {
        self.config.mode.caches_writes() && !self.config.capacitor
    }

    /// Has writes complete in DRAM from now on, as configured, or only on flash. What is cached
    /// already goes there with the next flush.
    pub fn enable_write_caching(&self, enabled: bool) {
        let caches = enabled && self.config.mode.caches_writes();
        self.caches_writes.set(caches);
    }

    /// Whether there is a cache.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.config.mode.is_on()
    }

    /// What was done so far.
    pub fn counts(&self) -> CacheCounts {
        *self.counts.borrow()
    }

    #[inline]
    fn count(&self, change: impl FnOnce(&mut CacheCounts)) {
        change(&mut self.counts.borrow_mut());
    }

    fn stamp(&self) -> u64 {
        self.next_stamp.replace(self.next_stamp.get() + 1)
    }
}
