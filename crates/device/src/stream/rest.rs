//! Whether anything goes on in a stream that the host feeds: where nothing does, who waits for it would wait for the host.

use std::cell::Cell;

use sim::resource::Broadcast;
use sim::{Sim, Span};

/// How long it takes until whoever was woken has gone on.
const MOMENT: Span = Span::from_ns(1);

/// The elements at work, and those of them that wait for others.
pub(super) struct Rest {
    sim: Sim,
    working: Cell<u32>,
    waiting: Cell<u32>,
    /// Announced when one begins to wait, or ends.
    changed: Broadcast,
}

/// An element that waits, until this is dropped.
pub(super) struct Waiting<'a>(&'a Rest);

/// An element at work, until this is dropped.
pub(super) struct Working<'a>(&'a Rest);

impl Rest {
    pub(super) fn new(sim: &Sim) -> Rest {
        Rest {
            sim: sim.clone(),
            working: Cell::new(0),
            waiting: Cell::new(0),
            changed: Broadcast::new(sim),
        }
    }

    pub(super) fn work(&self) -> Working<'_> {
        self.working.set(self.working.get() + 1);
        Working(self)
    }

    /// One waits for input, or for room for output.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.set(self.waiting.get() + 1);
        self.changed.announce();
        Waiting(self)
    }

    fn is_quiet(&self) -> bool {
        self.working.get() > 0 && self.waiting.get() == self.working.get()
    }

    /// Waits until all elements wait for the host.
    pub(super) async fn quiet(&self) {
        loop {
            while !self.is_quiet() {
                self.changed.next().await;
            }
            self.sim.sleep(MOMENT).await;
            if self.is_quiet() {
                return;
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.working.set(self.0.working.get() - 1);
        self.0.changed.announce();
    }
}
