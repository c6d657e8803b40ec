//! Bells: one task waits while others ring, or many wait for one announcement.

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

/// Wakes every waiting task: "look again, something has changed".
pub struct Broadcast {
    sim: Sim,
    rounds: Cell<u64>,
    waiting: std::cell::RefCell<Vec<TaskId>>,
}

impl Broadcast {
    /// Nobody waits.
    pub fn new(sim: &Sim) -> Broadcast {
        Broadcast {
            sim: sim.clone(),
            rounds: Cell::new(0),
            waiting: std::cell::RefCell::default(),
        }
    }

    /// Wakes everybody who waits now, in the order of their waiting.
    #[inline]
    pub fn announce(&self) {
        self.rounds.set(self.rounds.get() + 1);
        if self.waiting.borrow().is_empty() {
            return;
        }
        for task in self.waiting.borrow_mut().drain(..) {
            self.sim.wake(task);
        }
    }

    /// Waits for the next announcement after this call.
    pub fn next(&self) -> impl Future<Output = ()> + '_ {
        let round = self.rounds.get();
        let mut waits = false;
        std::future::poll_fn(move |_| {
            if self.rounds.get() != round {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut waits, true) {
                self.waiting.borrow_mut().push(self.sim.current());
            }
            Poll::Pending
        })
    }
}
