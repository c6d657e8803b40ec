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

    /// The place of a writer that comes now, behind all who came before.
    #[inline]
    pub(super) fn turn(&self) -> Turn<'_> {
        let number = self.next_number.replace(self.next_number.get() + 1);
        Turn {
            pressure: self,
            number,
            waits: Cell::new(false),
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

/// A writer's place among those who wait for room, by when it came. Who waits for something else meanwhile is passed over,
/// and is before those who came later when it is back.
pub(super) struct Turn<'a> {
    pressure: &'a Pressure,
    number: u64,
    /// Whether it is in the queue.
    waits: Cell<bool>,
}

impl Turn<'_> {
    /// Whether there is room, and nobody who came before waits for it.
    #[inline]
    pub(super) fn is_next(&self) -> bool {
        self.pressure.has_room() && self.is_first()
    }

    /// Waits until there is room and nobody who came before waits for it. The place in the queue is kept: what follows may
    /// wait for room again before anybody else has some. Says whether there was anything to wait for: a page that has
    /// arrived already may make room at once.
    pub(super) async fn relief(&self) -> bool {
        if self.is_next() {
            return false;
        }
        self.queue();
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

    /// Lets others go on until [`Turn::relief`] is waited for again.
    pub(super) fn step_aside(&self) {
        if self.waits.replace(false) {
            let mut waiting = self.pressure.waiting.borrow_mut();
            waiting.retain(|(number, _)| *number != self.number);
            drop(waiting);
            self.pressure.wake_first();
        }
    }

    fn queue(&self) {
        if !self.waits.replace(true) {
            let mut waiting = self.pressure.waiting.borrow_mut();
            let place = waiting.partition_point(|(number, _)| *number < self.number);
            waiting.insert(place, (self.number, self.pressure.sim.current()));
        }
    }

    fn is_first(&self) -> bool {
        let waiting = self.pressure.waiting.borrow();
        waiting
            .front()
            .is_none_or(|(number, _)| *number >= self.number)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.step_aside();
    }
}
