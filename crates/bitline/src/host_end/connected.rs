//! A host's end of a device that has just been powered up.

use std::rc::Rc;

use device::Device;
use host::bits::BitsDevice;
use host::block::BlockDevice;
use nvme::QueuePriority;
use sim::Sim;

use super::card::Card;
use super::receiver::Receiver;
use super::{Collecting, Host, HostMachine, Mount, NAMESPACE, Programs, area, holds_data};
use crate::config::{Config, StorageKind};
use crate::driver::{Driver, Queue};
use crate::error::Error;
use crate::logical_pages::LogicalPages;
use crate::platforms::{Batches, Computer, Outlooks};

impl Host {
    /// Connects a driver to a device, and finds out what is there; `is_used` says whether its media may hold a volume.
    ///
    /// # Errors
    /// What the device reports.
    pub(crate) async fn connect(
        sim: &Sim,
        config: &Config,
        device: &Device,
        driver: Rc<Driver>,
        is_used: bool,
    ) -> Result<Host, Error> {
        let host_config = &config.host;
        let classes = host_config.queue_priorities.iter();
        let priorities: Vec<QueuePriority> =
            classes.map(|class| QueuePriority::from(*class)).collect();
        let connected = driver.connect(
            device.controller.clone(),
            host_config.queue_pairs,
            host_config.queue_entries,
            &priorities,
        );
        connected.await?;
        let queue = Queue::new(driver.clone(), 0)?;
        let stores_data = config.data.storage != StorageKind::None;
        let block = BlockDevice::open(queue, NAMESPACE).await?;
        let block = block.keeping_data(stores_data);
        let pages = LogicalPages::of(device, NAMESPACE, block.block_bytes());
        let computer = Rc::new(Computer::new(sim, host_config, &device.ledger));
        Ok(Host {
            bits: BitsDevice::new(block.clone()),
            mount: Rc::new(Mount::new(sim, is_used)),
            area: area(device, &block),
            holds_data: holds_data(device, pages.clone()),
            outlooks: Rc::new(Outlooks::of(device, config, pages)),
            dies: device.schedule.geometry().dies(),
            block,
            machine: Rc::new(HostMachine::new(sim, config, &computer, &device.ledger)),
            card: Rc::new(Card::new(sim, config, &device.ledger)),
            receiver: Rc::new(Receiver::new(sim, config, &device.ledger)),
            computer,
            batches: Batches::new(
                config.device.nand.geometry.page_bytes,
                host_config.batch_bytes,
            ),
            stores_data,
            programs: Rc::new(Programs::new(sim)),
            collecting: Rc::new(Collecting::new(sim)),
            driver,
            sim: sim.clone(),
        })
    }
}
