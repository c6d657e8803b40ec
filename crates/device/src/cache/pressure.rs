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
        if !self.allows() {
            self.queue().relief().await;
        }
    }

    /// A place at the end of the queue, for a writer that is not allowed to go on.
    pub(super) fn queue(&self) -> Turn<'_> {
        let number = self.next_number.replace(self.next_number.get() + 1);
        self.waiting
            .borrow_mut()
            .push_back((number, self.sim.current()));
        Turn {
            pressure: self,
            number,
        }
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
pub(super) struct Turn<'a> {
    pressure: &'a Pressure,
    number: u64,
}

impl Turn<'_> {
    /// Waits until this place is the first and there is room. The place is kept: what follows may
    /// wait for room again before anybody else has some.
    pub(super) async fn relief(&self) {
        std::future::poll_fn(|_| match self.is_next() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Whether it is this place's turn and there is room.
    pub(super) fn is_next(&self) -> bool {
        let waiting = self.pressure.waiting.borrow();
        let first = waiting.front().map(|(number, _)| *number);
        first == Some(self.number) && self.pressure.has_room()
    }
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
