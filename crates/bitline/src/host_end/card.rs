//! A card in the host that computes as the drive does, to compare with: the drive's cores, accelerators and DRAM on a link of their own,
//! without its flash (the compute-centric architecture of TH-iSSD 4.1.2).

use std::cell::RefCell;
use std::rc::Rc;

use device::{Device, MediaState, tenants};
use media::nand::{Nand, Storage};
use sim::resource::Semaphore;
use sim::{Energy, Ledger, Sim};

use super::Host;
use crate::config::{CardConfig, Config, StorageKind};
use crate::driver::Driver;
use crate::error::Error;

/// Blocks of each plane of the flash that a card does not have: firmware wants some, and nothing is ever written there.
const BLOCKS_PER_PLANE: u32 = 64;

/// What of a card is not there, whatever its firmware takes it to spend.
const NOT_THERE: [&str; 2] = ["nand", "channel"];

/// The card, which is there from the first use on.
pub(crate) struct Card {
    sim: Sim,
    config: Config,
    ledger: Rc<Ledger>,
    turn: Semaphore,
    powered: RefCell<Option<Powered>>,
}

struct Powered {
    /// The host's end of it.
    host: Host,
    /// Kept for as long as there is power.
    _device: Rc<Device>,
}

impl Card {
    /// One that nobody has used, of a host before a drive of this configuration; `ledger` meters what it will spend.
    pub(crate) fn new(sim: &Sim, config: &Config, ledger: &Rc<Ledger>) -> Card {
        let mut card = config.clone();
        card.device.link = config.host.card.link.clone();
        let blocks = &mut card.device.nand.geometry.blocks_per_plane;
        *blocks = BLOCKS_PER_PLANE.min(*blocks);
        Card {
            sim: sim.clone(),
            config: card,
            ledger: ledger.clone(),
            turn: Semaphore::new(sim, 1),
            powered: RefCell::new(None),
        }
    }

    /// What the configuration says of it.
    pub(crate) fn config(&self) -> &CardConfig {
        &self.config.host.card
    }

    /// Bytes of a piece of a stream that asks for none.
    pub(crate) fn piece_bytes(&self) -> u32 {
        self.config.device.stream.piece_bytes
    }

    /// The host's end of it, as of a drive on which nothing is stored.
    ///
    /// # Errors
    /// A configuration of which no card can be made.
    pub(crate) async fn host(&self) -> Result<Host, Error> {
        let _turn = self.turn.acquire(1).await;
        if let Some(powered) = &*self.powered.borrow() {
            return Ok(powered.host.clone());
        }
        let powered = self.power_up().await?;
        let host = powered.host.clone();
        self.powered.replace(Some(powered));
        Ok(host)
    }

    async fn power_up(&self) -> Result<Powered, Error> {
        let config = &self.config;
        let storage = match config.data.storage {
            StorageKind::None => Storage::None,
            StorageKind::Memory | StorageKind::Image => Storage::Memory,
        };
        let nand = Nand::open(&config.device.nand, storage)?;
        let driver = Driver::new(&self.sim, &Rc::default())?;
        let device = Device::power_up(
            &self.sim,
            &config.device,
            Rc::new(RefCell::new(nand)),
            MediaState::Blank,
            driver.port(),
            driver.admin_queues(),
        );
        let device = Rc::new(device.await?);
        let host = Host::connect(&self.sim, config, &device, driver, false).await?;
        self.meter(&device);
        Ok(Powered {
            host,
            _device: device,
        })
    }

    /// Has the drive's ledger tell what the card spends.
    fn meter(&self, device: &Rc<Device>) {
        let card = device.ledger.clone();
        let spent = move || -> Energy {
            let accounts = card.accounts();
            let there = accounts.iter();
            let there = there.filter(|account| !NOT_THERE.contains(&account.component));
            there.map(|account| account.energy).sum()
        };
        let (shared, streams) = (spent.clone(), device.streams.clone());
        let read = move || (spent(), streams.counts().opened);
        let share = move |tenant| match tenant {
            tenants::HOST => shared(),
            _ => Energy::ZERO,
        };
        self.ledger.meter("host", "card", read, share);
    }
}
