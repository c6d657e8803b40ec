//! The whole configuration of a drive.

use media::OutOfRange;
use media::accelerator::AcceleratorConfig;
use media::channel::{ChannelConfig, RateOutOfRange};
use media::core::CoresConfig;
use media::dram::DramConfig;
use media::link::LinkConfig;
use media::nand::{BITS_PER_CELL_USUAL, NandConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bits::BitsConfig;
use crate::cache::{CacheConfig, CacheConfigError};
use crate::compatibility::CompatibilityConfig;
use crate::cost::CostModel;
use crate::faults::FaultConfig;
use crate::frontend::{FrontendConfig, FrontendConfigError};
use crate::ftl::{Capacity, FtlConfig, FtlConfigError};
use crate::local_memory::LocalMemoryConfig;
use crate::memory::{
    Capacitor, CapacitorConfig, Claim, DramMap, Means, MemoryConfig, Need, Quotas, Rates, TooSmall,
    TooWeak,
};
use crate::schedule::{ScheduleConfig, ScheduleConfigError};
use crate::search::SearchConfig;
use crate::stream::{CollectorConfig, StreamConfig};
use crate::task::TaskConfig;
use crate::tx::TxConfig;

/// Everything that makes a drive what it is. Every key must be given: presets
/// inherit from a complete file, so that no number hides in the code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Sections", into = "Sections")]
#[non_exhaustive]
pub struct DeviceConfig {
    /// The flash packages.
    pub nand: NandConfig,
    /// The buses between controller and flash.
    pub channel: ChannelConfig,
    /// The link to the host.
    pub link: LinkConfig,
    /// Queues and commands.
    pub frontend: FrontendConfig,
    /// The controller's cores, and what firmware's work costs them.
    pub cores: CoresConfig,
    /// Accelerators for operators of tasks.
    pub accelerator: AcceleratorConfig,
    /// The drive's DRAM.
    pub dram: DramConfig,
    /// How its memory is shared out.
    pub memory: MemoryConfig,
    /// The data cache.
    pub cache: CacheConfig,
    /// What keeps memory through a power cut, where a part of the drive asks for that.
    pub capacitor: CapacitorConfig,
    /// The flash translation layer.
    pub ftl: FtlConfig,
    /// The order of flash transactions.
    pub schedule: ScheduleConfig,
    /// In-flash computing.
    pub bits: BitsConfig,
    /// Name-value lookup.
    pub search: SearchConfig,
    /// Tasks that run inside the drive.
    pub task: TaskConfig,
    /// Transactions over files.
    pub tx: TxConfig,
    /// Streams.
    pub stream: StreamConfig,
    /// Collectors.
    pub collector: CollectorConfig,
    /// Memory that programs and the host share.
    pub local_memory: LocalMemoryConfig,
    /// Flash that fails.
    pub faults: FaultConfig,
}

/// The sections of a file. What imitates others has one of its own, wherever it takes effect.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Sections {
    /// The flash packages.
    nand: NandConfig,
    /// The buses between controller and flash.
    channel: ChannelConfig,
    /// The link to the host.
    link: LinkConfig,
    /// Queues and commands.
    frontend: FrontendConfig,
    /// The controller's cores, and what firmware's work costs them.
    cores: CoresConfig,
    /// Accelerators for operators of tasks.
    accelerator: AcceleratorConfig,
    /// The drive's DRAM.
    dram: DramConfig,
    /// How its memory is shared out.
    memory: MemoryConfig,
    /// The data cache.
    cache: CacheConfig,
    /// What keeps memory through a power cut, where a part of the drive asks for that.
    capacitor: CapacitorConfig,
    /// The flash translation layer.
    ftl: FtlConfig,
    /// The order of flash transactions.
    schedule: ScheduleConfig,
    /// In-flash computing.
    bits: BitsConfig,
    /// Name-value lookup.
    search: SearchConfig,
    /// Tasks that run inside the drive.
    task: TaskConfig,
    /// Transactions over files.
    tx: TxConfig,
    /// Streams.
    stream: StreamConfig,
    /// Collectors.
    collector: CollectorConfig,
    /// Memory that programs and the host share.
    local_memory: LocalMemoryConfig,
    /// Flash that fails.
    faults: FaultConfig,
    /// What a drive does only to imitate a simulator.
    compatibility: CompatibilityConfig,
}

