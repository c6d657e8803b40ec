//! The flash translation layer: where is it?
//!
//! Logical pages are mapped to slots of physical ones, of which each has one or more. A write goes to a fresh page of the
//! plane whose turn its first logical page is, and then takes the place of the old
//! one; garbage collection empties blocks of what was replaced. Every page says
//! in its spare bytes what it holds, so the table can be rebuilt from the media
//! alone (`recovery`).

mod blocks;
mod checkpoint;
mod config;
mod counts;
mod dump;
mod gc;
mod holds;
mod journal;
mod lent;
mod lock;
mod lpn;
mod mapping;
mod order;
mod page_record;
mod placed;
mod precondition;
mod purge;
pub(crate) mod ranges;
mod read;
mod recovery;
mod search;
mod slc_cache;
mod spare;
mod unit;
mod versions;
mod wear;
mod write;
mod written;

use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use media::nand::{BlockCondition, BlockId, Geometry, Nand, PlaneId, Ppa, ProgramMode};
use sim::Sim;
use sim::resource::{Broadcast, RangeLock};

use crate::cores::Cores;
use crate::journal::Facts;
use crate::memory::Buffers;
use crate::part::Part;
use crate::region::Region;
use crate::schedule::{Callback, Schedule, Ticket};
use blocks::{Blocks, Orders, Shares, Stream};
pub use checkpoint::CheckpointConfig;
use checkpoint::Checkpoints;
pub use config::{Capacity, Frontiers, FtlConfig, FtlConfigError};
pub use counts::FtlCounts;
pub(crate) use dump::Dump;
use dump::DumpFrontier;
use gc::Collections;
pub use gc::{GcConfig, GcPace, GcPolicy};
use journal::JournalWriter;
pub use lock::{PageLock, SoleWriter, WriteClaim, WriteLock};
pub use lpn::Lpn;
pub use mapping::{Mapping, MappingConfig, MappingKind};
use mapping::{MappingTable, WriteBacks};
pub use order::{AllocationOrder, OrderError};
pub use page_record::PageRecord;
pub use placed::{AtOnce, PlacedPage, Stored};
pub use precondition::{History, Precondition, PreconditionError, Preconditioned};
pub use purge::Purge;
pub use read::PageSlice;
pub use recovery::Recovered;
pub use search::NamePage;
pub use slc_cache::SlcCacheConfig;
use spare::{Content, Record};
use unit::Slots;
pub use unit::{MappingUnit, UNITS_PER_PAGE_MAX, UnitAddress};
use versions::Versions;
pub(crate) use versions::state_bytes;
pub use versions::{
    Durable, ENTRY_BYTES, Place, SnapshotId, VersionCounts, VersionError, VersionLimits,
};
pub use wear::{StaticRule, WearLevellingConfig};
pub use write::WithoutSpace;
pub use written::PartialPages;
use written::WrittenSectors;

/// What the translation layer cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FtlError {
    /// No page is left and none can be won back.
    #[error("no flash page is free and none can be reclaimed")]
    NoSpace,
    /// The share of the drive that is for computing is used up.
    #[error("no block is left for computing in plane {0}")]
    NoComputeBlock(u32),
    /// Facts that are to come into force together fill more pages than can be told apart.
    #[error("facts that come into force together fill more pages than the journal can tell apart")]
    GroupTooLong,
    /// The flash lost data, or refused.
    #[error(transparent)]
    Flash(#[from] crate::schedule::Fault),
}

/// The parts below the translation layer, each powered up.
#[derive(Clone)]
pub struct Beneath {
    /// Simulated time.
    pub sim: Sim,
    /// The flash back end.
    pub schedule: Rc<Schedule>,
    /// Page buffers in the controller's memory.
    pub buffers: Rc<Buffers>,
    /// The controller's cores.
    pub cores: Rc<Cores>,
}

