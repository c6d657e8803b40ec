//! Commands under way, and those that nobody awaits any more.

use std::cell::{Cell, RefCell};

use host::Memory;
use sim::TaskId;

use super::pair::QueuePair;

/// Commands that nobody awaits any more and the drive still carries out.
#[derive(Default)]
pub(super) struct Left {
    pub(super) count: Cell<u64>,
    /// Who waits until there are none.
    pub(super) waiting: RefCell<Vec<TaskId>>,
}

/// A command under way. Dropping it before its completion leaves the command to
/// the drive, and its identifier taken until then; the buffers that its caller drops with it are
/// not used again before.
pub(super) struct Claim<'a> {
    pub(super) pair: &'a QueuePair,
    pub(super) memory: &'a Memory,
    pub(super) left: &'a Left,
    pub(super) has_data: bool,
    pub(super) id: Option<u16>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let state = &mut *self.pair.state.borrow_mut();
        match state.pending[usize::from(id)].completion {
            None => {
                let pending = &mut state.pending[usize::from(id)];
                (pending.abandoned, pending.holds_memory) = (true, self.has_data);
                self.left.count.set(self.left.count.get() + 1);
                if self.has_data {
                    self.memory.borrow_mut().hold();
                }
            }
            Some(arrival) => {
                self.pair.consume(state, id, &arrival);
            }
        }
    }
}
