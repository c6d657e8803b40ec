//! How commands reach a drive.

use nvme::{CompletionEntry, SubmissionEntry};

use crate::buffer::Memory;
use crate::error::Error;

/// A way to a drive whose I/O commands all are given a priority: where the drive ranks requests, `A` of TH-iSSD 3.3,
/// Equation 1 ([`SubmissionEntry::give_priority`]).
#[derive(Clone, Debug)]
pub struct Prioritized<T> {
    transport: T,
    priority: u32,
}

impl<T> Prioritized<T> {
    /// The same way, for commands of that priority; of 0, as they are.
    pub fn new(transport: T, priority: u32) -> Prioritized<T> {
        Prioritized {
            transport,
            priority,
        }
    }
}

impl<T: Transport> Transport for Prioritized<T> {
    fn memory(&self) -> &Memory {
        self.transport.memory()
    }

    async fn admin(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        self.transport.admin(entry).await
    }

    async fn io(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        let mut entry = *entry;
        if self.priority > 0 {
            entry.give_priority(self.priority);
        }
        self.transport.io(&entry).await
    }
}

/// A way to a drive: in process, or whatever carries queue entries and data.
///
/// The futures are driven by whoever drives the transport; they hold no clock.
pub trait Transport {
    /// The memory that the drive can reach.
    fn memory(&self) -> &Memory;

    /// Sends an admin command and waits for its completion. The transport
    /// chooses the command identifier.
    ///
    /// # Errors
    /// If the transport itself fails; a status other than success is no such error.
    fn admin(
        &self,
        entry: &SubmissionEntry,
    ) -> impl Future<Output = Result<CompletionEntry, Error>>;

    /// Sends an I/O command and waits for its completion.
    ///
    /// # Errors
    /// As [`Transport::admin`].
    fn io(&self, entry: &SubmissionEntry) -> impl Future<Output = Result<CompletionEntry, Error>>;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::{Context, Poll, Waker};

    use nvme::command::opcode;
    use nvme::{CommandId, HostMemory, NamespaceId, QueueId, Status};

    use super::*;

    /// Notes the priorities of what it is given.
    struct Noting {
        memory: Memory,
        noted: RefCell<Vec<u32>>,
    }

    impl Transport for Noting {
        fn memory(&self) -> &Memory {
            &self.memory
        }

        async fn admin(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
            self.io(entry).await
        }

        async fn io(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
            self.noted.borrow_mut().push(entry.cdw2[1].get());
            let queue = QueueId::new(1);
            Ok(CompletionEntry::new(
                CommandId::new(0),
                queue,
                0,
                Status::SUCCESS,
                true,
            ))
        }
    }

    fn now<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("nothing waits here"),
        }
    }

    #[test]
    fn io_commands_are_given_the_priority_and_no_others() {
        for (priority, given) in [(0, 9), (5, 5)] {
            let noting = Noting {
                memory: Rc::new(RefCell::new(HostMemory::new())),
                noted: RefCell::default(),
            };
            let way = Prioritized::new(noting, priority);
            let mut entry =
                SubmissionEntry::new(opcode::READ, CommandId::new(0), NamespaceId::new(1));
            entry.give_priority(9);
            now(way.io(&entry)).expect("it answers");
            now(way.admin(&entry)).expect("it answers");
            assert_eq!(*way.transport.noted.borrow(), [given, 9]);
        }
    }
}
