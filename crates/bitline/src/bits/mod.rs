//! Bulk bitwise computing, on the platforms that Flash-Cosmos compares (its section 7): the same
//! vectors, the same drive, and the work done in the host, in the controller or in the array.

mod computer;
mod outside;
mod parts;
mod place;
mod saved;
mod table;

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use host::bits::Checked;
use nvme::command::{Engine, Home};
use nvme::{Expression, VectorId};
use serde::{Deserialize, Serialize};

use crate::drive::{Drive, Host};
use crate::error::Error;
pub(crate) use computer::{Computer, Loop, Pace};
use outside::Keep;
pub(crate) use outside::{Step, steps_of};
pub(crate) use parts::{AHEAD, Cut};
pub use place::{PlaceError, PlacedVectors};
pub(crate) use table::Table;
pub use table::{Part, StoredVector, Vectors};

/// Who evaluates an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// The host reads every operand and combines them meanwhile (outside-storage processing).
    Host,
    /// The controller's accelerator combines operands read over the channels (in-storage
    /// processing).
    InStorage,
    /// The array senses one operand after another into its latches.
    #[serde(rename = "parabit")]
    ParaBit,
    /// The array senses many operands at once.
    FlashCosmos,
}

impl Platform {
    /// All of them, from the host inwards.
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
        }
    }

    /// The drive's engine; none if the host does the work.
    pub const fn engine(self) -> Option<Engine> {
        match self {
            Platform::Host => None,
            Platform::InStorage => Some(Engine::InStorage),
            Platform::ParaBit => Some(Engine::ParaBit),
            Platform::FlashCosmos => Some(Engine::FlashCosmos),
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
        let found = Platform::ALL
            .into_iter()
            .find(|platform| platform.name() == name);
        found.ok_or_else(|| Error::UnknownPlatform(name.to_owned()))
    }
}

