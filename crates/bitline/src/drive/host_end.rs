//! The host's end of a drive.

use std::ops::Range;
use std::rc::Rc;

use device::Device;
use device::cache::Cache;
use device::ftl::{Ftl, Lpn, Mapping};
use host::bits::BitsDevice;
use host::block::BlockDevice;
use sim::Sim;

use super::{InsideHost, LogicalPages, NAMESPACE};
use crate::bits::{Batches, Computer, Outlooks};
use crate::driver::{Driver, Queue};
use crate::volume::Mount;

/// The host's end of a powered drive, for code that runs in simulated time.
/// Cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub(super) sim: Sim,
    pub(super) driver: Rc<Driver>,
    pub(crate) block: BlockDevice<Queue>,
    pub(crate) bits: BitsDevice<Queue>,
    /// The drive's volume and what is in it.
    pub(crate) mount: Rc<Mount>,
    /// Logical blocks that are for vectors.
    pub(super) area: Range<u64>,
    /// Dies of the drive.
    pub(crate) dies: u32,
    /// Whether some of these blocks of the first namespace hold data.
    pub(super) holds_data: Rc<dyn Fn(Range<u64>) -> bool>,
    pub(crate) computer: Rc<Computer>,
    /// What is known before an evaluation of what it takes.
    pub(crate) outlooks: Rc<Outlooks>,
    /// How vectors are divided into batches.
    pub(crate) batches: Batches,
    /// Whether the drive keeps data, or only time.
    pub(crate) stores_data: bool,
}

impl Host {
    /// Whether some of these blocks hold data, on flash or in the cache.
    pub(crate) fn holds_data(&self, blocks: Range<u64>) -> bool {
        (self.holds_data)(blocks)
    }

    /// Waits until the drive has carried out what calls that were broken off had sent.
    pub(crate) async fn nothing_left(&self) {
        self.driver.nothing_left().await;
    }

    /// The clock, for sleeping, spawning and randomness.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// The logical blocks that are for vectors, after those for ordinary data.
    pub fn area(&self) -> Range<u64> {
        self.area.clone()
    }

    /// Number of queue pairs.
    pub fn queue_pairs(&self) -> usize {
        self.driver.queue_pairs()
    }

    /// The same host, with blocks and expressions through queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair.
    pub(crate) async fn through(&self, pair: usize) -> Result<Host, host::Error> {
        if pair == 0 {
            return Ok(self.clone());
        }
        let block = self.block_on_queue(pair).await?;
        Ok(Host {
            bits: BitsDevice::new(block.clone()),
            block,
            ..self.clone()
        })
    }
}

/// The last blocks of the first namespace: as large a share of it as of the drive is what computing's share can hold.
pub(super) fn area(device: &Device, block: &BlockDevice<Queue>) -> Range<u64> {
    let (all, data) = (device.ftl.logical_pages(), device.ftl.data_pages());
    let pages = device.controller.pages_of(NAMESPACE);
    // In whole flash pages, which is what vectors take.
    let unit = device.ftl.unit();
    let pages = pages.map_or(0, |pages| {
        u64::from(unit.page_number(pages.end - pages.start))
    });
    let area = pages * u64::from(all - data) / u64::from(all.max(1));
    let page_blocks = u64::from(block.preferred_write_blocks());
    (pages - area) * page_blocks..pages * page_blocks
}

/// Tells of blocks of the first namespace whether some of them hold data.
pub(super) fn holds_data(device: &Device, pages: LogicalPages) -> Rc<dyn Fn(Range<u64>) -> bool> {
    let (ftl, cache) = (device.ftl.clone(), device.cache.clone());
    Rc::new(move |blocks| {
        let mut pages = pages.touched(blocks);
        pages.any(|page| page_holds_data(&ftl, &cache, Lpn(page)))
    })
}

/// Whether a logical page holds data, on flash or in the cache.
pub(crate) fn page_holds_data(ftl: &Ftl, cache: &Cache, lpn: Lpn) -> bool {
    matches!(ftl.lookup(lpn), Mapping::Data(_)) || cache.has_unsaved(lpn)
}
