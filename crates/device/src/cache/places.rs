//! Where slots lie. Those that were written together, as much as a page of flash holds, lie in the buffer that they came in: they
//! are not copied when they come, nor when they go to flash together. Every other slot has memory of its own.
//!
//! That is the simulator's memory, of which such buffers take up to twice the capacity; in the drive's DRAM each slot has its place.

use std::cell::{Cell, RefCell};

use super::Cache;
use super::table::{Place, SlotId, Table};
use crate::ftl::PageSlice;
use crate::memory::BufferId;

/// Capacities of the cache that shared buffers take at most: one would do if all slots of each went together.
const SHARED_CAPACITIES: u32 = 2;

/// The buffers that slots have in common, with each other and with what is flying from there.
#[derive(Default)]
pub(super) struct SharedBuffers {
    /// Slots and flights that have each buffer, by its number; none of one that is not shared.
    holders: RefCell<Vec<u32>>,
    /// Buffers that anybody has.
    count: Cell<u32>,
}

impl SharedBuffers {
    pub(super) fn is_shared(&self, buffer: BufferId) -> bool {
        let holders = self.holders.borrow();
        holders.get(buffer.index()).is_some_and(|held| *held > 0)
    }

    /// So many more have the buffer.
    fn hold(&self, buffer: BufferId, more: u32) {
        let holders = &mut *self.holders.borrow_mut();
        if holders.len() <= buffer.index() {
            holders.resize(buffer.index() + 1, 0);
        }
        let held = &mut holders[buffer.index()];
        self.count.update(|count| count + u32::from(*held == 0));
        *held += more;
    }

    /// One less has the buffer, which is shared; whether nobody has it now.
    fn let_go(&self, buffer: BufferId) -> bool {
        let held = &mut self.holders.borrow_mut()[buffer.index()];
        *held -= 1;
        self.count.update(|count| count - u32::from(*held == 0));
        *held == 0
    }
}

impl Cache {
    /// Takes over the buffer in which slices lie that fill a page of flash, for slots to lie in; its owner has another one
    /// instead, of undefined content. None if they do not fill one, or if slots would keep too many alive: when most of those
    /// that came together have gone, the rest still has all of it.
    pub(super) fn take_over(&self, units: &[PageSlice]) -> Option<BufferId> {
        let (buffer, bytes) = (units.first()?.buffer, self.unit.bytes());
        let per_page = self.unit.per_page() as usize;
        let are_whole = units.len() == per_page
            && (units.iter()).all(|unit| unit.column == 0 && unit.bytes == bytes);
        let pages = self.capacity / self.unit.per_page();
        let has_room = self.shared.count.get() < SHARED_CAPACITIES * pages;
        if !are_whole || !has_room || buffer == BufferId::NONE {
            return None;
        }
        let taken = self.buffers.take_over(buffer);
        self.shared.hold(taken, per_page as u32);
        Some(taken)
    }

    /// Memory for a slot alone.
    pub(super) fn own_place(&self) -> Place {
        (self.buffers.take_slot(), 0)
    }

    /// A slot does not lie there any more, or a flight has landed.
    pub(super) fn leave_place(&self, (buffer, _): Place) {
        if !self.shared.is_shared(buffer) {
            self.buffers.give_back_slot(buffer);
        } else if self.shared.let_go(buffer) {
            self.buffers.give_back_spare_page(buffer);
        }
    }

    /// The buffer of slots that lie there as they would in a page of flash, and all of them: they can be programmed from there.
    /// Whoever does leaves that place afterwards.
    pub(super) fn lend_place(&self, table: &Table, group: &[SlotId]) -> Option<BufferId> {
        let bytes = self.unit.bytes();
        let (buffer, _) = table.slot(*group.first()?).place;
        let are_all = group.len() == self.unit.per_page() as usize
            && (0..).zip(group).all(|(number, id)| {
                let slot = table.slot(*id);
                slot.place == (buffer, number * bytes) && slot.present.bytes() == bytes
            });
        if !are_all || !self.shared.is_shared(buffer) {
            return None;
        }
        self.shared.hold(buffer, 1);
        Some(buffer)
    }
}
