//! A command to carry out, and where it came from.

use nvme::{Command, CommandId, CommandSet, QueueId, Status, SubmissionEntry};
use sim::{Requester, Time};

use crate::schedule::Origin;
use crate::tenants;

/// A command to carry out, and where it came from.
pub(in crate::frontend) struct FetchedCommand {
    pub(in crate::frontend) queue: QueueId,
    /// Its namespace, and the priority of the queue.
    pub(in crate::frontend) origin: Origin,
    /// When its entry was here.
    pub(in crate::frontend) at: Time,
    pub(in crate::frontend) entry: SubmissionEntry,
    /// What the entry asks for, decoded once, when it has arrived.
    pub(in crate::frontend) command: Result<Command, Status>,
}

/// Which command of which queue it is, and for whom since when.
#[derive(Clone, Copy)]
pub(in crate::frontend) struct Source {
    queue: QueueId,
    command: CommandId,
    pub(super) requester: Requester,
    pub(super) fetched: Time,
}

impl Source {
    /// A command that another one names.
    pub(in crate::frontend) fn new(queue: QueueId, command: CommandId, now: Time) -> Source {
        Source {
            queue,
            command,
            requester: tenants::DRIVE.into(),
            fetched: now,
        }
    }

    /// Whether both are the same command.
    pub(in crate::frontend) fn is(&self, other: &Source) -> bool {
        (self.queue, self.command) == (other.queue, other.command)
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

impl FetchedCommand {
    /// No command yet.
    pub(super) fn empty() -> FetchedCommand {
        FetchedCommand {
            queue: QueueId::default(),
            origin: Origin::default(),
            at: Time::ZERO,
            entry: SubmissionEntry::default(),
            command: Err(Status::INVALID_OPCODE),
        }
    }

    /// Decodes the entry as one of `set`.
    #[inline]
    pub(super) fn decode(&mut self, set: CommandSet) {
        self.command = Command::decode(set, &self.entry);
    }

    pub(in crate::frontend) fn source(&self) -> Source {
        Source {
            queue: self.queue,
            command: self.entry.command(),
            requester: self.origin.requester(),
            fetched: self.at,
        }
    }
}
