//! The blocks that collection may empty, indexed so that every policy finds its
//! victim without looking at all blocks of a plane.
//!
//! The blocks of a plane with equally many needed units form a ring, in the order
//! in which they came to have so many: the first is the one that has not lost a
//! unit for the longest time. All blocks of a plane are in a dense list, too, for
//! policies that draw at random, and those that would yield something are in the
//! order in which they were closed, if the policy goes by that order.

use std::collections::BTreeSet;

use media::nand::{BlockId, PlaneId};

use super::Orders;
use crate::ftl::MappingUnit;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    /// Neighbours in the ring of blocks with as many needed units.
    next: u32,
    previous: u32,
    /// Place in the list of the plane's candidates; `NONE` if it is not one.
    slot: u32,
    /// Needed units.
    valid: u32,
    /// How often it was erased.
    erases: u32,
    /// When it was closed, in blocks closed.
    closed: u64,
    /// When it last lost a unit, in pages written.
    touched: u64,
}

const ABSENT: Entry = Entry {
    next: NONE,
    previous: NONE,
    slot: NONE,
    valid: 0,
    erases: 0,
    closed: 0,
    touched: 0,
};

/// The candidates of one plane; its tables are made with the first of them. Blocks
/// are numbered within the plane.
#[derive(Default)]
struct Plane {
    /// As far as there have been any.
    entries: Vec<Entry>,
    /// The first block of each ring, by needed units.
    rings: Box<[u32]>,
    /// No ring below this one has a block.
    lowest: u32,
    members: Vec<u32>,
    in_order: BTreeSet<(u64, u32)>,
    by_wear: BTreeSet<(u32, u32)>,
}

/// The candidates of all planes.
pub(in crate::ftl) struct Candidates {
    planes: Vec<Plane>,
    blocks_per_plane: u32,
    /// Units of a block.
    full: u32,
    /// A block with as many needed units, or more, would yield no page.
    yields_below: u32,
    orders: Orders,
    closed: u64,
    /// Pages written, the clock of ages.
    clock: u64,
}

/// The candidates of one plane, as a policy sees them.
#[derive(Clone, Copy)]
pub(in crate::ftl) struct View<'a> {
    plane: &'a Plane,
    first_block: u32,
    full: u32,
    yields_below: u32,
    clock: u64,
}

impl Candidates {
    /// None yet.
    pub(super) fn new(
        planes: u32,
        blocks_per_plane: u32,
        pages_per_block: u32,
        unit: MappingUnit,
        orders: Orders,
    ) -> Candidates {
        let per_page = unit.per_page();
        Candidates {
            planes: (0..planes).map(|_| Plane::default()).collect(),
            blocks_per_plane,
            full: pages_per_block * per_page,
            yields_below: (pages_per_block - 1) * per_page + 1,
            orders,
            closed: 0,
            clock: 0,
        }
    }

