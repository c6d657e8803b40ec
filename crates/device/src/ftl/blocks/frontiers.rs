//! The blocks that are being filled: each stream fills one of its own in every plane.

use media::nand::{BlockId, PageAddress, PlaneId};

use super::{Blocks, Use};

/// Who a page is allocated for. Each fills a block of its own in every plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ftl) enum Stream {
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

pub(super) const STREAMS: usize = 5;

#[derive(Clone, Copy)]
pub(super) struct Frontier {
    pub(super) block: BlockId,
    pub(super) next_page: u32,
}

/// A page to be programmed.
#[derive(Clone, Copy, Debug)]
pub(in crate::ftl) struct Allocation {
    pub(in crate::ftl) page: PageAddress,
    /// Whether it is the last of its block, so that the plane has a free block less.
    pub(in crate::ftl) filled: bool,
}

impl Blocks {
    /// Opens a block of every plane for the host, for mapping pages and for collection.
    pub(in crate::ftl) fn open_frontiers(&mut self) {
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            for stream in [Stream::Host, Stream::Mapping, Stream::Collection] {
                let frontier = self.open(plane, stream);
                self.planes[plane.0 as usize].frontiers[stream as usize] = frontier;
            }
        }
    }

    /// Closes the blocks of `plane` that are being filled; the next page begins another.
    pub(in crate::ftl) fn close_frontiers(&mut self, plane: PlaneId) {
        for stream in 0..STREAMS {
            let frontier = &mut self.planes[plane.0 as usize].frontiers[stream];
            if let Some(open) = frontier.filter(|open| open.next_page > 0) {
                *frontier = None;
                self.close(open.block);
            }
        }
    }

    /// Takes up a partly filled block where it was left; false if `stream`
    /// already has one.
    pub(in crate::ftl) fn resume(
        &mut self,
        block: BlockId,
        next_page: u32,
        stream: Stream,
    ) -> bool {
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
    pub(in crate::ftl) fn allocate(
        &mut self,
        plane: PlaneId,
        stream: Stream,
    ) -> Option<Allocation> {
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
}
