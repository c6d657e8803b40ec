//! Tasks that the host runs itself, to compare with: its processor runs the module, and what it reads and writes crosses the
//! link to and from pages of the files in its memory.

mod files;
mod page_cache;

use std::rc::Rc;

use nvme::task::{Ended, Limits, Outcome};

use super::operations::{LOG_BYTES, RETURN_BYTES, or_usual};
use super::{TaskFile, TaskRun};
use crate::error::Error;
use crate::host_end::{Host, ORIGIN};
use files::HostFiles;

impl Host {
    /// As [`super::Tasks::run_on_host`].
    ///
    /// # Errors
    /// As [`super::Tasks::run_on_host`].
    pub async fn run_on_host(
        &self,
        module: &[u8],
        files: &[TaskFile],
        arguments: &[u8],
        limits: Limits,
    ) -> Result<Outcome, Error> {
        let machine = &self.machine;
        let program = machine.load(module)?;
        let (used, using) = self.use_objects(&TaskRun::of(files.to_vec())).await?;
        let begun = self.sim.now();
        let objects = used.files.into_iter().zip(files);
        let objects = objects.map(|(object, file)| (object, file.writable));
        let opened = Rc::new(HostFiles::open(machine.clone(), &self.block, objects));
        let limits = limits_of(&limits, &machine.limits());
        let run = machine
            .begin()
            .run(&program, opened.clone(), arguments, limits, ORIGIN);
        let mut outcome = run.await.into_outcome();
        // As with files that are open, writes count whatever becomes of the run.
        if let Err(error) = opened.close().await
            && outcome.ended == Ended::Committed
        {
            outcome.ended = error.ended();
            outcome.reason = error.to_string();
            outcome.value.clear();
        }
        drop(using);
        outcome.attempts = u32::from(outcome.ended != Ended::Rejected);
        outcome.nanoseconds = self.sim.now().since(begun).whole_ns();
        Ok(outcome)
    }
}

/// What a run may have: what it asks for, or what is usual.
fn limits_of(asked: &Limits, most: &Limits) -> Limits {
    let or = |asked, most| if asked == 0 { most } else { asked };
    Limits {
        memory_bytes: or(asked.memory_bytes, most.memory_bytes),
        cycles: or(asked.cycles, most.cycles),
        log_bytes: or_usual(asked.log_bytes, LOG_BYTES, most.log_bytes),
        return_bytes: or_usual(asked.return_bytes, RETURN_BYTES, most.return_bytes),
        tickets: or_usual(asked.tickets, most.tickets, most.tickets),
    }
}
