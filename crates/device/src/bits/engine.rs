//! The engines that evaluate an expression inside the drive, and what the configuration says of
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meet::Meeting;

/// Which machinery of the drive evaluates an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Multi-wordline sensing with inverse reads and latch accumulation (Flash-Cosmos 4.1, 6.1).
    FlashCosmos,
    /// Serial sensing of one wordline at a time, accumulated in the latches (Flash-Cosmos 3.1,
    /// Figure 6).
    ParaBit,
    /// Every operand is read out and combined by the accelerator in the controller (Flash-Cosmos
    /// 3.1, ISP).
    InStorage,
}

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
    /// How vectors meet that lie on different dies.
    pub meeting: Meeting,
}
