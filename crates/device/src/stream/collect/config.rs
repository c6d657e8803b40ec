//! What the configuration says of collectors.

use media::OutOfRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Collectors: what feeds the drive without the host, over ports of its own (TH-iSSD, TECS 2023, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectorConfig {
    /// Ports, each for one collector.
    pub ports: u32,
    /// The most that the wire of a port carries, overhead included, in megabytes (10^6) per second.
    pub port_megabytes_per_second: u32,
    /// Bytes of the drive's DRAM in which packets wait, of all collectors together.
    pub buffer_bytes: u64,
    /// Of these, the share that a collector that asks for no other has at least, in bytes.
    pub share_bytes: u64,
    /// Microseconds of what its wire brings that such a share has room for, of what is left when each other port has the least.
    pub share_us: u64,
    /// Pages that collectors have programmed or on their way there at a time, all together, for each plane of the drive. They take turns.
    pub writes_per_plane: u32,
    /// Energy of the drive's end of a wire for each byte, overhead included, in picojoules.
    pub wire_pj_per_byte: u32,
    /// Bytes that are collected until it is made durable that they are; at least a page.
    pub position_bytes: u64,
    /// Microseconds until that is made durable of fewer bytes.
    pub position_us: u64,
}

impl CollectorConfig {
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("ports", self.ports, 0, 1 << 16)?;
        let rate = self.port_megabytes_per_second;
        OutOfRange::check("port_megabytes_per_second", rate, 1, 1_000_000)?;
        OutOfRange::check("buffer_bytes", self.buffer_bytes, 1 << 16, 1 << 40)?;
        OutOfRange::check("share_bytes", self.share_bytes, 1 << 14, self.buffer_bytes)?;
        OutOfRange::check("share_us", self.share_us, 0, 1_000_000_000)?;
        OutOfRange::check("writes_per_plane", self.writes_per_plane, 1, 1 << 10)?;
        OutOfRange::check("position_bytes", self.position_bytes, 1, 1 << 40)?;
        OutOfRange::check("position_us", self.position_us, 1, 1_000_000_000)
    }
}
