//! The drive's memory: page buffers, of which there are so many, what of the DRAM is whose, and what
//! outlives the power, and what that takes.

mod buffers;
mod capacitor;
mod copier;
mod partitions;
mod rooms;
mod short;

use media::OutOfRange;
use media::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use buffers::{Buffer, BufferId, BufferSizes, Buffers};
pub(crate) use capacitor::{Capacitor, Claim, DUMP_FAILURES, DUMP_NOTES, Means, Need, Rates, Work};
pub use capacitor::{CapacitorConfig, Dumped, TooWeak};
pub(crate) use copier::Copier;
pub use partitions::{DramMap, Partition, Quotas, TooSmall};
use rooms::RESERVED;
pub use rooms::{Held, Purpose, Room};

/// Page buffers for each plane of a computation, besides that of its output, that saving its latches
/// may take when it stands back.
pub(crate) const SAVED_PAGES: u32 = 1;

/// How the drive's memory is shared out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryConfig {
    /// Page buffers: pages that can be on their way between host, flash and accelerator at the same
    /// time, collection and the firmware's own included. Whoever finds none waits.
    pub page_buffers: u32,
}

impl MemoryConfig {
    /// The fewest page buffers with which a drive of this geometry can do all it has to: those kept
    /// for the firmware, and for commands a result, what it is combined with and a latch of each plane of a die.
    pub fn page_buffers_min(geometry: &Geometry) -> u32 {
        RESERVED + (2 + SAVED_PAGES) * geometry.planes_per_die
    }

    /// Page buffers that a command can have at once.
    pub(crate) fn for_commands(&self) -> u32 {
        self.page_buffers.saturating_sub(RESERVED)
    }

    /// # Errors
    /// Too few page buffers for a drive of this geometry.
    pub fn validate(&self, geometry: &Geometry) -> Result<(), OutOfRange> {
        let least = MemoryConfig::page_buffers_min(geometry).into();
        OutOfRange::check("page_buffers", self.page_buffers, least, 1 << 24)
    }
}

#[cfg(test)]
pub(crate) mod tests;
