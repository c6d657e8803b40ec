//! The drive's memory: page buffers, of which there are so many, and what of the DRAM is whose.

mod buffers;
mod regions;
mod rooms;

use media::nand::Geometry;
use serde::{Deserialize, Serialize};

pub use buffers::{Buffer, BufferId, Buffers};
pub use regions::{Quotas, Region, Regions, TooSmall};
use rooms::RESERVED;
pub use rooms::{Held, Purpose, Room};

/// How the drive's memory is shared out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryConfig {
    /// Page buffers: pages that can be on their way between host, flash and accelerator at the same
    /// time, collection and the firmware's own included. Whoever finds none waits.
    pub page_buffers: u32,
}

impl MemoryConfig {
    /// The fewest page buffers with which a drive of this geometry can do all it has to: those kept
    /// for the firmware, and for commands two pages of each plane of a die.
    pub fn page_buffers_min(geometry: &Geometry) -> u32 {
        RESERVED + 2 * geometry.planes_per_die
    }
}

#[cfg(test)]
mod tests;
