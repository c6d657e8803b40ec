//! Which blocks of the region are emptied, for room and for wear.

use media::nand::{BlockId, PlaneId};

use crate::ftl::{Ftl, FtlError};
use crate::region::{Owner, Spot, next_of_string};

impl Ftl {
    /// Waits until a page may have been won for a spot, or something else changed.
    ///
    /// # Errors
    /// Nothing is under way that could win one.
    pub(crate) async fn win_compute_page(&self, spot: &Spot) -> Result<(), FtlError> {
        if !self.compact(spot) && self.lent_blocks(Owner::Temporary) == 0 {
            return Err(FtlError::NoComputeBlock(spot.plane.0));
        }
        self.region_changed.next().await;
        Ok(())
    }

    /// Begins to empty a block of the region in the plane of a spot, if that wins a page for it; whether anything is
    /// under way.
    fn compact(&self, spot: &Spot) -> bool {
        let plane = spot.plane;
        let region = self.region.borrow();
        let stuck = self.is_region_stuck(plane);
        let coming = {
            let blocks = self.blocks.borrow();
            let mut held = region.blocks_of(plane);
            held.any(|(block, held)| {
                let settled = blocks.is_drained(block) && blocks.valid_units(block) > 0;
                held.busy || (held.failed && !stuck) || (!held.open && !settled)
            })
        };
        if coming || stuck {
            return coming;
        }
        let victim = self.region_victim(spot);
        drop(region);
        if let Some(block) = victim {
            self.begin_region(block);
        }
        victim.is_some()
    }

    /// The block of the region that is emptied for the fewest copies, if that wins a block: where its column has room for
    /// them, or another of the column fits into a fresh block together with it. Otherwise one of the spot's own column
    /// that would not fill a fresh block: then that has room.
    fn region_victim(&self, spot: &Spot) -> Option<BlockId> {
        let region = self.region.borrow();
        let mut columns: Vec<(u16, u32, u32, u32, BlockId)> = Vec::new();
        for (block, held) in region.blocks_of(spot.plane) {
            let at_rest = !held.open && self.blocks.borrow().is_drained(block);
            if at_rest && !region.is_pinned(block) {
                let valid = self.blocks.borrow().valid_units(block);
                let height = self.layers_needed(block);
                columns.push((held.handle, held.column, height, valid, block));
            }
        }
        columns.sort_unstable();
        let layers = self.geometry.cells_per_string;
        let mut best: Option<(u32, BlockId)> = None;
        let mut own = None;
        for of_column in columns.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (handle, column, height, valid, block) = of_column[0];
            let into_open = height <= region.room(handle, column);
            let together = of_column
                .get(1)
                .is_some_and(|next| height + next.2 <= layers);
            if (handle, column) == (spot.handle, spot.column) && height < layers {
                own = Some(block);
            }
            if (into_open || together) && best.is_none_or(|(least, _)| valid < least) {
                best = Some((valid, block));
            }
        }
        best.map(|(_, block)| block).or(own)
    }

    /// The layers that the needed pages of a block take in another, one after the other.
    fn layers_needed(&self, block: BlockId) -> u32 {
        let strings = self.geometry.strings_per_block;
        let blocks = self.blocks.borrow();
        let mut free = 0;
        let mut needed = blocks.next_valid(block, 0);
        while let Some(page) = needed {
            free = next_of_string(free, page.page % strings, strings) + 1;
            needed = blocks.next_valid(block, page.page + 1);
        }
        free.div_ceil(strings)
    }

    /// Empties a block of the region if it is failing, or erases it if nothing of it is needed; unless an evaluation or
    /// a program is at it.
    pub(in crate::ftl) fn look_at_region_block(&self, block: BlockId) {
        if self.is_collection_held() {
            return;
        }
        let due = {
            let (region, blocks) = (self.region.borrow(), self.blocks.borrow());
            region.held(block).is_some_and(|held| {
                let at_rest = !held.busy && !region.is_pinned(block) && blocks.is_drained(block);
                at_rest && (held.failed || blocks.valid_units(block) == 0)
            })
        };
        if due {
            self.begin_region(block);
        }
    }

    /// The same of all blocks, after power-up.
    pub(in crate::ftl) fn look_at_region(&self) {
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            let blocks: Vec<BlockId> = {
                let region = self.region.borrow();
                region.blocks_of(plane).map(|(block, _)| block).collect()
            };
            blocks
                .into_iter()
                .for_each(|block| self.look_at_region_block(block));
        }
    }

    /// A block is erased, or out of use: the region's no more.
    pub(in crate::ftl) fn leave_region(&self, block: BlockId) {
        let mut blocks = self.blocks.borrow_mut();
        if blocks.is_compute(block) {
            blocks.release_from_compute(block);
            self.region.borrow_mut().forget(block);
        }
    }

    /// Moves the block of the region in `plane` that was erased the least to the most worn free block, if it is so many
    /// erases behind the most worn.
    pub(in crate::ftl) fn level_region(&self, plane: PlaneId, threshold: u32) {
        let coldest = {
            let (region, blocks) = (self.region.borrow(), self.blocks.borrow());
            let at_rest = region.blocks_of(plane).filter(|(block, held)| {
                let closed = !held.open && blocks.is_drained(*block);
                closed && !held.busy && !held.failed && !region.is_pinned(*block)
            });
            let coldest = at_rest.min_by_key(|(block, _)| blocks.erases(*block));
            let most = blocks.most_erases(plane);
            coldest.filter(|(block, _)| most - blocks.erases(*block) > threshold)
        };
        let Some((block, _)) = coldest else { return };
        let target = self.blocks.borrow_mut().take_worn_for_compute(plane);
        if let Some(target) = target {
            self.begin_region_levelling(block, target);
        }
    }
}
