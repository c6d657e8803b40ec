//! How requests are answered. Those with much data by a thread of their own, as the drive goes on while the kernel copies it, or
//! lets go of the memory that it came from; the others together, as who waits for one is woken then and asks for more, which the
//! drive does with the others.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use super::data::MUCH_BYTES;
use super::device::{Outcome, Reply};
use crossbeam_channel::{Sender, unbounded};

/// So many are told at once: half of what a host has under way that asks for much at once, so that it asks for the next half while
/// the drive is at the other.
const TOGETHER: usize = 16;
/// They wait for more no longer than this: some times what it takes to wake somebody.
const LONG: Duration = Duration::from_micros(200);

/// The thread that answers where much data was moved; it ends with this.
pub(super) struct ReplyThread(Sender<(Reply, Outcome)>);

/// Who answers. Cheap to clone.
#[derive(Clone)]
pub(super) struct Replies(Rc<Waiting>);

struct Waiting {
    thread: ReplyThread,
    waiting: RefCell<VecDeque<(Reply, Outcome)>>,
    since: Cell<Option<Instant>>,
    wait_no_more: Cell<bool>,
}

impl ReplyThread {
    /// # Errors
    /// The operating system gives no thread.
    pub(super) fn start() -> io::Result<ReplyThread> {
        let (replies, due) = unbounded::<(Reply, Outcome)>();
        thread::Builder::new()
            .name("bitline replies".into())
            .spawn(move || {
                for (reply, outcome) in due {
                    reply.tell(&outcome);
                }
            })?;
        Ok(ReplyThread(replies))
    }

    fn send(&self, reply: Reply, outcome: Outcome) {
        if let Err(unsent) = self.0.send((reply, outcome)) {
            // Its thread has panicked, and what it had yet to reply was told as an error of input or output.
            let (reply, outcome) = unsent.into_inner();
            reply.tell(&outcome);
        }
    }
}

impl Replies {
    pub(super) fn new(thread: ReplyThread) -> Replies {
        Replies(Rc::new(Waiting {
            thread,
            waiting: RefCell::default(),
            since: Cell::default(),
            wait_no_more: Cell::default(),
        }))
    }

    /// Tells what became of a request, soon.
    pub(super) fn add(&self, reply: Reply, outcome: Outcome) {
        let moved = match &outcome {
            Outcome::Read(data) => data.bytes().len(),
            Outcome::Written(bytes) => *bytes as usize,
            Outcome::Done | Outcome::Failed(_) => 0,
        };
        if moved > MUCH_BYTES {
            return self.0.thread.send(reply, outcome);
        }
        if self.0.since.get().is_none() {
            self.0.since.set(Some(Instant::now()));
        }
        self.0.waiting.borrow_mut().push_back((reply, outcome));
        if self.0.wait_no_more.get() || self.0.waiting.borrow().len() >= TOGETHER {
            self.tell();
        }
    }

    /// From now on none waits: what the drive has yet to do when it is closed has nobody who would tell it later.
    pub(super) fn wait_no_more(&self) {
        self.0.wait_no_more.set(true);
        self.tell();
    }

    /// Tells what waits.
    pub(super) fn tell(&self) {
        self.0.since.set(None);
        for (reply, outcome) in self.0.waiting.borrow_mut().drain(..) {
            reply.tell(&outcome);
        }
    }

    /// The same if it has waited for long.
    pub(super) fn tell_late(&self) {
        if self
            .0
            .since
            .get()
            .is_some_and(|since| since.elapsed() >= LONG)
        {
            self.tell();
        }
    }
}
