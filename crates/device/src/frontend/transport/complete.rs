//! Completions: answers on their way to the host.

use std::rc::Rc;

use media::link::Carries;
use nvme::CompletionEntry;
use zerocopy::IntoBytes;

use super::Source;
use super::queues::CompletionSlot;
use crate::frontend::Controller;
use crate::frontend::answer::Answer;

impl Controller {
    /// Waits while the completion queue is full.
    pub(in crate::frontend) async fn complete_later(&self, source: Source, answer: &Answer) {
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
    pub(in crate::frontend) fn complete(&self, source: Source, answer: &Answer) -> bool {
        let slot = self.queues.borrow_mut().completion_slot(source.queue());
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
            up.post(source.requester, Carries::Data, answer.data_bytes);
        }
        // Posted writes of one function stay in order: nothing comes between the
        // data and its completion.
        let bytes = CompletionEntry::BYTES as u64;
        let arrives = up.post(source.requester, Carries::Completion, bytes);
        let latency = arrives.since(source.fetched);
        self.served.note(source.requester.tenant, 0, latency);
        self.count(|counts| {
            counts.commands += 1;
            counts.failed_commands += u64::from(!answer.status.is_success());
        });
        let entry =
            CompletionEntry::new(source.command(), source.queue(), head, answer.status, phase)
                .with_results(answer.dw0, answer.dw1);
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

    /// Posts a completion now, or as soon as its queue has room.
    pub(in crate::frontend) fn complete_soon(
        self: &Rc<Controller>,
        source: Source,
        answer: Answer,
    ) {
        if !self.complete(source, &answer) {
            let controller = self.clone();
            self.sim.spawn_detached(async move {
                controller.complete_later(source, &answer).await;
            });
        }
    }
}
