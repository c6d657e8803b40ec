//! The reads of flash that operands outside of the region take, chunk by chunk.

use std::ops::Range;

use media::nand::{Geometry, PageAddress, PlaneId};

use crate::cost::PageRead;

/// The reads of flash that pages take, page after page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    all: Vec<PageRead>,
    /// Where those of a page end.
    ends: Vec<usize>,
}

impl Reads {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.ends.clear();
    }

    /// Those of another page.
    pub(super) fn push(&mut self, reads: impl Iterator<Item = PageRead>) {
        self.all.extend(reads);
        self.ends.push(self.all.len());
    }

    /// Those of a page.
    pub(super) fn of(&self, page: usize) -> &[PageRead] {
        let begin = page.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[begin..self.ends[page]]
    }

    pub(super) fn append(&mut self, others: &Reads) {
        let before = self.all.len();
        self.all.extend_from_slice(&others.all);
        self.ends.extend(others.ends.iter().map(|end| before + end));
    }

    /// Those of the first pages.
    pub(super) fn prefix(&self, pages: usize) -> Reads {
        let ends = self.ends[..pages].to_vec();
        let all = self.all[..ends.last().copied().unwrap_or(0)].to_vec();
        Reads { all, ends }
    }

    /// How many pages there are.
    pub(super) fn pages(&self) -> usize {
        self.ends.len()
    }

    /// How many reads they take, all together.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Those of chunks whose pages go on, in the planes that follow, from the first `pages`, which are of one chunk.
    pub(super) fn continued(&self, pages: usize, geometry: &Geometry, chunks: Range<u64>) -> Reads {
        let mut reads = Reads::default();
        for chunk in chunks {
            for page in 0..pages {
                let of_first = self.of(page).iter();
                reads.push(of_first.map(|read| continued(read, chunk, geometry)));
            }
        }
        reads
    }
}

/// A read of the first chunk, as another chunk would take it whose pages are in the planes that follow.
fn continued(read: &PageRead, chunk: u64, geometry: &Geometry) -> PageRead {
    let planes = u64::from(geometry.planes());
    let first = geometry.plane_of_block(read.page.block);
    let plane = (u64::from(first.0) + chunk) % planes;
    let number = read.page.block.0 % geometry.blocks_per_plane;
    PageRead {
        page: PageAddress {
            block: geometry.block_of_plane(PlaneId(plane as u32), number),
            page: read.page.page + (chunk / planes) as u32,
        },
        ..*read
    }
}
