//! How many operations, or commands, of each kind were done for each tenant, and how long they took.

use std::cell::RefCell;

use sim::{Span, Tenant};

/// Operations of one kind, each from when it was asked for until it was over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    count: u64,
    total_ps: u128,
    max: Span,
}

impl Served {
    #[inline]
    fn note(&mut self, latency: Span) {
        self.count += 1;
        self.total_ps += u128::from(latency.as_ps());
        self.max = self.max.max(latency);
    }

    /// What was done since `before`; the longest may have been before.
    pub(crate) fn since(&self, before: &Served) -> Served {
        Served {
            count: self.count - before.count,
            total_ps: self.total_ps - before.total_ps,
            max: self.max,
        }
    }

    fn add(&mut self, more: &Served) {
        self.count += more.count;
        self.total_ps += more.total_ps;
        self.max = self.max.max(more.max);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their latencies together, in nanoseconds.
    pub fn total_ns(&self) -> f64 {
        self.total_ps as f64 / 1e3
    }

    /// The longest.
    pub fn max(&self) -> Span {
        self.max
    }
}

/// What was done of each of some kinds, by tenant.
pub(crate) struct ServedFor<const KINDS: usize>(RefCell<Vec<[Served; KINDS]>>);

impl<const KINDS: usize> ServedFor<KINDS> {
    pub(crate) fn new() -> ServedFor<KINDS> {
        ServedFor(RefCell::default())
    }

    /// One of `kind` is over.
    #[inline]
    pub(crate) fn note(&self, tenant: Tenant, kind: usize, latency: Span) {
        let all = &mut *self.0.borrow_mut();
        match all.get_mut(tenant.index()) {
            Some(kinds) => kinds[kind].note(latency),
            None => note_first(all, tenant, kind, latency),
        }
    }

    /// So many more of `kind` are over; something was done for the tenant before.
    pub(crate) fn add(&self, tenant: Tenant, kind: usize, more: &Served) {
        if let Some(kinds) = self.0.borrow_mut().get_mut(tenant.index()) {
            kinds[kind].add(more);
        }
    }

    /// What was done for `tenant`.
    pub(crate) fn of(&self, tenant: Tenant) -> [Served; KINDS] {
        let all = self.0.borrow();
        let none = [Served::default(); KINDS];
        all.get(tenant.index()).copied().unwrap_or(none)
    }
}

/// Makes room for a tenant for whom nothing was done before.
#[cold]
fn note_first<const KINDS: usize>(
    all: &mut Vec<[Served; KINDS]>,
    tenant: Tenant,
    kind: usize,
    latency: Span,
) {
    all.resize(tenant.index() + 1, [Served::default(); KINDS]);
    all[tenant.index()][kind].note(latency);
}
