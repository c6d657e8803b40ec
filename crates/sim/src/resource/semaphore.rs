//! A counting semaphore, first come, first served.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
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

    /// Stands in line for `permits` from now on, whenever the future is first polled; they stay taken:
    /// somebody gives them back by [`Semaphore::release`].
    pub fn reserve(self: &Rc<Semaphore>, permits: u64) -> Reserve {
        let ticket = self.stand_in_line(permits, TaskId::NONE);
        Reserve {
            semaphore: self.clone(),
            permits,
            ticket: Some(ticket),
        }
    }

    fn stand_in_line(&self, permits: u64, task: TaskId) -> u64 {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        let waiter = Waiter {
            ticket,
            task,
            permits,
        };
        self.waiting.borrow_mut().push_back(waiter);
        ticket
    }

    /// Whether `permits` are taken now; if not, the current task is woken when that may change.
    fn poll(&self, permits: u64, ticket: &mut Option<u64>) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let first = match *ticket {
            Some(ticket) => waiting
                .front()
                .is_some_and(|waiter| waiter.ticket == ticket),
            None => waiting.is_empty(),
        };
        if first && self.available.get() >= permits {
            if ticket.take().is_some() {
                waiting.pop_front();
            }
            drop(waiting);
            self.available.set(self.available.get() - permits);
            self.wake_first();
            return true;
        }
        let task = self.sim.current();
        match *ticket {
            Some(ticket) => {
                let mut own = waiting.iter_mut().filter(|waiter| waiter.ticket == ticket);
                if let Some(waiter) = own.next() {
                    waiter.task = task;
                }
            }
            None => {
                drop(waiting);
                *ticket = Some(self.stand_in_line(permits, task));
            }
        }
        false
    }

    /// Gives up a place in line.
    fn leave_line(&self, ticket: Option<u64>) {
        if let Some(ticket) = ticket {
            self.waiting
                .borrow_mut()
                .retain(|waiter| waiter.ticket != ticket);
            self.wake_first();
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
        let (semaphore, permits) = (self.semaphore, self.permits);
        if semaphore.poll(permits, &mut self.ticket) {
            return Poll::Ready(Permit { semaphore, permits });
        }
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        self.semaphore.leave_line(self.ticket);
    }
}

/// The future of [`Semaphore::reserve`].
#[must_use = "futures do nothing unless awaited"]
pub struct Reserve {
    semaphore: Rc<Semaphore>,
    permits: u64,
    ticket: Option<u64>,
}

impl Future for Reserve {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let (semaphore, permits) = (self.semaphore.clone(), self.permits);
        match semaphore.poll(permits, &mut self.ticket) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        self.semaphore.leave_line(self.ticket);
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
