//! Groups held against what the flash allows and what a power cut leaves.

mod power_cuts;
mod table;

use std::collections::BTreeSet;

use media::nand::{BlockId, Geometry, PlaneId};

use super::BlockSource;

/// Two channels of two chips, two planes each; strings of three cells, two a block.
pub(in crate::bits) fn small() -> Geometry {
    Geometry {
        channels: 2,
        chips_per_channel: 2,
        dies_per_chip: 1,
        planes_per_die: 2,
        blocks_per_plane: 12,
        strings_per_block: 2,
        cells_per_string: 3,
        page_bytes: 8,
        spare_bytes: 64,
    }
}

/// Free blocks of every plane.
pub(in crate::bits) struct Pool {
    geometry: Geometry,
    pub(in crate::bits) free: BTreeSet<BlockId>,
}

impl Pool {
    pub(in crate::bits) fn new(geometry: &Geometry) -> Pool {
        Pool {
            geometry: geometry.clone(),
            free: (0..geometry.blocks()).map(BlockId).collect(),
        }
    }
}

impl BlockSource for Pool {
    fn allocate_block(&mut self, plane: PlaneId) -> Option<BlockId> {
        let mut blocks = self.geometry.blocks_of_plane(plane).map(BlockId);
        let block = blocks.find(|block| self.free.contains(block))?;
        self.free.remove(&block);
        Some(block)
    }

    fn release_block(&mut self, block: BlockId) {
        assert!(self.free.insert(block), "a released block was allocated");
    }
}
