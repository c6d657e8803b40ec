//! Wear levelling: erases are spread over the blocks of a plane.
//!
//! Dynamic levelling takes the least worn free block first. Static levelling moves
//! what lies in a block that is hardly ever erased to the most worn free block, so that
//! the former comes into use again.

use media::nand::PlaneId;
use serde::{Deserialize, Serialize};

use super::Ftl;

/// How erases are spread over the blocks of a plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WearLevellingConfig {
    /// Whether the free block with the fewest erases is used first.
    pub dynamic: bool,
    /// When a block with data was erased so many times less than the most erased block of
    /// its plane, its content is moved; 0 means never.
    pub static_threshold: u32,
}

impl Ftl {
    /// Moves the content of the least worn block of `plane` if others are worn much more.
    pub(super) fn level_wear(&self, plane: PlaneId) {
        let threshold = self.config.wear_levelling.static_threshold;
        if threshold == 0 || self.collections.is_levelling(plane) {
            return;
        }
        let blocks = self.blocks.borrow();
        // The move takes a block before it gives one back.
        let spare = blocks.free_blocks(plane) > self.config.gc.hard_threshold_blocks as usize;
        let coldest = blocks
            .coldest(plane)
            .filter(|(_, behind)| *behind > threshold);
        drop(blocks);
        if let Some((block, _)) = coldest.filter(|_| spare) {
            self.begin_levelling(plane, block);
        }
    }
}
