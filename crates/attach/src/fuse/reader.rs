//! A thread that receives requests in the drive's stead: while much data comes with them, the kernel copies it as the drive goes on.

use std::io;
use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::intake::{Intake, Received, Request};
use crate::engine::Doorbell;

/// After so many requests without much data the drive receives them itself again.
const FEW: u32 = 16;

/// The drive's end of the thread.
pub(super) struct Reader {
    give: Sender<Intake>,
    brought: Receiver<Brought>,
}

/// What the thread brings.
pub(super) enum Brought {
    Request(Request),
    /// What it had been given.
    Back(Intake),
}

/// The thread's end.
struct Bringer {
    bring: Sender<Brought>,
    drive: Doorbell,
}

impl Reader {
    /// # Errors
    /// The operating system gives no thread.
    pub(super) fn start(drive: Doorbell) -> io::Result<Reader> {
        let (give, given) = unbounded();
        let (bring, brought) = unbounded();
        let bringer = Bringer { bring, drive };
        thread::Builder::new()
            .name("bitline reader".into())
            .spawn(move || {
                for intake in given {
                    bringer.receive_with(intake);
                }
            })?;
        Ok(Reader { give, brought })
    }

    /// From now on it receives, until it gives that back.
    pub(super) fn give(&self, intake: Intake) {
        // If it has panicked, dropping this has requests refused.
        let _ = self.give.send(intake);
    }

    /// What it has brought next.
    pub(super) fn brought(&self) -> Option<Brought> {
        self.brought.try_recv().ok()
    }

    pub(super) fn has_brought(&self) -> bool {
        !self.brought.is_empty()
    }
}

impl Bringer {
    fn receive_with(&self, mut intake: Intake) {
        let mut few = 0;
        while few < FEW {
            match intake.receive_much() {
                Received::Request(request) => {
                    few = if request.is_much() { 0 } else { few + 1 };
                    if !self.bring(Brought::Request(request)) {
                        return;
                    }
                }
                Received::Other => {}
                Received::Nothing if intake.reads().is_some() => intake.wait(),
                // There is no room: the drive is rung for when there is.
                Received::Nothing => break,
                Received::End => return,
            }
        }
        self.bring(Brought::Back(intake));
    }

    /// Gives something to the drive. If it is gone, so is that: requests are refused then.
    fn bring(&self, what: Brought) -> bool {
        let is_there = self.bring.send(what).is_ok();
        self.drive.ring();
        is_there
    }
}