    pub(super) fn view(&self, plane: PlaneId) -> View<'_> {
        View {
            plane: &self.planes[plane.0 as usize],
            first_block: plane.0 * self.blocks_per_plane,
            full: self.full,
            yields_below: self.yields_below,
            clock: self.clock,
        }
    }

    /// A page was written.
    #[inline]
    pub(super) fn tick(&mut self) {
        self.clock += 1;
    }

    /// The number of a block's plane, and of the block within it.
    #[inline]
    fn place(&self, block: BlockId) -> (usize, u32) {
        let plane = block.0 / self.blocks_per_plane;
        (plane as usize, block.0 - plane * self.blocks_per_plane)
    }

    #[cfg(debug_assertions)]
    pub(super) fn contains(&self, block: BlockId) -> bool {
        let (plane, block) = self.place(block);
        self.planes[plane].contains(block)
    }

    /// A block that is closed for good becomes a candidate.
    pub(super) fn insert(&mut self, block: BlockId, valid: u32, erases: u32) {
        let (plane, block) = self.place(block);
        let plane = &mut self.planes[plane];
        if plane.rings.is_empty() {
            plane.rings = vec![NONE; self.full as usize + 1].into();
            plane.lowest = self.full;
        }
        if plane.entries.len() <= block as usize {
            let length = (block + 1).next_power_of_two().min(self.blocks_per_plane);
            plane.entries.resize(length as usize, ABSENT);
        }
        let entry = &mut plane.entries[block as usize];
        debug_assert_eq!(entry.slot, NONE, "a candidate once");
        entry.slot = plane.members.len() as u32;
        entry.closed = self.closed;
        entry.touched = self.clock;
        entry.erases = erases;
        plane.members.push(block);
        if self.orders.closed_by_age && valid < self.yields_below {
            plane.in_order.insert((self.closed, block));
        }
        if self.orders.closed_by_wear {
            plane.by_wear.insert((erases, block));
        }
        plane.link(block, valid);
        self.closed += 1;
    }

    /// A block is no candidate any more; false if it was none.
    pub(super) fn remove(&mut self, block: BlockId) -> bool {
        let (plane, block) = self.place(block);
        let plane = &mut self.planes[plane];
        if !plane.contains(block) {
            return false;
        }
        plane.unlink(block);
        let entry = &mut plane.entries[block as usize];
        if self.orders.closed_by_age {
            plane.in_order.remove(&(entry.closed, block));
        }
        if self.orders.closed_by_wear {
            plane.by_wear.remove(&(entry.erases, block));
        }
        let slot = std::mem::replace(&mut entry.slot, NONE);
        plane.members.swap_remove(slot as usize);
        if let Some(moved) = plane.members.get(slot as usize) {
            plane.entries[*moved as usize].slot = slot;
        }
        true
    }

    /// A block lost a unit that was needed; nothing to do unless it is a candidate.
    #[inline]
    pub(super) fn lower(&mut self, block: BlockId) {
        let (plane, block) = self.place(block);
        let plane = &mut self.planes[plane];
        if !plane.contains(block) {
            return;
        }
        plane.unlink(block);
        let entry = &mut plane.entries[block as usize];
        entry.touched = self.clock;
        let valid = entry.valid - 1;
        if self.orders.closed_by_age && entry.valid == self.yields_below {
            plane.in_order.insert((entry.closed, block));
        }
        plane.link(block, valid);
    }
}

impl Plane {
    #[inline]
    fn contains(&self, block: u32) -> bool {
        let entry = self.entries.get(block as usize);
        entry.is_some_and(|entry| entry.slot != NONE)
    }

    /// Puts a block last in its ring.
    #[inline]
    fn link(&mut self, block: u32, valid: u32) {
        self.lowest = self.lowest.min(valid);
        let first = &mut self.rings[valid as usize];
        let (next, previous) = if *first == NONE {
            *first = block;
            (block, block)
        } else {
            (*first, self.entries[*first as usize].previous)
        };
        self.entries[previous as usize].next = block;
        self.entries[next as usize].previous = block;
        let entry = &mut self.entries[block as usize];
        (entry.next, entry.previous, entry.valid) = (next, previous, valid);
    }

    /// Takes a block out of its ring.
    #[inline]
    fn unlink(&mut self, block: u32) {
        let entry = self.entries[block as usize];
        self.entries[entry.previous as usize].next = entry.next;
        self.entries[entry.next as usize].previous = entry.previous;
        let first = &mut self.rings[entry.valid as usize];
        if *first == block {
            *first = if entry.next == block {
                NONE
            } else {
                entry.next
            };
        }
        while self.lowest < self.rings.len() as u32 - 1 && self.rings[self.lowest as usize] == NONE
        {
            self.lowest += 1;
        }
    }
}

