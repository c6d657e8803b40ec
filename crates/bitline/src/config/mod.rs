//! Configuration: a preset, then a TOML file, then single overrides.
//!
//! Presets inherit from a base that has every key that exists; what is not there is unknown, and the
//! error names the nearest key that is.

mod builder;
mod error;
mod host_cards;
mod host_tasks;
mod inside;
mod keys;
mod presets;
mod reason;
mod tables;

use device::DeviceConfig;
use device::frontend::FrontendConfig;
use nvme::QueuePriority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use builder::ConfigBuilder;
pub use tables::most_similar;

pub use error::ConfigError;
use error::quoted_lines;
pub use host_cards::{CardConfig, ReceiverConfig};
pub use host_tasks::HostTaskConfig;
pub use inside::InsideConfig;
pub use keys::{Choice, Key, reference_of_keys};
pub use presets::DEFAULT_PRESET;

/// Everything that makes a drive and its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Config {
    /// The preset's name.
    pub name: String,
    /// What it models, and its source.
    pub description: String,
    /// Root of all randomness.
    pub seed: u64,
    /// Where bits live.
    pub data: DataConfig,
    /// The host.
    pub host: HostConfig,
    /// The drive.
    #[serde(flatten)]
    pub(crate) device: DeviceConfig,
}

/// Where the drive's bits live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DataConfig {
    /// In memory, in an image file, or nowhere.
    pub storage: StorageKind,
}

/// Kinds of storage for bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StorageKind {
    /// In memory, gone with the process.
    Memory,
    /// In an image file, whose path is given when the drive is opened.
    Image,
    /// Nowhere: the drive keeps time but no data.
    None,
}

/// The host: its side of the queues, and its computing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HostConfig {
    /// I/O queue pairs that the driver creates.
    pub queue_pairs: u16,
    /// Entries of each queue.
    pub queue_entries: u32,
    /// The class of each queue pair under weighted arbitration, over and over.
    pub queue_priorities: Vec<QueueClass>,
    /// Rate at which the processor's loops over vectors read and write memory, in megabytes (10^6)
    /// per second: three bytes for each byte combined (two operands, the result), one for each counted.
    pub stream_megabytes_per_second: u64,
    /// Power of the processor while such a loop runs, in milliwatts.
    pub active_milliwatts: u64,
    /// Energy of one byte read from memory or written to it, in picojoules.
    pub memory_pj_per_byte: u64,
    /// Vectors are read and results sent in batches of so many bytes, rounded down to whole pages, at
    /// least one.
    pub batch_bytes: u64,
    /// Tasks that the host runs itself.
    pub tasks: HostTaskConfig,
    /// A card that computes.
    pub card: CardConfig,
    /// A card that collectors are connected to.
    pub receiver: ReceiverConfig,
}

/// Classes of queues under weighted arbitration (NVMe Base 3.4.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueueClass {
    /// Before all others.
    Urgent,
    /// The largest share.
    High,
    /// A middling share.
    Medium,
    /// The smallest share.
    Low,
}

impl From<QueueClass> for QueuePriority {
    fn from(class: QueueClass) -> QueuePriority {
        match class {
            QueueClass::Urgent => QueuePriority::Urgent,
            QueueClass::High => QueuePriority::High,
            QueueClass::Medium => QueuePriority::Medium,
            QueueClass::Low => QueuePriority::Low,
        }
    }
}

impl Config {
    /// The names of all presets.
    pub fn preset_names() -> Vec<String> {
        presets::names()
    }

