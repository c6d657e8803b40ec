//! Reads and writes that a task has submitted and not waited for: each goes on in a task of the simulation of its own.

use std::collections::BTreeMap;
use std::future::Future;

use sim::{JoinHandle, Sim};

use super::files::{Data, FileError};
use super::hatch::Answer;

/// What became of what was submitted.
pub(super) enum Outcome {
    Read(Data),
    Written(u32),
}

/// What was submitted and not waited for. Dropping it stops all of it.
pub(super) struct Tickets {
    sim: Sim,
    most: u32,
    most_bytes: u64,
    next: u32,
    /// By ticket.
    submitted: BTreeMap<u32, Submitted>,
}

/// Dropping it stops it.
struct Submitted {
    handle: JoinHandle<Result<Outcome, FileError>>,
    bytes: u64,
}

impl Drop for Submitted {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

impl Tickets {
    /// Room for so many, of so many bytes together: no more than the task has of memory, for each has its own of that.
    pub(super) fn new(sim: &Sim, most: u32, most_bytes: u64) -> Tickets {
        Tickets {
            sim: sim.clone(),
            most,
            most_bytes,
            next: 0,
            submitted: BTreeMap::new(),
        }
    }

    /// Whether another of so many bytes may be submitted: there are not too many, and a number is left that is no error.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let taken: u64 = self.submitted.values().map(|other| other.bytes).sum();
        (self.submitted.len() as u64) < self.most.into()
            && taken + bytes <= self.most_bytes
            && i32::try_from(self.next).is_ok()
    }

    /// Has `work` of so many bytes done while the task goes on; gives its ticket.
    pub(super) fn submit(
        &mut self,
        bytes: u64,
        work: impl Future<Output = Result<Outcome, FileError>> + 'static,
    ) -> u32 {
        let ticket = self.next;
        self.next += 1;
        let handle = self.sim.spawn(work);
        self.submitted.insert(ticket, Submitted { handle, bytes });
        ticket
    }

    /// Waits for what has a ticket; nothing if it is none, or was waited for.
    pub(super) async fn wait(&mut self, ticket: u32) -> Option<Result<Answer, FileError>> {
        let mut submitted = self.submitted.remove(&ticket)?;
        let outcome = (&mut submitted.handle).await;
        Some(outcome.map(|outcome| match outcome {
            Outcome::Read(data) => Answer::Data(data),
            Outcome::Written(bytes) => Answer::Count(bytes.into()),
        }))
    }

    /// Waits for all that nobody waited for.
    ///
    /// # Errors
    /// What became of the first that failed.
    pub(super) async fn settle(&mut self) -> Result<(), FileError> {
        let mut settled = Ok(());
        while let Some((&ticket, _)) = self.submitted.first_key_value() {
            let outcome = self.wait(ticket).await;
            settled = settled.and(outcome.transpose().map(drop));
        }
        settled
    }
}
