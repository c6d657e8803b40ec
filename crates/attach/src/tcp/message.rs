//! What passes between the thread that serves connections and the drive's.

use nvme::{AsyncEvent, CommandSet, NamespaceId, Status, SubmissionEntry, Transfers};

/// A command under way: of which connection, and which of its commands. What has gone by the time it is done is not mistaken for
/// another, as no two connections have the same epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket {
    pub(crate) epoch: u64,
    pub(crate) connection: u32,
    pub(crate) command: u16,
}

/// What the drive is to do.
pub(crate) enum Order {
    /// Carry out a command.
    Command(Box<DriveCommand>),
    /// Break it off, if that can be.
    Cancel(Ticket),
    /// Make durable what it has acknowledged, as a host shuts a controller down: its number, and the epoch of its admin queue.
    ShutDown(u16, u64),
}

/// A command for the drive.
pub(crate) struct DriveCommand {
    pub(crate) ticket: Ticket,
    /// What its opcode means: that of its queue, and of its namespace.
    pub(crate) set: CommandSet,
    /// Which of the drive's queue pairs an I/O command goes through: taken modulo their number.
    pub(crate) pair: u16,
    pub(crate) entry: SubmissionEntry,
    pub(crate) transfers: Transfers,
    /// Its buffer, as [`Transfers::buffer_bytes`] has it.
    pub(crate) data: Option<Box<[u8]>>,
}

/// What the drive has to tell.
pub(crate) enum Told {
    /// A command is done.
    Done(Done),
    /// What was acknowledged before that order is durable.
    ShutDown(u16, u64),
    /// Something happened that hosts may want to know; with the namespaces that have changed.
    Event(AsyncEvent, Vec<NamespaceId>),
}

/// A command that is done.
pub(crate) struct Done {
    pub(crate) ticket: Ticket,
    pub(crate) status: Status,
    pub(crate) results: [u32; 2],
    /// The buffer, if there was one and it could be had back.
    pub(crate) data: Option<Box<[u8]>>,
    /// Bytes that the buffer counts for, whether or not it came back.
    pub(crate) counted: u64,
}
