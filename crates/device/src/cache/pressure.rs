//! Back-pressure: writers wait while too much is on its way from the cache to flash.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::Poll;

use sim::{Sim, TaskId};

/// Bytes on their way to flash, and who waits for them to get fewer, in order. Firmware hears of each page that has arrived by
/// itself: pages of several planes which arrive at one instant make room one after the other.
pub(super) struct Pressure {
    sim: Sim,
    bytes: Cell<u64>,
    most: u64,
    /// What has arrived while somebody waited, and nobody has made use of: counted in `bytes` still.
    arrived: RefCell<VecDeque<u32>>,
    waiting: RefCell<VecDeque<(u64, TaskId)>>,
    next_number: Cell<u64>,
}

impl Pressure {
    pub(super) fn new(sim: &Sim, most: u64) -> Pressure {
        Pressure {
            sim: sim.clone(),
            bytes: Cell::new(0),
            most,
            arrived: RefCell::default(),
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
        match self.waiting.borrow().is_empty() {
            true => self.subtract(bytes),
            false => self.arrived.borrow_mut().push_back(bytes),
        }
        self.wake_first();
    }

    fn subtract(&self, bytes: u32) {
        self.bytes.set(self.bytes.get() - u64::from(bytes));
    }

    /// Hears of pages that have arrived until there is room; false if there is none then.
    fn hear(&self) -> bool {
        while !self.has_room() {
            match self.arrived.borrow_mut().pop_front() {
                Some(bytes) => self.subtract(bytes),
                None => return false,
            }
        }
        true
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
        match self.waiting.borrow().front() {
            Some((_, task)) => self.sim.wake(*task),
            None => self
                .arrived
                .take()
                .into_iter()
                .for_each(|bytes| self.subtract(bytes)),
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
    /// wait for room again before anybody else has some. Says whether there was anything to wait for: a page that has
    /// arrived already may make room at once.
    pub(super) async fn relief(&self) -> bool {
        let mut waited = false;
        std::future::poll_fn(|_| match self.is_first() && self.pressure.hear() {
            true => Poll::Ready(waited),
            false => {
                waited = true;
                Poll::Pending
            }
        })
        .await
    }

    /// Whether it is this place's turn and there is room still, of what it has waited for.
    pub(super) fn is_next(&self) -> bool {
        self.is_first() && self.pressure.has_room()
    }

    fn is_first(&self) -> bool {
        let waiting = self.pressure.waiting.borrow();
        waiting
            .front()
            .is_some_and(|(number, _)| *number == self.number)
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
