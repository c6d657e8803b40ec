//! Configuration: a preset, then a TOML file, then single overrides.
//!
//! Presets are complete, so every key that exists is in each of them; what is
//! not there is unknown, and the error names the nearest key that is.

use device::{DeviceConfig, FaultConfig};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// The presets: name and text.
const PRESETS: &[(&str, &str)] = &[("flash-cosmos", include_str!("../presets/flash-cosmos.toml"))];

/// The preset that a drive has unless told otherwise.
pub const DEFAULT_PRESET: &str = "flash-cosmos";

/// Everything that makes a drive and its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub device: DeviceConfig,
}

/// Where the drive's bits live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// In memory, in an image file, or nowhere.
    pub storage: StorageKind,
}

/// Kinds of storage for bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageKind {
    /// In memory, gone with the process.
    Memory,
    /// In an image file, whose path is given when the drive is opened.
    Image,
    /// Nowhere: the drive keeps time but no data.
    None,
}

/// The host: its side of the queues, and its computing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// I/O queue pairs that the driver creates.
    pub queue_pairs: u16,
    /// Entries of each queue.
    pub queue_entries: u32,
    /// Rate at which the host combines operands bit by bit, in megabytes (10^6)
    /// of operands per second.
    pub compute_megabytes_per_second: u64,
    /// Energy of combining one byte of operands, memory traffic included, in picojoules.
    pub compute_pj_per_byte: u64,
}

/// A configuration that cannot be used. Messages name the key, the value and
/// what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// No such preset.
    #[error("there is no preset {name:?}{}; the presets are {}", suggestion(.nearest), .known.join(", "))]
    UnknownPreset {
        /// What was asked for.
        name: String,
        /// The most similar that exists.
        nearest: Option<String>,
        /// All that exist.
        known: Vec<String>,
    },
    /// No such key.
    #[error("there is no key {key:?}{}", suggestion(.nearest))]
    UnknownKey {
        /// What was given, dotted.
        key: String,
        /// The most similar that exists.
        nearest: Option<String>,
    },
    /// The text is no TOML.
    #[error("this is no TOML: {0}")]
    Syntax(String),
    /// A value of the wrong kind.
    #[error("{key} = {value} cannot be: {reason}")]
    Value {
        /// The key, dotted.
        key: String,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An override that is not `key=value`.
    #[error("{0:?} is no override; it must be KEY=VALUE, such as ftl.overprovisioning=0.1")]
    Override(String),
    /// The image was made with another value, which its content depends on.
    #[error("{key} = {given} does not fit the image {}, which was made with {stored}", image.display())]
    ImageMismatch {
        /// The key, dotted.
        key: String,
        /// What the configuration says.
        given: String,
        /// What the image was made with.
        stored: String,
        /// The image file.
        image: std::path::PathBuf,
    },
    /// Values that make no drive.
    #[error(transparent)]
    Device(#[from] device::ConfigError),
}

/// How an error message offers what may have been meant.
fn suggestion(name: &Option<String>) -> String {
    name.as_ref()
        .map_or(String::new(), |name| format!("; did you mean {name:?}?"))
}

impl Config {
    /// The names of all presets.
    pub fn preset_names() -> Vec<String> {
        PRESETS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// The text of a preset, with its comments.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn preset_text(name: &str) -> Result<&'static str, ConfigError> {
        let found = PRESETS.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text).ok_or_else(|| {
            let known = Config::preset_names();
            ConfigError::UnknownPreset {
                name: name.to_owned(),
                nearest: most_similar(name, &known),
                known,
            }
        })
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
        ConfigBuilder {
            table: parse(text)?,
        }
        .build()
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

    /// The configuration as TOML text: complete, so that reading it back gives the same.
    ///
    /// # Errors
    /// None for a valid configuration; numbers above 2^63 cannot be written.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string_pretty(self).map_err(|error| ConfigError::Syntax(error.to_string()))
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
        const LAYOUT: [&str; 5] = [
            "nand.geometry",
            "ftl.mode",
            "ftl.overprovisioning",
            "bits.compute_blocks_percent",
            "frontend.block_bytes",
        ];
        let (ours, theirs) = (
            ConfigBuilder::of(self)?.leaves(),
            ConfigBuilder::of(stored)?.leaves(),
        );
        let differs = ours.iter().zip(&theirs).find(|((key, ours), (_, theirs))| {
            ours != theirs && LAYOUT.iter().any(|layout| key.starts_with(layout))
        });
        differs.map_or(Ok(()), |((key, given), (_, stored))| {
            Err(ConfigError::ImageMismatch {
                key: key.clone(),
                given: given.to_string(),
                stored: stored.to_string(),
                image: path.to_owned(),
            })
        })
    }

    /// The failures to be injected, for tests that switch them.
    pub fn faults_mut(&mut self) -> &mut FaultConfig {
        &mut self.device.faults
    }
}

