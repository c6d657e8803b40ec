//! Blocks lent by the translation layer, each with one [`Owner`]: where pages lie that are to be sensed together.
//!
//! A *placement handle* describes logical pages as a matrix of *chunks*, each as many of them as a flash page holds: row r,
//! chunk c begins with the logical page `anchor + r x pitch + c x (pages of a chunk)`. The chunk decides the plane, the *column* (a chain of blocks of that plane) and the string
//! within the block ([`Layout`]); pages written one after another to a chunk take one wordline after another of its
//! string. So rows written in order share layers, and lie in the same strings as long as a block of each column lasts.
//! A block holds pages of one column of one handle and nothing else.
//!
//! There are tables only here: the translation layer maps pages, programs, copies and erases.

mod handle;
mod layout;
mod lent;
mod owner;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use media::nand::{BlockId, Geometry, PageAddress, PlaneId, ProgramMode};

pub use handle::{Handle, HandleError, Shape};
pub use layout::{DieBatch, Layout, StringAddress};
pub use lent::Lent;
pub use nvme::command::Home;
pub use owner::Owner;

use crate::planted::{Bug, is_planted};

/// Columns have 24 bits in a page's record.
pub const COLUMN_MAX: u32 = (1 << 24) - 1;

/// What a placed page says of itself, besides its logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The handle it was written with, below 2^15.
    pub handle: u16,
    /// The complement is what is stored.
    pub inverse: bool,
    /// The chain of blocks it is in, at most [`COLUMN_MAX`].
    pub column: u32,
}

/// Where a page of a chunk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The handle.
    pub handle: u16,
    /// The column.
    pub column: u32,
    /// The plane of the column's blocks.
    pub plane: PlaneId,
    /// The string within the block.
    pub string: u32,
}

/// A block that the region holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The handle its pages were written with; [`LENT`] for one that was lent to an evaluation of an earlier life.
    pub handle: u16,
    /// The column it is of.
    pub column: u32,
    /// Pages may still come.
    pub open: bool,
    /// It is being emptied, or levelled into.
    pub busy: bool,
    /// A program failed: it is to be emptied and never used again.
    pub failed: bool,
}

/// Stands for the handle of blocks that were lent; no handle has this number.
pub const LENT: u16 = u16::MAX;

/// The next page of a column.
#[derive(Clone, Copy)]
struct Frontier {
    block: BlockId,
    next_page: u32,
}

/// A page given to a spot, and what that led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// The page.
    pub page: PageAddress,
    /// The block that is full now, if it gave room to no page of this string any more.
    pub closed: Option<BlockId>,
}

/// A block that recovery found to hold placed pages, or to have been lent.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The block.
    pub block: BlockId,
    /// Whose it is.
    pub owner: Owner,
    /// The handle its pages were written with; [`LENT`] if there is none.
    pub handle: u16,
    /// The column it is of.
    pub column: u32,
    /// Its first page that can still be programmed.
    pub next_page: u32,
    /// The highest version of its pages: where a column has several blocks with room, the one written last by the host goes
    /// on, wherever collection put others.
    pub version: u64,
    /// Whether a program failed there.
    pub failed: bool,
}

/// The blocks of the region and the handles. Volatile: recovery makes it anew from the records of pages; handles are
/// opened again by the host.
pub struct Region {
    layout: Layout,
    /// Logical pages of a chunk.
    units_per_page: u32,
    pages_per_block: u32,
    /// Open handles.
    handles: BTreeMap<u16, Handle>,
    /// By handle and column, handles not open included: where the next page goes.
    frontiers: BTreeMap<u16, BTreeMap<u32, Frontier>>,
    blocks: BTreeMap<u32, Held>,
    /// By block: evaluations that sense its pages.
    pins: Vec<u32>,
    lent: Lent,
}

/// The first page of a string from a page on: what is passed over stays unwritten.
pub fn next_of_string(from: u32, string: u32, strings: u32) -> u32 {
    from + (string + strings - from % strings) % strings
}

impl Region {
    /// No blocks, on a drive of this geometry whose pages have so many logical ones each.
    pub fn new(geometry: &Geometry, units_per_page: u32) -> Region {
        Region {
            units_per_page,
            layout: Layout::new(geometry.clone()),
            pages_per_block: geometry.pages_per_block(ProgramMode::Esp),
            handles: BTreeMap::new(),
            frontiers: BTreeMap::new(),
            blocks: BTreeMap::new(),
            pins: vec![0; geometry.blocks() as usize],
            lent: Lent::default(),
        }
    }

