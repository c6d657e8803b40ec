//! What the translation layer knows of blocks and pages: which are free, open,
//! full or bad, and which pages hold something that is still needed.

mod candidates;
mod free;

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use media::nand::{BlockId, Geometry, PageAddress, PlaneId, Ppa};
use sim::memory;

use super::SlcCacheConfig;
use crate::memory::DUMP_FAILURES;
use candidates::Candidates;
pub(super) use candidates::View;
use free::FreeBlocks;

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

/// Who a page is allocated for. Each fills a block of its own in every plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// A host write.
    Host,
    /// A host write that goes to the SLC cache.
    SlcCache,
    /// A copy made by garbage collection.
    Collection,
    /// A copy made by static wear levelling, to a block that was erased often.
    Cold,
    /// A mapping page.
    Mapping,
}

const STREAMS: usize = 5;

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

/// How the blocks of a drive are shared out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// Pages of a block in the mode that data is programmed in.
    pub(super) pages_per_block: u32,
    /// Pages of a block of the SLC cache.
    pub(super) slc_pages_per_block: u32,
    /// Blocks of each plane that the SLC cache may have, and how many of these are kept empty.
    pub(super) slc_cache: SlcCacheConfig,
    /// Free blocks of each plane that only collection may open.
    pub(super) reserve: u32,
    /// Host writes wait while fewer blocks of the plane are free.
    pub(super) host_waits_below: u32,
    /// Whether blocks for mapping pages are opened before there are any.
    pub(super) opens_ahead: bool,
    /// Blocks of each plane that computing may take.
    pub(super) compute_blocks: u32,
    /// Needed pages of each plane that data has room for without blocks of computing's share.
    pub(super) data_pages: u32,
    /// Blocks of each plane that stay erased for a dump when the power goes.
    pub(super) dump_blocks: u32,
}

#[derive(Clone, Copy, Default)]
struct Block {
    /// Pages that hold something needed.
    valid: u16,
    /// Pages allocated whose program has not been committed.
    pending: u16,
    erases: u32,
    usage: Use,
    /// Whether it belongs to the SLC cache.
    in_slc_cache: bool,
}

#[derive(Clone, Copy)]
struct Frontier {
    block: BlockId,
    next_page: u32,
}

/// The blocks of one plane that are not full.
struct Plane {
    free: FreeBlocks,
    frontiers: [Option<Frontier>; STREAMS],
    compute_blocks: u32,
    /// Needed pages that are not the region's; counted where computing has a share.
    data_pages: u32,
    /// Blocks in which a program failed, to be emptied.
    failing: Vec<BlockId>,
    /// Blocks of the SLC cache.
    slc_blocks: u32,
    /// Those of them that can be folded, the first filled first.
    foldable: VecDeque<BlockId>,
    /// Erases of the block that was erased most often.
    most_erases: u32,
}

impl Plane {
    /// Blocks that are kept back for computing: those of its share that it has not claimed, but for
    /// those that data needs, since the host wrote more of it than the other blocks are for.
    fn unclaimed(&self, shares: &Shares) -> usize {
        let unclaimed = shares.compute_blocks.saturating_sub(self.compute_blocks);
        let more = self.data_pages.saturating_sub(shares.data_pages);
        // Less than a block, of records and of pages that found no room at home, is what is kept for collection.
        unclaimed.saturating_sub(more / shares.pages_per_block) as usize
    }
}

/// A page to be programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allocation {
    pub(super) page: PageAddress,
    /// Whether it is the last of its block, so that the plane has a free block less.
    pub(super) filled: bool,
}

/// The state of every block, volatile: recovery rebuilds it.
pub(super) struct Blocks {
    geometry: Geometry,
    shares: Shares,
    blocks: Vec<Block>,
    planes: Vec<Plane>,
    candidates: Candidates,
    /// One bit a page, by physical page number; address space, not memory, until set.
    valid: Vec<u64>,
    /// The same: whether the complement of what the page holds is stored. Only the region has such pages.
    inverse: Vec<u64>,
    /// How many bits of that are set.
    inverse_pages: u64,
    /// Pages that a dump would have to save now.
    unsaved: Rc<Cell<u32>>,
}

