//! Erasing everything that is not needed, for Sanitize.

use media::nand::{BlockCondition, BlockId, PlaneId};

use super::Ftl;

/// Blocks to be erased.
pub struct Purge {
    /// Those left, each with its erases before.
    left: Vec<(BlockId, u32)>,
    all: usize,
}

impl Purge {
    /// Blocks that are not erased yet.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// All blocks that were to be erased.
    pub fn all(&self) -> usize {
        self.all
    }
}

impl Ftl {
    /// Closes what is being filled, so that every block that holds something can be emptied.
    pub fn begin_purge(&self) -> Purge {
        let mut blocks = self.blocks.borrow_mut();
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            blocks.close_frontiers(plane);
        }
        let nand = self.schedule.nand().borrow();
        let left: Vec<(BlockId, u32)> = (0..self.geometry.blocks())
            .map(BlockId)
            .filter(|block| blocks.holds_pages(*block) || blocks.is_compute(*block))
            .map(|block| (block, nand.block_state(block).erase_count))
            .collect();
        Purge {
            all: left.len(),
            left,
        }
    }

    /// Has one more block of each plane emptied and erased, where none is; says how many are left.
    pub fn go_on_purging(&self, purge: &mut Purge) -> usize {
        {
            let nand = self.schedule.nand().borrow();
            purge.left.retain(|(block, erases)| {
                let state = nand.block_state(*block);
                state.condition != BlockCondition::Bad && state.erase_count == *erases
            });
        }
        for (block, _) in &purge.left {
            self.look_at_region_block(*block);
        }
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            if self.is_collecting(plane) {
                continue;
            }
            let next = {
                let blocks = self.blocks.borrow();
                let of_plane = |block| self.geometry.plane_of_block(block) == plane;
                let mut left = purge.left.iter().map(|(block, _)| *block);
                left.find(|block| of_plane(*block) && blocks.can_be_emptied(*block))
            };
            if let Some(block) = next {
                self.begin_emptying(plane, block);
            }
        }
        purge.left.len()
    }
}
