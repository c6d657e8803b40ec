//! One run of a program: a transaction, and the task in it.

use std::cell::Cell;
use std::rc::Rc;

use nvme::task::{Ended, Outcome};
use nvme::{NamespaceId, RegionId, Status};
use sim::resource::Semaphore;
use sim::{Either, Span, select};

use super::ends::{failed, told};
use super::files::TransactionFiles;
use super::names::Names;
use super::vectors::Vectors;
use super::{ProgramId, Programs, Runs};
use crate::schedule::Origin;
use crate::task::{Files, Limits, Program};
use crate::tx::{self, Transaction};

/// What a run is asked to do.
pub struct RunRequest {
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

/// A run that counts among those of its namespace and its program, until it is dropped.
struct Admitted<'a> {
    programs: &'a Programs,
    id: ProgramId,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.programs.table.borrow_mut().end_run(self.id);
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
    /// Runs an activated program; waits while its namespace has as many runs as it may. What is wrong with what was asked, and
    /// whatever becomes of the run, is in the outcome.
    ///
    /// # Errors
    /// No Program; Program Not Activated.
    pub async fn run(
        &self,
        id: ProgramId,
        asked: &RunRequest,
        origin: Origin,
    ) -> Result<Outcome, Status> {
        let begun = self.sim.now();
        let program = self.table.borrow_mut().begin_run(id)?;
        let runs = self.runs_of(id.namespace);
        let admitted = Admitted { programs: self, id };
        let outcome = self.run_in_turn(&runs, id, &program, asked, origin);
        let mut outcome = outcome.await;
        drop(admitted);
        outcome.nanoseconds = self.sim.now().since(begun).as_ps() / 1000;
        Ok(outcome)
    }

    async fn run_in_turn(
        &self,
        runs: &Runs,
        id: ProgramId,
        program: &Program,
        asked: &RunRequest,
        origin: Origin,
    ) -> Outcome {
        let limits = match self.limits(&asked.limits) {
            Ok(limits) => limits,
            Err(reason) => return Outcome::not_begun(Ended::Rejected, reason),
        };
        let Some(_turn) = self.unless_stopped(runs, runs.room.acquire(1)).await else {
            return Outcome::not_begun(Ended::Stopped, STOPPED);
        };
        let mut outcome = Outcome::not_begun(Ended::Rejected, "");
        loop {
            let attempt = self.attempt(runs, id, program, asked, limits, origin);
            let mut attempt = attempt.await;
            attempt.attempts = outcome.attempts + 1;
            attempt.cycles += outcome.cycles;
            attempt.memory_bytes = attempt.memory_bytes.max(outcome.memory_bytes);
            outcome = attempt;
            let again =
                outcome.ended == Ended::Conflict && outcome.attempts <= asked.retries.into();
            if !again {
                return outcome;
            }
            // Whoever was first may not be over yet.
            let doublings = outcome.attempts.min(RETRY_DOUBLINGS_MAX);
            let wait = self.sim.sleep(RETRY_WAIT * (1 << doublings));
            if self.unless_stopped(runs, wait).await.is_none() {
                outcome.ended = Ended::Stopped;
                STOPPED.clone_into(&mut outcome.reason);
                return outcome;
            }
        }
    }

    /// A fresh transaction, and the task in it.
    async fn attempt(
        &self,
        runs: &Runs,
        id: ProgramId,
        program: &Program,
        asked: &RunRequest,
        limits: Limits,
        origin: Origin,
    ) -> Outcome {
        let stopped = || Outcome::not_begun(Ended::Stopped, STOPPED);
        let memory = self.tasks.reserve(program, &asked.arguments, limits);
        let memory = match self.unless_stopped(runs, memory).await {
            Some(Ok(memory)) => memory,
            Some(Err(reason)) => return Outcome::not_begun(Ended::Rejected, reason),
            None => return stopped(),
        };
        let files = asked.files.clone();
        let begun = self.transactions.begin(files, asked.isolation, origin);
        let transaction = match self.unless_stopped(runs, begun).await {
            Some(Ok(transaction)) => transaction,
            Some(Err(error)) => {
                let error = failed(&error, error.to_string());
                return Outcome::not_begun(error.ended(), error.to_string());
            }
            None => return stopped(),
        };
        let files = self.files(&transaction, (id.namespace, &asked.stores), origin);
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
        let Some(run) = self.unless_stopped(runs, run).await else {
            transaction.roll_back();
            // Whoever has it stopped is about to erase what it writes to.
            transaction.at_rest().await;
            return stopped();
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
    fn files(
        &self,
        transaction: &Rc<Transaction>,
        (namespace, stores): (NamespaceId, &[RegionId]),
        origin: Origin,
    ) -> Result<Rc<dyn Files>, Status> {
        let (has_data, cores) = (self.buffers.stores_data(), &self.cores);
        let marked = transaction.isolation().is_transaction();
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
            names: Names::new(parts, namespace, stores, marked, origin)?,
            has_data,
        }))
    }

    /// What a run may use, as it asked or as the drive has it.
    fn limits(&self, asked: &Limits) -> Result<Limits, String> {
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

    /// Does something unless the runs of a namespace are to stop: nothing of it is begun then, or it is left as it is.
    async fn unless_stopped<T>(&self, runs: &Runs, work: impl Future<Output = T>) -> Option<T> {
        let stopped = async {
            while !runs.stopping.get() {
                self.stops.next().await;
            }
        };
        match select(stopped, work).await {
            Either::Left(()) => None,
            Either::Right(done) => Some(done),
        }
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

/// How long a run that met a conflict waits before it is begun anew, doubled with each attempt.
const RETRY_WAIT: Span = Span::from_us(5);
/// After so many attempts the wait is not doubled any more: 5 ms.
const RETRY_DOUBLINGS_MAX: u32 = 10;

/// Why a run was stopped.
const STOPPED: &str = "all of its namespace is being erased";
