//! A lock on ranges of numbers (pages, blocks, addresses), shared or exclusive, first come, first
//! served.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::Range;
use std::task::Poll;

use crate::executor::{Sim, TaskId};

/// Who else may be where a range is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Others with shared access.
    Shared,
    /// Nobody.
    Exclusive,
}

/// A range that one task holds or waits for. What one lock takes are claims in a row.
struct Claim {
    id: u64,
    start: u64,
    end: u64,
    access: Access,
    task: TaskId,
}

impl Claim {
    #[inline]
    fn bars(&self, other: &Claim) -> bool {
        let excludes = || self.access == Access::Exclusive || other.access == Access::Exclusive;
        self.start < other.end && other.start < self.end && excludes()
    }
}

/// Locks on ranges. A claim waits for those before it that overlap it and are not shared as it is,
/// whether they are granted or wait themselves: none starves.
///
/// Few are held at a time, so a list in the order of arrival serves better than a tree.
pub struct RangeLock {
    sim: Sim,
    claims: RefCell<Vec<Claim>>,
    next_id: Cell<u64>,
    /// Guards that some claim barred when they came, granted or not: while there are none, nobody waits.
    barred: Cell<u64>,
}

/// Ranges held; dropping it lets the next claims have them. A task that is dropped while it waits
/// takes its claim back.
#[must_use = "a lock is held as long as its guard is"]
pub struct RangeGuard<'a> {
    lock: &'a RangeLock,
    id: u64,
    was_barred: bool,
}

impl RangeLock {
    /// Nothing is locked.
    pub fn new(sim: &Sim) -> RangeLock {
        RangeLock {
            sim: sim.clone(),
            claims: RefCell::default(),
            next_id: Cell::new(0),
            barred: Cell::new(0),
        }
    }

    /// Waits until no earlier claim bars `range`, and holds it.
    #[inline]
    pub async fn lock(&self, range: Range<u64>, access: Access) -> RangeGuard<'_> {
        let mut guard = self.guard();
        if !self.claim(guard.id, range, access) {
            guard.note_barred();
            self.granted(guard.id).await;
        }
        guard
    }

    /// As [`RangeLock::lock`], for several ranges at once: they are claimed together, so tasks that
    /// name the same ranges in another order do not wait for each other.
    pub async fn lock_all(
        &self,
        ranges: impl IntoIterator<Item = (Range<u64>, Access)>,
    ) -> RangeGuard<'_> {
        let mut guard = self.guard();
        let mut free = true;
        for (range, access) in ranges {
            free &= self.claim(guard.id, range, access);
        }
        if !free {
            guard.note_barred();
            self.granted(guard.id).await;
        }
        guard
    }

    /// The guard of claims yet to be made.
    fn guard(&self) -> RangeGuard<'_> {
        let id = self.next_id.replace(self.next_id.get() + 1);
        RangeGuard {
            lock: self,
            id,
            was_barred: false,
        }
    }

    /// Enters a claim; says whether nothing bars it.
    #[inline]
    fn claim(&self, id: u64, range: Range<u64>, access: Access) -> bool {
        let claim = Claim {
            id,
            start: range.start,
            end: range.end,
            access,
            task: self.sim.current(),
        };
        let mut claims = self.claims.borrow_mut();
        let barred = claims
            .iter()
            .any(|earlier| earlier.bars(&claim) && earlier.id != id);
        claims.push(claim);
        !barred
    }

    fn granted(&self, id: u64) -> impl Future<Output = ()> + '_ {
        poll_fn(move |_| {
            if self.is_granted(id) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
    }

    fn is_granted(&self, id: u64) -> bool {
        let claims = self.claims.borrow();
        let first = claims.iter().position(|claim| claim.id == id);
        let (earlier, rest) = claims.split_at(first.unwrap_or(claims.len()));
        let mut wanted = rest.iter().take_while(|claim| claim.id == id);
        wanted.all(|claim| !earlier.iter().any(|earlier| earlier.bars(claim)))
    }
}

impl RangeGuard<'_> {
    fn note_barred(&mut self) {
        self.was_barred = true;
        self.lock.barred.set(self.lock.barred.get() + 1);
    }

    /// Whether all of `range` is held in one piece, exclusively if `access` asks for that. For
    /// assertions: it looks through all claims.
    pub fn covers(&self, range: &Range<u64>, access: Access) -> bool {
        let claims = self.lock.claims.borrow();
        let mut own = claims.iter().filter(|claim| claim.id == self.id);
        own.any(|claim| {
            let enough = access == Access::Shared || claim.access == Access::Exclusive;
            enough && claim.start <= range.start && range.end <= claim.end
        })
    }
}

impl Drop for RangeGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let mut claims = self.lock.claims.borrow_mut();
        let Some(place) = claims.iter().position(|claim| claim.id == self.id) else {
            return;
        };
        self.lock
            .barred
            .set(self.lock.barred.get() - u64::from(self.was_barred));
        while claims.get(place).is_some_and(|claim| claim.id == self.id) {
            let released = claims.remove(place);
            if self.lock.barred.get() == 0 {
                continue;
            }
            for later in &claims[place..] {
                if later.id != self.id && released.bars(later) {
                    self.lock.sim.wake(later.task);
                }
            }
        }
    }
}
