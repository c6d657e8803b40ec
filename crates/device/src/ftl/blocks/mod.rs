//! What the translation layer knows of blocks and pages: which are free, open,
//! full or bad, and which pages hold something that is still needed.
//!
//! Here is what becomes of a block from when it is closed until it is free again. [`frontiers`] fills blocks, [`pages`]
//! knows their pages, [`shares`] what may be taken of the [`free`] ones, [`candidates`] orders those that collection may
//! choose from.

mod candidates;
mod free;
mod frontiers;
mod pages;
mod shares;

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use media::nand::{BlockId, Geometry, PlaneId};

use super::{MappingUnit, SlcCacheConfig};
use candidates::Candidates;
pub(super) use candidates::View;
use free::FreeBlocks;
pub(super) use frontiers::Stream;
use frontiers::{Frontier, STREAMS};
pub(super) use shares::Shares;

/// What a block is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Use {
    /// Erased, waiting to be used.
    #[default]
    Free,
    /// Being filled.
    Open,
    /// Filled, or closed before that.
    Closed,
    /// Being emptied.
    Collecting,
    /// A program failed here: to be emptied and never used again.
    Failing,
    /// Never to be used.
    Bad,
    /// The region's: emptied by the layout of what lies there only.
    Compute,
    /// Holds roots of checkpoints; kept as it is until they are not needed.
    Root,
}

/// In which orders blocks are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orders {
    /// The free block with the fewest erases goes first.
    pub(super) free_by_wear: bool,
    /// [`Blocks::coldest`] will be asked for.
    pub(super) closed_by_wear: bool,
    /// [`View::oldest`] will be asked for.
    pub(super) closed_by_age: bool,
}

#[derive(Clone, Copy, Default)]
struct Block {
    /// Units that hold something needed.
    valid: u32,
    /// Pages allocated whose program has not been committed.
    pending: u16,
    erases: u32,
    usage: Use,
    /// Whether it belongs to the SLC cache.
    in_slc_cache: bool,
}

/// The blocks of one plane that are not full.
struct Plane {
    free: FreeBlocks,
    frontiers: [Option<Frontier>; STREAMS],
    compute_blocks: u32,
    /// Needed units that are not the region's; counted where computing has a share.
    data_units: u32,
    /// Blocks in which a program failed, to be emptied.
    failing: Vec<BlockId>,
    /// Blocks of the SLC cache.
    slc_blocks: u32,
    /// Those of them that can be folded, the first filled first.
    foldable: VecDeque<BlockId>,
    /// Erases of the block that was erased most often.
    most_erases: u32,
}

/// The state of every block, volatile: recovery rebuilds it.
pub(super) struct Blocks {
    geometry: Geometry,
    unit: MappingUnit,
    shares: Shares,
    blocks: Vec<Block>,
    planes: Vec<Plane>,
    candidates: Candidates,
    /// One bit a unit, by its address; address space, not memory, until set.
    valid: Vec<u64>,
    /// The same of pages: whether the complement of what the page holds is stored. Only the region has such pages.
    inverse: Vec<u64>,
    /// How many bits of that are set.
    inverse_pages: u64,
    /// Units that a dump would have to save now.
    unsaved: Rc<Cell<u32>>,
}

impl Blocks {
    /// All blocks unknown; recovery, [`Blocks::fill`] or [`Blocks::add_free`] says what they
    /// are.
    pub(super) fn new(
        geometry: &Geometry,
        unit: MappingUnit,
        shares: Shares,
        orders: Orders,
    ) -> Blocks {
        let pages = geometry.blocks() as usize * geometry.pages_per_block_max() as usize;
        let plane = |_| Plane {
            free: FreeBlocks::new(orders.free_by_wear),
            frontiers: [None; STREAMS],
            compute_blocks: 0,
            data_units: 0,
            failing: Vec::new(),
            slc_blocks: 0,
            foldable: VecDeque::new(),
            most_erases: 0,
        };
        Blocks {
            geometry: geometry.clone(),
            unit,
            blocks: vec![Block::default(); geometry.blocks() as usize],
            planes: (0..geometry.planes()).map(plane).collect(),
            candidates: Candidates::new(
                geometry.planes(),
                geometry.blocks_per_plane,
                shares.pages_per_block,
                unit,
                orders,
            ),
            // Small for what it tells, and a drive that is filled in order uses it here and there: huge
            // pages would cost more than they give.
            valid: vec![0; (pages * unit.per_page() as usize).div_ceil(64)],
            inverse: vec![0; pages.div_ceil(64)],
            inverse_pages: 0,
            unsaved: Rc::default(),
            shares,
        }
    }