/// What writers and the collection of a plane tell each other.
struct PlaneState {
    /// Announced when a waiting writer should look.
    space: Broadcast,
    /// Short of free blocks, and nothing to collect.
    exhausted: Cell<bool>,
}

/// The flash translation layer of a drive.
pub struct Ftl {
    schedule: Rc<Schedule>,
    buffers: Rc<Buffers>,
    cores: Rc<Cores>,
    /// For what goes on later, without a command that waits for it.
    me: OnceCell<Weak<Ftl>>,
    config: FtlConfig,
    geometry: Geometry,
    /// What an entry of the mapping table stands for.
    unit: MappingUnit,
    mapping: RefCell<MappingTable>,
    /// Whether entries of the table must be fetched before they are of use.
    is_cached: bool,
    write_backs: WriteBacks,
    blocks: RefCell<Blocks>,
    region: RefCell<Region>,
    /// Announced when a block for computing was won, or could not be.
    region_changed: Broadcast,
    /// Announced when the owner of a block that it was lent is to move what lies there.
    cold: Broadcast,
    data_pages: u32,
    planes: Vec<PlaneState>,
    collections: Collections,
    /// The planes whose turn logical pages are, a physical page's worth after the other.
    plane_order: Vec<PlaneId>,
    locks: RangeLock,
    /// Live logical pages of each record of deallocation.
    tombstones: RefCell<BTreeMap<Ppa, u32>>,
    facts: RefCell<Facts>,
    journal: JournalWriter,
    /// Versions of deallocations that are not in the table yet.
    deallocating: RefCell<BTreeSet<u64>>,
    checkpoints: Checkpoints,
    dump_frontier: Cell<DumpFrontier>,
    written: RefCell<WrittenSectors>,
    versions: Versions,
    next_version: Cell<u64>,
    next_sequence: Cell<u64>,
    counts: RefCell<FtlCounts>,
}

impl Ftl {
    /// The translation layer at power-up, and what it found on the media, which takes simulated
    /// time; nothing on `blank` media.
    pub async fn power_up(
        beneath: Beneath,
        config: &FtlConfig,
        capacity: Capacity,
        blank: bool,
    ) -> (Rc<Ftl>, Option<Recovered>) {
        beneath.schedule.name_pages(spare::logical_page);
        if blank {
            return (Ftl::blank(beneath, config, capacity), None);
        }
        let (ftl, recovered) = Ftl::recover(beneath, config, capacity).await;
        (ftl, Some(recovered))
    }

    /// The translation layer of a drive whose media is blank.
    fn blank(beneath: Beneath, config: &FtlConfig, capacity: Capacity) -> Rc<Ftl> {
        let ftl = Ftl::new(beneath, config, capacity);
        ftl.find_blank_blocks();
        if config.frontiers == Frontiers::Ahead {
            ftl.blocks.borrow_mut().open_frontiers();
        }
        ftl.store_mapping_table();
        Rc::new(ftl)
    }

    /// A drive leaves the factory with its mapping pages on flash, all of them empty.
    fn store_mapping_table(&self) {
        if !self.is_cached {
            return;
        }
        let count = self.with_pages(|pages| pages.count()).unwrap_or(0);
        for number in 0..count {
            let preferred = self.turn(number);
            let allocated = self
                .blocks
                .borrow_mut()
                .allocate(preferred, Stream::Mapping);
            let Some(address) = allocated.map(|allocation| allocation.page) else {
                return;
            };
            // Older than anything that will ever happen.
            let record = Record {
                content: Content::Mapping {
                    number,
                    deallocated_below: 0,
                },
                version: 0,
                sequence: 0,
            };
            let mode = self.config.mode;
            let placed = self
                .schedule
                .place_page(address, mode, &record.encode(), None);
            let needed = self.whole_if(placed.is_ok());
            self.blocks.borrow_mut().settle(address, needed);
            if placed.is_ok() {
                let page = self.geometry.ppa(address);
                self.with_pages(|pages| pages.put(number, page));
            }
        }
    }