impl Blocks {
    /// All blocks unknown; recovery, [`Blocks::fill`] or [`Blocks::add_free`] says what they
    /// are.
    pub(super) fn new(geometry: &Geometry, shares: Shares, orders: Orders) -> Blocks {
        let pages = geometry.blocks() as usize * geometry.pages_per_block_max() as usize;
        let plane = |_| Plane {
            free: FreeBlocks::new(orders.free_by_wear),
            frontiers: [None; STREAMS],
            compute_blocks: 0,
            data_pages: 0,
            failing: Vec::new(),
            slc_blocks: 0,
            foldable: VecDeque::new(),
            most_erases: 0,
        };
        Blocks {
            geometry: geometry.clone(),
            blocks: vec![Block::default(); geometry.blocks() as usize],
            planes: (0..geometry.planes()).map(plane).collect(),
            candidates: Candidates::new(
                geometry.planes(),
                geometry.blocks_per_plane,
                shares.pages_per_block,
                orders,
            ),
            // Small for what it tells, and a drive that is filled in order uses it here and there: huge
            // pages would cost more than they give.
            valid: vec![0; pages.div_ceil(64)],
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

    /// Opens a block of every plane for the host, for mapping pages and for collection.
    pub(super) fn open_frontiers(&mut self) {
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            for stream in [Stream::Host, Stream::Mapping, Stream::Collection] {
                let frontier = self.open(plane, stream);
                self.planes[plane.0 as usize].frontiers[stream as usize] = frontier;
            }
        }
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

    /// Takes the next free block of `plane` to fill it at once.
    pub(super) fn take_for_data(&mut self, plane: PlaneId) -> Option<BlockId> {
        if self.free_blocks(plane) <= self.shares.reserve as usize {
            return None;
        }
        let block = self.planes[plane.0 as usize].free.pop()?;
        self.set_use(block, Use::Open);
        Some(block)
    }

    /// Takes all free blocks of `plane`.
    pub(super) fn take_all_free(&mut self, plane: PlaneId) -> Vec<BlockId> {
        let free = &mut self.planes[plane.0 as usize].free;
        std::iter::from_fn(|| free.pop()).collect()
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
            let (valid, erases) = (u32::from(entry.valid), entry.erases);
            self.candidates.insert(block, valid, erases);
        }
    }

    /// Closes the blocks of `plane` that are being filled; the next page begins another.
    pub(super) fn close_frontiers(&mut self, plane: PlaneId) {
        for stream in 0..STREAMS {
            let frontier = &mut self.planes[plane.0 as usize].frontiers[stream];
            if let Some(open) = frontier.filter(|open| open.next_page > 0) {
                *frontier = None;
                self.close(open.block);
            }
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

    /// No page is needed any more but `kept`.
    pub(super) fn forget_all_but(&mut self, kept: &BTreeSet<Ppa>) {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let mut from = 0;
            while let Some(page) = self.next_valid(block, from) {
                from = page.page + 1;
                let page = self.geometry.ppa(page);
                if !kept.contains(&page) {
                    self.invalidate(page);
                }
            }
        }
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

    /// Needed pages of a block.
    pub(super) fn valid_pages(&self, block: BlockId) -> u32 {
        u32::from(self.blocks[block.0 as usize].valid)
    }

    /// Pages that collection of `plane` can surely write: those left in its open block, and
    /// of the blocks kept free for it all but one, which power cuts may tear.
    pub(super) fn room_for_copies(&self, plane: PlaneId) -> u32 {
        let open = self.planes[plane.0 as usize].frontiers[Stream::Collection as usize];
        let pages = self.shares.pages_per_block;
        let left = open.map_or(0, |frontier| pages - frontier.next_page);
        let kept = self
            .free_blocks(plane)
            .min(self.shares.host_waits_below as usize) as u32;
        left + kept.saturating_sub(1) * pages
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

    /// Free blocks of `plane` that data may take: not those that computing has
    /// not claimed yet of its share, nor those for a dump.
    pub(super) fn free_blocks(&self, plane: PlaneId) -> usize {
        let entry = &self.planes[plane.0 as usize];
        let kept_back = entry.unclaimed(&self.shares) + self.shares.dump_blocks as usize;
        entry.free.len().saturating_sub(kept_back)
    }

    /// Takes up a partly filled block where it was left; false if `stream`
    /// already has one.
    pub(super) fn resume(&mut self, block: BlockId, next_page: u32, stream: Stream) -> bool {
        let frontier = &mut self.plane_mut(block).frontiers[stream as usize];
        if frontier.is_some() {
            return false;
        }
        *frontier = Some(Frontier { block, next_page });
        self.set_use(block, Use::Open);
        true
    }

    /// The next page of `plane` for `stream`, if there is one.
    #[inline]
    pub(super) fn allocate(&mut self, plane: PlaneId, stream: Stream) -> Option<Allocation> {
        if stream == Stream::Host {
            if self.free_blocks(plane) < self.shares.host_waits_below as usize {
                return None;
            }
            if self.shares.slc_cache.blocks_per_plane > 0
                && let Some(allocation) = self.allocate(plane, Stream::SlcCache)
            {
                return Some(allocation);
            }
        }
        let mut frontier = self.planes[plane.0 as usize].frontiers[stream as usize]
            .or_else(|| self.open(plane, stream))?;
        let page = PageAddress {
            block: frontier.block,
            page: frontier.next_page,
        };
        frontier.next_page += 1;
        let pages = self.pages_for(stream);
        let block = &mut self.blocks[page.block.0 as usize];
        block.pending += 1;
        let filled = frontier.next_page == pages;
        let next = if filled {
            block.usage = Use::Closed;
            // The next is opened at once; that for cold data or mapping pages only when there
            // are some.
            match stream {
                Stream::Cold | Stream::SlcCache => None,
                Stream::Mapping if !self.shares.opens_ahead => None,
                _ => self.open(plane, stream),
            }
        } else {
            Some(frontier)
        };
        self.planes[plane.0 as usize].frontiers[stream as usize] = next;
        Some(Allocation { page, filled })
    }

    /// Pages of a block that `stream` fills.
    #[inline]
    fn pages_for(&self, stream: Stream) -> u32 {
        match stream {
            Stream::SlcCache => self.shares.slc_pages_per_block,
            Stream::Host | Stream::Collection | Stream::Cold | Stream::Mapping => {
                self.shares.pages_per_block
            }
        }
    }

    /// Begins a block for `stream`, if it may have one.
    fn open(&mut self, plane: PlaneId, stream: Stream) -> Option<Frontier> {
        if stream == Stream::Collection && self.shares.dump_blocks > 0 && self.dump_needs_all() {
            return None;
        }
        let entry = &mut self.planes[plane.0 as usize];
        let kept_back = match stream {
            Stream::SlcCache if entry.slc_blocks >= self.shares.slc_cache.blocks_per_plane => {
                return None;
            }
            Stream::Host | Stream::SlcCache | Stream::Cold | Stream::Mapping => {
                (self.shares.reserve + self.shares.dump_blocks) as usize
                    + entry.unclaimed(&self.shares)
            }
            Stream::Collection => 0,
        };
        if entry.free.len() <= kept_back {
            return None;
        }
        let block = match stream {
            Stream::Cold => entry.free.pop_most_worn()?,
            Stream::Host | Stream::SlcCache | Stream::Collection | Stream::Mapping => {
                entry.free.pop()?
            }
        };
        let cached = stream == Stream::SlcCache;
        entry.slc_blocks += u32::from(cached);
        let entry = &mut self.blocks[block.0 as usize];
        (entry.usage, entry.in_slc_cache) = (Use::Open, cached);
        Some(Frontier {
            block,
            next_page: 0,
        })
    }

    /// The program of an allocated page is over; `needed` says whether the page
    /// holds something that must be kept. True if the programs of a block are now over that is
    /// failing, of the SLC cache or of the region.
    #[inline]
    pub(super) fn settle(&mut self, address: PageAddress, needed: bool) -> bool {
        self.candidates.tick();
        let block = &mut self.blocks[address.block.0 as usize];
        block.pending -= 1;
        let (drained, usage) = (block.pending == 0, block.usage);
        let cached = block.in_slc_cache;
        if needed {
            self.validate(self.geometry.ppa(address));
        }
        if drained && usage == Use::Closed {
            self.close(address.block);
        }
        let others = matches!(usage, Use::Failing | Use::Compute);
        drained && (others || cached && usage == Use::Closed)
    }

    /// The page is needed.
    #[inline]
    pub(super) fn validate(&mut self, page: Ppa) {
        let bit = 1 << (page.0 % 64);
        let word = &mut self.valid[page.0 as usize / 64];
        debug_assert!(*word & bit == 0, "page {} becomes valid twice", page.0);
        *word |= bit;
        let block = self.geometry.page_address(page).block;
        #[cfg(debug_assertions)]
        assert!(
            !self.candidates.contains(block),
            "a candidate's pages are all written"
        );
        self.blocks[block.0 as usize].valid += 1;
        self.count_data(block, 1);
    }

    /// Counts needed pages of data, where that tells how much of computing's share data needs.
    #[inline]
    fn count_data(&mut self, block: BlockId, change: i32) {
        if self.shares.compute_blocks > 0 && self.usage(block) != Use::Compute {
            let plane = self.plane_mut(block);
            plane.data_pages = plane.data_pages.wrapping_add_signed(change);
        }
    }

    /// The page is not needed any more.
    #[inline]
    pub(super) fn invalidate(&mut self, page: Ppa) {
        let bit = 1 << (page.0 % 64);
        let word = &mut self.valid[page.0 as usize / 64];
        debug_assert!(*word & bit != 0, "page {} becomes invalid twice", page.0);
        *word &= !bit;
        let block = self.geometry.page_address(page).block;
        self.blocks[block.0 as usize].valid -= 1;
        self.candidates.lower(block);
        self.count_data(block, -1);
    }

    /// Whether the complement of what a page holds is stored.
    #[inline]
    pub(super) fn is_inverse(&self, page: Ppa) -> bool {
        self.inverse_pages > 0 && self.inverse[page.0 as usize / 64] & (1 << (page.0 % 64)) != 0
    }

    /// Notes whether the complement of what a page of the region holds is stored.
    pub(super) fn set_inverse(&mut self, page: Ppa, inverse: bool) {
        let bit = 1 << (page.0 % 64);
        let word = &mut self.inverse[page.0 as usize / 64];
        let before = *word & bit != 0;
        *word = (*word & !bit) | if inverse { bit } else { 0 };
        self.inverse_pages += u64::from(inverse);
        self.inverse_pages -= u64::from(before);
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

    /// Has the processor fetch whether a page is needed.
    #[inline]
    pub(super) fn prefetch(&self, page: Ppa) {
        memory::prefetch(&self.valid, page.0 as usize / 64);
    }

    pub(super) fn is_valid(&self, page: Ppa) -> bool {
        self.valid[page.0 as usize / 64] & (1 << (page.0 % 64)) != 0
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

    /// The first needed page of a block from `from_page` on.
    #[inline]
    pub(super) fn next_valid(&self, block: BlockId, from_page: u32) -> Option<PageAddress> {
        let stride = self.geometry.pages_per_block_max() as usize;
        let begin = block.0 as usize * stride;
        let (mut at, end) = (begin + from_page as usize, begin + stride);
        while at < end {
            let rest = self.valid[at / 64] >> (at % 64);
            if rest != 0 {
                at += rest.trailing_zeros() as usize;
                break;
            }
            at = (at / 64 + 1) * 64;
        }
        let page = (at - begin) as u32;
        (at < end).then_some(PageAddress { block, page })
    }

    /// Takes a free block of `plane` for the region, if computing has not had its share or may have so many
    /// more, and enough remain for data.
    pub(super) fn take_for_compute(&mut self, plane: PlaneId, more: u32) -> Option<BlockId> {
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
    pub(super) fn claimable(&self, plane: PlaneId) -> usize {
        let entry = &self.planes[plane.0 as usize];
        let kept_back = (self.shares.reserve + self.shares.dump_blocks) as usize;
        let free = entry.free.len().saturating_sub(kept_back);
        entry.unclaimed(&self.shares).min(free)
    }

    /// The same of the most worn free block, for pages that are hardly ever replaced.
    pub(super) fn take_worn_for_compute(&mut self, plane: PlaneId) -> Option<BlockId> {
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
    pub(super) fn take_root(&mut self, plane: PlaneId) -> Option<BlockId> {
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

    /// Pages that a dump has room for in the blocks kept for it, however many collection
    /// takes meanwhile, and though some programs fail. After a dump there may be fewer until collection has won some back.
    pub(super) fn dump_pages(&self) -> u32 {
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
        room.saturating_sub(room / 64 + DUMP_FAILURES)
    }

    /// Where to count the pages that a dump would have to save.
    pub(super) fn unsaved(&self) -> Rc<Cell<u32>> {
        self.unsaved.clone()
    }

    /// Whether a free block less would be too few for what a dump would have to save now. Only a
    /// drive that is worn out comes to that.
    fn dump_needs_all(&self) -> bool {
        let unsaved = self.unsaved.get();
        let free: usize = self.planes.iter().map(|plane| plane.free.len()).sum();
        let left = (free as u32).saturating_sub(1) * self.shares.pages_per_block;
        unsaved > 0 && left < unsaved + unsaved / 64 + DUMP_FAILURES
    }

    /// Takes a free block of `plane` for a dump, whoever it was kept for: no life goes on
    /// after it.
    pub(super) fn take_for_dump(&mut self, plane: PlaneId) -> Option<BlockId> {
        self.planes[plane.0 as usize].free.pop()
    }

    /// Counts a block that recovery found to be the region's.
    pub(super) fn found_compute(&mut self, block: BlockId) {
        self.plane_mut(block).compute_blocks += 1;
        self.set_use(block, Use::Compute);
    }

    /// A block is no longer the region's; it still has to be erased.
    pub(super) fn release_from_compute(&mut self, block: BlockId) {
        self.plane_mut(block).compute_blocks -= 1;
        self.set_use(block, Use::Closed);
        if self.inverse_pages > 0 {
            let stride = self.geometry.pages_per_block_max();
            for page in block.0 * stride..(block.0 + 1) * stride {
                self.set_inverse(Ppa(page), false);
            }
        }
    }
}
