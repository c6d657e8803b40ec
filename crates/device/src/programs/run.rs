//! One run of a program: a transaction, and the task in it.

use std::cell::Cell;
use std::rc::Rc;

use nvme::task::{Ended, Outcome};
use nvme::{NamespaceId, RegionId, Status};
use sim::resource::Semaphore;
use sim::{Either, select};

use super::ends::{failed, told};
use super::files::TransactionFiles;
use super::names::Names;
use super::ranges::{MemoryRun, Ranges};
use super::vectors::Vectors;
use super::{ProgramId, Programs, Runs};
use crate::schedule::Origin;
use crate::task::{Files, Limits, Program};
use crate::tx::{self, Transaction};

/// What a run is asked to do.
pub struct RunRequest {
    /// What the owner of the program calls it; 0 is any.
    pub identifier: u64,
    /// How it is kept apart from others.
    pub isolation: tx::Isolation,
    /// How often it is begun anew after a conflict.
    pub retries: u16,
    /// What it may use; what is 0 is the drive's, but for log and return value.
    pub limits: Limits,
    /// Its files.
    pub files: Vec<tx::File>,
    /// The search regions in which it may look names up.
    pub stores: Vec<RegionId>,
    /// Its arguments.
    pub arguments: Vec<u8>,
}

/// A program that somebody runs, until this is dropped.
#[must_use = "the program may go when it is dropped"]
pub struct InUse {
    programs: Rc<Programs>,
    id: ProgramId,
    program: Rc<Program>,
}

impl InUse {
    /// The program.
    pub fn program(&self) -> Rc<Program> {
        self.program.clone()
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.programs.table.borrow_mut().end_run(self.id);
    }
}

/// Has one run stop, wherever it is.
#[derive(Default)]
pub struct Halt {
    asked: Cell<bool>,
    /// Of a run that is over, whether it was stopped.
    stopped: Cell<Option<bool>>,
}

impl Halt {
    /// Whether the run was stopped by this.
    pub fn was_heeded(&self) -> bool {
        self.asked.get() && self.stopped.get() == Some(true)
    }
}

/// What may stop a run.
#[derive(Clone, Copy)]
struct Stops<'a> {
    /// Those of the namespace it works in.
    runs: &'a Runs,
    /// Those of the namespace that has its program, which may be another.
    own: &'a Runs,
    /// Itself.
    halt: &'a Halt,
}

impl Stops<'_> {
    /// Why it is to stop, if it is.
    fn reason(&self) -> Option<&'static str> {
        let erased = self.runs.stopping.get() || self.own.stopping.get();
        match (erased, self.halt.asked.get()) {
            (true, _) => Some("all of its namespace is being erased"),
            (false, true) => Some("its command was aborted"),
            (false, false) => None,
        }
    }

    /// What becomes of a run that stopped.
    fn outcome(&self) -> Outcome {
        Outcome::not_begun(Ended::Stopped, self.reason().unwrap_or_default())
    }
}

/// Runs of some namespaces stop until this is dropped.
#[must_use = "runs may begin again when it is dropped"]
pub struct Stopping(Vec<Rc<Runs>>);

impl Drop for Stopping {
    fn drop(&mut self) {
        for runs in &self.0 {
            runs.stopping.set(false);
        }
    }
}

impl Programs {
    /// Runs an activated program over files of a namespace, until it is over or halted; waits while that has as many runs as it
    /// may. What is wrong with what was asked, and whatever becomes of the run, is in the outcome.
    ///
    /// # Errors
    /// No Program, also if it is another one than is asked for; Program Not Activated.
    pub async fn run(
        self: &Rc<Programs>,
        (id, place): (ProgramId, NamespaceId),
        asked: &RunRequest,
        halt: &Halt,
        origin: Origin,
    ) -> Result<Outcome, Status> {
        let program = self.enter(id, asked.identifier)?;
        let (runs, own) = (self.runs_of(place), self.runs_of(id.namespace));
        let stops = Stops {
            runs: &runs,
            own: &own,
            halt,
        };
        let running = program.program();
        let run = self.run_in_turn(stops, place, &running, asked, origin);
        Ok(self.see_through(program, halt, run).await)
    }

