//! How the free blocks of a plane are shared out: some are kept back for collection, for computing and for a dump.

use std::cell::Cell;
use std::rc::Rc;

use media::nand::{BlockId, PlaneId, Ppa};

use super::{Blocks, Plane, Stream, Use};
use crate::ftl::SlcCacheConfig;
use crate::memory::{DUMP_FAILURES, DUMP_NOTES};

/// How the blocks of a drive are shared out.
#[derive(Clone, Copy, Debug)]
pub(in crate::ftl) struct Shares {
    /// Pages of a block in the mode that data is programmed in.
    pub(in crate::ftl) pages_per_block: u32,
    /// Pages of a block of the SLC cache.
    pub(in crate::ftl) slc_pages_per_block: u32,
    /// Blocks of each plane that the SLC cache may have, and how many of these are kept empty.
    pub(in crate::ftl) slc_cache: SlcCacheConfig,
    /// Free blocks of each plane that only collection may open.
    pub(in crate::ftl) reserve: u32,
    /// Host writes wait while fewer blocks of the plane are free.
    pub(in crate::ftl) host_waits_below: u32,
    /// Whether blocks for mapping pages are opened before there are any.
    pub(in crate::ftl) opens_ahead: bool,
    /// Blocks of each plane that computing may take.
    pub(in crate::ftl) compute_blocks: u32,
    /// Needed units of each plane that data has room for without blocks of computing's share.
    pub(in crate::ftl) data_units: u32,
    /// Units of a page.
    pub(in crate::ftl) units_per_page: u32,
    /// Blocks of each plane that stay erased for a dump when the power goes.
    pub(in crate::ftl) dump_blocks: u32,
}

impl Plane {
    /// Blocks that are kept back for computing: those of its share that it has not claimed, but for
    /// those that data needs, since the host wrote more of it than the other blocks are for.
    pub(super) fn unclaimed(&self, shares: &Shares) -> usize {
        let unclaimed = shares.compute_blocks.saturating_sub(self.compute_blocks);
        let more = self.data_units.saturating_sub(shares.data_units);
        // Less than a block, of records and of pages that found no room in their planes, is what is kept for collection.
        let blocks = more / (shares.pages_per_block * shares.units_per_page);
        unclaimed.saturating_sub(blocks) as usize
    }
}

impl Blocks {
    /// Free blocks of `plane` that data may take: not those that computing has
    /// not claimed yet of its share, nor those for a dump.
    pub(in crate::ftl) fn free_blocks(&self, plane: PlaneId) -> usize {
        let entry = &self.planes[plane.0 as usize];
        let kept_back = entry.unclaimed(&self.shares) + self.shares.dump_blocks as usize;
        entry.free.len().saturating_sub(kept_back)
    }

    /// Takes the next free block of `plane` to fill it at once.
    pub(in crate::ftl) fn take_for_data(&mut self, plane: PlaneId) -> Option<BlockId> {
        if self.free_blocks(plane) <= self.shares.reserve as usize {
            return None;
        }
        let block = self.planes[plane.0 as usize].free.pop()?;
        self.set_use(block, Use::Open);
        Some(block)
    }

    /// Takes all free blocks of `plane`.
    pub(in crate::ftl) fn take_all_free(&mut self, plane: PlaneId) -> Vec<BlockId> {
        let free = &mut self.planes[plane.0 as usize].free;
        std::iter::from_fn(|| free.pop()).collect()
    }

    /// Units that collection of `plane` can surely write, page by page: those left in its open block, and
    /// of the blocks kept free for it all but one, which power cuts may tear.
    pub(in crate::ftl) fn room_for_copies(&self, plane: PlaneId) -> u32 {
        let open = self.planes[plane.0 as usize].frontiers[Stream::Collection as usize];
        let pages = self.shares.pages_per_block;
        let left = open.map_or(0, |frontier| pages - frontier.next_page);
        let kept = self
            .free_blocks(plane)
            .min(self.shares.host_waits_below as usize) as u32;
        (left + kept.saturating_sub(1) * pages) * self.shares.units_per_page
    }

    /// Takes a free block of `plane` for the region, if computing has not had its share or may have so many
    /// more, and enough remain for data.
    pub(in crate::ftl) fn take_for_compute(
        &mut self,
        plane: PlaneId,
        more: u32,
    ) -> Option<BlockId> {
        let entry = &mut self.planes[plane.0 as usize];
        if entry.unclaimed(&self.shares) + more as usize == 0
            || entry.free.len() <= (self.shares.reserve + self.shares.dump_blocks) as usize
        {
            return None;
        }
        let block = entry.free.pop()?;
        entry.compute_blocks += 1;
        self.blocks[block.0 as usize].usage = Use::Compute;
        Some(block)
    }

