//! A counting semaphore, first come, first served.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::executor::{Sim, TaskId};

struct Waiter {
    ticket: u64,
    task: TaskId,
    permits: u64,
}

/// Permits that tasks take and give back. Waiters are served strictly in order:
/// a small request does not overtake a large one, so none starves.
pub struct Semaphore {
    sim: Sim,
    available: Cell<u64>,
    next_ticket: Cell<u64>,
    waiting: RefCell<VecDeque<Waiter>>,
}

impl Semaphore {
    /// A semaphore with `permits` to give.
    pub fn new(sim: &Sim, permits: u64) -> Semaphore {
        Semaphore {
            sim: sim.clone(),
            available: Cell::new(permits),
            next_ticket: Cell::new(0),
            waiting: RefCell::default(),
        }
    }

    /// Waits for `permits`, which go back when the returned guard is dropped.
    pub fn acquire(&self, permits: u64) -> Acquire<'_> {
        Acquire {
            semaphore: self,
            permits,
            ticket: None,
        }
    }

    /// Takes `permits` if they are free and nobody waits.
    #[inline]
    pub fn try_acquire(&self, permits: u64) -> Option<Permit<'_>> {
        if !self.waiting.borrow().is_empty() || self.available.get() < permits {
            return None;
        }
        self.available.set(self.available.get() - permits);
        Some(Permit {
            semaphore: self,
            permits,
        })
    }

    /// Permits nobody holds.
    pub fn available(&self) -> u64 {
        self.available.get()
    }

    /// Adds permits that nobody held.
    #[inline]
    pub fn release(&self, permits: u64) {
        self.available.set(self.available.get() + permits);
        self.wake_first();
    }

    #[inline]
    fn wake_first(&self) {
        if let Some(first) = self.waiting.borrow().front()
            && first.permits <= self.available.get()
        {
            self.sim.wake(first.task);
        }
    }
}

/// The future of [`Semaphore::acquire`].
#[must_use = "futures do nothing unless awaited"]
pub struct Acquire<'a> {
    semaphore: &'a Semaphore,
    permits: u64,
    ticket: Option<u64>,
}

impl<'a> Future for Acquire<'a> {
    type Output = Permit<'a>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Permit<'a>> {
        let semaphore = self.semaphore;
        let mut waiting = semaphore.waiting.borrow_mut();
        let first = match self.ticket {
            Some(ticket) => waiting
                .front()
                .is_some_and(|waiter| waiter.ticket == ticket),
            None => waiting.is_empty(),
        };
        if first && semaphore.available.get() >= self.permits {
            if self.ticket.take().is_some() {
                waiting.pop_front();
            }
            drop(waiting);
            semaphore
                .available
                .set(semaphore.available.get() - self.permits);
            semaphore.wake_first();
            return Poll::Ready(Permit {
                semaphore,
                permits: self.permits,
            });
        }
        if self.ticket.is_none() {
            let ticket = semaphore.next_ticket.get();
            semaphore.next_ticket.set(ticket + 1);
            self.ticket = Some(ticket);
            waiting.push_back(Waiter {
                ticket,
                task: semaphore.sim.current(),
                permits: self.permits,
            });
        }
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.semaphore
                .waiting
                .borrow_mut()
                .retain(|waiter| waiter.ticket != ticket);
            self.semaphore.wake_first();
        }
    }
}

/// Permits held; dropping them gives them back.
#[must_use = "dropping a permit gives it back"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    permits: u64,
}

impl std::fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let available = self.available.get();
        f.debug_struct("Semaphore")
            .field("available", &available)
            .finish_non_exhaustive()
    }
}

impl Permit<'_> {
    /// Leaves the permits taken: somebody else gives them back by [`Semaphore::release`].
    #[inline]
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.semaphore.release(self.permits);
    }
}
