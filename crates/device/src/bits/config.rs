//! What the configuration says of bulk bitwise computing.

use media::OutOfRange;
use media::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::AcceleratorModel;

/// Bulk bitwise computing: its share of the drive and the accelerator of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BitsConfig {
    /// Share of the blocks of every plane that groups of vectors may occupy, in percent.
    pub compute_blocks_percent: u32,
    /// On-chip buffer of the controller's accelerator, in bytes (Flash-Cosmos 7: 256 KiB).
    pub accelerator_buffer_bytes: u64,
    /// Energy of one 64-byte bitwise operation of the accelerator, in picojoules (Flash-Cosmos 7:
    /// 93 pJ).
    pub accelerator_pj_per_64b: u64,
    /// Bytes of operands the accelerator combines in a second, in millions.
    pub accelerator_megabytes_per_second: u64,
    /// How vectors that lie on different dies are combined.
    pub route: RouteRule,
}

/// How vectors of different homes are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteRule {
    /// As is estimated to take less time.
    #[default]
    Fastest,
    /// In the controller.
    Controller,
    /// In temporary strings, where there is room for them.
    Gather,
}

impl BitsConfig {
    /// What the accelerator can do with pages of `page_bytes`.
    pub fn accelerator(&self, page_bytes: u64) -> AcceleratorModel {
        AcceleratorModel {
            pages: self.accelerator_buffer_bytes / page_bytes,
            bytes_per_second: self.accelerator_megabytes_per_second * 1_000_000,
            pj_per_unit: self.accelerator_pj_per_64b,
        }
    }

    /// Checks everything. The accelerator must hold what a die sends at once, and get on with it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self, geometry: &Geometry) -> Result<(), OutOfRange> {
        let percent = self.compute_blocks_percent;
        OutOfRange::check("compute_blocks_percent", percent, 0, 90)?;
        let least = u64::from(geometry.page_bytes) * u64::from(geometry.planes_per_die);
        if self.accelerator_buffer_bytes < least {
            return Err(OutOfRange {
                key: "accelerator_buffer_bytes",
                value: self.accelerator_buffer_bytes,
                allowed: format!("at least {least}, a page of each plane of a die"),
            });
        }
        let rate = self.accelerator_megabytes_per_second;
        OutOfRange::check("accelerator_megabytes_per_second", rate, 1, 1_000_000)
    }
}
