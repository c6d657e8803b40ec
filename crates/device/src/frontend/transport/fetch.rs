//! Fetching submission queue entries over the link.

use std::rc::Rc;

use media::link::Carries;
use nvme::command::{BlockRange, SimpleLookup, opcode};
use nvme::{QueueId, QueuePriority, SubmissionEntry};
use sim::{Requester, TaskId, Tenant, Time, TraceId};
use zerocopy::IntoBytes;

use super::FetchedCommand;
use crate::frontend::{Controller, EntryFetch};
use crate::port::post_fetch;
use crate::schedule::{Origin, Priority};
use crate::search::Nearness;
use crate::tenants;

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
    /// Fetches the next entry into `fetched`, as queues have them: waits for a doorbell if none has, and
    /// while as many commands are in flight as may be. Where entries are `pipelined`, passes the lead on before the entry
    /// has arrived; false then means that it could not be read.
    #[inline]
    pub(in crate::frontend) async fn fetch_next(
        self: &Rc<Controller>,
        fetched: &mut FetchedCommand,
        pipelined: bool,
    ) -> bool {
        self.take_room().await;
        loop {
            self.deliver_doorbells();
            let next = self.queues.borrow_mut().arbitrate();
            match next {
                None => self.wait_for_doorbell().await,
                Some((queue, priority, address)) => {
                    let is_there = self.read_entry(address, &mut fetched.entry);
                    if is_there {
                        self.prefetch_for(&fetched.entry);
                    }
                    let trace = self.sim.trace().taken(address);
                    if pipelined {
                        self.pass_lead();
                    }
                    self.fetch_over_link(trace).await;
                    fetched.queue = queue;
                    if is_there {
                        let tenant = self.tenant_of(queue, &fetched.entry);
                        fetched.origin = Origin::new(tenant, priority_of(priority)).traced(trace);
                        fetched.at = self.sim.now();
                        fetched.decode(self.set_of(queue, fetched.entry.namespace()));
                        fetched.origin = fetched.origin.ranked(self.rank_of(fetched));
                        self.activity.begin();
                        return true;
                    }
                    self.count(|counts| counts.fetch_errors += 1);
                    if pipelined {
                        self.activity.begin();
                        self.give_room(queue);
                        return false;
                    }
                }
            }
        }
    }

    /// Sees to it that the slot of `task`, which does not wait for it itself, runs
    /// when there is something to fetch.
    #[inline]
    pub(in crate::frontend) fn summon(&self, task: TaskId) {
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
    pub(in crate::frontend) fn fetch_again(&self) {
        let fetcher = self.fetcher_held_back.replace(TaskId::NONE);
        if fetcher != TaskId::NONE {
            self.fetcher.set(TaskId::NONE);
            self.sim.wake(fetcher);
        }
    }

    /// The leader will fetch as soon as a doorbell arrives. If the link is idle,
    /// that fetch is put on it at once, and the leader need only wake for the
    /// entry: gives the instant at which it is to wake.
    #[inline]
    pub(in crate::frontend) fn expect_fetch(&self, queue: QueueId, doorbell_arrives: Time) -> Time {
        let held_back = self.queues.borrow().is_held_back(queue);
        // Doorbells that are rung in the same instant would cross behind the entry.
        let pipelined = self.config.entry_fetch == EntryFetch::Pipelined;
        if pipelined || held_back || !self.link.up.is_idle() || self.fetch_under_way.get().is_some()
        {
            return doorbell_arrives;
        }
        let bytes = SubmissionEntry::BYTES as u64;
        let fetch = post_fetch(&self.link, tenants::DRIVE, doorbell_arrives, bytes);
        self.fetch_under_way.set(Some(fetch));
        fetch.arrives
    }

    /// The link's part of fetching an entry.
    #[inline]
    async fn fetch_over_link(&self, trace: TraceId) {
        let tenant = tenants::DRIVE;
        let requester = Requester { tenant, trace };
        let (carries, bytes) = (Carries::SubmissionEntry, SubmissionEntry::BYTES as u64);
        match self.fetch_under_way.take() {
            Some(fetch) => {
                fetch.trace(&self.link, requester, carries, bytes);
                self.sim.sleep_until(fetch.arrives).await;
            }
            None => self.port.fetch_bytes(requester, carries, bytes).await,
        }
    }

    /// Has the processor fetch what `entry`, which is on its way, will need. Of no
    /// effect but on the simulator's speed.
    #[inline]
    fn prefetch_for(&self, entry: &SubmissionEntry) {
        match entry.opcode {
            opcode::READ | opcode::WRITE => {
                let range = BlockRange::decode(entry);
                if let Some(lpn) = self.first_page_of(entry.namespace(), &range) {
                    self.cache.prefetch(lpn);
                }
            }
            opcode::SIMPLE_LOOKUP => {
                let (region, name) = SimpleLookup::looked_for(entry);
                self.search.prefetch(region, &name, Nearness::Coming);
            }
            _ => {}
        }
    }

    /// For whom the command of an entry is.
    #[inline]
    fn tenant_of(&self, queue: QueueId, entry: &SubmissionEntry) -> Tenant {
        if queue.get() == 0 {
            return tenants::DRIVE;
        }
        self.tenant_of_namespace(entry.namespace())
    }

    /// Reads the entry at `address`, which the host leaves as it is until its queue's head has passed it (Base 3.3.1);
    /// false if the driver's queue is not in its memory: then there is no entry, hence nobody to answer.
    #[inline]
    fn read_entry(&self, address: u64, entry: &mut SubmissionEntry) -> bool {
        let memory = self.host.memory.borrow();
        memory.read(address, entry.as_mut_bytes()).is_ok()
    }
}
