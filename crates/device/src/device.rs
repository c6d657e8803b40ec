//! A drive put together from its configuration, powered up on its media.

use std::cell::RefCell;
use std::rc::Rc;

use media::channel::Channel;
use media::dram::Dram;
use media::link::Link;
use media::nand::Nand;
use nvme::Dma;
use sim::{Energy, Ledger, Sim};

use crate::accelerators::Accelerators;
use crate::backend::Backend;
use crate::bits::Bits;
use crate::cache::Cache;
use crate::config::{ConfigError, DeviceConfig};
use crate::cores::Cores;
use crate::faults::{inject_failures, mark_factory_bad_blocks, seed_cells};
use crate::frontend::{AdminQueues, Controller, Jobs};
use crate::ftl::{Beneath, Capacity, Ftl, MappingUnit, Recovered};
use crate::local_memory::LocalMemory;
use crate::memory::{BufferSizes, Buffers, Capacitor, DramMap, Dumped};
use crate::part::Parts;
use crate::port::{HostPort, HostTransfer};
use crate::programs::Programs;
use crate::schedule::Schedule;
use crate::search::Search;
use crate::stream::{Collectors, Streams};
use crate::task::Tasks;
use crate::tenants;
use crate::tx::Transactions;

/// A powered drive: everything volatile. Dropping it, and the tasks of its
/// simulation, is a power cut; the media stays with whoever holds it.
pub struct Device {
    /// The front end.
    pub controller: Rc<Controller>,
    /// The data cache.
    pub cache: Rc<Cache>,
    /// The drive's DRAM.
    pub dram: Rc<Dram>,
    /// What of it is whose.
    pub dram_map: DramMap,
    /// The controller's cores.
    pub cores: Rc<Cores>,
    /// The accelerators beside them.
    pub accelerators: Rc<Accelerators>,
    /// The translation layer.
    pub ftl: Rc<Ftl>,
    /// Bulk bitwise computing.
    pub bits: Rc<Bits>,
    /// Name-value lookup.
    pub search: Rc<Search>,
    /// Tasks that run inside the drive.
    pub tasks: Rc<Tasks>,
    /// Transactions over files.
    pub tx: Rc<Transactions>,
    /// Streams.
    pub streams: Rc<Streams>,
    /// Collections.
    pub collectors: Rc<Collectors>,
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
    parts: Parts,
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
        sim.trace().name_tenants(tenants::name);
        let blank = media == MediaState::Blank;
        seed_cells(sim, &nand);
        inject_failures(sim, &config.faults, &nand);
        if blank {
            mark_factory_bad_blocks(sim, &config.faults, capacity, &nand);
        }
        let mut parts = Parts::default();
        let flash = Flash::power_up(sim, config, capacity, nand);
        parts.serve(flash.beneath.schedule.clone());
        let ftl = Ftl::power_up(flash.beneath.clone(), &config.ftl, capacity, blank);
        let (ftl, recovered) = ftl.await;
        parts.serve(ftl.clone());
        let channels = flash.channels.clone();
        let backend = flash.backend(config, capacity, ftl, host.memory.clone())?;
        let cache = Cache::power_up(&backend, &config.cache);
        parts.serve(cache.clone());
        let model = config.cost_model();
        let bits = Bits::power_up(&backend, &config.bits, model, cache.clone());
        parts.serve(bits.clone());
        let search = Search::power_up(&backend, &config.search, cache.clone(), blank).await;
        parts.serve(search.clone());
        let tasks = Tasks::power_up(&backend, &config.task);
        parts.serve(tasks.clone());
        let tx = Transactions::power_up(&backend, &config.tx, cache.clone());
        parts.serve(tx.clone());
        let local_memory = LocalMemory::power_up(&backend, &config.local_memory);
        parts.serve(local_memory.clone());
        let programs = Programs::power_up(
            &backend,
            &config.task,
            (bits.clone(), search.clone()),
            (tasks.clone(), tx.clone(), local_memory.clone()),
        );
        parts.serve(programs.clone());
        let streams = Streams::power_up(
            &backend,
            &config.stream,
            (programs.clone(), tasks.clone(), tx.clone()),
        );
        parts.serve(streams.clone());
        let collectors =
            Collectors::power_up(&backend, &config.collector, (tx.clone(), streams.clone()));
        parts.serve(collectors.clone());
        let controller = Controller::power_up(
            &backend,
            &config.frontend,
            Jobs {
                cache: cache.clone(),
                bits: bits.clone(),
                search: search.clone(),
                programs: programs.clone(),
                local_memory,
                streams: streams.clone(),
                collectors: collectors.clone(),
            },
            host,
            admin,
            blank,
        );
        let controller = controller.await.map_err(PowerUpError::AdminQueues)?;
        parts.serve(controller.clone());
        Ok(Device {
            controller,
            cache,
            bits,
            search,
            tasks,
            tx,
            streams,
            collectors,
            channels,
            link: backend.port.link().clone(),
            dram: backend.dram,
            dram_map: backend.dram_map,
            cores: backend.cores,
            accelerators: backend.accelerators,
            ftl: backend.ftl,
            schedule: backend.schedule,
            ledger: backend.ledger,
            recovered,
            capacitor: config.powered_capacitor(),
            parts,
        })
    }

    /// The names of the parts in the order of power-up.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.parts.names()
    }

    /// The power is gone: tasks have been dropped, and what the flash was at is torn. The
    /// capacitor saves what it covers; that takes no simulated time.
    pub fn power_lost(&self) -> Dumped {
        self.parts.power_lost(&self.capacitor)
    }
}