impl Host {
    /// Evaluates an expression over vectors of `bits` bits; gives the result's bytes, which are
    /// zeros if the drive keeps no data.
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub async fn evaluate(
        &self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<Vec<u8>, host::Error> {
        let bytes = bits.div_ceil(8);
        let mut result = Vec::new();
        match platform.engine() {
            Some(engine) if self.stores_data => {
                result = self.bits().evaluate(expression, engine, bits).await?;
                self.computer.receive(bytes);
            }
            Some(engine) => {
                let memory = host::Transport::memory(&self.queue(0)?).clone();
                let buffer = host::Buffer::new(&memory, bytes)?;
                let bits_device = self.bits();
                bits_device
                    .evaluate_into(expression, engine, bits, &buffer)
                    .await?;
                self.computer.receive(bytes);
            }
            None => {
                let keep = Keep::Bytes(&mut result);
                self.evaluate_here(expression, bits, keep).await?;
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
    pub async fn stream(
        &self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<(), host::Error> {
        match platform.engine() {
            None => self.evaluate_here(expression, bits, Keep::Nothing).await,
            Some(engine) => {
                let streamed = self.stream_from_drive(expression, engine, bits, false);
                streamed.await.map(|_| ())
            }
        }
    }

    /// Counts the ones of an expression's result. The engines of the drive count in the controller,
    /// so that only the number crosses the link; [`Platform::Host`] counts in the host.
    ///
    /// # Errors
    /// As [`Host::evaluate`].
    pub async fn count_ones(
        &self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<u64, host::Error> {
        match platform.engine() {
            None => self.count_ones_here(expression, platform, bits).await,
            Some(engine) => self.bits().count(expression, engine, bits).await,
        }
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
        bits: u64,
    ) -> Result<u64, host::Error> {
        if let Some(engine) = platform.engine() {
            let counted = self.stream_from_drive(expression, engine, bits, true);
            return counted.await;
        }
        let mut ones = 0;
        self.evaluate_here(expression, bits, Keep::Ones(&mut ones))
            .await?;
        Ok(ones)
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
        bits: u64,
    ) -> Result<Checked<Vec<u8>>, host::Error> {
        let engine = checking_engine(platform)?;
        let checked = self.bits().evaluate_checked(expression, engine, bits);
        let checked = checked.await?;
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
        bits: u64,
    ) -> Result<Checked<u64>, host::Error> {
        let engine = checking_engine(platform)?;
        self.bits().count_checked(expression, engine, bits).await
    }
}

/// The engine of the drive that can check itself.
fn checking_engine(platform: Platform) -> Result<Engine, host::Error> {
    platform.engine().ok_or_else(|| {
        host::Error::Usage(format!(
            "a check is a second evaluation inside the drive, and platform {platform} has none there: \
             choose in-storage, parabit or flash-cosmos"
        ))
    })
}

impl Drive {
    /// Writes a vector of `bits` bits, bit i in bit i mod 8 of byte i / 8 of `data`, or its inverse
    /// if that serves the operations to come better. Vectors of a group have the same length.
    ///
    /// # Errors
    /// If `data` is not as long as `bits` says; what the drive reports, such as Vector Group Full.
    pub fn write_vector(
        &mut self,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        self.write_vector_at(Home::ALL, vector, bits, inverse, data)
    }

    /// Sets up `count` vectors of `bits` zeroes, from `first` on, as if they had been written before: where
    /// writing them would put them, and a power cut right after it loses none. Takes no simulated
    /// time. `observe` is told how many there are and may break off.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Place`] if they do not fit, those before them are stored.
    pub fn place_vectors(
        &mut self,
        first: VectorId,
        count: u32,
        bits: u64,
        inverse: bool,
        observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<PlacedVectors, Error> {
        self.place_vectors_at(Home::ALL, first, count, bits, inverse, observe)
    }

    /// As [`Drive::place_vectors`], in a group that lies on some dies of the drive.
    ///
    /// # Errors
    /// As [`Drive::place_vectors`]; also if the group lies elsewhere, or the drive has no such dies.
    pub fn place_vectors_at(
        &mut self,
        home: Home,
        first: VectorId,
        count: u32,
        bits: u64,
        inverse: bool,
        observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<PlacedVectors, Error> {
        self.set_up_vectors(home, first, count, (bits, inverse), observe)
    }

    /// As [`Drive::write_vector`], to a group that lies on some dies of the drive. All vectors of a
    /// group lie on the same.
    ///
    /// # Errors
    /// As [`Drive::write_vector`]; also Vector Group Home Mismatch if the group lies elsewhere, and
    /// Invalid Field if the drive has no such dies.
    pub fn write_vector_at(
        &mut self,
        home: Home,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        let data = data.to_vec();
        let write = move |host: Host| async move {
            let bits_device = host.bits();
            bits_device
                .write_at(home, vector, bits, inverse, &data)
                .await
        };
        Ok(self.run(write)??)
    }

    /// Evaluates an expression twice inside the drive, as [`Host::evaluate_checked`].
    ///
    /// # Errors
    /// As [`Host::evaluate_checked`].
    pub fn evaluate_checked(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<Checked<Vec<u8>>, Error> {
        let expression = expression.clone();
        let evaluate = move |host: Host| async move {
            host.evaluate_checked(&expression, platform, bits).await
        };
        Ok(self.run(evaluate)??)
    }

    /// Counts the ones of an expression's result twice, as [`Host::count_ones_checked`].
    ///
    /// # Errors
    /// As [`Host::evaluate_checked`].
    pub fn count_ones_checked(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<Checked<u64>, Error> {
        let expression = expression.clone();
        let count = move |host: Host| async move {
            host.count_ones_checked(&expression, platform, bits).await
        };
        Ok(self.run(count)??)
    }

    /// Evaluates an expression over vectors of `bits` bits, as [`Host::evaluate`].
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn evaluate(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<Vec<u8>, Error> {
        let expression = expression.clone();
        let evaluate =
            move |host: Host| async move { host.evaluate(&expression, platform, bits).await };
        Ok(self.run(evaluate)??)
    }

    /// Counts the ones of an expression's result, as [`Host::count_ones`].
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn count_ones(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<u64, Error> {
        let expression = expression.clone();
        let count =
            move |host: Host| async move { host.count_ones(&expression, platform, bits).await };
        Ok(self.run(count)??)
    }

    /// Counts the ones of an expression's result in the host, as [`Host::count_ones_here`].
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn count_ones_here(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<u64, Error> {
        let expression = expression.clone();
        let count = move |host: Host| async move {
            host.count_ones_here(&expression, platform, bits).await
        };
        Ok(self.run(count)??)
    }

    /// Evaluates an expression and drops the result in the host, as [`Host::stream`].
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn stream(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<(), Error> {
        let expression = expression.clone();
        let stream =
            move |host: Host| async move { host.stream(&expression, platform, bits).await };
        Ok(self.run(stream)??)
    }

    /// Deletes one vector of a group, or the whole group.
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn delete_vectors(&mut self, group: u32, vector: Option<u32>) -> Result<(), Error> {
        Ok(self.run(move |host| async move { host.bits().delete(group, vector).await })??)
    }

    /// The vectors of a group, or of all groups, by group and number.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn vectors(&mut self, group: Option<u32>) -> Result<Vec<StoredVector>, Error> {
        Ok(self.run(move |host| async move { host.bits().list(group).await })??)
    }

    /// How an expression would be evaluated, in words: the senses of the array and the combinations
    /// of the controller, for every page alike. Nothing is carried out.
    ///
    /// # Errors
    /// An unknown vector, or vectors of different lengths.
    pub fn explain(&self, expression: &Expression, platform: Platform) -> Result<String, Error> {
        use device::bits::Engine;
        let engine = match platform {
            Platform::Host => {
                let vectors = expression.vectors().len();
                return Ok(format!(
                    "Host: reads {vectors} vectors and combines them: {expression}\n"
                ));
            }
            Platform::InStorage => Engine::InStorage,
            Platform::ParaBit => Engine::ParaBit,
            Platform::FlashCosmos => Engine::FlashCosmos,
        };
        let explained = self.explained(expression, engine, None, false)?;
        Ok(explained.routes.to_string())
    }
}