impl View<'_> {
    fn block(&self, number: u32) -> BlockId {
        BlockId(self.first_block + number)
    }

    fn entry(&self, block: BlockId) -> &Entry {
        &self.plane.entries[(block.0 - self.first_block) as usize]
    }

    /// Units of a block.
    pub(in crate::ftl) fn units_per_block(&self) -> u32 {
        self.full
    }

    /// Whether emptying a candidate would win a page.
    pub(in crate::ftl) fn yields(&self, block: BlockId) -> bool {
        self.valid(block) < self.yields_below
    }

    /// Blocks to draw from.
    pub(in crate::ftl) fn len(&self) -> usize {
        self.plane.members.len()
    }

    /// The candidate with this place among [`View::len`].
    pub(in crate::ftl) fn at(&self, place: usize) -> BlockId {
        self.block(self.plane.members[place])
    }

    /// Units of a candidate that would have to be copied.
    pub(in crate::ftl) fn valid(&self, block: BlockId) -> u32 {
        self.entry(block).valid
    }

    /// How long ago a candidate last lost a unit, in pages written.
    pub(in crate::ftl) fn age(&self, block: BlockId) -> u64 {
        self.clock - self.entry(block).touched
    }

    /// The candidate with the fewest needed units, if it would yield a page.
    pub(in crate::ftl) fn emptiest(&self) -> Option<BlockId> {
        self.longest_unchanged().next().map(|(block, _)| block)
    }

    /// For each number of needed units, ascending, the candidate that has had it for the
    /// longest time. There are at most as many as a block has units.
    pub(in crate::ftl) fn longest_unchanged(&self) -> impl Iterator<Item = (BlockId, u32)> + '_ {
        let rings = self.plane.rings.iter().take(self.yields_below as usize);
        rings
            .enumerate()
            .skip(self.plane.lowest as usize)
            .filter(|(_, first)| **first != NONE)
            .map(|(valid, first)| (self.block(*first), valid as u32))
    }

    /// The candidate that was erased the least, and how often.
    pub(in crate::ftl) fn least_worn(&self) -> Option<(BlockId, u32)> {
        let (erases, block) = self.plane.by_wear.first()?;
        Some((self.block(*block), *erases))
    }

    /// The candidate that was closed first, of those that would yield anything.
    pub(in crate::ftl) fn oldest(&self) -> Option<BlockId> {
        self.plane
            .in_order
            .first()
            .map(|(_, block)| self.block(*block))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ftl::unit::tests::geometry;

    proptest! {
        /// Against a plain list of (block, needed units).
        #[test]
        fn the_index_agrees_with_a_list(per_page in prop::sample::select(vec![1u32, 2, 4]), steps in prop::collection::vec((0u32..3, 0u32..16, 0u32..=8), 0..300)) {
            let orders = Orders { free_by_wear: false, closed_by_wear: true, closed_by_age: true };
            let unit = MappingUnit::of(&geometry(4096), 4096 / per_page);
            let yields_below = 8 - per_page + 1;
            let mut index = Candidates::new(2, 8, 8 / per_page, unit, orders);
            let mut list: Vec<(u32, u32)> = Vec::new();
            for (step, block, valid) in steps {
                let place = list.iter().position(|(listed, _)| *listed == block);
                match (step, place) {
                    (0, None) => {
                        index.insert(BlockId(block), valid, block % 3);
                        list.push((block, valid));
                    }
                    (1, Some(place)) => {
                        index.remove(BlockId(block));
                        list.remove(place);
                    }
                    (2, Some(place)) if list[place].1 > 0 => {
                        index.lower(BlockId(block));
                        list[place].1 -= 1;
                    }
                    _ => {}
                }
                for plane in 0..2 {
                    let of_plane = || list.iter().filter(|(block, _)| block / 8 == plane);
                    let yielding = || of_plane().filter(|(_, valid)| *valid < yields_below);
                    let view = index.view(PlaneId(plane));
                    prop_assert_eq!(view.len(), of_plane().count());
                    let fewest = yielding().map(|(_, valid)| *valid).min();
                    prop_assert_eq!(view.emptiest().map(|block| view.valid(block)), fewest);
                    prop_assert_eq!(view.oldest().map(|block| block.0), yielding().next().map(|(block, _)| *block));
                    let fewest = of_plane().map(|(block, _)| block % 3).min();
                    prop_assert_eq!(view.least_worn().map(|(_, erases)| erases), fewest);
                    for (block, valid) in of_plane() {
                        prop_assert_eq!(view.valid(BlockId(*block)), *valid);
                    }
                }
            }
        }
    }
}
