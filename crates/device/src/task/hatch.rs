//! Through which a running task and the drive pass what it asks for and the answers.
//!
//! The engine polls a task as any future, but wants all that its calls hold to be movable between threads, which nothing of a
//! simulation is. So a call holds nothing of the drive: it puts what it asks for into the hatch and stands aside; whoever runs
//! the task takes that out, sees to it in simulated time, puts the answer in and polls the task again. It is polled
//! then only, however often the task of the simulation that it is part of wakes.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use operators::Operator;

use super::files::{Data, Piece};

/// What a task asks of the drive.
#[derive(Debug)]
pub(super) enum Request {
    /// That the cycles it took are charged.
    Charge,
    /// Bytes of a file.
    Read { file: u32, offset: u64, bytes: u32 },
    /// That bytes be written to a file.
    Write { file: u32, offset: u64, data: Data },
    /// As `Read`, while the task goes on.
    SubmitRead { file: u32, offset: u64, bytes: u32 },
    /// As `Write`, while the task goes on.
    SubmitWrite { file: u32, offset: u64, data: Data },
    /// The outcome of what was submitted.
    Wait { ticket: u32 },
    /// The value of an expression.
    Evaluate {
        expression: Vec<u8>,
        bits: u64,
        to: Option<u32>,
    },
    /// The value of a name, of which so many bytes are taken.
    LookUp {
        store: u32,
        name: Vec<u8>,
        capacity: u32,
    },
    /// So many bytes of a stream's input, at most.
    NextPiece { capacity: u32 },
    /// That an accelerator compute this.
    Operate { operator: Operator, has_bias: bool },
    /// That bytes be added to a stream's output.
    Emit { data: Data },
}

/// What the drive answers.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is done.
    Done,
    /// What was read.
    Data(Data),
    /// So many bytes were written, ones counted, or tenths of cycles an accelerator was at work.
    Count(u64),
    /// The ticket of what was submitted.
    Ticket(u32),
    /// The value, if there is one.
    Value(Option<Vec<u8>>),
    /// What comes next, if anything does.
    Piece(Option<Piece>),
    /// It is refused, with this error number.
    Refused(i32),
}

enum Passed {
    /// With the tenths of cycles that the task had taken by then.
    Asked(u64, Request),
    Answered(Answer),
}

/// Both ends of the hatch. No thread ever waits for the lock: it is what the engine wants.
#[derive(Clone, Default)]
pub(super) struct Hatch(Arc<Mutex<Option<Passed>>>);

impl Hatch {
    /// From inside: asks, and stands aside until there is an answer.
    pub(super) async fn ask(&self, tenths: u64, request: Request) -> Answer {
        self.put(Passed::Asked(tenths, request));
        poll_fn(|_| match self.take() {
            Some(Passed::Answered(answer)) => Poll::Ready(answer),
            Some(asked) => {
                self.put(asked);
                Poll::Pending
            }
            None => Poll::Pending,
        })
        .await
    }

    /// From outside: what a task that stands aside asks for, with the tenths of cycles that it had taken by then; nothing if
    /// only its quantum is over.
    pub(super) fn asked(&self) -> Option<(u64, Request)> {
        match self.take() {
            Some(Passed::Asked(tenths, request)) => Some((tenths, request)),
            Some(Passed::Answered(_)) | None => None,
        }
    }

    /// From outside: answers.
    pub(super) fn answer(&self, answer: Answer) {
        self.put(Passed::Answered(answer));
    }

    fn put(&self, passed: Passed) {
        *self.0.lock().expect("nothing fails while it is held") = Some(passed);
    }

    fn take(&self) -> Option<Passed> {
        self.0
            .lock()
            .expect("nothing fails while it is held")
            .take()
    }
}
