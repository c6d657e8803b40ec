//! Who may change logical pages: writes and deallocations of the same page happen one after another,
//! in the order of their arrival.

use std::ops::Range;

use sim::resource::{Access, PartGuard, RangeClaim, RangeGuard};

use super::Ftl;

/// What shows that nobody else writes or deallocates some logical pages meanwhile. Whoever changes
/// pages asks for it.
pub trait SoleWriter {
    /// Whether it holds for all of `pages`.
    fn covers(&self, pages: &Range<u32>) -> bool;
}

/// Logical pages that only its holder may write or deallocate.
pub struct WriteLock<'a>(RangeGuard<'a>);

impl SoleWriter for WriteLock<'_> {
    fn covers(&self, pages: &Range<u32>) -> bool {
        pages.is_empty() || self.0.covers(&wide(pages), Access::Exclusive)
    }
}

/// Logical pages that a command is going to write, each as soon as those before it are done with that page.
pub struct WriteClaim<'a>(RangeClaim<'a>);

/// Some of those pages, which only its holder may write or deallocate.
pub struct PageLock<'a>(PartGuard<'a>);

impl SoleWriter for PageLock<'_> {
    fn covers(&self, pages: &Range<u32>) -> bool {
        pages.is_empty() || self.0.covers(&wide(pages), Access::Exclusive)
    }
}

impl WriteClaim<'_> {
    /// Waits until nobody who came before writes or deallocates any of `pages`, which are of the claim. It must be the task
    /// that made the claim.
    pub async fn lock(&self, pages: Range<u32>) -> PageLock<'_> {
        PageLock(self.0.part(wide(&pages)).await)
    }

    /// The same, unless it would wait.
    #[inline]
    pub fn try_lock(&self, pages: Range<u32>) -> Option<PageLock<'_>> {
        self.0.try_part(wide(&pages)).map(PageLock)
    }
}

fn wide(pages: &Range<u32>) -> Range<u64> {
    pages.start.into()..pages.end.into()
}

impl Ftl {
    /// Waits until nobody else writes or deallocates any of `pages`.
    #[inline]
    pub async fn lock(&self, pages: Range<u32>) -> WriteLock<'_> {
        WriteLock(self.locks.lock(wide(&pages), Access::Exclusive).await)
    }

    /// The same of several ranges, all at once.
    pub(super) async fn lock_all(&self, pages: &[Range<u32>]) -> WriteLock<'_> {
        let ranges = pages.iter().map(|pages| (wide(pages), Access::Exclusive));
        WriteLock(self.locks.lock_all(ranges).await)
    }

    /// Takes a place in the queue for `pages`, each of which is waited for alone. All of a command are claimed at
    /// once, so that two that overlap meet everywhere in the same order.
    #[inline]
    pub fn claim(&self, pages: Range<u32>) -> WriteClaim<'_> {
        WriteClaim(self.locks.claim_parts(wide(&pages), Access::Exclusive))
    }
}

/// That `sole` holds for `pages`: a mistake of the firmware otherwise.
#[inline]
pub(super) fn debug_assert_covers(sole: &impl SoleWriter, pages: Range<u32>) {
    debug_assert!(
        sole.covers(&pages),
        "logical pages {pages:?} are changed by who has not locked them"
    );
}

#[cfg(test)]
mod tests {
    use sim::resource::RangeLock;
    use sim::{Sim, Simulation};

    use super::*;

    /// Changes `pages` under a lock of 4..8.
    fn change(pages: Range<u32>) {
        let simulation = Simulation::new(1);
        let sim: Sim = simulation.handle();
        let changed = simulation.handle().spawn(async move {
            let locks = RangeLock::new(&sim);
            let lock = WriteLock(locks.lock(4..8, Access::Exclusive).await);
            debug_assert_covers(&lock, pages);
        });
        simulation.run();
        changed.take().expect("nothing hangs");
    }

    #[test]
    fn what_is_locked_may_be_changed() {
        change(4..8);
        change(5..6);
        change(9..9);
    }

    #[test]
    #[should_panic(expected = "logical pages 7..9 are changed by who has not locked them")]
    fn what_is_not_locked_may_not_be_changed() {
        change(7..9);
    }
}
