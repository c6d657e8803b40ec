//! What passes between the thread that serves connections and the drive's.

use nvme::fabrics::Transfers;
use nvme::{AsyncEvent, NamespaceId, Status, SubmissionEntry};

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
}

/// A command for the drive.
pub(crate) struct DriveCommand {
    pub(crate) ticket: Ticket,
    /// Of an admin queue.
    pub(crate) is_admin: bool,
    /// Which of the drive's queue pairs an I/O command goes through: taken modulo their number.
    pub(crate) pair: u16,
    pub(crate) entry: SubmissionEntry,
    pub(crate) transfers: Transfers,
    /// Its buffer: what came to the controller, and behind it, if the entry's metadata pointer names that, room for what goes to
    /// the host. Otherwise both have the same place.
    pub(crate) data: Option<Box<[u8]>>,
}

impl DriveCommand {
    /// Where in the buffer what goes to the host begins.
    pub(crate) fn result_offset(transfers: &Transfers) -> usize {
        match transfers.is_two_way() {
            true => transfers.pointed as usize,
            false => 0,
        }
    }

    /// Bytes that the buffer must have.
    pub(crate) fn buffer_bytes(transfers: &Transfers) -> usize {
        let result = DriveCommand::result_offset(transfers) + transfers.to_host as usize;
        result.max(transfers.to_controller as usize)
    }
}

/// What the drive has to tell.
pub(crate) enum Told {
    /// A command is done.
    Done(Done),
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
