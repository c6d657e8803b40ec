//! How much memory the host and its programs share with the drive.

use media::OutOfRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What sizes are multiples of, in bytes.
const UNIT: u64 = 4096;

/// The memory namespace, and the compute namespace whose programs see ranges of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalMemoryConfig {
    /// Bytes of the drive's DRAM that are a namespace of their own, a multiple of 4096. With 0 there is neither a memory namespace
    /// nor a compute namespace.
    pub bytes: u64,
    /// Memory range sets that there may be at a time.
    pub range_sets: u16,
    /// Ranges of a set, at most.
    pub ranges: u8,
}

impl LocalMemoryConfig {
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("bytes", self.bytes, 0, 1 << 40)?;
        if !self.bytes.is_multiple_of(UNIT) {
            return Err(OutOfRange {
                key: "bytes",
                value: self.bytes,
                allowed: format!("a multiple of {UNIT}"),
            });
        }
        OutOfRange::check("range_sets", self.range_sets, 1, 0xFFFE)?;
        OutOfRange::check("ranges", self.ranges, 1, 0xFF)
    }
}
