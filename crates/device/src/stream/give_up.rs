//! A fetch that waits for output may be given up: by an Abort, as its host is gone.

use std::cell::Cell;

use nvme::Status;
use sim::resource::Broadcast;
use sim::{Either, Sim, select};

/// Has a fetch end as soon as it waits.
pub struct GiveUp {
    is_asked: Cell<bool>,
    /// Of one that is over, whether it was given up.
    was_given_up: Cell<Option<bool>>,
    /// Announced when either changes.
    changed: Broadcast,
}

impl GiveUp {
    /// For a fetch that begins.
    pub fn new(sim: &Sim) -> GiveUp {
        GiveUp {
            is_asked: Cell::new(false),
            was_given_up: Cell::new(None),
            changed: Broadcast::new(sim),
        }
    }

    /// Has the fetch end, and waits until it has; whether it was given up.
    pub async fn ask(&self) -> bool {
        self.is_asked.set(true);
        self.changed.announce();
        loop {
            if let Some(was_given_up) = self.was_given_up.get() {
                return was_given_up;
            }
            self.changed.next().await;
        }
    }

    /// The fetch is over; whether it was given up is what it was first told to be.
    pub fn end(&self, was_given_up: bool) {
        if self.was_given_up.get().is_none() {
            self.was_given_up.set(Some(was_given_up));
            self.changed.announce();
        }
    }

    /// Waits for something.
    ///
    /// # Errors
    /// Command Abort Requested if it is given up before.
    pub(super) async fn unless_asked<T>(&self, work: impl Future<Output = T>) -> Result<T, Status> {
        let asked = async {
            while !self.is_asked.get() {
                self.changed.next().await;
            }
        };
        match select(asked, work).await {
            Either::Left(()) => Err(Status::ABORT_REQUESTED),
            Either::Right(done) => Ok(done),
        }
    }
}
