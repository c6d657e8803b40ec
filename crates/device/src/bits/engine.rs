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

impl From<nvme::command::Engine> for Engine {
    fn from(engine: nvme::command::Engine) -> Engine {
        match engine {
            nvme::command::Engine::FlashCosmos => Engine::FlashCosmos,
            nvme::command::Engine::ParaBit => Engine::ParaBit,
            nvme::command::Engine::InStorage => Engine::InStorage,
        }
    }
}
