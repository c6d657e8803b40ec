//! What carries commands to a controller elsewhere, and what comes back (NVMe Base 2.1, 2.2.2: the message-based model).

use host::Error;
use nvme::{CompletionEntry, QueueId, SubmissionEntry, Transfers};

/// A way to the controller of a drive that is not in this process, such as NVMe/TCP. It is connected, and its controller enabled.
///
/// Nothing of it waits for longer than a call says: who looks for Ctrl-C meanwhile has to have a turn.
pub trait Fabric {
    /// The drive it leads to, as messages call it.
    fn name(&self) -> &str;

    /// How many I/O queues the controller gives, and the most entries of one.
    fn limits(&self) -> (u16, u32);

    /// Opens an I/O queue of so many entries (Fabrics Connect).
    ///
    /// # Errors
    /// What the controller refuses; a connection that cannot be made.
    fn open_queue(&mut self, queue: QueueId, entries: u32) -> Result<(), Error>;

    /// Sends a command. One whose connection was lost makes another first.
    ///
    /// # Errors
    /// A connection that is lost. What was sent before it and not answered is not answered any more.
    fn send(&mut self, queue: QueueId, capsule: Capsule) -> Result<(), Error>;

    /// What has come, one response a call. With `wait`, some milliseconds are waited for one.
    ///
    /// # Errors
    /// As [`Fabric::send`]; answers that make no sense, after which the connection is closed.
    fn receive(&mut self, wait: bool) -> Result<Option<Response>, Error>;
}

/// A command on its way, and what it takes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capsule {
    /// The command as it lies in the queue: its data pointer and metadata pointer name places in this host's memory.
    pub entry: SubmissionEntry,
    /// What goes to the controller: the data of the data pointer, then that of the metadata pointer.
    pub data: Vec<u8>,
    /// How many bytes these are, and how many may come back at the data pointer.
    pub transfers: Transfers,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The queue it was sent on.
    pub queue: QueueId,
    /// Its completion. Only results, status and command are looked at.
    pub completion: CompletionEntry,
    /// The data that came back, from the beginning of what the data pointer names on.
    pub data: Vec<u8>,
}

impl Capsule {
    /// A command, and what it takes with it.
    pub fn new(entry: SubmissionEntry, data: Vec<u8>, transfers: Transfers) -> Capsule {
        Capsule {
            entry,
            data,
            transfers,
        }
    }
}

impl Response {
    /// What came of a command of `queue`.
    pub fn new(queue: QueueId, completion: CompletionEntry, data: Vec<u8>) -> Response {
        Response {
            queue,
            completion,
            data,
        }
    }
}
