//! What the translation layer knows of blocks and pages: which are free, open,
//! full or bad, and which pages hold something that is still needed.

use std::collections::VecDeque;

use media::nand::{BlockId, Geometry, PageAddress, PlaneId, Ppa};

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
    /// A program failed here: to be emptied and never used again.
    Failing,
    /// Never to be used.
    Bad,
    /// Holds vectors for computing; not this layer's to collect.
    Compute,
}

/// Who a page is allocated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// A host write.
    Host,
    /// A copy made by garbage collection.
    Collection,
}

#[derive(Clone, Copy, Default)]
struct Block {
    /// Pages that hold something needed.
    valid: u16,
    /// Pages allocated whose program has not been committed.
    pending: u16,
    usage: Use,
}

#[derive(Clone, Copy)]
struct Frontier {
    block: BlockId,
    next_page: u32,
}

/// The blocks of one plane that are not full.
#[derive(Default)]
struct Plane {
    free: VecDeque<BlockId>,
    frontiers: [Option<Frontier>; 2],
    compute_blocks: u32,
}

impl Plane {
    /// Blocks that computing may still take, of `most` that it may have.
    fn unclaimed(&self, most: u32) -> usize {
        most.saturating_sub(self.compute_blocks) as usize
    }
}

/// The state of every block, volatile: recovery rebuilds it.
pub(super) struct Blocks {
    geometry: Geometry,
    pages_per_block: u32,
    reserve: usize,
    compute_blocks_max: u32,
    blocks: Vec<Block>,
    planes: Vec<Plane>,
    /// One bit a page, by physical page number; address space, not memory, until set.
    valid: Vec<u64>,
}

impl Blocks {
    /// All blocks unknown; recovery or [`Blocks::add_free`] says what they are.
    pub(super) fn new(
        geometry: &Geometry,
        pages_per_block: u32,
        reserve: u32,
        compute_blocks_max: u32,
    ) -> Blocks {
        let pages = geometry.blocks() as usize * geometry.pages_per_block_max() as usize;
        Blocks {
            geometry: geometry.clone(),
            pages_per_block,
            reserve: reserve as usize,
            compute_blocks_max,
            blocks: vec![Block::default(); geometry.blocks() as usize],
            planes: (0..geometry.planes()).map(|_| Plane::default()).collect(),
            valid: vec![0; pages.div_ceil(64)],
        }
    }

    fn plane_mut(&mut self, block: BlockId) -> &mut Plane {
        let plane = self.geometry.plane_of_block(block);
        &mut self.planes[plane.0 as usize]
    }

    /// An erased block may be used.
    pub(super) fn add_free(&mut self, block: BlockId) {
        let entry = &mut self.blocks[block.0 as usize];
        debug_assert_eq!(
            (entry.valid, entry.pending),
            (0, 0),
            "a free block holds nothing"
        );
        entry.usage = Use::Free;
        self.plane_mut(block).free.push_back(block);
    }

    pub(super) fn set_use(&mut self, block: BlockId, usage: Use) {
        self.blocks[block.0 as usize].usage = usage;
    }

    pub(super) fn usage(&self, block: BlockId) -> Use {
        self.blocks[block.0 as usize].usage
    }

    /// Free blocks of `plane` that data may take: not those that computing has
    /// not claimed yet of its share.
    pub(super) fn free_blocks(&self, plane: PlaneId) -> usize {
        let entry = &self.planes[plane.0 as usize];
        let unclaimed = entry.unclaimed(self.compute_blocks_max);
        entry.free.len().saturating_sub(unclaimed)
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
    pub(super) fn allocate(&mut self, plane: PlaneId, stream: Stream) -> Option<PageAddress> {
        let pages_per_block = self.pages_per_block;
        let entry = &mut self.planes[plane.0 as usize];
        let unclaimed = entry.unclaimed(self.compute_blocks_max);
        let frontier = match &mut entry.frontiers[stream as usize] {
            Some(frontier) => frontier,
            none => {
                let kept_back = if stream == Stream::Host {
                    self.reserve + unclaimed
                } else {
                    0
                };
                if entry.free.len() <= kept_back {
                    return None;
                }
                let block = entry.free.pop_front()?;
                self.blocks[block.0 as usize].usage = Use::Open;
                none.insert(Frontier {
                    block,
                    next_page: 0,
                })
            }
        };
        let address = PageAddress {
            block: frontier.block,
            page: frontier.next_page,
        };
        frontier.next_page += 1;
        let block = &mut self.blocks[address.block.0 as usize];
        block.pending += 1;
        if frontier.next_page == pages_per_block {
            block.usage = Use::Closed;
            entry.frontiers[stream as usize] = None;
        }
        Some(address)
    }

    /// The program of an allocated page is over; `needed` says whether the page
    /// holds something that must be kept.
    #[inline]
    pub(super) fn settle(&mut self, address: PageAddress, needed: bool) {
        self.blocks[address.block.0 as usize].pending -= 1;
        if needed {
            self.validate(self.geometry.ppa(address));
        }
    }

    /// The page is needed.
    #[inline]
    pub(super) fn validate(&mut self, page: Ppa) {
        let bit = 1 << (page.0 % 64);
        let word = &mut self.valid[page.0 as usize / 64];
        debug_assert!(*word & bit == 0, "page {} becomes valid twice", page.0);
        *word |= bit;
        let block = self.geometry.page_address(page).block;
        self.blocks[block.0 as usize].valid += 1;
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
        self.set_use(block, Use::Failing);
    }

    /// Blocks of `plane` that collection could empty now, with the number of
    /// pages it would have to copy. A failing block is as good as an empty one:
    /// it must be emptied whatever it costs.
    pub(super) fn candidates(&self, plane: PlaneId) -> impl Iterator<Item = (BlockId, u32)> + '_ {
        let range = self.geometry.blocks_of_plane(plane);
        range.map(BlockId).filter_map(|block| {
            let entry = &self.blocks[block.0 as usize];
            let valid = u32::from(entry.valid);
            match entry.usage {
                _ if entry.pending > 0 => None,
                Use::Closed if valid < self.pages_per_block => Some((block, valid)),
                Use::Failing => Some((block, 0)),
                _ => None,
            }
        })
    }

    /// The needed pages of a block, ascending.
    pub(super) fn next_valid(&self, block: BlockId, from_page: u32) -> Option<PageAddress> {
        (from_page..self.geometry.pages_per_block_max())
            .map(|page| PageAddress { block, page })
            .find(|address| self.is_valid(self.geometry.ppa(*address)))
    }

    /// Takes a free block of `plane` for vectors, if computing has not had its
    /// share and enough remain for data.
    pub(super) fn take_for_compute(&mut self, plane: PlaneId) -> Option<BlockId> {
        let entry = &mut self.planes[plane.0 as usize];
        if entry.compute_blocks >= self.compute_blocks_max || entry.free.len() <= self.reserve {
            return None;
        }
        let block = entry.free.pop_front()?;
        entry.compute_blocks += 1;
        self.blocks[block.0 as usize].usage = Use::Compute;
        Some(block)
    }

    /// Counts a block that recovery found to hold vectors.
    pub(super) fn found_compute(&mut self, block: BlockId) {
        self.plane_mut(block).compute_blocks += 1;
        self.set_use(block, Use::Compute);
    }

    /// A block no longer holds vectors; it still has to be erased.
    pub(super) fn release_from_compute(&mut self, block: BlockId) {
        self.plane_mut(block).compute_blocks -= 1;
        self.set_use(block, Use::Closed);
    }
}