    /// All blocks of a blank plane are free.
    pub(super) fn fill(&mut self, plane: PlaneId) {
        let blocks = self.geometry.blocks_of_plane(plane);
        self.planes[plane.0 as usize].free.fill(blocks);
    }

    /// The lowest numbers, in their plane, of the blocks that were erased most and least.
    pub(super) fn most_and_least_erased(&self, plane: PlaneId) -> (u32, u32) {
        let first = self.geometry.block_of_plane(plane, 0).0 as usize;
        let blocks = &self.blocks[first..first + self.geometry.blocks_per_plane as usize];
        let (mut most, mut least) = (0, 0);
        for (number, block) in blocks.iter().enumerate() {
            if block.erases > blocks[most].erases {
                most = number;
            }
            if block.erases < blocks[least].erases {
                least = number;
            }
        }
        (most as u32, least as u32)
    }

    /// Notes how often a block was erased.
    pub(super) fn set_erases(&mut self, block: BlockId, erases: u32) {
        self.blocks[block.0 as usize].erases = erases;
        let plane = self.plane_mut(block);
        plane.most_erases = plane.most_erases.max(erases);
    }

    /// The closed block of `plane` that was erased the least, and how many erases it is behind
    /// the one that was erased most.
    pub(super) fn coldest(&self, plane: PlaneId) -> Option<(BlockId, u32)> {
        let (block, erases) = self.candidates.view(plane).least_worn()?;
        Some((block, self.planes[plane.0 as usize].most_erases - erases))
    }

    fn plane_mut(&mut self, block: BlockId) -> &mut Plane {
        let plane = self.geometry.plane_of_block(block);
        &mut self.planes[plane.0 as usize]
    }

    /// An erased block may be used; it was erased `erases` times.
    pub(super) fn add_free(&mut self, block: BlockId, erases: u32) {
        let entry = &mut self.blocks[block.0 as usize];
        debug_assert_eq!(
            (entry.valid, entry.pending),
            (0, 0),
            "a free block holds nothing"
        );
        entry.usage = Use::Free;
        self.leave_slc_cache(block);
        self.set_erases(block, erases);
        self.plane_mut(block).free.push(block, erases);
    }

    /// Nothing more goes into a block; it may be collected once its programs are over.
    pub(super) fn close(&mut self, block: BlockId) {
        let entry = &mut self.blocks[block.0 as usize];
        entry.usage = Use::Closed;
        if entry.pending > 0 {
            return;
        }
        if entry.in_slc_cache {
            self.plane_mut(block).foldable.push_back(block);
        } else {
            let (valid, erases) = (entry.valid, entry.erases);
            self.candidates.insert(block, valid, erases);
        }
    }

    /// Whether a block may be emptied, if something in it is needed, and erased, whoever it is of. One
    /// that is being filled is closed.
    pub(super) fn can_be_purged(&mut self, block: BlockId) -> bool {
        if self.usage(block) == Use::Open {
            self.close_frontiers(self.geometry.plane_of_block(block));
        }
        let busy = matches!(self.usage(block), Use::Collecting | Use::Open);
        !busy && self.blocks[block.0 as usize].pending == 0
    }

    /// Whether a block is closed and its programs are over.
    pub(super) fn can_be_emptied(&self, block: BlockId) -> bool {
        let entry = &self.blocks[block.0 as usize];
        entry.usage == Use::Closed && entry.pending == 0
    }

    /// Takes a block to empty it: a closed or failing one, or for a purge another.
    pub(super) fn begin_collection(&mut self, block: BlockId) {
        debug_assert!(
            !self.is_compute(block),
            "blocks of the region are emptied for themselves"
        );
        if self.usage(block) == Use::Failing {
            let failing = &mut self.plane_mut(block).failing;
            failing.retain(|other| *other != block);
            return;
        }
        if !self.candidates.remove(block) {
            let foldable = &mut self.plane_mut(block).foldable;
            foldable.retain(|other| *other != block);
        }
        self.set_use(block, Use::Collecting);
    }