    /// The text of a preset's own file: what it does otherwise than what it inherits from, with its
    /// comments.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn preset_text(name: &str) -> Result<&'static str, ConfigError> {
        presets::text(name)
    }

    /// A preset.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn preset(name: &str) -> Result<Config, ConfigError> {
        ConfigBuilder::preset(name)?.build()
    }

    /// A configuration from TOML text: `preset = "NAME"` names what it starts
    /// from (`flash-cosmos` if absent), all other keys override.
    ///
    /// # Errors
    /// Wrong syntax, an unknown key, or a value that cannot be.
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        ConfigBuilder::from_toml(text)?.build()
    }

    /// A configuration from text that [`Config::to_toml`] wrote.
    ///
    /// # Errors
    /// As [`Config::from_toml`].
    pub(crate) fn from_complete_toml(text: &str) -> Result<Config, ConfigError> {
        ConfigBuilder::complete(text)?.build()
    }

    /// This configuration with single keys changed: `("ftl.overprovisioning", "0.1")`.
    ///
    /// # Errors
    /// An unknown key, or a value that cannot be.
    pub fn with<'a>(
        &self,
        overrides: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Config, ConfigError> {
        let mut builder = ConfigBuilder::of(self)?;
        for (key, value) in overrides {
            builder.set(key, value)?;
        }
        builder.build()
    }

    /// The value of one key, by its dotted name; of a table, such as `nand.geometry`, all that it has.
    ///
    /// # Errors
    /// If there is no such key.
    pub fn value(&self, key: &str) -> Result<toml::Value, ConfigError> {
        ConfigBuilder::of(self)?.value(key)
    }

    /// The configuration as TOML text: complete, so that reading it back gives the same.
    ///
    /// # Errors
    /// None for a valid configuration; numbers above 2^63 cannot be written.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string_pretty(self)
            .map_err(|error| ConfigError::Syntax(quoted_lines(&error.to_string())))
    }

    /// Checks that a drive of this configuration understands what one of `stored`
    /// left in the image at `path`: the keys that its layout depends on are equal.
    ///
    /// # Errors
    /// The first of these keys that differs.
    pub(crate) fn check_image(
        &self,
        stored: &Config,
        path: &std::path::Path,
    ) -> Result<(), ConfigError> {
        const LAYOUT: [&str; 8] = [
            "nand.geometry",
            "ftl.mode",
            "ftl.mapping.kind",
            "ftl.mapping.entry_bytes",
            "ftl.overprovisioning",
            "bits.compute_blocks_percent",
            "frontend.block_bytes",
            "frontend.namespaces",
        ];
        let (ours, theirs) = (
            ConfigBuilder::of(self)?.leaves(),
            ConfigBuilder::of(stored)?.leaves(),
        );
        // Both are complete, so their keys are the same in the same order.
        let differs = ours.iter().zip(&theirs).find(|((key, ours), (_, theirs))| {
            ours != theirs && LAYOUT.iter().any(|layout| key.starts_with(layout))
        });
        let mismatch = |key: &str, given: String, made_with: String| ConfigError::ImageMismatch {
            name: self.name.as_str().into(),
            stored_name: stored.name.as_str().into(),
            key: key.to_owned(),
            given: given.into(),
            stored: made_with.into(),
            image: path.to_owned(),
        };
        if let Some(((key, given), (_, made_with))) = differs {
            return Err(mismatch(key, given.to_string(), made_with.to_string()));
        }
        // Others change how much the drive holds and where it lies: the mapping unit, the SLC cache, what is kept back
        // for a capacitor's dump. The one that does so alone is the one to name.
        let capacity = stored.device.validate()?;
        if self.device.validate()? == capacity {
            return Ok(());
        }
        let differing = || {
            let pairs = ours.iter().zip(&theirs);
            pairs.filter(|(ours, theirs)| ours != theirs)
        };
        let changes_capacity = |((key, ours), _): &(&(String, toml::Value), _)| {
            let changed = stored.with([(key.as_str(), ours.to_string().as_str())]);
            changed.is_ok_and(|changed| {
                let changed = changed.device.validate();
                changed.is_ok_and(|changed| changed != capacity)
            })
        };
        let Some(((key, given), (_, made_with))) =
            differing().find(changes_capacity).or(differing().next())
        else {
            return Ok(());
        };
        Err(mismatch(key, given.to_string(), made_with.to_string()))
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.device.validate()?;
        self.host.validate(&self.device.frontend)
    }
}

impl HostConfig {
    /// Checks the host's side against what the drive offers.
    fn validate(&self, frontend: &FrontendConfig) -> Result<(), ConfigError> {
        let check = |key, value, least, most| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(ConfigError::Range {
                key,
                value,
                least,
                most,
            })
        };
        let (pairs, entries) = (self.queue_pairs.into(), self.queue_entries.into());
        let rate = self.stream_megabytes_per_second;
        check("host.queue_pairs", pairs, 1, frontend.io_queues.into())?;
        check(
            "host.queue_entries",
            entries,
            2,
            frontend.queue_entries.into(),
        )?;
        let priorities = self.queue_priorities.len() as u64;
        check("host.queue_priorities", priorities, 1, 65535)?;
        check("host.stream_megabytes_per_second", rate, 1, 1 << 40)?;
        // A terawatt and a microjoule a byte: beyond them energies could overflow.
        let (power, memory) = (self.active_milliwatts, self.memory_pj_per_byte);
        check("host.active_milliwatts", power, 0, 1_000_000_000)?;
        check("host.memory_pj_per_byte", memory, 0, 1_000_000)?;
        // One transfer moves less than 4 GiB.
        check("host.batch_bytes", self.batch_bytes, 1, 1 << 31)?;
        self.card.validate()?;
        self.receiver.validate()?;
        self.tasks.validate(frontend.block_bytes)
    }
}
