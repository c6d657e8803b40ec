//! Command slots: tasks that carry out one command after another.
//!
//! Slots take turns at fetching. The leader waits for a doorbell, fetches an
//! entry, names another idle slot leader, and carries its command out itself, so
//! that no command is handed from task to task. Reads of one page need no slot at
//! all once they are started (`direct`). Slots live as long as the drive:
//! a command costs no allocation.

use std::rc::Rc;
use std::task::Poll;

use media::core::Work;
use nvme::{AdminCommand, CommandId, CompletionEntry, IoCommand, QueueId, Status, SubmissionEntry};
use sim::{TaskId, Tenant, Time};
use zerocopy::IntoBytes;

use super::Controller;
use super::queues::CompletionSlot;
use crate::schedule::Origin;
use crate::tenants;

/// A command to carry out, and where it came from.
#[derive(Default)]
pub(super) struct Job {
    pub(super) queue: QueueId,
    /// Its namespace, and the priority of the queue.
    pub(super) origin: Origin,
    /// When its entry was here.
    pub(super) fetched: Time,
    pub(super) entry: SubmissionEntry,
}

/// Which command of which queue it is, and for whom since when.
#[derive(Clone, Copy)]
pub(super) struct Source {
    queue: QueueId,
    command: CommandId,
    tenant: Tenant,
    fetched: Time,
}

impl Source {
    /// A command that another one names.
    pub(super) fn new(queue: QueueId, command: CommandId, now: Time) -> Source {
        Source {
            queue,
            command,
            tenant: tenants::DRIVE,
            fetched: now,
        }
    }

    /// Whether both are the same command.
    pub(super) fn is(&self, other: &Source) -> bool {
        (self.queue, self.command) == (other.queue, other.command)
    }

    #[inline]
    pub(super) fn queue(&self) -> QueueId {
        self.queue
    }

    pub(super) fn command(&self) -> CommandId {
        self.command
    }

    pub(super) fn is_admin(&self) -> bool {
        self.queue.get() == 0
    }
}

impl Job {
    pub(super) fn source(&self) -> Source {
        Source {
            queue: self.queue,
            command: self.entry.command(),
            tenant: self.origin.tenant,
            fetched: self.fetched,
        }
    }
}

/// How a command ended.
pub(super) struct Answer {
    pub(super) status: Status,
    pub(super) dw0: u32,
    /// Bytes for the host that go over the link right before the completion.
    pub(super) data_bytes: u64,
}

impl Answer {
    pub(super) const DONE: Answer = Answer {
        status: Status::SUCCESS,
        dw0: 0,
        data_bytes: 0,
    };
}

impl From<Status> for Answer {
    fn from(status: Status) -> Answer {
        Answer {
            status,
            ..Answer::DONE
        }
    }
}

/// Which slots there are, and who fetches.
#[derive(Default)]
pub(super) struct Slots {
    /// The task of each slot, known once it first waited.
    tasks: Vec<TaskId>,
    idle: Vec<u32>,
    leader: Option<u32>,
}

impl Controller {
    /// Makes the next slot the leader: an idle one, or else a new one.
    pub(super) fn pass_lead(self: &Rc<Controller>) {
        let slots = &mut *self.slots.borrow_mut();
        slots.leader = slots.idle.pop();
        if let Some(leader) = slots.leader {
            self.summon(slots.tasks[leader as usize]);
        } else {
            let number = slots.tasks.len() as u32;
            slots.tasks.push(TaskId::NONE);
            slots.leader = Some(number);
            self.sim.spawn_detached(self.clone().serve_slot(number));
        }
    }

    /// Fetches and carries out commands for ever.
    async fn serve_slot(self: Rc<Controller>, number: u32) {
        let mut job = Job::default();
        loop {
            self.lead(number).await;
            self.fetch_next(&mut job).await;
            // Firmware that takes time does it in a slot.
            if !self.cores.takes_time() && self.start_direct(&job) {
                continue;
            }
            self.pass_lead();
            self.serve(&job).await;
            self.give_room(job.queue);
            self.slots.borrow_mut().idle.push(number);
        }
    }

    /// Waits until this slot leads.
    fn lead(&self, number: u32) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(move |_| {
            let slots = &mut *self.slots.borrow_mut();
            if slots.leader == Some(number) {
                return Poll::Ready(());
            }
            slots.tasks[number as usize] = self.sim.current();
            Poll::Pending
        })
    }

    #[inline]
    async fn serve(self: &Rc<Controller>, job: &Job) {
        if self.cores.takes_time() {
            self.charge(job.origin, Work::Fetch).await;
        }
        let answer = if job.queue.get() == 0 {
            match AdminCommand::decode(&job.entry) {
                Ok(AdminCommand::AsyncEventRequest) => match self.hold_event_request(job) {
                    Ok(()) => return,
                    Err(status) => status.into(),
                },
                Ok(command) => Box::pin(self.serve_admin(command)).await,
                Err(status) => status.into(),
            }
        } else {
            match IoCommand::decode(&job.entry) {
                Ok(command) => self.serve_io(&command, job.origin).await,
                Err(status) => status.into(),
            }
        };
        if !answer.status.is_success() {
            self.log_error(job.source(), &job.entry, answer.status);
        }
        if self.cores.takes_time() {
            self.charge(job.origin, Work::Complete).await;
        }
        if !self.complete(job.source(), &answer) {
            self.complete_later(job.source(), &answer).await;
        }
        self.check_retired();
    }

    /// Waits for what the firmware does for a host command, if that takes time.
    #[inline]
    pub(super) async fn charge(&self, origin: Origin, work: Work) {
        self.cores.work(origin, work).await;
    }

    /// Waits while the completion queue is full.
    pub(super) async fn complete_later(&self, source: Source, answer: &Answer) {
        loop {
            self.completions_taken.next().await;
            if self.complete(source, answer) {
                return;
            }
        }
    }

    /// Sends data and completion over the link and tells the host when they
    /// arrive; false while the completion queue is full.
    #[inline]
    pub(super) fn complete(&self, source: Source, answer: &Answer) -> bool {
        let slot = self.queues.borrow_mut().completion_slot(source.queue);
        let (address, phase, head, completion_queue) = match slot {
            CompletionSlot::Full => return false,
            CompletionSlot::Gone => return true,
            CompletionSlot::Free {
                address,
                phase,
                head,
                completion_queue,
            } => (address, phase, head, completion_queue),
        };
        let up = &self.link.up;
        if answer.data_bytes > 0 {
            up.post(source.tenant, answer.data_bytes);
        }
        // Posted writes of one function stay in order: nothing comes between the
        // data and its completion.
        let arrives = up.post(source.tenant, CompletionEntry::BYTES as u64);
        self.served
            .note(source.tenant, 0, arrives.since(source.fetched));
        self.count(|counts| {
            counts.commands += 1;
            counts.failed_commands += u64::from(!answer.status.is_success());
        });
        let entry = CompletionEntry::new(source.command, source.queue, head, answer.status, phase)
            .with_dw0(answer.dw0);
        // A completion queue outside of host memory cannot be answered.
        if self
            .host
            .memory
            .borrow_mut()
            .write(address, entry.as_bytes())
            .is_ok()
        {
            (self.host.interrupt)(completion_queue, arrives);
        }
        true
    }
}