    /// Runs an activated program over ranges of memory, likewise. What it wrote there stays, however it ends.
    ///
    /// # Errors
    /// As [`Programs::run`].
    pub async fn run_over_memory(
        self: &Rc<Programs>,
        id: ProgramId,
        asked: &MemoryRun,
        halt: &Halt,
        origin: Origin,
    ) -> Result<Outcome, Status> {
        let program = self.enter(id, 0)?;
        let runs = self.runs_of(id.namespace);
        let stops = Stops {
            runs: &runs,
            own: &runs,
            halt,
        };
        let running = program.program();
        let run = self.run_in_memory(stops, &running, asked, origin);
        let outcome = self.see_through(program, halt, run).await;
        let mut failures = self.failures.borrow_mut();
        match outcome.ended {
            Ended::Committed => failures.remove(&id),
            _ => failures.insert(id, outcome.reason.clone()),
        };
        Ok(outcome)
    }

    async fn run_in_memory(
        &self,
        stops: Stops<'_>,
        program: &Program,
        asked: &MemoryRun,
        origin: Origin,
    ) -> Outcome {
        let Some(_turn) = self.unless(stops, stops.runs.room.acquire(1)).await else {
            return stops.outcome();
        };
        let limits = self.tasks.limits();
        let memory = self.tasks.reserve(program, &asked.arguments, limits);
        let memory = match self.unless(stops, memory).await {
            Some(Ok(memory)) => memory,
            Some(Err(reason)) => return Outcome::not_begun(Ended::Rejected, reason),
            None => return stops.outcome(),
        };
        let files = Rc::new(Ranges::new(&self.local_memory, asked));
        let run = self
            .tasks
            .run_in(memory, program, files, &asked.arguments, origin);
        match self.unless(stops, run).await {
            Some(run) => run.into_outcome(),
            None => stops.outcome(),
        }
    }

    /// Lives through a run, and tells whoever waits for it.
    async fn see_through(
        &self,
        program: InUse,
        halt: &Halt,
        run: impl Future<Output = Outcome>,
    ) -> Outcome {
        let begun = self.sim.now();
        let mut outcome = run.await;
        drop(program);
        halt.stopped.set(Some(outcome.ended == Ended::Stopped));
        if halt.asked.get() {
            self.stops.announce();
        }
        outcome.nanoseconds = self.sim.now().since(begun).whole_ns();
        outcome
    }

    /// Has an activated program stay what it is while somebody runs it.
    ///
    /// # Errors
    /// As [`Programs::run`].
    pub fn enter(self: &Rc<Programs>, id: ProgramId, identifier: u64) -> Result<InUse, Status> {
        let program = self.table.borrow_mut().begin_run(id, identifier)?;
        Ok(InUse {
            programs: self.clone(),
            id,
            program,
        })
    }

    async fn run_in_turn(
        &self,
        stops: Stops<'_>,
        place: NamespaceId,
        program: &Program,
        asked: &RunRequest,
        origin: Origin,
    ) -> Outcome {
        let limits = match self.limits(&asked.limits) {
            Ok(limits) => limits,
            Err(reason) => return Outcome::not_begun(Ended::Rejected, reason),
        };
        let Some(_turn) = self.unless(stops, stops.runs.room.acquire(1)).await else {
            return stops.outcome();
        };
        let mut outcome = Outcome::not_begun(Ended::Rejected, "");
        loop {
            let attempt = self.attempt(stops, place, program, asked, limits, origin);
            let mut attempt = attempt.await;
            let begun = attempt.ended != Ended::Rejected;
            attempt.attempts = outcome.attempts + u32::from(begun);
            attempt.cycles += outcome.cycles;
            attempt.memory_bytes = attempt.memory_bytes.max(outcome.memory_bytes);
            outcome = attempt;
            let again =
                outcome.ended == Ended::Conflict && outcome.attempts <= asked.retries.into();
            if !again {
                return outcome;
            }
            // Whoever was first may not be over yet.
            let wait = self.transactions.retry_wait(outcome.attempts);
            let wait = self.sim.sleep(wait);
            if self.unless(stops, wait).await.is_none() {
                outcome.ended = Ended::Stopped;
                outcome.reason = stops.outcome().reason;
                return outcome;
            }
        }
    }

