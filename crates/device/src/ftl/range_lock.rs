//! Locks on ranges of logical pages: writes and deallocations of the same page
//! happen one after another, in the order of their arrival.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::Range;
use std::task::Poll;

use sim::{Sim, TaskId};

struct Claim {
    id: u64,
    pages: Range<u32>,
    task: TaskId,
}

/// Ranges claimed, held or waited for, in the order of arrival. Few are in
/// flight at a time, so a list serves better than a tree.
pub(super) struct RangeLocks {
    sim: Sim,
    claims: RefCell<Vec<Claim>>,
    next_id: Cell<u64>,
}

/// A range held; dropping it lets the next claim have it.
pub(super) struct RangeLock<'a> {
    locks: &'a RangeLocks,
    id: u64,
}

impl RangeLocks {
    pub(super) fn new(sim: &Sim) -> RangeLocks {
        RangeLocks {
            sim: sim.clone(),
            claims: RefCell::default(),
            next_id: Cell::new(0),
        }
    }

    /// Waits until no earlier claim overlaps `pages`, and holds them.
    pub(super) async fn lock(&self, pages: Range<u32>) -> RangeLock<'_> {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        self.claims.borrow_mut().push(Claim {
            id,
            pages,
            task: self.sim.current(),
        });
        // From here on, dropping this future takes the claim back.
        let lock = RangeLock { locks: self, id };
        poll_fn(|_| {
            if self.is_granted(id) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        lock
    }

    fn is_granted(&self, id: u64) -> bool {
        let claims = self.claims.borrow();
        let Some(place) = claims.iter().position(|claim| claim.id == id) else {
            return false;
        };
        let wanted = &claims[place].pages;
        claims[..place]
            .iter()
            .all(|earlier| earlier.pages.end <= wanted.start || wanted.end <= earlier.pages.start)
    }
}

impl Drop for RangeLock<'_> {
    fn drop(&mut self) {
        let mut claims = self.locks.claims.borrow_mut();
        let Some(place) = claims.iter().position(|claim| claim.id == self.id) else {
            return;
        };
        let released = claims.remove(place);
        for later in &claims[place..] {
            if later.pages.start < released.pages.end && released.pages.start < later.pages.end {
                self.locks.sim.wake(later.task);
            }
        }
    }
}