/// The link, the flash, and what commands it.
struct Flash {
    link: Rc<Link>,
    channels: Vec<Rc<Channel>>,
    beneath: Beneath,
    ledger: Rc<Ledger>,
}

impl Flash {
    fn power_up(
        sim: &Sim,
        config: &DeviceConfig,
        capacity: Capacity,
        nand: Rc<RefCell<Nand>>,
    ) -> Flash {
        // What spends energy is named in the ledger in this order.
        let ledger = Rc::new(Ledger::default());
        let link = Link::new(sim, &config.link, &ledger);
        let channels = channels(sim, config, &ledger);
        let sizes = buffer_sizes(capacity.unit);
        let buffers = Rc::new(Buffers::of(sim, &config.memory, sizes, &nand.borrow()));
        let cores = Cores::new(sim, &config.cores, &ledger);
        let schedule = Schedule::power_up(
            sim,
            &config.schedule,
            nand,
            &channels,
            buffers.clone(),
            &ledger,
        );
        Flash {
            link,
            channels,
            beneath: Beneath {
                sim: sim.clone(),
                schedule,
                buffers,
                cores,
            },
            ledger,
        }
    }

    /// With the translation layer and the DRAM, what jobs work with.
    fn backend(
        self,
        config: &DeviceConfig,
        capacity: Capacity,
        ftl: Rc<Ftl>,
        memory: Rc<RefCell<dyn Dma>>,
    ) -> Result<Backend, ConfigError> {
        let Beneath {
            sim,
            schedule,
            buffers,
            cores,
        } = self.beneath;
        let dram = Dram::new(&sim, &config.dram, &self.ledger, tenants::DRIVE);
        let dram_map = config.dram_map(capacity)?;
        let operands = (&dram, dram_map.tasks);
        Ok(Backend {
            accelerators: Accelerators::new(&sim, &config.accelerator, operands, &self.ledger),
            dram,
            dram_map,
            cores,
            port: Rc::new(HostTransfer::new(&sim, self.link, memory, buffers.clone())),
            ledger: self.ledger,
            schedule,
            ftl,
            buffers,
            sim,
        })
    }
}

/// What buffers hold where logical pages are so long.
fn buffer_sizes(unit: MappingUnit) -> BufferSizes {
    BufferSizes {
        page: unit.page_bytes(),
        slot: unit.bytes(),
        record: unit.record_bytes(),
    }
}

/// The channels, and what they spent.
fn channels(sim: &Sim, config: &DeviceConfig, ledger: &Ledger) -> Vec<Rc<Channel>> {
    let channels: Vec<Rc<Channel>> = (0..config.nand.geometry.channels as usize)
        .map(|number| Channel::new(sim, &config.channel, number))
        .collect();
    let metered = channels.clone();
    let shared = channels.clone();
    let share = move |tenant| {
        shared
            .iter()
            .map(|channel| channel.energy_for(tenant))
            .sum()
    };
    let read = move || {
        let readings = metered.iter().map(|channel| channel.energy());
        readings.fold((Energy::ZERO, 0), |sum, (energy, count)| {
            (sum.0 + energy, sum.1 + count)
        })
    };
    ledger.meter("channel", "data", read, share);
    channels
}
