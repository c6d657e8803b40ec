//! Replies with much data, from a thread of their own: while the kernel copies it, the drive goes on.

use std::io;
use std::thread;

use crossbeam_channel::{Sender, unbounded};
use fuser::ReplyData;

use super::data::Data;

/// Data from so many bytes on takes the kernel longer to copy than a thread to be woken.
pub(super) const MUCH_BYTES: usize = 64 << 10;

/// Who replies. Cheap to clone; the thread ends with the last of them.
#[derive(Clone)]
pub(super) struct Replies(Sender<(ReplyData, Data)>);

impl Replies {
    /// # Errors
    /// The operating system gives no thread.
    pub(super) fn start() -> io::Result<Replies> {
        let (replies, due) = unbounded::<(ReplyData, Data)>();
        thread::Builder::new()
            .name("bitline replies".into())
            .spawn(move || {
                for (reply, data) in due {
                    reply.data(data.bytes());
                }
            })?;
        Ok(Replies(replies))
    }

    /// Replies with the data, soon.
    pub(super) fn send(&self, reply: ReplyData, data: Data) {
        if let Err(unsent) = self.0.send((reply, data)) {
            // Its thread has panicked, and what it had yet to reply was told as an error of input or output.
            let (reply, data) = unsent.into_inner();
            reply.data(data.bytes());
        }
    }
}
