//! A command to carry out, and where it came from.

use nvme::{CommandId, QueueId, SubmissionEntry};

use crate::schedule::Priority;

/// A command to carry out, and where it came from.
#[derive(Default)]
pub(in crate::frontend) struct Job {
    pub(in crate::frontend) queue: QueueId,
    /// That of the queue.
    pub(in crate::frontend) priority: Priority,
    pub(in crate::frontend) entry: SubmissionEntry,
}

/// Which command of which queue it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::frontend) struct Source {
    queue: QueueId,
    command: CommandId,
}

impl Source {
    pub(in crate::frontend) fn new(queue: QueueId, command: CommandId) -> Source {
        Source { queue, command }
    }

    #[inline]
    pub(in crate::frontend) fn queue(&self) -> QueueId {
        self.queue
    }

    pub(in crate::frontend) fn command(&self) -> CommandId {
        self.command
    }

    pub(in crate::frontend) fn is_admin(&self) -> bool {
        self.queue.get() == 0
    }
}

impl Job {
    pub(in crate::frontend) fn source(&self) -> Source {
        Source {
            queue: self.queue,
            command: self.entry.command(),
        }
    }
}