    fn new(beneath: Beneath, config: &FtlConfig, capacity: Capacity) -> Ftl {
        let Beneath {
            sim,
            schedule,
            buffers,
            cores,
        } = beneath;
        let sim = &sim;
        let geometry = schedule.geometry().clone();
        let unit = capacity.unit;
        Ftl {
            unit,
            mapping: RefCell::new(MappingTable::new(
                capacity.logical_pages,
                &config.mapping,
                geometry.page_bytes,
                config.keeps_mapping_pages(),
            )),
            is_cached: config.mapping.kind == MappingKind::Cached,
            write_backs: WriteBacks::new(sim, geometry.planes()),
            blocks: RefCell::new(Ftl::blocks_of(config, capacity, &geometry)),
            region: RefCell::new(Region::new(&geometry, unit.per_page())),
            region_changed: Broadcast::new(sim),
            cold: Broadcast::new(sim),
            data_pages: capacity.data_pages,
            planes: (0..geometry.planes())
                .map(|_| PlaneState {
                    space: Broadcast::new(sim),
                    exhausted: Cell::new(false),
                })
                .collect(),
            collections: Collections::new(
                &config.gc,
                geometry.planes(),
                geometry.blocks_per_plane,
                sim.random("garbage collection"),
            ),
            plane_order: config.plane_allocation.planes(&geometry),
            locks: RangeLock::new(sim),
            tombstones: RefCell::default(),
            facts: RefCell::new(Facts::new(geometry.page_bytes)),
            journal: JournalWriter::new(sim),
            deallocating: RefCell::default(),
            dump_frontier: Cell::default(),
            checkpoints: Checkpoints::new(sim),
            written: RefCell::new(WrittenSectors::new(config.partial_pages, unit.bytes())),
            versions: Versions::new(
                sim,
                &capacity,
                capacity.units_for_versions(config, &geometry),
            ),
            next_version: Cell::new(1),
            next_sequence: Cell::new(1),
            counts: RefCell::default(),
            config: config.clone(),
            schedule,
            buffers,
            cores,
            me: OnceCell::new(),
            geometry,
        }
    }

    /// The blocks of a drive, none of them free yet.
    fn blocks_of(config: &FtlConfig, capacity: Capacity, geometry: &Geometry) -> Blocks {
        let unit = capacity.unit;
        let shares = Shares {
            units_per_page: unit.per_page(),
            pages_per_block: geometry.pages_per_block(config.mode),
            slc_pages_per_block: geometry.pages_per_block(ProgramMode::Slc),
            slc_cache: config.slc_cache,
            reserve: gc::GC_RESERVE_BLOCKS,
            host_waits_below: config.gc.hard_threshold_blocks,
            opens_ahead: config.frontiers == Frontiers::Ahead,
            compute_blocks: capacity.compute_blocks_per_plane,
            data_units: capacity.data_pages_per_plane,
            dump_blocks: capacity.dump_blocks_per_plane,
        };
        let orders = Orders {
            free_by_wear: config.wear_levelling.dynamic,
            closed_by_wear: config.wear_levelling.keeps_order(),
            closed_by_age: config.gc.policy.keeps_order(),
        };
        Blocks::new(geometry, unit, shares, orders)
    }