/// A configuration being put together.
pub struct ConfigBuilder {
    table: Table,
}

impl ConfigBuilder {
    /// Starts from a preset.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn preset(name: &str) -> Result<ConfigBuilder, ConfigError> {
        Ok(ConfigBuilder {
            table: parse(Config::preset_text(name)?)?,
        })
    }

    /// Starts from the preset that `text` names, with its other keys on top.
    ///
    /// # Errors
    /// Wrong syntax, or an unknown key.
    pub fn from_toml(text: &str) -> Result<ConfigBuilder, ConfigError> {
        let mut table = parse(text)?;
        let preset = match table.remove("preset") {
            None => DEFAULT_PRESET.to_owned(),
            Some(Value::String(name)) => name,
            Some(other) => {
                return Err(ConfigError::Value {
                    key: "preset".into(),
                    value: other.to_string(),
                    reason: "a preset is named by a string".into(),
                });
            }
        };
        let mut builder = ConfigBuilder::preset(&preset)?;
        merge(&mut builder.table, table, "")?;
        Ok(builder)
    }

    fn of(config: &Config) -> Result<ConfigBuilder, ConfigError> {
        Ok(ConfigBuilder {
            table: parse(&config.to_toml()?)?,
        })
    }

    /// Changes one key, given by its dotted name; `value` is TOML, or a string
    /// without quotes.
    ///
    /// # Errors
    /// If there is no such key.
    pub fn set(&mut self, key: &str, value: &str) -> Result<&mut ConfigBuilder, ConfigError> {
        let parsed = format!("value = {value}").parse::<Table>().ok();
        let parsed = parsed.and_then(|mut table| table.remove("value"));
        let parsed = parsed.unwrap_or_else(|| Value::String(value.to_owned()));
        let nested = key.rsplit('.').fold(parsed, |inner, part| {
            let mut table = Table::new();
            table.insert(part.to_owned(), inner);
            Value::Table(table)
        });
        if let Value::Table(change) = nested {
            merge(&mut self.table, change, "")?;
        }
        Ok(self)
    }

    /// Changes one key, given as `KEY=VALUE`.
    ///
    /// # Errors
    /// If the text is not of that form, or there is no such key.
    pub fn set_pair(&mut self, pair: &str) -> Result<&mut ConfigBuilder, ConfigError> {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| ConfigError::Override(pair.to_owned()))?;
        self.set(key.trim(), value.trim())
    }

    /// Every key with its value.
    fn leaves(&self) -> Vec<(String, Value)> {
        let mut leaves = Vec::new();
        collect_leaves(&self.table, "", &mut leaves);
        leaves
    }

    /// The configuration, checked.
    ///
    /// # Errors
    /// A value of the wrong kind, or out of range.
    pub fn build(&self) -> Result<Config, ConfigError> {
        let config: Config =
            Value::Table(self.table.clone())
                .try_into()
                .map_err(|error: toml::de::Error| {
                    let (key, value) = self.blame(&error);
                    ConfigError::Value {
                        key,
                        value,
                        reason: error.message().to_owned(),
                    }
                })?;
        config.device.validate()?;
        check_host(&config)?;
        Ok(config)
    }

    /// The key whose value does not fit: found by trying each alone on the
    /// default preset, as the deserializer of a table does not say where it was.
    fn blame(&self, error: &toml::de::Error) -> (String, String) {
        let default = parse(PRESETS[0].1).unwrap_or_default();
        let culprit = self.leaves().into_iter().find(|(key, value)| {
            let mut builder = ConfigBuilder {
                table: default.clone(),
            };
            let set = builder.set(key, &value.to_string());
            let broken = |builder: &ConfigBuilder| {
                Value::Table(builder.table.clone())
                    .try_into::<Config>()
                    .is_err_and(|other| other.message() == error.message())
            };
            set.is_ok_and(|builder| broken(builder))
        });
        culprit.map_or_else(
            || ("the configuration".into(), String::new()),
            |(key, value)| (key, value.to_string()),
        )
    }
}