impl From<Sections> for DeviceConfig {
    fn from(sections: Sections) -> DeviceConfig {
        let Sections {
            mut nand,
            mut frontend,
            mut dram,
            mut ftl,
            mut schedule,
            compatibility,
            ..
        } = sections;
        nand.geometry.bits_per_cell_max = ftl.mode.bits_per_cell().max(BITS_PER_CELL_USUAL);
        nand.bus.phases = compatibility.command_phases;
        frontend.entry_fetch = compatibility.entry_fetch;
        dram.timing = compatibility.dram_timing;
        schedule.interleave = compatibility.interleave;
        schedule.program_transfer = compatibility.program_transfer;
        ftl.frontiers = compatibility.frontiers;
        ftl.gc.pace = compatibility.gc_pace;
        ftl.wear_levelling.static_rule = compatibility.static_rule;
        DeviceConfig {
            nand,
            channel: sections.channel,
            link: sections.link,
            frontend,
            cores: sections.cores,
            accelerator: sections.accelerator,
            dram,
            memory: sections.memory,
            cache: sections.cache,
            capacitor: sections.capacitor,
            ftl,
            schedule,
            bits: sections.bits,
            search: sections.search,
            task: sections.task,
            tx: sections.tx,
            stream: sections.stream,
            collector: sections.collector,
            local_memory: sections.local_memory,
            faults: sections.faults,
        }
    }
}

impl From<DeviceConfig> for Sections {
    fn from(config: DeviceConfig) -> Sections {
        Sections {
            compatibility: config.compatibility(),
            nand: config.nand,
            channel: config.channel,
            link: config.link,
            frontend: config.frontend,
            cores: config.cores,
            accelerator: config.accelerator,
            dram: config.dram,
            memory: config.memory,
            cache: config.cache,
            capacitor: config.capacitor,
            ftl: config.ftl,
            schedule: config.schedule,
            bits: config.bits,
            search: config.search,
            task: config.task,
            tx: config.tx,
            stream: config.stream,
            collector: config.collector,
            local_memory: config.local_memory,
            faults: config.faults,
        }
    }
}

