//! The whole configuration of a drive.

use media::OutOfRange;
use media::channel::ChannelConfig;
use media::core::CoresConfig;
use media::dram::DramConfig;
use media::link::LinkConfig;
use media::nand::NandConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bits::BitsConfig;
use crate::cache::{CacheConfig, CacheConfigError};
use crate::faults::FaultConfig;
use crate::frontend::{FrontendConfig, NamespaceError, check_namespaces};
use crate::ftl::{Capacity, FtlConfig, FtlConfigError};
use crate::memory::{CapacitorConfig, Claim, MemoryConfig, Need, Quotas, Regions, TooSmall};
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
    /// Namespaces that cannot be.
    #[error(transparent)]
    Namespaces(#[from] NamespaceError),
    /// The data cache.
    #[error(transparent)]
    Cache(#[from] CacheConfigError),
    /// The controller's cores.
    #[error("cores.{0}")]
    Cores(OutOfRange),
    /// The DRAM.
    #[error("dram.{0}")]
    Dram(OutOfRange),
    /// A DRAM that does not hold what must be in it.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// Too little energy for what is to be saved when the power goes.
    #[error(
        "capacitor.energy_millijoules = {given} is too little: {claims} may leave {pages} pages to save when the power \
         goes, which takes {needed}; raise it to that, or lower {keys}"
    )]
    Capacitor {
        /// What was given.
        given: u32,
        /// Who may leave pages to save, and how many.
        claims: String,
        /// All of these.
        pages: u32,
        /// What they need, in millijoules.
        needed: u64,
        /// The keys that say how many.
        keys: String,
    },
    /// A channel too slow or too fast.
    #[error("channel.megabytes_per_second = {0} is out of range; it must be 1 to 1000000")]
    Rate(f64),
    /// Pages that whole blocks do not fill.
    #[error(
        "nand.geometry.page_bytes = {page_bytes} and frontend.block_bytes = {block_bytes} cannot be together; a page must be a multiple of a block"
    )]
    PageOfBlocks {
        /// Bytes of a page.
        page_bytes: u32,
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// A number out of range.
    #[error("{key} = {value} is out of range; it must be {allowed}")]
    Range {
        /// The key's dotted name.
        key: &'static str,
        /// What was given.
        value: u64,
        /// What would be right.
        allowed: String,
    },
}

