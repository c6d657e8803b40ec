//! What the processor fetches of the cache before it is needed. Slots lie all over memory: to wait for each where it is used would
//! take longer than all else that is done for it.

use super::Cache;
use super::table::{SlotId, Table};
use crate::ftl::Lpn;

/// What is fetched of a slot: one thing after another, as each says where the next is, with something else to do between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The slot of the page.
    Slot,
    /// Where its content lies.
    Place,
    /// The content.
    Content,
}

impl Cache {
    /// Has the processor fetch what it needs to find a page that a command under way names.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        if self.is_on() {
            self.table.borrow().prefetch(lpn);
        }
        self.ftl.prefetch(lpn);
    }

    /// The same of a write for its slot, if the page has one.
    #[inline]
    pub fn prefetch_for_write(&self, lpn: Lpn, step: Step) {
        if !self.is_on() {
            return;
        }
        let table = self.table.borrow();
        match (step, table.find(lpn)) {
            (_, None) => {}
            (Step::Slot, Some(id)) => table.prefetch_slot(id),
            (Step::Place, Some(id)) => self.buffers.prefetch(table.slot(id).place.0),
            (Step::Content, Some(id)) => self.prefetch_content(&table, id),
        }
    }

    /// The same of a group of slots that go to flash together, of which the places have been fetched. What lies in shared buffers is
    /// not copied, as a rule.
    pub(super) fn prefetch_contents(&self, group: &[SlotId]) {
        let table = self.table.borrow();
        for id in group {
            if !self.shared.is_shared(table.slot(*id).place.0) {
                self.prefetch_content(&table, *id);
            }
        }
    }

    #[inline]
    fn prefetch_content(&self, table: &Table, id: SlotId) {
        let (buffer, base) = table.slot(id).place;
        self.buffers.prefetch_content(buffer, base);
    }
}
