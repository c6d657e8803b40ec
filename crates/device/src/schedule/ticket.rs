//! Tickets: how the sender of transactions learns that they are over.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use sim::{Sim, TaskId};

use super::fault::Fault;

/// Names the ticket that a transaction counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketId(u32);

#[derive(Clone, Copy)]
struct Entry {
    waiter: TaskId,
    outstanding: u32,
    fault: Option<Fault>,
    /// Nobody awaits it any more; it goes with its last transaction.
    abandoned: bool,
}

/// All tickets of a drive, reused.
pub(crate) struct Tickets {
    sim: Sim,
    entries: RefCell<Vec<Entry>>,
    free: RefCell<Vec<u32>>,
}

impl Tickets {
    pub(crate) fn new(sim: &Sim) -> Tickets {
        Tickets {
            sim: sim.clone(),
            entries: RefCell::default(),
            free: RefCell::default(),
        }
    }

    pub(crate) fn issue(&self) -> Ticket<'_> {
        let entry = Entry {
            waiter: TaskId::NONE,
            outstanding: 0,
            fault: None,
            abandoned: false,
        };
        let mut entries = self.entries.borrow_mut();
        let index = match self.free.borrow_mut().pop() {
            Some(index) => {
                entries[index as usize] = entry;
                index
            }
            None => {
                entries.push(entry);
                entries.len() as u32 - 1
            }
        };
        Ticket {
            tickets: self,
            id: TicketId(index),
            held: true,
        }
    }

    #[inline]
    pub(crate) fn count(&self, ticket: TicketId) {
        self.entries.borrow_mut()[ticket.0 as usize].outstanding += 1;
    }

    /// One transaction of `ticket` is over. The first fault is kept.
    #[inline]
    pub(crate) fn settle(&self, ticket: TicketId, fault: Option<Fault>) {
        let entry = &mut self.entries.borrow_mut()[ticket.0 as usize];
        entry.outstanding -= 1;
        entry.fault = entry.fault.or(fault);
        if entry.outstanding > 0 {
            return;
        }
        if entry.abandoned {
            self.free.borrow_mut().push(ticket.0);
        } else {
            self.sim.wake(entry.waiter);
        }
    }
}

/// Awaits every transaction pushed with this ticket; gives the first fault among
/// them, if any.
#[must_use = "transactions are not awaited unless their ticket is"]
pub struct Ticket<'a> {
    tickets: &'a Tickets,
    id: TicketId,
    held: bool,
}

impl Ticket<'_> {
    /// The name to push transactions with.
    #[inline]
    pub fn id(&self) -> TicketId {
        self.id
    }
}

impl Future for Ticket<'_> {
    type Output = Result<(), Fault>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let entry = &mut self.tickets.entries.borrow_mut()[self.id.0 as usize];
        if entry.outstanding > 0 {
            entry.waiter = self.tickets.sim.current();
            return Poll::Pending;
        }
        let fault = entry.fault;
        self.tickets.free.borrow_mut().push(self.id.0);
        self.held = false;
        Poll::Ready(fault.map_or(Ok(()), Err))
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        let entry = &mut self.tickets.entries.borrow_mut()[self.id.0 as usize];
        if entry.outstanding > 0 {
            entry.abandoned = true;
        } else {
            self.tickets.free.borrow_mut().push(self.id.0);
        }
    }
}
