//! The whole configuration of a drive.

use media::channel::ChannelConfig;
use media::dram::DramConfig;
use media::link::LinkConfig;
use media::nand::NandConfig;
use serde::{Deserialize, Serialize};

use crate::bits::BitsConfig;
use crate::cache::{CacheConfig, CacheConfigError};
use crate::faults::FaultConfig;
use crate::frontend::{FrontendConfig, NamespaceError, check_namespaces};
use crate::ftl::{Capacity, FtlConfig, FtlConfigError};
use crate::schedule::{ScheduleConfig, ScheduleConfigError};

/// Everything that makes a drive what it is. Every key must be given: presets
/// are complete files, so that no number hides in the code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceConfig {
    /// The flash packages.
    pub nand: NandConfig,
    /// The buses between controller and flash.
    pub channel: ChannelConfig,
    /// The link to the host.
    pub link: LinkConfig,
    /// Queues and commands.
    pub frontend: FrontendConfig,
    /// The drive's DRAM.
    pub dram: DramConfig,
    /// The data cache.
    pub cache: CacheConfig,
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
        self.check_dram()?;
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
        let pages_per_block = geometry.pages_per_block(self.ftl.mode);
        let dump_blocks = self.cache.dump_blocks_per_plane(geometry, pages_per_block);
        let compute = self.bits.compute_blocks_percent;
        let capacity = self.ftl.capacity(geometry, compute, dump_blocks)?;
        check_namespaces(
            &self.frontend.namespaces,
            capacity.logical_pages,
            geometry.page_bytes,
        )?;
        Ok(capacity)
    }

    fn check_dram(&self) -> Result<(), ConfigError> {
        let dram = &self.dram;
        self.check("dram.row_bytes", dram.row_bytes, 64, 1 << 20)?;
        self.check("dram.clock_megahertz", dram.clock_megahertz, 1, 100_000)?;
        self.check("dram.transfer_bytes", dram.transfer_bytes, 1, 1024)?;
        self.check("dram.t_rcd_ns", dram.t_rcd_ns, 0, 1_000_000)?;
        self.check("dram.t_cl_ns", dram.t_cl_ns, 0, 1_000_000)?;
        self.check("dram.t_rp_ns", dram.t_rp_ns, 0, 1_000_000)
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
