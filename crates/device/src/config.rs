//! The whole configuration of a drive.

use media::OutOfRange;
use media::channel::{ChannelConfig, RateOutOfRange};
use media::core::CoresConfig;
use media::dram::DramConfig;
use media::link::LinkConfig;
use media::nand::NandConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bits::BitsConfig;
use crate::bits::estimate::Rates;
use crate::cache::{CacheConfig, CacheConfigError};
use crate::faults::FaultConfig;
use crate::frontend::{FrontendConfig, FrontendConfigError};
use crate::ftl::{Capacity, FtlConfig, FtlConfigError};
use crate::memory::{
    CapacitorConfig, Claim, Means, MemoryConfig, Need, Quotas, Regions, TooSmall, TooWeak,
};
use crate::schedule::{ScheduleConfig, ScheduleConfigError};

/// Everything that makes a drive what it is. Every key must be given: presets
/// inherit from a complete file, so that no number hides in the code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Flash that fails.
    pub faults: FaultConfig,
}

/// A configuration that makes no drive. Messages name the key, the value and
/// what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
    /// Flash that fails.
    #[error("faults.{0}")]
    Faults(OutOfRange),
}

impl DeviceConfig {
    /// Has every part check its own, and says what is left for the host.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<Capacity, ConfigError> {
        let geometry = &self.nand.geometry;
        self.nand.validate()?;
        self.schedule.validate()?;
        self.channel.validate()?;
        self.link.validate().map_err(ConfigError::Link)?;
        self.cores.validate().map_err(ConfigError::Cores)?;
        self.dram.validate().map_err(ConfigError::Dram)?;
        self.memory
            .validate(geometry)
            .map_err(ConfigError::Memory)?;
        self.bits.validate(geometry).map_err(ConfigError::Bits)?;
        self.cache.validate(geometry)?;
        self.faults.validate().map_err(ConfigError::Faults)?;
        let claims = self.claims();
        let need = Need::of(
            &claims,
            Means {
                nand: &self.nand,
                channel: &self.channel,
                mode: self.ftl.mode,
                active_milliwatts: self.frontend.active_milliwatts
                    + u64::from(self.cores.count) * self.cores.active_milliwatts,
            },
        );
        let dump_blocks = need.blocks_per_plane(geometry, self.ftl.mode);
        let compute = self.bits.compute_blocks_percent;
        let capacity = self.ftl.validate(geometry, compute, dump_blocks)?;
        self.frontend
            .validate(geometry.page_bytes, capacity.logical_pages)?;
        self.capacitor.validate(&claims, &need)?;
        self.regions(capacity)?;
        Ok(capacity)
    }

    /// The memory that a capacitor has to cover, by the part of the firmware that has it.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.cache.claim(&self.nand.geometry).into_iter().collect()
    }

    /// What of the DRAM is whose, on a drive of that capacity.
    ///
    /// # Errors
    /// If it does not hold all of it.
    pub fn regions(&self, capacity: Capacity) -> Result<Regions, TooSmall> {
        let geometry = &self.nand.geometry;
        let page_bytes = u64::from(geometry.page_bytes);
        let quotas = Quotas {
            mapping: self.ftl.mapping.bytes_at_hand(capacity.logical_pages),
            cache: self.cache.slot_bytes(geometry),
            buffers: u64::from(self.memory.page_buffers) * page_bytes,
        };
        quotas.lay_out(&self.dram)
    }

    /// What a step, a page and a byte take and cost on each resource that an evaluation uses.
    pub fn rates(&self) -> Rates {
        Rates {
            nand: self.nand.clone(),
            channel: self.channel.clone(),
            link: self.link.clone(),
            bits: self.bits,
            active_milliwatts: self.frontend.active_milliwatts,
        }
    }
}