    /// A fresh transaction, and the task in it.
    async fn attempt(
        &self,
        stops: Stops<'_>,
        place: NamespaceId,
        program: &Program,
        asked: &RunRequest,
        limits: Limits,
        origin: Origin,
    ) -> Outcome {
        let memory = self.tasks.reserve(program, &asked.arguments, limits);
        let memory = match self.unless(stops, memory).await {
            Some(Ok(memory)) => memory,
            Some(Err(reason)) => return Outcome::not_begun(Ended::Rejected, reason),
            None => return stops.outcome(),
        };
        let files = asked.files.clone();
        let begun = self.transactions.begin(files, asked.isolation, origin);
        let transaction = match self.unless(stops, begun).await {
            Some(Ok(transaction)) => transaction,
            Some(Err(error)) => {
                let error = failed(&error, error.to_string());
                return Outcome::not_begun(error.ended(), error.to_string());
            }
            None => return stops.outcome(),
        };
        let files = self.files(&transaction, (place, &asked.stores), origin);
        let files = match files {
            Ok(files) => files,
            Err(_) => {
                let reason = "the namespace does not have all search regions of the run";
                return Outcome::not_begun(Ended::Rejected, reason);
            }
        };
        let run = self
            .tasks
            .run_in(memory, program, files, &asked.arguments, origin);
        let Some(run) = self.unless(stops, run).await else {
            transaction.roll_back();
            // Whoever has it stopped may be about to erase what it writes to.
            transaction.at_rest().await;
            return stops.outcome();
        };
        let mut attempt = run.into_outcome();
        if attempt.ended != Ended::Committed {
            transaction.roll_back();
            return attempt;
        }
        if let Err(error) = transaction.commit().await {
            let error = told(&error, &transaction);
            attempt.ended = error.ended();
            attempt.reason = error.to_string();
            attempt.value.clear();
        }
        attempt
    }

    /// What the task of a transaction sees of the drive.
    ///
    /// # Errors
    /// Invalid Search Region.
    pub(crate) fn files(
        &self,
        transaction: &Rc<Transaction>,
        (namespace, stores): (NamespaceId, &[RegionId]),
        origin: Origin,
    ) -> Result<Rc<dyn Files>, Status> {
        let (has_data, cores) = (self.buffers.stores_data(), &self.cores);
        let parts = (&self.search, cores);
        Ok(Rc::new(TransactionFiles {
            transaction: transaction.clone(),
            vectors: Vectors {
                transaction: transaction.clone(),
                bits: self.bits.clone(),
                cores: cores.clone(),
                origin,
                has_data,
            },
            names: Names::new(transaction, parts, (namespace, stores), origin)?,
            has_data,
        }))
    }

    /// What a run may use, as it asked or as the drive has it.
    pub(crate) fn limits(&self, asked: &Limits) -> Result<Limits, String> {
        let most = self.tasks.limits();
        let or = |asked: u64, most: u64| if asked == 0 { most } else { asked };
        let limits = Limits {
            memory_bytes: or(asked.memory_bytes, most.memory_bytes),
            cycles: or(asked.cycles, most.cycles),
            tickets: or(asked.tickets.into(), most.tickets.into()) as u32,
            ..*asked
        };
        let checks = [
            ("memory_bytes", limits.memory_bytes, most.memory_bytes),
            ("cycles", limits.cycles, most.cycles),
            ("log_bytes", limits.log_bytes.into(), most.log_bytes.into()),
            (
                "return_bytes",
                limits.return_bytes.into(),
                most.return_bytes.into(),
            ),
            ("tickets", limits.tickets.into(), most.tickets.into()),
        ];
        match checks.iter().find(|(_, asked, most)| asked > most) {
            Some((key, asked, most)) => Err(format!(
                "the run asks for {key} = {asked}; a run may have {most}"
            )),
            None => Ok(limits),
        }
    }

    fn runs_of(&self, namespace: NamespaceId) -> Rc<Runs> {
        let mut runs = self.runs.borrow_mut();
        let new = || {
            Rc::new(Runs {
                room: Semaphore::new(&self.sim, self.quota.runs.into()),
                stopping: Cell::new(false),
            })
        };
        runs.entry(namespace).or_insert_with(new).clone()
    }

    /// Does something unless a run is to stop: nothing of it is begun then, or it is left as it is.
    async fn unless<T>(&self, stops: Stops<'_>, work: impl Future<Output = T>) -> Option<T> {
        let stopped = async {
            while stops.reason().is_none() {
                self.stops.next().await;
            }
        };
        match select(stopped, work).await {
            Either::Left(()) => None,
            Either::Right(done) => Some(done),
        }
    }

    /// Has one run stop, which is rolled back, and waits until it is over. Whether it was stopped: one that has begun to commit
    /// goes on to do so.
    pub async fn halt(&self, halt: &Halt) -> bool {
        halt.asked.set(true);
        self.stops.announce();
        while halt.stopped.get().is_none() {
            self.stops.next().await;
        }
        halt.was_heeded()
    }

    /// Has the runs of namespaces stop, and those that would begin until what this gives is dropped.
    pub fn stop(&self, namespaces: impl Iterator<Item = NamespaceId>) -> Stopping {
        let stopped: Vec<Rc<Runs>> = namespaces.map(|id| self.runs_of(id)).collect();
        for runs in &stopped {
            runs.stopping.set(true);
        }
        self.stops.announce();
        Stopping(stopped)
    }
}
