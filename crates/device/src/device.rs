//! A drive put together from its configuration, powered up on its media.

use std::cell::RefCell;
use std::rc::Rc;

use media::channel::Channel;
use media::dram::Dram;
use media::link::Link;
use media::nand::{BlockId, Failures, Nand, PlaneId};
use sim::{Energy, Ledger, Sim};

use crate::bits::Bits;
use crate::bits::meet::estimate::Rates;
use crate::buffer::Buffers;
use crate::cache::{CACHE_PART, Cache};
use crate::config::{ConfigError, DeviceConfig};
use crate::frontend::{AdminQueues, Controller, HostPort, HostTransfer};
use crate::ftl::{Capacity, Ftl, Recovered};
use crate::memory::{Capacitor, Dumped};
use crate::schedule::Schedule;

/// A powered drive: everything volatile. Dropping it, and the tasks of its
/// simulation, is a power cut; the media stays with whoever holds it.
pub struct Device {
    /// The front end.
    pub controller: Rc<Controller>,
    /// The data cache.
    pub cache: Rc<Cache>,
    /// The drive's DRAM.
    pub dram: Rc<Dram>,
    /// The translation layer.
    pub ftl: Rc<Ftl>,
    /// Bulk bitwise computing.
    pub bits: Rc<Bits>,
    /// The flash back end.
    pub schedule: Rc<Schedule>,
    /// The channels.
    pub channels: Vec<Rc<Channel>>,
    /// The host link.
    pub link: Rc<Link>,
    /// Who spent how much energy.
    pub ledger: Rc<Ledger>,
    /// What power-up found on the media; nothing on a blank drive.
    pub recovered: Option<Recovered>,
    capacitor: Capacitor,
}

/// What is known of the media at power-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaState {
    /// Fresh from the factory: nothing was ever programmed.
    Blank,
    /// An earlier life may have left something.
    Used,
}

/// Why a drive does not power up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PowerUpError {
    /// Its configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The host's admin queues are.
    #[error("the admin queues cannot be created: {0}")]
    AdminQueues(nvme::Status),
}

impl Device {
    /// Powers a drive up on `nand`. Unless the media is blank, the tables are
    /// rebuilt from it, which takes simulated time.
    ///
    /// # Errors
    /// A configuration or admin queues that cannot work.
    pub async fn power_up(
        sim: &Sim,
        config: &DeviceConfig,
        nand: Rc<RefCell<Nand>>,
        media: MediaState,
        host: HostPort,
        admin: AdminQueues,
    ) -> Result<Device, PowerUpError> {
        let capacity = config.validate()?;
        let geometry = nand.borrow().geometry().clone();
        seed_cells(sim, &nand);
        inject_failures(sim, config, &nand);
        let ledger = Rc::new(Ledger::default());
        let link = Link::new(sim, &config.link, &ledger);
        let channels: Vec<Rc<Channel>> = (0..geometry.channels as usize)
            .map(|number| Channel::new(sim, &config.channel, number))
            .collect();
        let metered = channels.clone();
        ledger.meter("channel", "data", move || {
            let readings = metered.iter().map(|channel| channel.energy());
            readings.fold((Energy::ZERO, 0), |sum, (energy, count)| {
                (sum.0 + energy, sum.1 + count)
            })
        });
        let stores_data = nand.borrow().holds_data();
        let buffers = Rc::new(Buffers::new(geometry.page_bytes as usize, stores_data));
        let schedule = Schedule::start(
            sim,
            &config.schedule,
            nand,
            &channels,
            buffers.clone(),
            &ledger,
        );
        let (ftl, recovered) = if media == MediaState::Blank {
            mark_factory_bad_blocks(sim, config, capacity, schedule.nand());
            (
                Ftl::blank(
                    sim,
                    &config.ftl,
                    capacity,
                    schedule.clone(),
                    buffers.clone(),
                ),
                None,
            )
        } else {
            let recovery = Ftl::recover(
                sim,
                &config.ftl,
                capacity,
                schedule.clone(),
                buffers.clone(),
            );
            let (ftl, recovered) = recovery.await;
            (ftl, Some(recovered))
        };
        let dram = Dram::new(sim, &config.dram, &ledger);
        let cache = Cache::new(
            sim,
            &config.cache,
            ftl.clone(),
            buffers.clone(),
            dram.clone(),
            &geometry,
        );
        let mut capacitor = Capacitor::new(config.claims());
        capacitor.cover(CACHE_PART, cache.clone());
        let transfer = Rc::new(HostTransfer::new(
            sim,
            link.clone(),
            host.memory.clone(),
            buffers.clone(),
        ));
        let bits = Bits::power_up(
            sim,
            &config.bits,
            Rates::new(&config.nand, &config.channel, &config.link, &config.bits),
            schedule.clone(),
            ftl.clone(),
            buffers.clone(),
            transfer.clone(),
            &ledger,
            recovered.as_ref(),
        );
        let bits = bits.await;
        let controller = Controller::enable(
            sim,
            &config.frontend,
            link.clone(),
            ftl.clone(),
            cache.clone(),
            buffers,
            geometry.page_bytes,
            host,
            admin,
            transfer,
            bits.clone(),
            &ledger,
        )
        .map_err(PowerUpError::AdminQueues)?;
        controller.resume(media == MediaState::Blank).await;
        Ok(Device {
            controller,
            cache,
            dram,
            ftl,
            bits,
            schedule,
            channels,
            link,
            ledger,
            recovered,
            capacitor,
        })
    }

    /// The power is gone: tasks have been dropped, and what the flash was at is torn. The
    /// capacitor saves what it covers; that takes no simulated time.
    pub fn power_lost(&self) -> Dumped {
        self.capacitor.power_lost(&self.ftl)
    }
}

/// Marks blocks bad as a factory does before a drive is used for the first time.
fn mark_factory_bad_blocks(
    sim: &Sim,
    config: &DeviceConfig,
    capacity: Capacity,
    nand: &RefCell<Nand>,
) {
    let rate = config.faults.factory_bad_blocks_per_million;
    if rate == 0 {
        return;
    }
    let mut random = sim.random("factory bad blocks");
    let mut nand = nand.borrow_mut();
    let geometry = nand.geometry().clone();
    for plane in (0..geometry.planes()).map(PlaneId) {
        let mut spare = capacity.spare_blocks_per_plane;
        for block in geometry.blocks_of_plane(plane).map(BlockId) {
            let bad = random.below(1_000_000) < u64::from(rate);
            if bad && spare > 0 {
                let marked = nand.mark_bad(block);
                debug_assert!(marked.is_ok(), "marking a block bad: {marked:?}");
                spare -= 1;
            }
        }
    }
}

/// Gives the drive its own weak cells and good blocks, the same in every life.
fn seed_cells(sim: &Sim, nand: &RefCell<Nand>) {
    nand.borrow_mut().set_seed(sim.random("cells").bits());
}

/// Lets programs and erases fail as configured, from a stream of their own.
fn inject_failures(sim: &Sim, config: &DeviceConfig, nand: &RefCell<Nand>) {
    let faults = &config.faults;
    let any = faults.program_failures_per_million > 0 || faults.erase_failures_per_million > 0;
    // Each life has a stream of its own; one for all would begin anew with each.
    let mut random = sim.random(&format!("faults from {} on", sim.now().as_ps()));
    nand.borrow_mut().set_failures(any.then(|| Failures {
        program_per_million: faults.program_failures_per_million,
        erase_per_million: faults.erase_failures_per_million,
        draw: Box::new(move || random.bits()),
    }));
}
