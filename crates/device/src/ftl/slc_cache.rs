//! The SLC cache: host writes go to blocks that are programmed with one bit a cell, which is fast,
//! and are folded into blocks of the ordinary mode later.
//!
//! A block is folded as garbage collection empties one (`gc`): its pages go where copies of
//! collection go, by copyback if `ftl.gc.copyback` is set, and the block is erased. While the cache
//! is full the host writes in the ordinary mode.

use media::nand::ProgramMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FtlConfigError;

/// The SLC cache in front of blocks with more bits a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcCacheConfig {
    /// Blocks of each plane that it may have; 0 is none. They are not exported.
    pub blocks_per_plane: u32,
    /// Blocks are folded while fewer of these are empty: 1 folds when the cache is full, as many
    /// as it has at once.
    pub fold_threshold_blocks: u32,
}

impl SlcCacheConfig {
    pub(super) fn check(&self, mode: ProgramMode) -> Result<(), FtlConfigError> {
        let refusal = |key, value, allowed| {
            Err(FtlConfigError::SlcCache {
                key,
                value,
                allowed,
            })
        };
        let one_bit = matches!(mode, ProgramMode::Slc | ProgramMode::Esp);
        if one_bit && self.blocks_per_plane > 0 {
            let allowed = "0: ftl.mode has one bit a cell".to_owned();
            return refusal("blocks_per_plane", self.blocks_per_plane, allowed);
        }
        let folds = 1..=self.blocks_per_plane.max(1);
        if !folds.contains(&self.fold_threshold_blocks) {
            let allowed = format!("1 to {}", folds.end());
            return refusal("fold_threshold_blocks", self.fold_threshold_blocks, allowed);
        }
        Ok(())
    }
}
