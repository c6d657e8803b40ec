//! Fetching submission queue entries over the link.

use std::rc::Rc;
use std::task::Poll;

use media::link::READ_REQUEST_BYTES;
use nvme::{IoCommand, QueueId, QueuePriority, SubmissionEntry};
use sim::{TaskId, Time};
use zerocopy::IntoBytes;

use super::Controller;
use super::slot::Job;
use crate::schedule::Priority;

/// What the schedule makes of a queue's priority.
#[inline]
fn priority_of(queue: QueuePriority) -> Priority {
    match queue {
        QueuePriority::Urgent => Priority::Urgent,
        QueuePriority::High => Priority::High,
        QueuePriority::Medium => Priority::Medium,
        QueuePriority::Low => Priority::Low,
    }
}

impl Controller {
    /// Fetches the next entry into `job`, as queues have them: waits for a doorbell if none has, and
    /// while as many commands are in flight as may be.
    #[inline]
    pub(super) async fn fetch_next(self: &Rc<Controller>, job: &mut Job) {
        self.take_room().await;
        loop {
            self.deliver_doorbells();
            let next = self.queues.borrow_mut().arbitrate();
            match next {
                None => self.wait_for_doorbell().await,
                Some((queue, priority, address)) => {
                    self.foresee(address);
                    self.fetch_over_link().await;
                    job.queue = queue;
                    job.priority = priority_of(priority);
                    if self.read_entry(address, &mut job.entry) {
                        self.activity.begin();
                        return;
                    }
                }
            }
        }
    }

    /// Sees to it that the slot of `task`, which does not wait for it itself, runs
    /// when there is something to fetch.
    #[inline]
    pub(super) fn summon(&self, task: TaskId) {
        if self.queues.borrow().has_waiting() {
            return self.sim.wake(task);
        }
        match self.doorbells.borrow().front() {
            Some(doorbell) => self.sim.wake_at(doorbell.arrives, task),
            None => self.fetcher.set(task),
        }
        self.fetcher_held_back.set(task);
    }

    /// A queue that was held back may be fetched from again.
    #[cold]
    pub(super) fn fetch_again(&self) {
        let fetcher = self.fetcher_held_back.replace(TaskId::NONE);
        if fetcher != TaskId::NONE {
            self.fetcher.set(TaskId::NONE);
            self.sim.wake(fetcher);
        }
    }

    /// Waits until the first doorbell has crossed the link.
    fn wait_for_doorbell(&self) -> impl Future<Output = ()> + '_ {
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
    fn deliver_doorbells(self: &Rc<Controller>) {
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

    /// The leader will fetch as soon as a doorbell arrives. If the link is idle,
    /// that fetch is put on it at once, and the leader need only wake for the
    /// entry: gives the instant at which it is to wake.
    #[inline]
    pub(super) fn expect_fetch(&self, queue: QueueId, doorbell_arrives: Time) -> Time {
        let (up, down) = (&self.link.up, &self.link.down);
        let held_back = self.queues.borrow().is_held_back(queue);
        if held_back || !up.is_idle() || self.fetch_under_way.get().is_some() {
            return doorbell_arrives;
        }
        let asked = up.post_answer(doorbell_arrives, READ_REQUEST_BYTES);
        let arrives = down.post_answer(asked, SubmissionEntry::BYTES as u64);
        self.fetch_under_way.set(Some(arrives));
        arrives
    }

    /// The link's part of fetching an entry.
    #[inline]
    async fn fetch_over_link(&self) {
        match self.fetch_under_way.take() {
            Some(arrives) => self.sim.sleep_until(arrives).await,
            None => self.port.fetch_bytes(SubmissionEntry::BYTES as u64).await,
        }
    }

    /// Has the processor fetch what the entry at `address`, which is on its way, will need. Of no
    /// effect but on the simulator's speed.
    #[inline]
    fn foresee(&self, address: u64) {
        let mut entry = SubmissionEntry::default();
        let read = self
            .host
            .memory
            .borrow()
            .read(address, entry.as_mut_bytes());
        if read.is_ok()
            && let Ok(IoCommand::Read(command) | IoCommand::Write(command)) =
                IoCommand::decode(&entry)
            && let Some(lpn) = self.first_page_of(&command)
        {
            self.cache.prefetch(lpn);
        }
    }

    /// Reads the entry at `address`; false if the driver's queue is not in its
    /// memory: then there is no entry, hence nobody to answer.
    #[inline]
    fn read_entry(&self, address: u64, entry: &mut SubmissionEntry) -> bool {
        let read = self
            .host
            .memory
            .borrow()
            .read(address, entry.as_mut_bytes());
        if read.is_err() {
            self.count(|counts| counts.fetch_errors += 1);
        }
        read.is_ok()
    }
}
