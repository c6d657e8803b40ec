//! What the configuration says of cards in the host beside the drive: one that computes, and one that collectors are connected to.

use media::link::LinkConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// A card that computes, to compare with (the accelerator of a compute-centric architecture, TH-iSSD 4.1.2): the drive's cores,
/// accelerators and DRAM on a link of their own, without its flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CardConfig {
    /// Pieces that the host reads from the drive ahead of the card at a time, and writes to the drive behind it.
    pub pieces: u32,
    /// Bytes of output that wait in the host's memory for who reads them, at most: the stream stands still then.
    pub output_bytes: u64,
    /// Its link.
    pub(crate) link: LinkConfig,
}

/// A card that collectors are connected to instead of the drive, to compare with (TH-iSSD, Figure 2): what they send comes into the
/// host's memory, and the host writes it to the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// Bytes of the host's memory that each collector has for what is not written yet.
    pub buffer_bytes: u64,
    /// Bytes of a write to the drive.
    pub write_bytes: u64,
    /// Writes of each collector that are under way at a time.
    pub writes: u32,
    /// Its link.
    pub(crate) link: LinkConfig,
}

impl CardConfig {
    /// Checks everything.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        in_range("host.card.pieces", self.pieces.into(), 1, 1024)?;
        in_range(
            "host.card.output_bytes",
            self.output_bytes,
            1 << 20,
            1 << 40,
        )?;
        link("host.card.link", &self.link)
    }
}

impl ReceiverConfig {
    /// Checks everything.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        in_range("host.receiver.write_bytes", self.write_bytes, 1, 1 << 30)?;
        in_range("host.receiver.writes", self.writes.into(), 1, 1024)?;
        let most = 1 << 40;
        in_range(
            "host.receiver.buffer_bytes",
            self.buffer_bytes,
            self.write_bytes,
            most,
        )?;
        link("host.receiver.link", &self.link)
    }
}

fn in_range(key: &'static str, value: u64, least: u64, most: u64) -> Result<(), ConfigError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(ConfigError::Range {
            key,
            value,
            least,
            most,
        }),
    }
}

fn link(table: &str, link: &LinkConfig) -> Result<(), ConfigError> {
    link.validate().map_err(|error| ConfigError::Value {
        key: format!("{table}.{}", error.key),
        value: error.value.to_string(),
        reason: format!("it must be {}", error.allowed),
    })
}
