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

    /// Whether it is one of lock `id` and has all of `part`.
    fn has(&self, id: u64, part: &Range<u64>) -> bool {
        self.id == id && self.start <= part.start && part.end <= self.end
    }

    /// The same for a part of its range.
    fn part(&self, part: &Range<u64>) -> Claim {
        Claim {
            start: part.start,
            end: part.end,
            ..*self
        }
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

/// A range that is claimed, of which parts are waited for and let go one by one. Dropping it takes
/// back what is left of it.
#[must_use = "a claim stands as long as this is there"]
pub struct RangeClaim<'a>(RangeGuard<'a>);

/// A part of a claim that is held; dropping it lets the next claims have it.
#[must_use = "a part is held as long as its guard is"]
pub struct PartGuard<'a> {
    claim: &'a RangeClaim<'a>,
    part: Range<u64>,
    access: Access,
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

    /// Takes a place in the queue for `range` and waits for nothing: [`RangeClaim::part`] does, in the
    /// task that called this. Who claims several parts at once and waits for each alone
    /// holds up nobody with a part that it is done with, nor waits for parts that others are not done with.
    #[inline]
    pub fn claim_parts(&self, range: Range<u64>, access: Access) -> RangeClaim<'_> {
        let mut guard = self.guard();
        if !self.claim(guard.id, range, access) {
            guard.note_barred();
        }
        RangeClaim(guard)
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

    /// The access that `part` of a claim has, unless an earlier claim bars it.
    fn part_is_granted(&self, id: u64, part: &Range<u64>) -> Option<Access> {
        let claims = self.claims.borrow();
        let place = claims.iter().position(|claim| claim.has(id, part));
        let place = place.expect("a part is waited for while all of it is claimed");
        let (earlier, wanted) = (&claims[..place], claims[place].part(part));
        let barred = earlier
            .iter()
            .any(|earlier| earlier.id != id && earlier.bars(&wanted));
        (!barred).then_some(wanted.access)
    }

    /// Takes `part` out of a claim, which may leave two, and wakes who it barred.
    fn release_part(&self, id: u64, part: &Range<u64>) {
        let mut claims = self.claims.borrow_mut();
        let Some(place) = claims.iter().position(|claim| claim.has(id, part)) else {
            return;
        };
        let released = claims[place].part(part);
        let (start, end) = (claims[place].start, claims[place].end);
        let rests = [start..part.start, part.end..end].map(|rest| claims[place].part(&rest));
        let mut rests = rests.into_iter().filter(|rest| rest.start < rest.end);
        match rests.next() {
            Some(rest) => claims[place] = rest,
            None => drop(claims.remove(place)),
        }
        if let Some(rest) = rests.next() {
            claims.insert(place + 1, rest);
        }
        if self.barred.get() == 0 {
            return;
        }
        for later in &claims[place..] {
            if later.id != id && released.bars(later) {
                self.sim.wake(later.task);
            }
        }
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

impl RangeClaim<'_> {
    /// Waits until no earlier claim bars `part`, and holds it.
    ///
    /// # Panics
    /// If not all of `part` is claimed still, in one piece.
    pub async fn part(&self, part: Range<u64>) -> PartGuard<'_> {
        poll_fn(|_| match self.try_part(part.clone()) {
            Some(held) => Poll::Ready(held),
            None => Poll::Pending,
        })
        .await
    }

    /// Holds `part`, unless an earlier claim bars it.
    ///
    /// # Panics
    /// As [`RangeClaim::part`].
    pub fn try_part(&self, part: Range<u64>) -> Option<PartGuard<'_>> {
        let RangeGuard { lock, id, .. } = self.0;
        let access = lock.part_is_granted(id, &part)?;
        Some(PartGuard {
            claim: self,
            part,
            access,
        })
    }
}

impl PartGuard<'_> {
    /// Whether all of `range` is held, exclusively if `access` asks for that.
    pub fn covers(&self, range: &Range<u64>, access: Access) -> bool {
        let enough = access == Access::Shared || self.access == Access::Exclusive;
        enough && self.part.start <= range.start && range.end <= self.part.end
    }
}

impl Drop for PartGuard<'_> {
    fn drop(&mut self) {
        let RangeGuard { lock, id, .. } = self.claim.0;
        lock.release_part(id, &self.part);
    }
}

impl Drop for RangeGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let mut claims = self.lock.claims.borrow_mut();
        self.lock
            .barred
            .set(self.lock.barred.get() - u64::from(self.was_barred));
        // Of a claim in parts nothing may be left.
        let Some(place) = claims.iter().position(|claim| claim.id == self.id) else {
            return;
        };
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
