//! What links the slices of one command.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::energy::Tenant;

/// The number of a command in a trace: what is done for it carries it along. Given only while a
/// section is recorded, and to one command in a life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(pub(super) u32);

impl TraceId {
    /// No command that is traced.
    pub const NONE: TraceId = TraceId(0);
}

/// For whom something crosses a bus: a tenant, and the command, if that is traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requester {
    /// Whose account it is on.
    pub tenant: Tenant,
    /// The command.
    pub trace: TraceId,
}

impl From<Tenant> for Requester {
    #[inline]
    fn from(tenant: Tenant) -> Requester {
        let trace = TraceId::NONE;
        Requester { tenant, trace }
    }
}

/// Gives commands their numbers, and keeps them while their entries wait to be fetched.
#[derive(Default)]
pub(super) struct Ids {
    last: Cell<u32>,
    /// By the place of the entry: no more than there are places.
    waiting: RefCell<BTreeMap<u64, TraceId>>,
}

impl Ids {
    /// A section begins; gives the number of its first command. Numbers go on: what was begun in an
    /// earlier section may not be over.
    pub(super) fn start(&self) -> TraceId {
        self.waiting.borrow_mut().clear();
        TraceId(self.last.get() + 1)
    }

    #[cold]
    pub(super) fn announce(&self, place: u64) -> TraceId {
        self.last.set(self.last.get() + 1);
        let id = TraceId(self.last.get());
        self.waiting.borrow_mut().insert(place, id);
        id
    }

    #[cold]
    pub(super) fn announced(&self, place: u64) -> TraceId {
        let waiting = self.waiting.borrow();
        waiting.get(&place).copied().unwrap_or(TraceId::NONE)
    }

    #[cold]
    pub(super) fn taken(&self, place: u64) -> TraceId {
        let taken = self.waiting.borrow_mut().remove(&place);
        taken.unwrap_or(TraceId::NONE)
    }
}