/// A configuration that makes no drive. Messages name the key, the value and
/// what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The flash packages.
    #[error("nand.{0}")]
    Nand(#[from] media::nand::ConfigError),
    /// The translation layer.
    #[error(transparent)]
    Ftl(#[from] FtlConfigError),
    /// The order of flash transactions.
    #[error(transparent)]
    Schedule(#[from] ScheduleConfigError),
    /// The data cache.
    #[error(transparent)]
    Cache(#[from] CacheConfigError),
    /// The channels.
    #[error("channel.{0}")]
    Channel(#[from] RateOutOfRange),
    /// The host link.
    #[error("link.{0}")]
    Link(OutOfRange),
    /// The front end.
    #[error(transparent)]
    Frontend(#[from] FrontendConfigError),
    /// The controller's cores.
    #[error("cores.{0}")]
    Cores(OutOfRange),
    /// Accelerators.
    #[error("accelerator.{0}")]
    Accelerator(OutOfRange),
    /// The drive's DRAM.
    #[error("dram.{0}")]
    Dram(OutOfRange),
    /// A DRAM that does not hold what must be in it.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// How memory is shared out.
    #[error("memory.{0}")]
    Memory(OutOfRange),
    /// The capacitor.
    #[error(transparent)]
    Capacitor(#[from] TooWeak),
    /// In-flash computing.
    #[error("bits.{0}")]
    Bits(OutOfRange),
    /// Name-value lookup cannot be done so.
    #[error("search.{0}")]
    Search(OutOfRange),
    /// Tasks cannot be run so.
    #[error("task.{0}")]
    Task(OutOfRange),
    /// Transactions.
    #[error("tx.{0}")]
    Tx(OutOfRange),
    /// Streams.
    #[error("stream.{0}")]
    Stream(OutOfRange),
    /// Collectors.
    #[error("collector.{0}")]
    Collector(OutOfRange),
    /// Memory that programs and the host share.
    #[error("local_memory.{0}")]
    LocalMemory(OutOfRange),
    /// What imitates a simulator.
    #[error("compatibility.command_phases.{0}")]
    Compatibility(OutOfRange),
    /// Flash that fails.
    #[error("faults.{0}")]
    Faults(OutOfRange),
}

impl DeviceConfig {
    /// What it does only to imitate a simulator.
    pub fn compatibility(&self) -> CompatibilityConfig {
        CompatibilityConfig {
            command_phases: self.nand.bus.phases,
            entry_fetch: self.frontend.entry_fetch,
            dram_timing: self.dram.timing,
            interleave: self.schedule.interleave,
            program_transfer: self.schedule.program_transfer,
            frontiers: self.ftl.frontiers,
            gc_pace: self.ftl.gc.pace,
            static_rule: self.ftl.wear_levelling.static_rule,
        }
    }

    /// Has every part check its own, and says what is left for the host.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<Capacity, ConfigError> {
        let geometry = &self.nand.geometry;
        self.nand.validate()?;
        self.compatibility()
            .validate()
            .map_err(ConfigError::Compatibility)?;
        self.schedule.validate()?;
        self.channel.validate()?;
        self.link.validate().map_err(ConfigError::Link)?;
        self.cores.validate().map_err(ConfigError::Cores)?;
        self.accelerator
            .validate()
            .map_err(ConfigError::Accelerator)?;
        self.dram.validate().map_err(ConfigError::Dram)?;
        self.memory
            .validate(geometry)
            .map_err(ConfigError::Memory)?;
        self.bits.validate(geometry).map_err(ConfigError::Bits)?;
        self.search.validate().map_err(ConfigError::Search)?;
        self.task.validate().map_err(ConfigError::Task)?;
        // Whether it divides a page is told by the translation layer.
        let unit = self.ftl.unit(geometry);
        self.cache.validate(unit)?;
        self.tx.validate(unit).map_err(ConfigError::Tx)?;
        self.stream.validate().map_err(ConfigError::Stream)?;
        self.collector.validate().map_err(ConfigError::Collector)?;
        self.local_memory
            .validate()
            .map_err(ConfigError::LocalMemory)?;
        self.faults.validate().map_err(ConfigError::Faults)?;
        let claims = self.claims();
        let need = Need::of(&claims, self.means());
        let dump_blocks = need.blocks_per_plane(geometry, self.ftl.mode);
        let compute = self.bits.compute_blocks_percent;
        let capacity = self.ftl.validate(geometry, compute, dump_blocks)?;
        self.frontend.validate(unit, capacity.logical_pages)?;
        self.capacitor.validate(&claims, &need)?;
        self.dram_map(capacity)?;
        Ok(capacity)
    }

    /// What saves pages when the power goes.
    fn means(&self) -> Means<'_> {
        Means {
            nand: &self.nand,
            channel: &self.channel,
            mode: self.ftl.mode,
            units: self.ftl.unit(&self.nand.geometry).per_page(),
            active_milliwatts: self.frontend.active_milliwatts
                + u64::from(self.cores.count) * self.cores.active_milliwatts,
        }
    }

    /// A capacitor that is strong enough for what it has to cover.
    pub(crate) fn powered_capacitor(&self) -> Capacitor {
        Capacitor::new(self.claims(), Rates::of(self.means()))
    }

    /// The memory that a capacitor has to cover, by the part of the firmware that has it.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let unit = self.ftl.unit(&self.nand.geometry);
        let geometry = &self.nand.geometry;
        let jobs = [self.search.claim(geometry), self.tx.claim(geometry)];
        let jobs = jobs.into_iter().flatten();
        self.cache.claim(unit).into_iter().chain(jobs).collect()
    }

    /// What of the DRAM is whose, on a drive of that capacity.
    ///
    /// # Errors
    /// If it does not hold all of it.
    pub fn dram_map(&self, capacity: Capacity) -> Result<DramMap, TooSmall> {
        let geometry = &self.nand.geometry;
        let page_bytes = u64::from(geometry.page_bytes);
        let quotas = Quotas {
            mapping: self.ftl.mapping.bytes_at_hand(capacity.logical_pages),
            cache: self.cache.slot_bytes(self.ftl.unit(geometry)),
            buffers: u64::from(self.memory.page_buffers) * page_bytes,
            search: self.search.buffer_bytes,
            link_table: self.search.link_table_bytes,
            tasks: self.task.dram_bytes,
            tx: self.tx.dram_bytes(),
            streams: self.stream.buffer_bytes,
            collectors: self.collector.buffer_bytes,
            local: self.local_memory.bytes,
        };
        quotas.lay_out(&self.dram)
    }

    /// What a step, a page and a byte take and cost on each resource that an evaluation uses.
    pub fn cost_model(&self) -> CostModel {
        let page_bytes = self.nand.geometry.page_bytes.into();
        CostModel {
            nand: self.nand.clone(),
            channel: self.channel.clone(),
            link: self.link.clone(),
            accelerator: self.bits.accelerator(page_bytes),
            active_milliwatts: self.frontend.active_milliwatts,
            cores: self.cores.clone(),
            dram: self.dram.clone(),
            page_buffers: self.memory.for_commands(),
            schedule: self.schedule.clone(),
        }
    }
}