    /// The blocks that others know what lies where in.
    pub fn lent(&self) -> &Lent {
        &self.lent
    }

    /// As [`Region::lent`], to lend and to take back.
    pub fn lent_mut(&mut self) -> &mut Lent {
        &mut self.lent
    }

    /// How chunks are spread over all dies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Opens a handle, or gives an open one another shape for later writes.
    ///
    /// # Errors
    /// A shape that cannot be.
    pub fn open(&mut self, number: u16, shape: Shape) -> Result<Vec<BlockId>, HandleError> {
        let handle = Handle::new(number, shape, &self.layout, self.units_per_page)?;
        let columns = self.frontiers.entry(number).or_default();
        let moves = |column: u32, open: &Frontier| {
            let plane = handle.layout().plane_of_block_index(column as usize);
            self.layout.geometry().plane_of_block(open.block) != plane
        };
        let moved = columns
            .iter()
            .filter(|(column, open)| moves(**column, open));
        let moved: Vec<u32> = moved.map(|(column, _)| *column).collect();
        let closed = moved.iter().filter_map(|column| columns.remove(column));
        let closed: Vec<BlockId> = closed.map(|open| open.block).collect();
        closed
            .iter()
            .for_each(|&block| self.change(block, |held| held.open = false));
        self.handles.insert(number, handle);
        Ok(closed)
    }

    /// Releases a handle; what was written with it stays. False if it was not open.
    pub fn release(&mut self, number: u16) -> bool {
        self.handles.remove(&number).is_some()
    }

    /// An open handle.
    pub fn handle(&self, number: u16) -> Option<&Handle> {
        self.handles.get(&number)
    }

    /// The open handles, ascending, each with how many blocks hold pages written with it.
    pub fn handles(&self) -> impl Iterator<Item = (&Handle, u32)> {
        let mut blocks: BTreeMap<u16, u32> = BTreeMap::new();
        for held in self.blocks.values() {
            *blocks.entry(held.handle).or_default() += 1;
        }
        self.handles
            .iter()
            .map(move |(number, handle)| (handle, blocks.get(number).copied().unwrap_or(0)))
    }

    /// The next page for a spot; `take` gives an erased block of its plane where the column needs one. `None` if there is
    /// none.
    pub fn allocate(
        &mut self,
        spot: &Spot,
        take: impl FnOnce(PlaneId) -> Option<BlockId>,
    ) -> Option<Allocated> {
        let strings = self.layout.geometry().strings_per_block;
        let columns = self.frontiers.entry(spot.handle).or_default();
        let frontier = columns.get(&spot.column).copied();
        let next = |from: u32| next_of_string(from, spot.string, strings);
        let mut closed = None;
        let open = frontier.filter(|open| next(open.next_page) < self.pages_per_block);
        let (block, page) = match open {
            Some(open) => (open.block, next(open.next_page)),
            None => {
                let block = take(spot.plane)?;
                closed = frontier.map(|full| full.block);
                (block, spot.string)
            }
        };
        let next_page = page + 1;
        columns.insert(spot.column, Frontier { block, next_page });
        if open.is_none() {
            let held = Held {
                handle: spot.handle,
                column: spot.column,
                open: true,
                busy: false,
                failed: false,
            };
            self.blocks.insert(block.0, held);
        }
        if let Some(closed) = closed {
            self.change(closed, |held| held.open = false);
        }
        Some(Allocated {
            page: PageAddress { block, page },
            closed,
        })
    }

    /// Erased blocks that pages for these spots would take, by plane.
    pub fn blocks_needed(&self, spots: impl Iterator<Item = Spot>) -> BTreeMap<u32, u32> {
        let strings = self.layout.geometry().strings_per_block;
        let mut next_pages: BTreeMap<(u16, u32), u32> = BTreeMap::new();
        let mut needed = BTreeMap::new();
        for spot in spots {
            let next_page = next_pages
                .entry((spot.handle, spot.column))
                .or_insert_with(|| {
                    let columns = self.frontiers.get(&spot.handle);
                    let open = columns.and_then(|columns| columns.get(&spot.column));
                    open.map_or(self.pages_per_block, |open| open.next_page)
                });
            let mut page = next_of_string(*next_page, spot.string, strings);
            if page >= self.pages_per_block {
                *needed.entry(spot.plane.0).or_default() += 1;
                page = spot.string;
            }
            *next_page = page + 1;
        }
        needed
    }

