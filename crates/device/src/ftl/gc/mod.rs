//! Garbage collection: a task for each plane that empties blocks whose pages are
//! no longer needed. One file a policy.

mod collect;
mod greedy;

pub(super) use collect::Collector;

use media::nand::{BlockId, PlaneId};
use serde::{Deserialize, Serialize};

use super::blocks::Blocks;

/// How garbage is collected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GcConfig {
    /// Which block is emptied.
    pub policy: GcPolicy,
    /// Collection of a plane runs while fewer of its blocks are free.
    pub threshold_blocks: u32,
}

/// Which block is emptied next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GcPolicy {
    /// The one with the fewest pages to copy.
    Greedy,
}

impl GcPolicy {
    /// The block of `plane` to empty; `None` if none would yield anything.
    fn victim(self, blocks: &Blocks, plane: PlaneId) -> Option<BlockId> {
        match self {
            GcPolicy::Greedy => greedy::victim(blocks, plane),
        }
    }
}
