//! What the configuration says of programs of a namespace: how many, how large, and how many run at a time.

use media::OutOfRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What programs of each namespace may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaConfig {
    /// Programs that a namespace may have; their indices are below this, and one more than an index names it in log pages of 16 bits.
    pub programs: u32,
    /// Bytes of all programs of a namespace.
    pub program_bytes: u64,
    /// Bytes of a program that is kept through power cycles, at most: the journal has them, and now and then writes them anew.
    pub persistent_bytes: u64,
    /// Runs of a namespace at a time; further ones wait.
    pub runs: u32,
}

impl QuotaConfig {
    /// # Errors
    /// The first number that cannot be.
    pub(super) fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("quota.programs", self.programs, 1, 0xFFFF)?;
        OutOfRange::check("quota.program_bytes", self.program_bytes, 8, 1 << 40)?;
        OutOfRange::check("quota.persistent_bytes", self.persistent_bytes, 8, 1 << 28)?;
        OutOfRange::check("quota.runs", self.runs, 1, 1 << 16)
    }
}
