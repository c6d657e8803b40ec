//! Fetching submission queue entries over the link.

use std::rc::Rc;
use std::task::Poll;

use media::link::READ_REQUEST_BYTES;
use nvme::{QueueId, SubmissionEntry};

use super::Controller;
use super::slot::{Job, Slot};

impl Controller {
    /// Fetches entries for ever, one after another, as queues have them and slots
    /// are free.
    pub(super) async fn fetch_commands(self: Rc<Controller>) {
        loop {
            self.deliver_doorbells();
            if !self.has_free_slot() {
                self.slots_wanted.set(true);
                self.slot_freed.heard().await;
                continue;
            }
            let next = self.queues.borrow_mut().arbitrate();
            match next {
                Some((queue, address)) => self.fetch(queue, address).await,
                None => self.wait_for_doorbell().await,
            }
        }
    }

    /// Waits until the first doorbell has crossed the link.
    fn wait_for_doorbell(&self) -> impl Future<Output = ()> + '_ {
        let mut timer_set = false;
        std::future::poll_fn(move |_| {
            let first = self.doorbells.borrow().front().map(|doorbell| doorbell.arrives);
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
    fn deliver_doorbells(&self) {
        let mut doorbells = self.doorbells.borrow_mut();
        while let Some(doorbell) = doorbells.front()
            && doorbell.arrives <= self.sim.now()
        {
            if !self.queues.borrow_mut().move_tail(doorbell.queue, doorbell.tail) {
                self.count(|counts| counts.invalid_doorbells += 1);
            }
            doorbells.pop_front();
        }
    }

    #[inline]
    fn has_free_slot(&self) -> bool {
        !self.idle_slots.borrow().is_empty()
            || self.slots.borrow().len() < self.config.commands_in_flight as usize
    }

    #[inline]
    async fn fetch(self: &Rc<Controller>, queue: QueueId, address: u64) {
        let (up, down) = (&self.link.up, &self.link.down);
        if up.is_idle() {
            // The request goes out at once, so the answer's turn is known already:
            // one wait for both.
            let asked = up.post(READ_REQUEST_BYTES);
            let arrives = down.post_answer(asked, SubmissionEntry::BYTES as u64);
            self.sim.sleep_until(arrives).await;
        } else {
            up.transfer(READ_REQUEST_BYTES).await;
            down.transfer(SubmissionEntry::BYTES as u64).await;
        }
        let mut bytes = [0; SubmissionEntry::BYTES];
        if self.host.memory.borrow().read(address, &mut bytes).is_err() {
            // The driver gave a queue that is not in its memory: there is no
            // entry, hence nobody to answer.
            self.count(|counts| counts.fetch_errors += 1);
            return;
        }
        self.dispatch(Job {
            queue,
            entry: SubmissionEntry::from_bytes(bytes),
        });
    }

    /// Gives a command to an idle slot, a new one if need be.
    #[inline]
    fn dispatch(self: &Rc<Controller>, job: Job) {
        let idle = self.idle_slots.borrow_mut().pop();
        let number = idle.unwrap_or_else(|| self.add_slot());
        self.slots.borrow()[number as usize].give(job);
    }

    fn add_slot(self: &Rc<Controller>) -> u32 {
        let mut slots = self.slots.borrow_mut();
        let number = slots.len() as u32;
        let slot = Rc::new(Slot::new(&self.sim));
        slots.push(slot.clone());
        self.sim.spawn_detached(self.clone().serve_slot(slot, number));
        number
    }
}
