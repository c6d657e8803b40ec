//! The stages of a stream, which overlap (TH-iSSD 3.2, Figure 4): pieces of its input are read, elements compute, and what they make
//! goes to the host or to a file.

use std::cell::RefCell;
use std::rc::Rc;

use nvme::task::{Ended, Outcome};
use sim::resource::{Broadcast, Semaphore};
use sim::{JoinHandle, Sim};

use super::element::Element;
use super::pipeline::Pipeline;
use crate::planted::{Bug, is_planted};
use crate::programs::{failed, told};
use crate::schedule::Origin;
use crate::task::{self, Data, Files, Limits, Program, Tasks};
use crate::tx::{Transaction, TxError};

/// Writes of output under way at a time.
const WRITES_AT_ONCE: u64 = 8;

/// What becomes of the stages.
#[derive(Default)]
struct Ending {
    /// Why the stream is over before its end.
    failure: Option<Outcome>,
    /// Elements that are still at work.
    working: u32,
    /// The output is all written, if it goes to a file.
    is_written: bool,
    cycles: u64,
    memory_bytes: u64,
    log: String,
    value: Vec<u8>,
}

/// Everything that a stream is lived through with.
pub(super) struct Stages {
    pub(super) sim: Sim,
    pub(super) tasks: Rc<Tasks>,
    pub(super) pipeline: Rc<Pipeline>,
    pub(super) transaction: Rc<Transaction>,
    pub(super) files: Rc<dyn Files>,
    pub(super) program: Rc<Program>,
    pub(super) arguments: Rc<[u8]>,
    pub(super) limits: Limits,
    pub(super) elements: u32,
    pub(super) origin: Origin,
    ending: RefCell<Ending>,
    changed: Broadcast,
}

/// Work of a stage; dropping it stops it.
struct Stage(JoinHandle<()>);

impl Drop for Stage {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a stream is made of.
pub(super) struct Parts {
    pub(super) tasks: Rc<Tasks>,
    pub(super) pipeline: Rc<Pipeline>,
    pub(super) transaction: Rc<Transaction>,
    pub(super) files: Rc<dyn Files>,
    pub(super) program: Rc<Program>,
    pub(super) arguments: Rc<[u8]>,
    pub(super) limits: Limits,
    pub(super) elements: u32,
    pub(super) origin: Origin,
}

impl Stages {
    pub(super) fn new(sim: &Sim, parts: Parts) -> Rc<Stages> {
        Rc::new(Stages {
            sim: sim.clone(),
            tasks: parts.tasks,
            pipeline: parts.pipeline,
            transaction: parts.transaction,
            files: parts.files,
            program: parts.program,
            arguments: parts.arguments,
            limits: parts.limits,
            elements: parts.elements,
            origin: parts.origin,
            ending: RefCell::new(Ending {
                working: parts.elements,
                ..Ending::default()
            }),
            changed: Broadcast::new(sim),
        })
    }

    /// Lives through the stream: all stages at once, until the last is over or one fails. What it wrote is committed then, or
    /// rolled back. The first element has `memory`; the others wait for theirs.
    pub(super) async fn live(self: &Rc<Stages>, memory: task::Reserved<'_>) -> Outcome {
        let mut stages: Vec<Stage> = Vec::new();
        let spawn =
            |stage: std::pin::Pin<Box<dyn Future<Output = ()>>>| Stage(self.sim.spawn(stage));
        if let Some(file) = self.pipeline.ends.input {
            stages.push(spawn(Box::pin(self.clone().read(file))));
        }
        if let Some(file) = self.pipeline.ends.output {
            stages.push(spawn(Box::pin(self.clone().write(file))));
        }
        for number in 1..self.elements {
            stages.push(spawn(Box::pin(self.clone().compute(number))));
        }
        let first = async {
            let run = self.element(0, Some(memory)).await;
            self.computed(run);
            while !self.is_over() {
                self.changed.next().await;
            }
        };
        let failed = async {
            while self.ending.borrow().failure.is_none() {
                self.changed.next().await;
            }
        };
        sim::select(failed, first).await;
        drop(stages);
        self.end().await
    }

    /// Whether nothing is left to do but to commit.
    fn is_over(&self) -> bool {
        let ending = self.ending.borrow();
        ending.working == 0 && (ending.is_written || self.pipeline.ends.output.is_none())
    }

    fn fail(&self, ended: Ended, reason: String) {
        let mut ending = self.ending.borrow_mut();
        let outcome = || Outcome::not_begun(ended, reason);
        ending.failure.get_or_insert_with(outcome);
        drop(ending);
        self.changed.announce();
    }

    fn fail_with(&self, error: &TxError) {
        let error = told(error, &self.transaction);
        self.fail(error.ended(), error.to_string());
    }

    async fn end(&self) -> Outcome {
        let failure = self.ending.borrow_mut().failure.take();
        let ended = match failure {
            Some(outcome) => {
                self.transaction.roll_back();
                self.transaction.at_rest().await;
                outcome
            }
            None => match self.transaction.commit().await {
                Ok(()) => Outcome::not_begun(Ended::Committed, ""),
                Err(error) => {
                    let error = failed(&error, error.to_string());
                    Outcome::not_begun(error.ended(), error.to_string())
                }
            },
        };
        let ending = self.ending.take();
        let mut outcome = ended;
        outcome.cycles = ending.cycles;
        outcome.memory_bytes = ending.memory_bytes;
        outcome.log = ending.log;
        outcome.attempts = 1;
        if outcome.ended == Ended::Committed {
            outcome.value = ending.value;
        }
        outcome
    }

