//! What a host knows of its collectors.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::collector::{CollectorRecord, CollectorState};
use sim::resource::Broadcast;
use sim::{Sim, Span};

use super::uses::Held;
use crate::error::Error;

/// How long until it is looked again at what tells nobody when it changes.
pub(crate) const LOOK_AGAIN: Span = Span::from_us(100);

/// How the object of a collector is to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    /// The number of the object.
    pub(crate) object: u32,
    /// Bytes that are added at a time.
    pub(crate) by: u64,
    /// Bytes of room below which they are.
    pub(crate) low: u64,
}

/// Objects of collectors, and sources that are not at their end, by port.
pub(crate) struct Collecting {
    sending: RefCell<BTreeMap<u16, u32>>,
    growing: RefCell<BTreeMap<u16, Growth>>,
    held: RefCell<BTreeMap<u16, Held>>,
    failures: RefCell<BTreeMap<u16, Error>>,
    /// What tells whether packets are held back as an object is full.
    full: RefCell<BTreeMap<u16, Rc<dyn Fn() -> bool>>>,
    /// Ports until whose end somebody waits, and how many do.
    awaited: RefCell<BTreeMap<u16, u32>>,
    changed: Broadcast,
    pub(crate) is_watched: Cell<bool>,
}

/// Somebody waits for a collector until this is dropped.
pub(crate) struct Awaiting {
    collecting: Rc<Collecting>,
    port: u16,
}

impl Collecting {
    pub(crate) fn new(sim: &Sim) -> Collecting {
        Collecting {
            sending: RefCell::default(),
            growing: RefCell::default(),
            held: RefCell::default(),
            failures: RefCell::default(),
            full: RefCell::default(),
            awaited: RefCell::default(),
            changed: Broadcast::new(sim),
            is_watched: Cell::new(false),
        }
    }

    /// What is to be added to a collection: its port, and how much.
    pub(crate) fn wanted(&self, record: &CollectorRecord) -> Option<(u16, Growth)> {
        let port = u16::try_from(record.port.get()).ok()?;
        let growth = self.growth(port)?;
        let is_collecting =
            CollectorState::of_code(record.state) == Some(CollectorState::Collecting);
        let left = record.room_bytes.get().saturating_sub(record.bytes.get());
        // What has arrived and is not durable yet needs room, too.
        let waiting = (record.begun_bytes.get() + record.packet_bytes.get())
            .saturating_sub(record.oldest_bytes.get());
        let is_low = left <= growth.low || waiting + growth.low >= record.room_bytes.get();
        (is_collecting && is_low).then_some((port, growth))
    }

    /// How the object of a port grows, if it does.
    pub(crate) fn growth(&self, port: u16) -> Option<Growth> {
        self.growing.borrow().get(&port).copied()
    }

    /// The object of a port grows from now on.
    pub(crate) fn grow(&self, port: u16, growth: Growth) {
        self.growing.borrow_mut().insert(port, growth);
        self.failures.borrow_mut().remove(&port);
    }

    /// It does so no more.
    fn grow_no_more(&self, port: u16) {
        self.growing.borrow_mut().remove(&port);
    }

    /// It cannot grow.
    pub(crate) fn failed(&self, port: u16, error: Error) {
        self.failures.borrow_mut().insert(port, error);
        self.grow_no_more(port);
        self.changed.announce();
    }

    /// Why the object of a port could not grow; told once.
    pub(crate) fn take_failure(&self, port: u16) -> Option<Error> {
        self.failures.borrow_mut().remove(&port)
    }

    /// Holds the object of a port.
    pub(crate) fn hold(&self, port: u16, held: Held) {
        self.held.borrow_mut().insert(port, held);
    }

    /// A collection has ended: its object may change again, and does not grow.
    pub(crate) fn forget(&self, port: u16) {
        let held = self.held.borrow_mut().remove(&port);
        drop(held);
        self.full.borrow_mut().remove(&port);
        self.grow_no_more(port);
    }

    /// Asks `is_full` from now on whether what comes to a port is held back as its object is full.
    pub(crate) fn ask(&self, port: u16, is_full: Rc<dyn Fn() -> bool>) {
        self.full.borrow_mut().insert(port, is_full);
    }

    /// Whether what a collector sends is held back for ever: its object is full, and does not grow.
    pub(crate) fn is_stuck(&self, port: u16) -> bool {
        let is_full = self.full.borrow().get(&port).cloned();
        self.growth(port).is_none() && is_full.is_some_and(|is_full| is_full())
    }

    /// Whether a collector will send more by itself.
    pub(crate) fn sends(&self, port: u16) -> bool {
        self.sending.borrow().contains_key(&port)
    }

    /// A source begins.
    pub(crate) fn begin(&self, port: u16) {
        *self.sending.borrow_mut().entry(port).or_default() += 1;
    }

    /// A source is at its end.
    pub(crate) fn end(&self, port: u16) {
        less(&mut self.sending.borrow_mut(), port);
        self.changed.announce();
    }

    /// Something is not as it was.
    pub(crate) fn announce(&self) {
        self.changed.announce();
    }

    /// Waits until a source is at its end, an object cannot grow, or a collection has ended.
    pub(crate) async fn changed(&self) {
        self.changed.next().await;
    }

    /// Somebody waits for a port from now on: what streams make of what comes there is fetched meanwhile, so that they go on.
    pub(crate) fn wait(self: &Rc<Collecting>, port: u16) -> Awaiting {
        *self.awaited.borrow_mut().entry(port).or_default() += 1;
        self.changed.announce();
        Awaiting {
            collecting: self.clone(),
            port,
        }
    }

    /// Waits until somebody waits for a port.
    pub(crate) async fn awaited(&self, port: u16) {
        while !self.awaited.borrow().contains_key(&port) {
            self.changed.next().await;
        }
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        less(&mut self.collecting.awaited.borrow_mut(), self.port);
    }
}

/// One less of a port.
fn less(counts: &mut BTreeMap<u16, u32>, port: u16) {
    if let Some(count) = counts.get_mut(&port) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&port);
        }
    }
}