impl DeviceConfig {
    /// Checks everything, and says what is left for the host.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<Capacity, ConfigError> {
        self.nand.validate()?;
        self.schedule.validate()?;
        let geometry = &self.nand.geometry;
        let block_bytes = self.frontend.block_bytes;
        let sizes = block_bytes.is_power_of_two() && (512..=4096).contains(&block_bytes);
        if !sizes {
            return Err(ConfigError::Range {
                key: "frontend.block_bytes",
                value: u64::from(block_bytes),
                allowed: "512, 1024, 2048 or 4096".to_owned(),
            });
        }
        if !geometry.page_bytes.is_multiple_of(block_bytes) {
            return Err(ConfigError::PageOfBlocks {
                page_bytes: geometry.page_bytes,
                block_bytes,
            });
        }
        let rate = self.channel.megabytes_per_second;
        if !(1.0..=1e6).contains(&rate) {
            return Err(ConfigError::Rate(rate));
        }
        self.check("link.lanes", self.link.lanes, 1, 64)?;
        let lane = self.link.megabytes_per_second_per_lane;
        self.check("link.megabytes_per_second_per_lane", lane, 1, 1_000_000)?;
        self.check(
            "link.packet_payload_bytes",
            self.link.packet_payload_bytes,
            1,
            4096,
        )?;
        self.check(
            "frontend.io_queues",
            u32::from(self.frontend.io_queues),
            1,
            65534,
        )?;
        self.check(
            "frontend.queue_entries",
            self.frontend.queue_entries,
            2,
            65536,
        )?;
        self.check(
            "frontend.commands_in_flight",
            self.frontend.commands_in_flight,
            1,
            65536,
        )?;
        self.check_arbitration()?;
        self.check("nand.geometry.spare_bytes", geometry.spare_bytes, 32, 65535)?;
        self.check(
            "bits.compute_blocks_percent",
            self.bits.compute_blocks_percent,
            0,
            90,
        )?;
        self.check_accelerator()?;
        self.cores.validate().map_err(ConfigError::Cores)?;
        self.dram.validate().map_err(ConfigError::Dram)?;
        self.check(
            "memory.page_buffers",
            self.memory.page_buffers,
            MemoryConfig::page_buffers_min(geometry),
            1 << 24,
        )?;
        self.cache.validate(geometry)?;
        let faults = &self.faults;
        self.check(
            "faults.factory_bad_blocks_per_million",
            faults.factory_bad_blocks_per_million,
            0,
            1_000_000,
        )?;
        self.check(
            "faults.program_failures_per_million",
            faults.program_failures_per_million,
            0,
            1_000_000,
        )?;
        self.check(
            "faults.erase_failures_per_million",
            faults.erase_failures_per_million,
            0,
            1_000_000,
        )?;
        let need = Need::of(&self.claims(), self);
        let dump_blocks = need.blocks_per_plane(geometry, self.ftl.mode);
        let compute = self.bits.compute_blocks_percent;
        let capacity = self.ftl.capacity(geometry, compute, dump_blocks)?;
        check_namespaces(
            &self.frontend.namespaces,
            capacity.logical_pages,
            geometry.page_bytes,
        )?;
        self.check_capacitor(&need)?;
        self.regions(capacity)?;
        Ok(capacity)
    }

    /// The memory that a capacitor has to cover, by the part of the firmware that has it.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.cache.claim(&self.nand.geometry).into_iter().collect()
    }

    fn check_capacitor(&self, need: &Need) -> Result<(), ConfigError> {
        let (given, needed) = (self.capacitor.energy_millijoules, need.millijoules());
        if needed <= u64::from(given) {
            return Ok(());
        }
        let claims = self.claims();
        let named = |claim: &Claim| format!("{} ({})", claim.part, claim.key);
        let list = |names: Vec<String>| names.join(" and ");
        Err(ConfigError::Capacitor {
            given,
            claims: list(claims.iter().map(named).collect()),
            pages: need.pages,
            needed,
            keys: list(claims.iter().map(|claim| claim.key.to_owned()).collect()),
        })
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

    fn check_arbitration(&self) -> Result<(), ConfigError> {
        let frontend = &self.frontend;
        self.check(
            "frontend.fetch_limit_per_queue",
            frontend.fetch_limit_per_queue,
            1,
            65536,
        )?;
        let burst = u32::from(frontend.arbitration_burst);
        self.check("frontend.arbitration_burst", burst, 0, 7)?;
        for weight in frontend.arbitration_weights {
            self.check("frontend.arbitration_weights", weight, 1, 256)?;
        }
        let transfer = u32::from(frontend.max_data_transfer);
        self.check("frontend.max_data_transfer", transfer, 0, 20)?;
        let health = &frontend.health;
        self.check(
            "frontend.health.spare_threshold_percent",
            u32::from(health.spare_threshold_percent),
            0,
            100,
        )?;
        self.check(
            "frontend.health.rated_erases",
            health.rated_erases,
            1,
            10_000_000,
        )
    }

    /// The accelerator must hold what a die sends at once, and get on with it.
    fn check_accelerator(&self) -> Result<(), ConfigError> {
        let geometry = &self.nand.geometry;
        let least = u64::from(geometry.page_bytes) * u64::from(geometry.planes_per_die);
        let (buffer, rate) = (
            self.bits.accelerator_buffer_bytes,
            self.bits.accelerator_megabytes_per_second,
        );
        if buffer < least {
            return Err(ConfigError::Range {
                key: "bits.accelerator_buffer_bytes",
                value: buffer,
                allowed: format!("at least {least}, a page of each plane of a die"),
            });
        }
        if !(1..=1_000_000).contains(&rate) {
            return Err(ConfigError::Range {
                key: "bits.accelerator_megabytes_per_second",
                value: rate,
                allowed: "1 to 1000000".to_owned(),
            });
        }
        Ok(())
    }

    fn check(
        &self,
        key: &'static str,
        value: u32,
        least: u32,
        most: u32,
    ) -> Result<(), ConfigError> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(ConfigError::Range {
            key,
            value: u64::from(value),
            allowed: format!("{least} to {most}"),
        })
    }
}
