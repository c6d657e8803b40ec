//! Wear levelling: erases are spread over the blocks of a plane.
//!
//! Dynamic levelling takes the least worn free block first. Static levelling moves
//! what lies in a block that is hardly ever erased to the most worn free block, so that
//! the former comes into use again.

use media::nand::{BlockId, PlaneId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ftl;
use crate::region::Owner;

/// How erases are spread over the blocks of a plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WearLevellingConfig {
    /// Whether the free block with the fewest erases is used first.
    pub dynamic: bool,
    /// When a block with data was erased so many times less than the most erased block of
    /// its plane, its content is moved; 0 means never.
    pub static_threshold: u32,
    /// What static levelling compares with the threshold. Set in `[compatibility]`.
    #[serde(skip)]
    pub static_rule: StaticRule,
}

/// What static levelling compares with its threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StaticRule {
    /// By how many erases the least worn block with data is behind the most worn block.
    #[default]
    Erases,
    /// By how much the number of the most worn block exceeds that of the least worn one, and what
    /// is moved goes where collection writes: MQSim's slip. It empties the first blocks of a
    /// plane once.
    Numbers,
}

impl WearLevellingConfig {
    /// Whether blocks with data must be kept in the order of their erases.
    pub(super) fn keeps_order(&self) -> bool {
        self.static_threshold > 0 && self.static_rule == StaticRule::Erases
    }
}

impl Ftl {
    /// Moves the content of the least worn block of `plane` if others are worn much more.
    pub(super) fn level_wear(&self, plane: PlaneId) {
        let levelling = &self.config.wear_levelling;
        if levelling.static_threshold == 0 || self.collections.is_levelling(plane) {
            return;
        }
        match levelling.static_rule {
            StaticRule::Erases => self.level_by_erases(plane, levelling.static_threshold),
            StaticRule::Numbers => self.level_by_numbers(plane, levelling.static_threshold),
        }
    }

    fn level_by_erases(&self, plane: PlaneId, threshold: u32) {
        let blocks = self.blocks.borrow();
        // The move takes a block before it gives one back.
        let spare = blocks.free_blocks(plane) > self.config.gc.hard_threshold_blocks as usize;
        let coldest = blocks
            .coldest(plane)
            .filter(|(_, behind)| *behind > threshold);
        drop(blocks);
        match coldest.filter(|_| spare) {
            Some((block, _)) => self.begin_levelling(block),
            None if spare => {
                self.level_region(plane, threshold);
                self.level_lent(Owner::Search, plane, threshold);
            }
            None => {}
        }
    }

    fn level_by_numbers(&self, plane: PlaneId, threshold: u32) {
        let blocks = self.blocks.borrow();
        let (most, least) = blocks.most_and_least_erased(plane);
        let block = BlockId(self.geometry.block_of_plane(plane, 0).0 + least);
        // As above; a drive that is nearly full must not run out of space for this.
        let spare = blocks.free_blocks(plane) > self.config.gc.hard_threshold_blocks as usize;
        let due = most.wrapping_sub(least) >= threshold && spare && blocks.can_be_emptied(block);
        drop(blocks);
        if due {
            self.count(|counts| counts.wear_levelling_blocks += 1);
            self.begin_emptying(block);
        }
    }
}
