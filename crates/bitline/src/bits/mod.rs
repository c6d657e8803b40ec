//! Bulk bitwise computing, on the platforms that Flash-Cosmos compares (its section 7): the same
//! vectors, the same drive, and the work done in the host, in the controller or in the array.

mod batches;
mod computer;
mod fastest;
mod located;
mod outside;
mod query;

use std::fmt;
use std::str::FromStr;

use host::bits::Checked;
use nvme::Expression;
use nvme::command::Engine;
use serde::{Deserialize, Serialize};

pub(crate) use batches::{AHEAD, Batch, Batches};
pub(crate) use computer::{Computer, Loop, Pace};
pub(crate) use fastest::Outlooks;
use located::Located;
use outside::Keep;
pub(crate) use outside::{Step, steps_of};
pub use query::{Labels, Query};

use crate::drive::Host;
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
    /// Those that evaluate in one way, from the host inwards.
    pub const ALL: [Platform; 4] = [
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
    pub const fn engine(self) -> Option<Engine> {
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
        let best = [Platform::Fastest, Platform::Thriftiest];
        let found = Platform::ALL
            .into_iter()
            .chain(best)
            .find(|platform| platform.name() == name);
        found.ok_or_else(|| Error::UnknownPlatform(name.to_owned()))
    }
}

impl Host {
    /// Evaluates an expression over vectors; gives the result, bit i in bit i mod 8 of byte i / 8, all of it zeroes if the
    /// drive keeps no data.
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`]; what the drive reports.
    pub async fn evaluate(
        &self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<Vec<u8>, Error> {
        let located = self.locate(expression).await?;
        let bytes = located.bits.div_ceil(8);
        let mut result = Vec::new();
        match self.engine_for(&located, platform, false)? {
            Some(engine) if self.stores_data => {
                let evaluated = self
                    .bits()
                    .evaluate(&located.expression, engine, located.bits);
                result = evaluated.await?;
                self.computer.receive(bytes);
            }
            Some(engine) => {
                let memory = host::Transport::memory(self.block().transport()).clone();
                let buffer = host::Buffer::new(&memory, bytes)?;
                self.bits()
                    .evaluate_into(&located.expression, engine, located.bits, &buffer)
                    .await?;
                self.computer.receive(bytes);
            }
            None => {
                self.evaluate_here(&located, Keep::Bytes(&mut result))
                    .await?
            }
        }
        result.resize(bytes as usize, 0);
        Ok(result)
    }

    /// Evaluates an expression, and has the result sent to the host's memory batch by batch, where it is
    /// dropped. For vectors of any length, and for their time.
    ///
    /// # Errors
    /// As [`Host::evaluate`].
    pub async fn stream(&self, expression: &Expression, platform: Platform) -> Result<(), Error> {
        let located = self.locate(expression).await?;
        match self.engine_for(&located, platform, false)? {
            None => self.evaluate_here(&located, Keep::Nothing).await?,
            Some(engine) => {
                self.stream_from_drive(&located, engine, false).await?;
            }
        }
        Ok(())
    }

    /// Counts the ones of an expression's result. The engines of the drive count in the controller,
    /// so that only the number crosses the link; what the host evaluates it counts itself.
    ///
    /// # Errors
    /// As [`Host::evaluate`].
    pub async fn count_ones(
        &self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<u64, Error> {
        let located = self.locate(expression).await?;
        let Some(engine) = self.engine_for(&located, platform, true)? else {
            return self.count_here(&located).await;
        };
        let counted = self.bits().count(&located.expression, engine, located.bits);
        Ok(counted.await?)
    }

    /// Counts the ones of an expression's result in the host, concurrently with its arrival in
    /// batches (Flash-Cosmos 7: the bit count of the bitmap index). Zero if the drive keeps no data.
    ///
    /// # Errors
    /// As [`Host::evaluate`].
    pub async fn count_ones_here(
        &self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<u64, Error> {
        let located = self.locate(expression).await?;
        match self.engine_for(&located, platform, false)? {
            Some(engine) => Ok(self.stream_from_drive(&located, engine, true).await?),
            None => self.count_here(&located).await,
        }
    }

    async fn count_here(&self, located: &Located<'_>) -> Result<u64, Error> {
        let mut ones = 0;
        self.evaluate_here(located, Keep::Ones(&mut ones)).await?;
        Ok(ones)
    }

    /// The engine that evaluates for a platform; none if the host does.
    fn engine_for(
        &self,
        located: &Located<'_>,
        platform: Platform,
        count_only: bool,
    ) -> Result<Option<Engine>, Error> {
        let (expression, bits) = (&located.expression, located.bits);
        self.outlooks
            .engine(platform, expression, (bits, bits), count_only)
    }

    /// As [`Host::evaluate`] inside the drive, and has it evaluate the expression a second time by
    /// another plan, which senses every wordline by itself, and compare the results.
    ///
    /// # Errors
    /// As [`Host::evaluate`]; also for [`Platform::Host`], which has no second way.
    pub async fn evaluate_checked(
        &self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<Checked<Vec<u8>>, Error> {
        let engine = checking_engine(platform)?;
        let located = self.locate(expression).await?;
        let (expression, bits) = (&located.expression, located.bits);
        let checked = self
            .bits()
            .evaluate_checked(expression, engine, bits)
            .await?;
        self.computer.receive(bits.div_ceil(8));
        Ok(checked)
    }

    /// As [`Host::count_ones`], checked as by [`Host::evaluate_checked`].
    ///
    /// # Errors
    /// As [`Host::evaluate_checked`].
    pub async fn count_ones_checked(
        &self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<Checked<u64>, Error> {
        let engine = checking_engine(platform)?;
        let located = self.locate(expression).await?;
        let (expression, bits) = (&located.expression, located.bits);
        Ok(self.bits().count_checked(expression, engine, bits).await?)
    }
}

/// The engine of the drive that can check itself.
fn checking_engine(platform: Platform) -> Result<Engine, host::Error> {
    platform.engine().ok_or_else(|| {
        host::Error::Usage(format!(
            "a check is a second evaluation inside the drive, and platform {platform} has none there: \
             choose in-storage, parabit, flash-cosmos, fastest or thriftiest"
        ))
    })
}
