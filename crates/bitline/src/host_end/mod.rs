//! The host's end of a drive: its queues, what it computes with, and what it knows of the volume of named objects.

mod area;
mod card;
mod collecting;
mod connected;
mod guard;
mod index;
mod learned;
mod machine;
mod mount;
mod programs;
mod receiver;
mod reserved;
mod uses;

use std::ops::Range;
use std::rc::Rc;

use host::bits::BitsDevice;
use host::block::BlockDevice;
use nvme::NamespaceId;
use sim::Sim;

use crate::driver::{Driver, Queue};
use crate::platforms::{Batches, Computer, Outlooks};

use card::Card;
pub(crate) use collecting::{Collecting, Growth, LOOK_AGAIN};
pub(crate) use guard::Plain;
pub(crate) use index::{Index, id_of};
pub(crate) use learned::{Informant, Learned};
pub(crate) use machine::{HostMachine, ORIGIN};
pub(crate) use mount::{Absent, Kept, Mount};
pub use programs::Program;
pub(crate) use programs::Programs;
use receiver::Receiver;
pub(crate) use reserved::{HeldPages, Writing, erased};
pub(crate) use uses::{Held, Holder, Using};

pub(crate) const NAMESPACE: NamespaceId = NamespaceId::new(1);

/// The volume that the host library keeps on a drive.
pub(crate) type DriveVolume = host::volume::Volume<Queue>;

/// The host's end of a powered drive, for code that runs in simulated time.
/// Cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub(crate) sim: Sim,
    pub(crate) driver: Rc<Driver>,
    pub(crate) block: BlockDevice<Queue>,
    pub(crate) bits: BitsDevice<Queue>,
    /// The drive's volume and what is in it.
    pub(crate) mount: Rc<Mount>,
    /// Who tells what no command of the standard does.
    pub(crate) informant: Informant,
    /// What was told.
    pub(crate) learned: Learned,
    pub(crate) computer: Rc<Computer>,
    /// What runs tasks that the drive does not run.
    pub(crate) machine: Rc<HostMachine>,
    /// A card that computes beside the drive.
    pub(crate) card: Rc<Card>,
    /// A card that collectors are connected to, if not to the drive.
    pub(crate) receiver: Rc<Receiver>,
    /// What is known before an evaluation of what it takes.
    pub(crate) outlooks: Rc<Outlooks>,
    /// How vectors are divided into batches.
    pub(crate) batches: Batches,
    /// Whether the drive keeps data, or only time.
    pub(crate) stores_data: bool,
    /// Programs that were loaded, so that none is loaded twice.
    pub(crate) programs: Rc<Programs>,
    /// What is known of collectors.
    pub(crate) collecting: Rc<Collecting>,
}

impl Host {
    /// Whether some of these blocks hold data, on flash or in the cache.
    pub(crate) async fn holds_data(&self, blocks: Range<u64>) -> Result<bool, host::Error> {
        let pages = &self.learned.pages;
        let touched = pages.touched(blocks);
        self.informant.holds_data(pages, touched, &self.block).await
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
        self.learned.area.clone()
    }

    /// Number of queue pairs.
    pub fn queue_pairs(&self) -> usize {
        self.driver.queue_pairs()
    }

    /// A namespace as a block device, on queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair or namespace.
    pub(crate) async fn namespace_on(
        &self,
        pair: usize,
        namespace: NamespaceId,
    ) -> Result<BlockDevice<Queue>, host::Error> {
        let queue = Queue::new(self.driver.clone(), pair)?;
        let block = BlockDevice::open(queue, namespace).await?;
        Ok(block.keeping_data(self.stores_data))
    }

    /// The same host, with blocks and expressions through queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair.
    pub(crate) async fn through(&self, pair: usize) -> Result<Host, host::Error> {
        if pair == 0 {
            return Ok(self.clone());
        }
        let block = self.namespace_on(pair, NAMESPACE).await?;
        Ok(Host {
            bits: BitsDevice::new(block.clone()),
            block,
            ..self.clone()
        })
    }
}
