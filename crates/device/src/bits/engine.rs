//! The engines that evaluate an expression inside the drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Pages of each plane that are on their way from the array at the same time.
pub(super) const FETCHES_AHEAD: usize = 2;

/// Bytes of operands that the accelerator's energy is stated for.
pub(super) const ACCELERATOR_UNIT_BYTES: u64 = 64;