    /// Puts a block back that could not be emptied for want of space.
    pub(super) fn abandon_collection(&mut self, block: BlockId) {
        if self.usage(block) == Use::Failing {
            self.plane_mut(block).failing.push(block);
        } else {
            self.close(block);
        }
    }

    /// A block of `plane` in which a program failed and none is going on.
    pub(super) fn failing(&self, plane: PlaneId) -> Option<BlockId> {
        let failing = self.planes[plane.0 as usize].failing.iter();
        failing
            .copied()
            .find(|block| self.blocks[block.0 as usize].pending == 0)
    }

    /// What collection may choose from.
    pub(super) fn candidates(&self, plane: PlaneId) -> View<'_> {
        self.candidates.view(plane)
    }

    pub(super) fn set_use(&mut self, block: BlockId, usage: Use) {
        self.blocks[block.0 as usize].usage = usage;
    }

    /// A block is not to be used any more.
    pub(super) fn retire(&mut self, block: BlockId) {
        self.leave_slc_cache(block);
        self.set_use(block, Use::Bad);
    }

    /// Counts a block that recovery found in the SLC cache.
    pub(super) fn found_in_slc_cache(&mut self, block: BlockId) {
        self.blocks[block.0 as usize].in_slc_cache = true;
        self.plane_mut(block).slc_blocks += 1;
    }

    fn leave_slc_cache(&mut self, block: BlockId) {
        if std::mem::take(&mut self.blocks[block.0 as usize].in_slc_cache) {
            self.plane_mut(block).slc_blocks -= 1;
        }
    }

    pub(super) fn is_in_slc_cache(&self, block: BlockId) -> bool {
        self.blocks[block.0 as usize].in_slc_cache
    }

    /// The block of the SLC cache of `plane` to fold next, if any can be.
    pub(super) fn foldable(&self, plane: PlaneId) -> Option<BlockId> {
        self.planes[plane.0 as usize].foldable.front().copied()
    }

    /// Whether the SLC cache of `plane` has fewer empty blocks than it should, even after what is
    /// being folded, and one to fold.
    pub(super) fn wants_folding(&self, plane: PlaneId) -> bool {
        let SlcCacheConfig {
            blocks_per_plane: most,
            fold_threshold_blocks: empty,
        } = self.shares.slc_cache;
        let plane = &self.planes[plane.0 as usize];
        let open = u32::from(plane.frontiers[Stream::SlcCache as usize].is_some());
        let full = plane.foldable.len() as u32;
        full > 0 && full + open + empty > most
    }

    pub(super) fn usage(&self, block: BlockId) -> Use {
        self.blocks[block.0 as usize].usage
    }

    /// Whether a block is the region's.
    #[inline]
    pub(super) fn is_compute(&self, block: BlockId) -> bool {
        self.usage(block) == Use::Compute
    }

    /// Whether a block has no program under way.
    pub(super) fn is_drained(&self, block: BlockId) -> bool {
        self.blocks[block.0 as usize].pending == 0
    }

    /// A page of a block of the region is about to be programmed.
    pub(super) fn begin_program(&mut self, block: BlockId) {
        self.blocks[block.0 as usize].pending += 1;
    }

    /// How often a block was erased.
    pub(super) fn erases(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].erases
    }

    /// Erases of the block of `plane` that was erased most often.
    pub(super) fn most_erases(&self, plane: PlaneId) -> u32 {
        self.planes[plane.0 as usize].most_erases
    }

    /// A program failed: nothing more goes into the block.
    pub(super) fn fail(&mut self, block: BlockId) {
        for frontier in &mut self.plane_mut(block).frontiers {
            if frontier.is_some_and(|frontier| frontier.block == block) {
                *frontier = None;
            }
        }
        self.candidates.remove(block);
        self.set_use(block, Use::Failing);
        let plane = self.plane_mut(block);
        plane.foldable.retain(|other| *other != block);
        plane.failing.push(block);
    }

    /// Blocks to which something may still come, or which await their end.
    pub(super) fn unsettled(&self) -> Vec<BlockId> {
        let blocks = (0..).map(BlockId).zip(&self.blocks);
        blocks
            .filter(|(_, block)| {
                block.pending > 0 || matches!(block.usage, Use::Open | Use::Failing)
            })
            .map(|(number, _)| number)
            .collect()
    }
}
