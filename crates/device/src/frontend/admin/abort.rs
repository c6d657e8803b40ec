//! Abort (NVMe Base 2.1, 5.1.1): what has not been fetched is not carried out, and a run of a program is stopped, or a stream read
//! that waits for output.

use std::rc::Rc;

use media::link::Carries;
use nvme::command::Abort;
use nvme::{CommandId, Status, SubmissionEntry};
use zerocopy::IntoBytes;

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::transport::Source;
use crate::tenants;

/// Aborts that may be under way.
pub(in crate::frontend) const ABORTS_MAX: u8 = 4;

/// Bit 0 of dword 0: the command was not aborted.
const NOT_ABORTED: u32 = 1;

impl Controller {
    /// Aborts a command that still waits in its queue, an event request that is held, a run of a program, which is rolled
    /// back, or a stream read that waits for output; the aborted command completes first. What else is under way goes on.
    pub(in crate::frontend) async fn abort(
        self: &Rc<Controller>,
        abort: &Abort,
    ) -> Result<Answer, Status> {
        if self.aborts.get() >= ABORTS_MAX {
            return Err(Status::ABORT_LIMIT_EXCEEDED);
        }
        self.aborts.set(self.aborts.get() + 1);
        let aborted = self.try_abort(abort).await;
        self.aborts.set(self.aborts.get() - 1);
        Ok(Answer {
            dw0: if aborted { 0 } else { NOT_ABORTED },
            ..Answer::DONE
        })
    }

    async fn try_abort(self: &Rc<Controller>, abort: &Abort) -> bool {
        let source = Source::new(abort.queue, abort.command, self.sim.now());
        if abort.queue.get() == 0
            && let Some(held) = self.take_event_request(abort.command)
        {
            self.complete_soon(held, Status::ABORT_REQUESTED.into());
            return true;
        }
        if self.abort_run(source).await || self.abort_fetch(source).await {
            return true;
        }
        let waiting = self.queues.borrow().waiting_entries(abort.queue).count() as u64;
        if waiting == 0 {
            return false;
        }
        // The controller looks through the entries that it has not fetched.
        self.port
            .fetch_bytes(
                tenants::DRIVE,
                Carries::SubmissionEntry,
                waiting * SubmissionEntry::BYTES as u64,
            )
            .await;
        let found = {
            let queues = self.queues.borrow();
            let mut entries = queues.waiting_entries(abort.queue);
            entries.find(|(_, address)| self.command_at(*address) == Some(abort.command))
        };
        let Some((slot, _)) = found else {
            return false;
        };
        self.queues.borrow_mut().skip(abort.queue, slot);
        self.complete_soon(source, Status::ABORT_REQUESTED.into());
        true
    }

    /// The identifier in the entry at `address`.
    fn command_at(&self, address: u64) -> Option<CommandId> {
        let mut entry = SubmissionEntry::default();
        let memory = self.host.memory.borrow();
        memory.read(address, entry.as_mut_bytes()).ok()?;
        Some(entry.command())
    }
}
