//! Back-pressure: writers wait while too much is on its way from the cache to flash.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::Poll;

use sim::{Sim, TaskId};

/// Bytes on their way to flash, and who waits for them to get fewer, in order.
pub(super) struct Pressure {
    sim: Sim,
    bytes: Cell<u64>,
    most: u64,
    waiting: RefCell<VecDeque<(u64, TaskId)>>,
    next_number: Cell<u64>,
}

impl Pressure {
    pub(super) fn new(sim: &Sim, most: u64) -> Pressure {
        Pressure {
            sim: sim.clone(),
            bytes: Cell::new(0),
            most,
            waiting: RefCell::default(),
            next_number: Cell::new(0),
        }
    }

    /// Whether a writer may go on now: there is room, and nobody waits for it.
    #[inline]
    pub(super) fn allows(&self) -> bool {
        self.has_room() && self.waiting.borrow().is_empty()
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.bytes.get() < self.most
    }

    /// More data is on its way. What one page adds may exceed the limit.
    #[inline]
    pub(super) fn add(&self, bytes: u32) {
        self.bytes.set(self.bytes.get() + u64::from(bytes));
    }

    /// Some of it has arrived.
    #[inline]
    pub(super) fn release(&self, bytes: u32) {
        self.bytes.set(self.bytes.get() - u64::from(bytes));
        self.wake_first();
    }

    /// Waits until it is the caller's turn and there is room. Dropping the wait gives the turn up.
    pub(super) async fn relief(&self) {
        if self.allows() {
            return;
        }
        let number = self.next_number.replace(self.next_number.get() + 1);
        self.waiting
            .borrow_mut()
            .push_back((number, self.sim.current()));
        let turn = Turn {
            pressure: self,
            number,
        };
        std::future::poll_fn(|_| {
            let first = self.waiting.borrow().front().map(|(number, _)| *number);
            if first == Some(number) && self.has_room() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        drop(turn);
    }

    fn wake_first(&self) {
        if self.has_room()
            && let Some((_, task)) = self.waiting.borrow().front()
        {
            self.sim.wake(*task);
        }
    }
}

/// A place in the queue; dropping it lets the next one look.
struct Turn<'a> {
    pressure: &'a Pressure,
    number: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.pressure
            .waiting
            .borrow_mut()
            .retain(|(number, _)| *number != self.number);
        self.pressure.wake_first();
    }
}