fn check_host(config: &Config) -> Result<(), ConfigError> {
    let (host, frontend) = (&config.host, &config.device.frontend);
    let range = |key: &str, value: u64, most: u64| {
        if (1..=most).contains(&value) {
            return Ok(());
        }
        Err(ConfigError::Value {
            key: key.into(),
            value: value.to_string(),
            reason: format!("it must be 1 to {most}"),
        })
    };
    range(
        "host.queue_pairs",
        u64::from(host.queue_pairs),
        u64::from(frontend.io_queues),
    )?;
    range(
        "host.queue_entries",
        u64::from(host.queue_entries).saturating_sub(1),
        u64::from(frontend.queue_entries) - 1,
    )?;
    range(
        "host.compute_megabytes_per_second",
        host.compute_megabytes_per_second,
        1 << 40,
    )
}

fn parse(text: &str) -> Result<Table, ConfigError> {
    text.parse::<Table>()
        .map_err(|error| ConfigError::Syntax(error.to_string()))
}

/// Puts `changes` on top of `base`; every key must be there already.
fn merge(base: &mut Table, changes: Table, prefix: &str) -> Result<(), ConfigError> {
    for (key, change) in changes {
        let dotted = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        let known: Vec<String> = base.keys().map(|key| join(prefix, key)).collect();
        let Some(place) = base.get_mut(&key) else {
            let mut all = known;
            let mut leaves = Vec::new();
            collect_leaves(base, prefix, &mut leaves);
            all.extend(leaves.into_iter().map(|(key, _)| key));
            return Err(ConfigError::UnknownKey {
                nearest: most_similar(&dotted, &all),
                key: dotted,
            });
        };
        match (place, change) {
            (Value::Table(base), Value::Table(changes)) => merge(base, changes, &dotted)?,
            (Value::Table(_), other) => {
                return Err(ConfigError::Value {
                    key: dotted,
                    value: other.to_string(),
                    reason: "it is a table of keys, not a value".into(),
                });
            }
            (place, Value::Table(_)) if !place.is_table() => {
                return Err(ConfigError::UnknownKey {
                    key: dotted.clone() + ".*",
                    nearest: Some(dotted),
                });
            }
            (place @ Value::Float(_), Value::Integer(whole)) => *place = Value::Float(whole as f64),
            (place, change) => *place = change,
        }
    }
    Ok(())
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_owned()
    } else {
        format!("{prefix}.{key}")
    }
}

fn collect_leaves(table: &Table, prefix: &str, leaves: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let dotted = join(prefix, key);
        match value {
            Value::Table(inner) => collect_leaves(inner, &dotted, leaves),
            value => leaves.push((dotted, value.clone())),
        }
    }
}

/// The candidate most similar to `name`; none if all are far off.
fn most_similar(name: &str, candidates: &[String]) -> Option<String> {
    let score = |candidate: &String| strsim::jaro_winkler(name, candidate);
    let best = candidates
        .iter()
        .max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(best) > 0.6).then(|| best.clone())
}
