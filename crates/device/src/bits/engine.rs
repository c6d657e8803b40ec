//! The engines that evaluate an expression inside the drive, and what one of them is chosen by.

use std::fmt;

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

/// As people write it, and the paper that it is of.
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::FlashCosmos => "Flash-Cosmos",
            Engine::ParaBit => "ParaBit",
            Engine::InStorage => "In-storage accelerator",
        })
    }
}

/// What an evaluation is to be cheap in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Time, on a drive that does nothing else.
    #[default]
    Time,
    /// Energy of the drive.
    Energy,
}

/// Who evaluates an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// This engine.
    Engine(Engine),
    /// Whatever is estimated to be best: an engine, or a mixture of what they do.
    Best(Objective),
}

impl From<Engine> for Evaluator {
    fn from(engine: Engine) -> Evaluator {
        Evaluator::Engine(engine)
    }
}

impl From<nvme::command::Engine> for Evaluator {
    fn from(engine: nvme::command::Engine) -> Evaluator {
        use nvme::command::Engine as Named;
        match engine {
            Named::FlashCosmos => Engine::FlashCosmos.into(),
            Named::ParaBit => Engine::ParaBit.into(),
            Named::InStorage => Engine::InStorage.into(),
            Named::Fastest => Evaluator::Best(Objective::Time),
            Named::Thriftiest => Evaluator::Best(Objective::Energy),
        }
    }
}
