//! A host's end of a device that has just been powered up.

use std::rc::Rc;

use device::Device;
use host::bits::BitsDevice;
use host::block::BlockDevice;
use nvme::QueuePriority;
use sim::Sim;

use super::card::Card;
use super::receiver::Receiver;
use super::{Collecting, Host, HostMachine, Informant, Mount, NAMESPACE, Programs};
use crate::config::{Config, StorageKind};
use crate::driver::{Controller, Driver, Queue};
use crate::error::Error;
use crate::platforms::{Batches, Computer};

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
        driver.connect(Controller::Here(device.controller.clone()));
        let informant = Informant::beside(device);
        Host::of(sim, config, informant, driver, is_used).await
    }

    /// The host's end of what a driver is connected to.
    ///
    /// # Errors
    /// What the drive reports.
    pub(crate) async fn of(
        sim: &Sim,
        config: &Config,
        informant: Informant,
        driver: Rc<Driver>,
        is_used: bool,
    ) -> Result<Host, Error> {
        let host_config = &config.host;
        let classes = host_config.queue_priorities.iter();
        let priorities: Vec<QueuePriority> =
            classes.map(|class| QueuePriority::from(*class)).collect();
        let (pairs, entries) = informant.queues(host_config);
        driver.create_pairs(pairs, entries, &priorities).await?;
        let queue = Queue::new(driver.clone(), 0)?;
        let stores_data = config.data.storage != StorageKind::None;
        let block = BlockDevice::open(queue, NAMESPACE).await?;
        let block = block.keeping_data(stores_data);
        let learned = informant.learn(&block).await?;
        let ledger = &informant.ledger;
        let computer = Rc::new(Computer::new(sim, host_config, ledger));
        let outlooks = informant.outlooks(config, &learned);
        let batches = Batches::new(
            config.device.nand.geometry.page_bytes,
            host_config.batch_bytes.min(informant.transfer_max(&block)),
        );
        Ok(Host {
            bits: BitsDevice::new(block.clone()),
            mount: Rc::new(Mount::new(sim, is_used)),
            outlooks: Rc::new(outlooks),
            block,
            machine: Rc::new(HostMachine::new(sim, config, &computer, ledger)),
            card: Rc::new(Card::new(sim, config, ledger)),
            receiver: Rc::new(Receiver::new(sim, config, ledger)),
            computer,
            batches,
            stores_data,
            programs: Rc::new(Programs::new(sim)),
            collecting: Rc::new(Collecting::new(sim)),
            driver,
            informant,
            learned,
            sim: sim.clone(),
        })
    }
}
