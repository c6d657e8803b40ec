//! A bell: one task waits, others ring.

use std::cell::Cell;
use std::task::Poll;

use crate::executor::{Sim, TaskId};

/// Wakes one waiting task. A ring with nobody waiting is remembered, so none is
/// lost; several rings before the task looks count as one.
pub struct Signal {
    sim: Sim,
    rung: Cell<bool>,
    waiter: Cell<TaskId>,
}

impl Signal {
    /// A bell nobody has rung.
    pub fn new(sim: &Sim) -> Signal {
        Signal {
            sim: sim.clone(),
            rung: Cell::new(false),
            waiter: Cell::new(TaskId::NONE),
        }
    }

    /// Rings.
    #[inline]
    pub fn ring(&self) {
        if !self.rung.replace(true) {
            self.sim.wake(self.waiter.replace(TaskId::NONE));
        }
    }

    /// Waits for a ring since the last one heard. One task at a time may wait;
    /// a later one takes the place of an earlier.
    #[inline]
    pub fn heard(&self) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(|_| {
            if self.rung.replace(false) {
                return Poll::Ready(());
            }
            self.waiter.set(self.sim.current());
            Poll::Pending
        })
    }
}
