//! Doorbells, from their ringing to what they say of their queue.

use std::rc::Rc;
use std::task::Poll;

use media::link::Carries;
use nvme::{AsyncEvent, QueueId};
use sim::{Requester, TaskId, Time, TraceId};

use crate::frontend::Controller;
use crate::port::DOORBELL_BYTES;
use crate::tenants;

/// A doorbell on its way over the link.
#[derive(Clone, Copy)]
pub(in crate::frontend) struct Doorbell {
    pub(super) arrives: Time,
    queue: QueueId,
    tail: u16,
}

impl Controller {
    /// The host writes a submission queue's tail doorbell.
    #[inline]
    pub fn ring_submission(&self, queue: QueueId, tail: u16) {
        let requester = self.rung_for(queue, tail);
        let down = &self.link.down;
        let arrives = down.post(requester, Carries::Doorbell, DOORBELL_BYTES);
        self.doorbells.borrow_mut().push_back(Doorbell {
            arrives,
            queue,
            tail,
        });
        let fetcher = self.fetcher.replace(TaskId::NONE);
        if fetcher != TaskId::NONE {
            self.sim.wake_at(self.expect_fetch(queue, arrives), fetcher);
        }
    }

    /// For whom a submission queue's doorbell is: in a trace, the command of the last entry that it
    /// announces.
    #[inline]
    fn rung_for(&self, queue: QueueId, tail: u16) -> Requester {
        if self.sim.trace().enabled() {
            return self.rung_for_traced(queue, tail);
        }
        tenants::DRIVE.into()
    }

    #[cold]
    fn rung_for_traced(&self, queue: QueueId, tail: u16) -> Requester {
        let entry = self.queues.borrow().entry_before(queue, tail);
        let trace = entry.map_or(TraceId::NONE, |entry| self.sim.trace().announced(entry));
        Requester {
            tenant: tenants::DRIVE,
            trace,
        }
    }

    /// The host writes a completion queue's head doorbell. Nothing waits for it
    /// unless the queue was full, so it takes effect as it is sent.
    #[inline]
    pub fn ring_completion(self: &Rc<Controller>, queue: QueueId, head: u16) {
        let down = &self.link.down;
        down.post(tenants::DRIVE, Carries::Doorbell, DOORBELL_BYTES);
        let moved = self
            .queues
            .borrow_mut()
            .completion_mut(queue)
            .map(|queue| queue.ring.set_head(head));
        if !matches!(moved, Some(Ok(_))) {
            self.count(|counts| counts.invalid_doorbells += 1);
            self.raise(match moved {
                None => AsyncEvent::INVALID_DOORBELL,
                Some(_) => AsyncEvent::INVALID_DOORBELL_VALUE,
            });
        }
        self.completions_taken.announce();
    }

    /// Waits until the first doorbell has crossed the link.
    pub(super) fn wait_for_doorbell(&self) -> impl Future<Output = ()> + '_ {
        let mut timer_set = false;
        std::future::poll_fn(move |_| {
            if self.queues.borrow().has_waiting() {
                return Poll::Ready(());
            }
            self.fetcher_held_back.set(self.sim.current());
            let first = self
                .doorbells
                .borrow()
                .front()
                .map(|doorbell| doorbell.arrives);
            match first {
                Some(arrives) if arrives <= self.sim.now() => return Poll::Ready(()),
                Some(arrives) if !timer_set => {
                    timer_set = true;
                    self.sim.wake_at(arrives, self.sim.current());
                }
                Some(_) => {}
                None => {
                    // Whoever rings next sets the timer, for when it arrives.
                    timer_set = true;
                    self.fetcher.set(self.sim.current());
                }
            }
            Poll::Pending
        })
    }

    /// Doorbells whose message has crossed the link take effect.
    #[inline]
    pub(super) fn deliver_doorbells(self: &Rc<Controller>) {
        let mut doorbells = self.doorbells.borrow_mut();
        while let Some(doorbell) = doorbells.front()
            && doorbell.arrives <= self.sim.now()
        {
            let moved = self
                .queues
                .borrow_mut()
                .move_tail(doorbell.queue, doorbell.tail);
            if let Err(event) = moved {
                self.count(|counts| counts.invalid_doorbells += 1);
                self.raise(event);
            }
            doorbells.pop_front();
        }
    }
}
