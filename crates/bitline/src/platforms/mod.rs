//! Who computes: the platforms that Flash-Cosmos compares (its section 7), the host's computer among them, and which of them
//! is best for an evaluation.

mod batches;
mod computer;
mod estimate;
mod evaluation;
mod outlooks;
mod outside;

use std::fmt;
use std::str::FromStr;

use nvme::command::Engine;
use serde::{Deserialize, Serialize};

pub(crate) use batches::{AHEAD, Batch, Batches};
pub(crate) use computer::{Computer, Loop, Pace};
pub use estimate::{EstimateReport, EstimatedEnergy};
pub(crate) use evaluation::{Apply, Evaluation, Machine};
pub(crate) use outlooks::Outlooks;
pub(crate) use outside::{Outside, read_of};

use crate::error::Error;

/// Who evaluates an expression.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Platform {
    /// The host reads every operand and combines them meanwhile (outside-storage processing).
    Host,
    /// The controller's accelerator combines operands read over the channels (in-storage
    /// processing).
    InStorage,
    /// The array senses one operand after another into its latches.
    #[serde(rename = "parabit")]
    ParaBit,
    /// The array senses many operands at once, with as few senses as can be found.
    FlashCosmos,
    /// Whoever of these is estimated to take the least time on a drive that does nothing else, or what mixture of them inside
    /// the drive.
    #[default]
    Fastest,
    /// Whoever is estimated to spend the least energy, the host's included.
    Thriftiest,
}

impl Platform {
    /// All there are.
    pub const ALL: [Platform; 6] = [
        Platform::Fastest,
        Platform::Thriftiest,
        Platform::Host,
        Platform::InStorage,
        Platform::ParaBit,
        Platform::FlashCosmos,
    ];

    /// Those that name who evaluates, from the host inwards: nothing is chosen by estimates.
    pub const NAMED: [Platform; 4] = [
        Platform::Host,
        Platform::InStorage,
        Platform::ParaBit,
        Platform::FlashCosmos,
    ];

    /// Its name, as in configurations and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Platform::Host => "host",
            Platform::InStorage => "in-storage",
            Platform::ParaBit => "parabit",
            Platform::FlashCosmos => "flash-cosmos",
            Platform::Fastest => "fastest",
            Platform::Thriftiest => "thriftiest",
        }
    }

    /// The drive's engine; none if the host does the work. What [`Platform::Fastest`] and [`Platform::Thriftiest`] name leaves the
    /// choice to the drive, which knows nothing of the host.
    pub(crate) const fn engine(self) -> Option<Engine> {
        match self {
            Platform::Host => None,
            Platform::InStorage => Some(Engine::InStorage),
            Platform::ParaBit => Some(Engine::ParaBit),
            Platform::FlashCosmos => Some(Engine::FlashCosmos),
            Platform::Fastest => Some(Engine::Fastest),
            Platform::Thriftiest => Some(Engine::Thriftiest),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Platform {
    type Err = Error;

    fn from_str(name: &str) -> Result<Platform, Error> {
        let mut all = Platform::ALL.into_iter();
        let found = all.find(|platform| platform.name() == name);
        found.ok_or_else(|| Error::UnknownPlatform(name.to_owned()))
    }
}
