//! Whether anything goes on in a stream that the host or a collector feeds: where nothing does, who waits for it would wait for them.

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
    /// What a collector has sent is on its way here.
    is_coming: Cell<bool>,
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
            is_coming: Cell::new(false),
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

    /// Whether what a collector has sent is on its way here.
    pub(super) fn set_coming(&self, is_coming: bool) {
        self.is_coming.set(is_coming);
        self.changed.announce();
    }

    fn is_quiet(&self) -> bool {
        let all_wait = self.working.get() > 0 && self.waiting.get() == self.working.get();
        all_wait && !self.is_coming.get()
    }

    /// Waits until all elements wait for what is to be sent.
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
