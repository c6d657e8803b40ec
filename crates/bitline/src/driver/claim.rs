//! Commands under way, and those that nobody awaits any more.

use std::cell::{Cell, RefCell};

use host::Memory;
use sim::resource::Signal;
use sim::{Sim, TaskId};

use super::pair::QueuePair;

/// Commands that nobody awaits any more and the drive still carries out.
pub(super) struct Left {
    pub(super) count: Cell<u64>,
    /// Who waits until there are none.
    pub(super) waiting: RefCell<Vec<TaskId>>,
    /// Runs of programs and stream reads among them that are to be aborted: the queue pair, and the command.
    pub(super) runs: RefCell<Vec<(u16, u16)>>,
    /// Rung when there are any.
    pub(super) runs_left: Signal,
}

impl Left {
    pub(super) fn new(sim: &Sim) -> Left {
        Left {
            count: Cell::new(0),
            waiting: RefCell::default(),
            runs: RefCell::default(),
            runs_left: Signal::new(sim),
        }
    }
}

/// A command under way. Dropping it before its completion leaves the command to
/// the drive, and its identifier taken until then; the buffers that its caller drops with it are
/// not used again before. A run of a program or a stream read, which may go on for ever, is aborted.
pub(super) struct Claim<'a> {
    pub(super) pair: &'a QueuePair,
    pub(super) memory: &'a Memory,
    pub(super) left: &'a Left,
    pub(super) has_data: bool,
    pub(super) may_last: bool,
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
                if self.may_last {
                    self.left.runs.borrow_mut().push((self.pair.id.get(), id));
                    self.left.runs_left.ring();
                }
            }
            Some(arrival) => {
                self.pair.consume(state, id, &arrival);
            }
        }
    }
}
