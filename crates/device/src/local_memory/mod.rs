//! Memory that the host and its programs share with the drive (Subsystem Local Memory): bytes of the drive's DRAM which the host
//! reads, writes and copies to and from flash, and ranges of which programs see as files.
//!
//! It is volatile, and zero when the power comes. What moves into and out of it takes the time of the DRAM. Without data only that
//! time passes.

mod config;
mod sets;
mod store;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use media::dram::{Dram, Toward};
use nvme::Status;
use sim::{Requester, Sim};

use crate::backend::Backend;
use crate::memory::Partition;
use crate::part::Part;
pub use config::LocalMemoryConfig;
pub use sets::RangeSet;
use sets::Sets;
use store::Store;

/// What places and lengths are multiples of, in bytes.
pub const GRANULARITY: u32 = 4;

/// The memory, and which ranges of it programs may see.
pub struct LocalMemory {
    sim: Sim,
    dram: Rc<Dram>,
    part: Partition,
    config: LocalMemoryConfig,
    has_data: bool,
    store: RefCell<Store>,
    sets: RefCell<Sets>,
}

impl LocalMemory {
    /// The memory, zero, and no sets.
    pub fn power_up(backend: &Backend, config: &LocalMemoryConfig) -> Rc<LocalMemory> {
        Rc::new(LocalMemory {
            sim: backend.sim.clone(),
            dram: backend.dram.clone(),
            part: backend.dram_map.local,
            config: config.clone(),
            has_data: backend.buffers.stores_data(),
            store: RefCell::default(),
            sets: RefCell::default(),
        })
    }

    /// How many bytes there are; with none, there are no namespaces of it.
    pub fn bytes(&self) -> u64 {
        self.config.bytes
    }

    /// How many sets there may be, and ranges of each.
    pub fn limits(&self) -> (u16, u8) {
        (self.config.range_sets, self.config.ranges)
    }

    /// Whether bytes are kept, or only time.
    pub fn has_data(&self) -> bool {
        self.has_data
    }

    /// Where it lies in the DRAM.
    pub(crate) fn part(&self) -> Partition {
        self.part
    }

    /// Bytes that a command names.
    ///
    /// # Errors
    /// Invalid Field for bytes that there are not.
    pub fn range(&self, start: u64, bytes: u64) -> Result<Range<u64>, Status> {
        match start.checked_add(bytes) {
            Some(end) if end <= self.bytes() => Ok(start..end),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Reads bytes, which are there, for `requester`; zeroes without data.
    pub async fn read(&self, requester: impl Into<Requester>, range: &Range<u64>) -> Vec<u8> {
        self.access(requester.into(), range, Toward::Reader).await;
        self.at_once(range)
    }

    /// Writes bytes from `start` on, all of which are there, for `requester`.
    pub async fn write(&self, requester: impl Into<Requester>, start: u64, bytes: &[u8]) {
        let range = start..start + bytes.len() as u64;
        self.access(requester.into(), &range, Toward::Cells).await;
        self.put_at_once(start, bytes);
    }

    /// What bytes hold now, for whoever has paid for the way from here.
    pub(crate) fn at_once(&self, range: &Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        if self.has_data {
            self.store.borrow().read(range.start, &mut bytes);
        }
        bytes
    }

    /// Has bytes hold others from now on, for whoever has paid for the way here.
    pub(crate) fn put_at_once(&self, start: u64, bytes: &[u8]) {
        if self.has_data {
            self.store.borrow_mut().write(start, bytes);
        }
    }

    /// Makes all of it zero.
    pub async fn erase(&self, requester: impl Into<Requester>) {
        let all = 0..self.bytes();
        self.access(requester.into(), &all, Toward::Cells).await;
        self.store.borrow_mut().clear();
    }

    async fn access(&self, requester: Requester, range: &Range<u64>, toward: Toward) {
        let bytes = range.end - range.start;
        if bytes > 0 {
            let address = self.part.address(range.start);
            let over = self.dram.post(requester, address, bytes, toward);
            self.sim.sleep_until(over).await;
        }
    }

    /// Makes a set of ranges; gives its identifier.
    ///
    /// # Errors
    /// As [`RangeSet::new`]; Maximum Memory Range Sets Exceeded.
    pub fn create_set(&self, ranges: Vec<Range<u64>>) -> Result<u16, Status> {
        let set = RangeSet::new(ranges, self.bytes())?;
        self.sets.borrow_mut().create(set, self.config.range_sets)
    }

    /// Removes a set.
    ///
    /// # Errors
    /// Invalid Memory Range Set Identifier; Memory Range Set In Use while a run sees it.
    pub fn delete_set(&self, set: u16) -> Result<(), Status> {
        self.sets.borrow_mut().delete(set)
    }

    /// A set, which stays while this is held.
    ///
    /// # Errors
    /// Invalid Memory Range Set Identifier.
    pub fn set(&self, set: u16) -> Result<Rc<RangeSet>, Status> {
        self.sets.borrow().get(set)
    }

    /// Removes all sets, none of which a run sees.
    pub fn forget_sets(&self) {
        self.sets.borrow_mut().clear();
    }

    /// The sets that there are, and their ranges.
    pub fn sets(&self) -> Vec<(u16, Vec<Range<u64>>)> {
        let sets = self.sets.borrow();
        let told = |(id, set): (u16, &RangeSet)| (id, set.ranges().to_vec());
        sets.iter().map(told).collect()
    }
}

impl Part for LocalMemory {
    fn name(&self) -> &'static str {
        "local memory"
    }
}
