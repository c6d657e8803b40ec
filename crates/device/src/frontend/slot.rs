//! Command slots: tasks that carry out one command after another.

use std::cell::Cell;
use std::rc::Rc;

use nvme::{AdminCommand, CompletionEntry, IoCommand, QueueId, Status, SubmissionEntry};
use sim::Sim;
use sim::resource::Signal;

use super::Controller;
use super::queues::CompletionSlot;

/// A command to carry out, and where it came from.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) queue: QueueId,
    pub(super) entry: SubmissionEntry,
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

/// Where a slot's next command is put.
pub(super) struct Slot {
    job: Cell<Option<Job>>,
    given: Signal,
}

impl Slot {
    pub(super) fn new(sim: &Sim) -> Slot {
        Slot {
            job: Cell::new(None),
            given: Signal::new(sim),
        }
    }

    #[inline]
    pub(super) fn give(&self, job: Job) {
        self.job.set(Some(job));
        self.given.ring();
    }
}

impl Controller {
    /// Carries out whatever `slot` is given, for ever.
    pub(super) async fn serve_slot(self: Rc<Controller>, slot: Rc<Slot>, number: u32) {
        loop {
            slot.given.heard().await;
            let Some(job) = slot.job.take() else { continue };
            self.serve(job).await;
            self.idle_slots.borrow_mut().push(number);
            if self.slots_wanted.replace(false) {
                self.slot_freed.ring();
            }
        }
    }

    async fn serve(&self, job: Job) {
        let answer = if job.queue.get() == 0 {
            match AdminCommand::decode(&job.entry) {
                Ok(AdminCommand::AsyncEventRequest) => return self.hold_event_request(job),
                Ok(command) => Box::pin(self.serve_admin(command)).await,
                Err(status) => status.into(),
            }
        } else {
            match IoCommand::decode(&job.entry) {
                Ok(command) => self.serve_io(command).await,
                Err(status) => status.into(),
            }
        };
        self.complete(job, answer).await;
    }

    /// Asynchronous event requests stay outstanding until there is an event; this
    /// drive has none to report yet, so they simply do not complete (Base 5.1.2).
    fn hold_event_request(&self, _job: Job) {}

    /// Sends data and completion over the link and interrupts the host.
    #[inline]
    async fn complete(&self, job: Job, answer: Answer) {
        let up = &self.link.up;
        if answer.data_bytes > 0 {
            up.post(answer.data_bytes);
            self.ledger
                .spend(self.link_up_account, up.energy_of(answer.data_bytes));
        }
        // Posted writes of one function stay in order: nothing comes between the
        // data and its completion.
        let arrives = up.post(CompletionEntry::BYTES as u64);
        self.ledger.spend(
            self.link_up_account,
            up.energy_of(CompletionEntry::BYTES as u64),
        );
        loop {
            let slot = self.queues.borrow_mut().completion_slot(job.queue);
            match slot {
                CompletionSlot::Full => self.completions_taken.next().await,
                CompletionSlot::Gone => return,
                CompletionSlot::Free {
                    address,
                    phase,
                    head,
                    completion_queue,
                } => {
                    let completion = CompletionEntry::new(
                        job.entry.command(),
                        job.queue,
                        head,
                        answer.status,
                        phase,
                    )
                    .with_dw0(answer.dw0);
                    self.count(|counts| {
                        counts.commands += 1;
                        counts.failed_commands += u64::from(!answer.status.is_success());
                    });
                    // A completion queue outside of host memory cannot be answered.
                    if self
                        .host
                        .memory
                        .borrow_mut()
                        .write(address, &completion.to_bytes())
                        .is_ok()
                    {
                        (self.host.interrupt)(completion_queue, arrives);
                    }
                    return;
                }
            }
        }
    }
}