    /// On a blank drive everything is free but what the factory marked bad.
    fn find_blank_blocks(&self) {
        let (mut blocks, nand) = (self.blocks.borrow_mut(), self.schedule.nand());
        let is_bad = |block| nand.block_state(block).condition == BlockCondition::Bad;
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            let mut of_plane = self.geometry.blocks_of_plane(plane).map(BlockId);
            if !of_plane.clone().any(is_bad) {
                blocks.fill(plane);
                continue;
            }
            for block in &mut of_plane {
                if is_bad(block) {
                    blocks.retire(block);
                } else {
                    blocks.add_free(block, 0);
                }
            }
        }
    }

    /// Itself, for a task of its own.
    fn myself(&self) -> Rc<Ftl> {
        let me = self.me.get().and_then(Weak::upgrade);
        me.expect("set when the layer began to serve, and whoever asks holds it")
    }

    /// The flash packages, to look at the state of blocks.
    pub(crate) fn nand(&self) -> Ref<'_, Nand> {
        self.schedule.nand()
    }

    /// Erases of all blocks so far, and how many blocks that is.
    pub(crate) fn wear(&self) -> (u64, u32) {
        (self.schedule.erases(), self.geometry.blocks())
    }

    /// How data is programmed.
    pub(crate) fn mode(&self) -> ProgramMode {
        self.config.mode
    }

    /// What an entry of the mapping table stands for.
    pub fn unit(&self) -> MappingUnit {
        self.unit
    }

    /// The plane whose turn a logical page is.
    #[inline]
    fn plane_for(&self, lpn: Lpn) -> PlaneId {
        self.turn(self.unit.page_number(lpn.0))
    }

    /// The plane whose turn a number is.
    #[inline]
    fn turn(&self, number: u32) -> PlaneId {
        self.plane_order[number as usize % self.plane_order.len()]
    }

    /// All slots of a page, if what takes the page as a whole is needed.
    #[inline]
    fn whole_if(&self, needed: bool) -> Slots {
        match needed {
            true => self.unit.all(),
            false => Slots::NONE,
        }
    }

    /// Whether the mapping table is kept on flash, too.
    fn keeps_mapping_pages(&self) -> bool {
        self.config.keeps_mapping_pages()
    }

    /// Pages exported.
    pub fn logical_pages(&self) -> u32 {
        self.mapping.borrow().len()
    }

    /// Of these, so many have room outside of what is kept for computing.
    pub fn data_pages(&self) -> u32 {
        self.data_pages
    }

    /// What the table says of a page.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Mapping {
        self.mapping.borrow().get(lpn)
    }

    /// What was done so far.
    pub fn counts(&self) -> FtlCounts {
        *self.counts.borrow()
    }

    /// A ticket to start reads with.
    #[inline]
    pub fn ticket(&self) -> Ticket<'_> {
        self.schedule.ticket()
    }

    /// Says whom reads started with [`crate::schedule::Notify::Reader`] tell.
    pub fn set_reader(&self, reader: Callback) {
        self.schedule.set_reader(reader);
    }

    /// The planes in the order in which consecutive logical pages visit them, a physical page's worth after the other.
    pub fn plane_order(&self) -> &[PlaneId] {
        &self.plane_order
    }

    /// An erased block may be used again.
    fn add_free(&self, block: BlockId) {
        let erases = self.schedule.nand().block_state(block).erase_count;
        self.blocks.borrow_mut().add_free(block, erases);
        self.collections.try_again();
    }

    fn next_version(&self) -> u64 {
        let version = self.next_version.replace(self.next_version.get() + 1);
        assert!(
            version < versions::TENTATIVE,
            "the drive outlived its numbers"
        );
        version
    }

    fn next_sequence(&self) -> u64 {
        self.next_sequence.replace(self.next_sequence.get() + 1)
    }

    #[inline]
    fn count(&self, change: impl FnOnce(&mut FtlCounts)) {
        change(&mut self.counts.borrow_mut());
    }
}

impl Part for Ftl {
    fn name(&self) -> &'static str {
        "ftl"
    }

    /// Collects garbage, and writes the mapping table.
    fn serve(self: Rc<Ftl>) {
        let fresh = self.me.set(Rc::downgrade(&self));
        debug_assert!(fresh.is_ok(), "a translation layer serves once");
        let sim = self.schedule.sim();
        self.start_collecting();
        self.look_at_region();
        if self.keeps_mapping_pages() {
            self.start_fetching();
            self.start_writing_back(sim);
        }
        sim.spawn_detached(self.clone().make_checkpoints());
    }
}