    /// How many times [`Blocks::take_for_compute`] has a block of its share now.
    pub(in crate::ftl) fn claimable(&self, plane: PlaneId) -> usize {
        let entry = &self.planes[plane.0 as usize];
        let kept_back = (self.shares.reserve + self.shares.dump_blocks) as usize;
        let free = entry.free.len().saturating_sub(kept_back);
        entry.unclaimed(&self.shares).min(free)
    }

    /// The same of the most worn free block, for pages that are hardly ever replaced.
    pub(in crate::ftl) fn take_worn_for_compute(&mut self, plane: PlaneId) -> Option<BlockId> {
        let entry = &mut self.planes[plane.0 as usize];
        let kept_back = (self.shares.reserve + self.shares.dump_blocks) as usize;
        if entry.free.len() <= kept_back + 1 {
            return None;
        }
        let block = entry.free.pop_most_worn()?;
        entry.compute_blocks += 1;
        self.blocks[block.0 as usize].usage = Use::Compute;
        Some(block)
    }

    /// Takes a free block of `plane` for roots of checkpoints, if enough remain for data.
    pub(in crate::ftl) fn take_root(&mut self, plane: PlaneId) -> Option<BlockId> {
        let entry = &mut self.planes[plane.0 as usize];
        let unclaimed = entry.unclaimed(&self.shares);
        let kept_back = (self.shares.reserve + self.shares.dump_blocks) as usize + unclaimed;
        if entry.free.len() <= kept_back {
            return None;
        }
        let block = entry.free.pop()?;
        self.blocks[block.0 as usize].usage = Use::Root;
        Some(block)
    }

    /// Counts a block that recovery found to be the region's.
    pub(in crate::ftl) fn found_compute(&mut self, block: BlockId) {
        self.plane_mut(block).compute_blocks += 1;
        self.set_use(block, Use::Compute);
    }

    /// A block is no longer the region's; it still has to be erased.
    pub(in crate::ftl) fn release_from_compute(&mut self, block: BlockId) {
        self.plane_mut(block).compute_blocks -= 1;
        self.set_use(block, Use::Closed);
        if self.inverse_pages > 0 {
            let stride = self.geometry.pages_per_block_max();
            for page in block.0 * stride..(block.0 + 1) * stride {
                self.set_inverse(Ppa(page), false);
            }
        }
    }

    /// Pages that a dump has room for in the blocks kept for it, however many collection
    /// takes meanwhile, and though some programs fail. After a dump there may be fewer until collection has won some back.
    pub(in crate::ftl) fn dump_pages(&self) -> u32 {
        let Shares {
            reserve,
            dump_blocks,
            pages_per_block,
            ..
        } = self.shares;
        let kept = |plane: &Plane| {
            let open = u32::from(plane.frontiers[Stream::Collection as usize].is_some());
            let free = plane.free.len() as u32 + open;
            free.saturating_sub(reserve).min(dump_blocks)
        };
        let room = self.planes.iter().map(kept).sum::<u32>() * pages_per_block;
        room.saturating_sub(room / 64 + DUMP_FAILURES + DUMP_NOTES)
    }

    /// Where to count the units that a dump would have to save.
    pub(in crate::ftl) fn unsaved(&self) -> Rc<Cell<u32>> {
        self.unsaved.clone()
    }

    /// Whether a free block less would be too few for what a dump would have to save now. Only a
    /// drive that is worn out comes to that.
    pub(super) fn dump_needs_all(&self) -> bool {
        let unsaved = self.unsaved.get().div_ceil(self.shares.units_per_page);
        let free: usize = self.planes.iter().map(|plane| plane.free.len()).sum();
        let left = (free as u32).saturating_sub(1) * self.shares.pages_per_block;
        unsaved > 0 && left < unsaved + unsaved / 64 + DUMP_FAILURES + DUMP_NOTES
    }

    /// Whether no block is free, for whatever.
    pub(in crate::ftl) fn is_none_free(&self) -> bool {
        self.planes.iter().all(|plane| plane.free.len() == 0)
    }

    /// Takes a free block of `plane` for a dump, whoever it was kept for: no life goes on
    /// after it.
    pub(in crate::ftl) fn take_for_dump(&mut self, plane: PlaneId) -> Option<BlockId> {
        self.planes[plane.0 as usize].free.pop()
    }
}