    /// Where a copy of a page goes: to its chunk's string, at the frontier of its column.
    pub fn spot_of(&self, page: PageAddress, placement: &Placement) -> Spot {
        let geometry = self.layout.geometry();
        Spot {
            handle: placement.handle,
            column: placement.column,
            plane: geometry.plane_of_block(page.block),
            string: page.page % geometry.strings_per_block,
        }
    }

    /// What is known of a block; none if it is not the region's.
    pub fn held(&self, block: BlockId) -> Option<Held> {
        self.blocks.get(&block.0).copied()
    }

    /// All blocks of a plane that the region holds.
    pub fn blocks_of(&self, plane: PlaneId) -> impl Iterator<Item = (BlockId, Held)> + '_ {
        let of_plane = self.layout.geometry().blocks_of_plane(plane);
        let blocks = self.blocks.range(of_plane);
        blocks.map(|(&block, &held)| (BlockId(block), held))
    }

    /// Whether a block of a plane is being emptied.
    pub fn is_emptying(&self, plane: PlaneId) -> bool {
        self.blocks_of(plane).any(|(_, held)| held.busy)
    }

    /// How many blocks the region holds.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Layers left at the frontier of a column.
    pub fn room(&self, handle: u16, column: u32) -> u32 {
        let columns = self.frontiers.get(&handle);
        let frontier = columns.and_then(|columns| columns.get(&column));
        let left = frontier.map_or(0, |open| self.pages_per_block - open.next_page);
        left / self.layout.geometry().strings_per_block
    }

    fn change(&mut self, block: BlockId, change: impl FnOnce(&mut Held)) {
        if let Some(held) = self.blocks.get_mut(&block.0) {
            change(held);
        }
    }

    /// No page goes to a block any more.
    pub fn close(&mut self, block: BlockId) {
        let Some(held) = self.blocks.get_mut(&block.0) else {
            return;
        };
        held.open = false;
        let Some(columns) = self.frontiers.get_mut(&held.handle) else {
            return;
        };
        let is_its = |open: &Frontier| open.block == block;
        if columns.get(&held.column).is_some_and(is_its) {
            columns.remove(&held.column);
        }
    }

    /// A program failed in a block.
    pub fn fail(&mut self, block: BlockId) {
        self.close(block);
        self.change(block, |held| held.failed = true);
    }

    /// A block is being emptied, or that came to nothing.
    pub fn set_busy(&mut self, block: BlockId, busy: bool) {
        self.close(block);
        self.change(block, |held| held.busy = busy);
    }

    /// A block takes the place of another, whose pages it is given one by one.
    pub fn begin_move(&mut self, from: BlockId, to: BlockId) {
        if let Some(held) = self.held(from) {
            let busy = true;
            self.blocks.insert(to.0, Held { busy, ..held });
        }
    }

    /// A block is the region's no more.
    pub fn forget(&mut self, block: BlockId) {
        self.close(block);
        self.blocks.remove(&block.0);
    }

    /// An evaluation senses pages of a block: until it is over, the block is neither erased nor emptied.
    pub fn pin(&mut self, block: BlockId) {
        self.pins[block.0 as usize] += 1;
    }

    /// The evaluation is over; whether no other senses pages of the block.
    pub fn unpin(&mut self, block: BlockId) -> bool {
        let pins = &mut self.pins[block.0 as usize];
        *pins -= 1;
        *pins == 0
    }

    /// Whether an evaluation senses pages of a block.
    pub fn is_pinned(&self, block: BlockId) -> bool {
        self.pins[block.0 as usize] > 0
    }

    /// Takes the blocks that recovery found: of each column, the block written last goes on if it has room. What was lent to
    /// evaluations is to be erased; other owners are asked.
    pub fn rebuild(&mut self, mut found: Vec<Found>) {
        found.sort_unstable_by_key(|found| found.version);
        for Found {
            block,
            owner,
            handle,
            column,
            next_page,
            failed,
            ..
        } in found
        {
            if owner == Owner::Search {
                self.lent.find(owner, block);
                continue;
            }
            let room = next_page < self.pages_per_block && !failed && handle != LENT;
            let open = room && !is_planted(Bug::RecoveryOpensNewStrings);
            let held = Held {
                handle,
                column,
                open,
                busy: false,
                failed,
            };
            self.blocks.insert(block.0, held);
            if !open {
                continue;
            }
            let columns = self.frontiers.entry(handle).or_default();
            let before = columns.insert(column, Frontier { block, next_page });
            if let Some(before) = before {
                self.change(before.block, |held| held.open = false);
            }
        }
    }
}