    /// The first stage: the file, piece by piece, as far ahead as there is room.
    async fn read(self: Rc<Stages>, file: u32) {
        let pipeline = &self.pipeline;
        let bytes = self.transaction.files()[file as usize].bytes();
        let each = u64::from(pipeline.piece_bytes);
        let count = bytes.div_ceil(each);
        let mut reads: Vec<Stage> = Vec::new();
        for index in 0..count {
            let offset = index * each;
            let bytes = each.min(bytes - offset);
            pipeline.input.reserve(bytes).await;
            let read = self.clone().read_piece(file, index, (offset, bytes as u32));
            push(&mut reads, Stage(self.sim.spawn(read)));
        }
        pipeline.input.end(count);
        pipeline.output.set_count(count);
        for mut read in reads {
            (&mut read.0).await;
        }
    }

    async fn read_piece(self: Rc<Stages>, file: u32, index: u64, (offset, bytes): (u64, u32)) {
        let begun = self.sim.now();
        match self.transaction.read(file, offset, bytes).await {
            Ok(read) => {
                let requester = self.origin.requester();
                self.pipeline.take_in(requester, bytes).await;
                self.pipeline.notes.read(begun, bytes);
                let data = match self.files.has_data() {
                    true => Data::Bytes(read),
                    false => Data::Untold(bytes),
                };
                self.pipeline.input.put(index, offset, data);
            }
            Err(error) => self.fail_with(&error),
        }
    }

    /// The second stage: an instance of the task that takes pieces until there are none.
    async fn compute(self: Rc<Stages>, number: u32) {
        let run = self.element(number, None).await;
        self.computed(run);
    }

    async fn element(
        self: &Rc<Stages>,
        number: u32,
        memory: Option<task::Reserved<'_>>,
    ) -> task::Run {
        let requester = self.origin.requester();
        let (pipeline, files) = (self.pipeline.clone(), self.files.clone());
        let element = Rc::new(Element::new(pipeline, files, number, requester));
        let memory = match memory {
            Some(memory) => Ok(memory),
            None => {
                let reserved = self
                    .tasks
                    .reserve(&self.program, &self.arguments, self.limits);
                reserved.await
            }
        };
        let _working = self.pipeline.rest.work();
        let files: Rc<dyn Files> = element.clone();
        let (program, arguments) = (&self.program, &self.arguments);
        let run = match memory {
            Ok(memory) => {
                let run = self
                    .tasks
                    .run_in(memory, program, files, arguments, self.origin);
                run.await
            }
            Err(reason) => task::Run::rejected(reason),
        };
        if matches!(run.ended, task::Ended::Returned(_)) {
            element.over();
        }
        run
    }

    /// An element is over.
    fn computed(&self, run: task::Run) {
        let outcome = run.into_outcome();
        let mut ending = self.ending.borrow_mut();
        ending.working -= 1;
        ending.cycles += outcome.cycles;
        ending.memory_bytes += outcome.memory_bytes;
        let room = (self.limits.log_bytes as usize).saturating_sub(ending.log.len());
        let end = outcome.log.floor_char_boundary(room);
        ending.log.push_str(&outcome.log[..end]);
        if ending.value.is_empty() {
            ending.value.clone_from(&outcome.value);
        }
        let none_left = ending.working == 0;
        drop(ending);
        if outcome.ended != Ended::Committed {
            return self.fail(outcome.ended, outcome.reason);
        }
        if none_left {
            // Of pieces that nobody took nothing is made.
            self.pipeline.output.set_count(self.pipeline.input.begun());
            self.pipeline.output.end();
        }
        self.changed.announce();
    }

    /// The third stage, if the output goes to a file.
    async fn write(self: Rc<Stages>, file: u32) {
        let pipeline = &self.pipeline;
        let each = pipeline.output.at_once();
        let room = Rc::new(Semaphore::new(&self.sim, WRITES_AT_ONCE));
        let mut writes: Vec<Stage> = Vec::new();
        let mut offset = 0;
        while let Some(parts) = pipeline.output.take(each, each).await {
            room.acquire(1).await.keep();
            let data = Data::joined(parts);
            let bytes = data.bytes();
            let (stages, room) = (self.clone(), room.clone());
            let written = async move {
                stages.write_part(file, offset, data).await;
                room.release(1);
            };
            push(&mut writes, Stage(self.sim.spawn(written)));
            offset += u64::from(bytes);
        }
        for mut write in writes {
            (&mut write.0).await;
        }
        self.ending.borrow_mut().is_written = true;
        self.changed.announce();
    }

    async fn write_part(&self, file: u32, offset: u64, data: Data) {
        let begun = self.sim.now();
        let bytes = data.bytes();
        let known = data.known();
        let pipeline = &self.pipeline;
        pipeline.give_out(self.origin.requester(), bytes).await;
        let (count, known) = match is_planted(Bug::StreamLosesAHalf) {
            true => (bytes / 2, known.map(|known| &known[..bytes as usize / 2])),
            false => (bytes, known),
        };
        let written = self.transaction.write(file, offset, count, known).await;
        pipeline.output.release(bytes.into());
        pipeline.notes.written(begun, bytes);
        if let Err(error) = written {
            self.fail_with(&error);
        }
    }
}

/// Adds one to those that go on; who has finished leaves when there is no place any more.
fn push(running: &mut Vec<Stage>, stage: Stage) {
    if running.len() == running.capacity() {
        running.retain(|stage| !stage.0.is_finished());
        running.reserve(running.len() + 1);
    }
    running.push(stage);
}
