//! Streams: a file as the drive's tasks make it, piece by piece, while the host reads the beginning (TH-iSSD 3.2, Figure 4); or what
//! the host sends, on its way into a file.
//!
//! `input` has pieces on their way to the elements, `element` is an instance of the task that takes them and emits, `output` brings what
//! was emitted into order; `stages` has reading, computing and writing overlap, and ends them; `fed` takes what collectors (`collect`)
//! send; `notes` counts and traces what they do. All of it is one transaction, which sees the file as it was when the stream was opened:
//! who changes it meanwhile does not change the stream.

pub mod collect;
mod config;
mod element;
mod fed;
mod give_up;
mod input;
mod notes;
mod open;
mod output;
mod pipeline;
mod rest;
mod stages;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::task::{Ended, Outcome};
use nvme::{NamespaceId, Status};
use sim::resource::{Broadcast, Semaphore};
use sim::{Either, Sim, select};

use crate::backend::Backend;
use crate::memory::{Copier, DramMap};
use crate::part::Part;
use crate::programs::{InUse, ProgramId, Programs, RunRequest, failed};
use crate::schedule::Origin;
use crate::task::{Data, Tasks};
use crate::tx::Transactions;
pub use collect::{CollectorConfig, CollectorCounts, CollectorId, Collectors};
pub use config::StreamConfig;
pub use give_up::GiveUp;
use notes::Notes;
pub use notes::StreamCounts;
use open::Open;
use pipeline::{Ends, Pipeline};
use stages::{Parts, Stages};

/// Bytes that the memory of an element may grow by, if the stream asks for no limit.
const HEAP_BYTES: u64 = 1 << 20;

/// What names a stream: its namespace, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// The namespace of its files.
    pub namespace: NamespaceId,
    /// Its number; one that is closed is not used again in this life.
    pub number: u32,
}

/// What a stream is asked to be.
pub struct StreamRequest {
    /// The program, its files and arguments; retries are none.
    pub run: RunRequest,
    /// The file that is the input; else the host sends it, or a collector.
    pub input: Option<u32>,
    /// A collector sends the input.
    pub is_collected: bool,
    /// The file that takes the output; else the host fetches it.
    pub output: Option<u32>,
    /// Bytes of a piece; 0 is the drive's choice.
    pub piece_bytes: u32,
    /// Instances of the task; 0 is as many as the drive has cores for tasks and accelerators.
    pub elements: u32,
    /// Whether output has the order of the input.
    pub is_ordered: bool,
}

/// The streams of a drive.
pub struct Streams {
    sim: Sim,
    config: StreamConfig,
    copier: Copier,
    map: DramMap,
    programs: Rc<Programs>,
    tasks: Rc<Tasks>,
    transactions: Rc<Transactions>,
    /// Elements that have something to do at a time: each core, and each accelerator.
    at_once: u32,
    open: RefCell<BTreeMap<StreamId, Rc<Open>>>,
    next: Cell<u32>,
    /// Bytes of the memories of tasks that streams may have together: however long they wait for the host, runs have the others.
    memory_max: u64,
    /// Those that they have.
    memory: Cell<u64>,
    notes: Rc<Notes>,
}

/// What comes next of a stream's output.
#[derive(Debug)]
pub enum Fetched {
    /// These bytes, whose room is to be released.
    Data(Data),
    /// Nothing: it is over.
    Over(Outcome),
}

impl Streams {
    /// None is open.
    pub(crate) fn power_up(
        backend: &Backend,
        config: &StreamConfig,
        (programs, tasks, transactions): (Rc<Programs>, Rc<Tasks>, Rc<Transactions>),
    ) -> Rc<Streams> {
        Rc::new(Streams {
            sim: backend.sim.clone(),
            config: *config,
            copier: Copier::new(&backend.sim, &backend.dram),
            map: backend.dram_map,
            programs,
            tasks,
            transactions,
            at_once: backend.cores.for_tasks() + backend.accelerators.count(),
            open: RefCell::default(),
            next: Cell::new(1),
            memory_max: backend.dram_map.tasks.bytes() / 2,
            memory: Cell::new(0),
            notes: Rc::new(Notes::new(&backend.sim)),
        })
    }

    /// Opens a stream of an activated program in a namespace, which begins at once; what is wrong with what was asked is told at its end.
    ///
    /// # Errors
    /// No Program, Program Not Activated; Invalid Field for files that there are not, or pieces and elements beyond what the drive allows;
    /// Stream Limit Reached.
    pub fn open(
        self: &Rc<Streams>,
        (id, place): (ProgramId, NamespaceId),
        mut asked: StreamRequest,
        origin: Origin,
    ) -> Result<u32, Status> {
        let ends = self.ends_of(&asked)?;
        let piece_bytes = match asked.piece_bytes {
            0 => self.config.piece_bytes,
            asked => asked,
        };
        let program = self.programs.enter(id, asked.run.identifier)?;
        let each = self.memory_of(&program, &mut asked.run);
        let fitting = (self.memory_max - self.memory.get()) / each;
        let elements = match asked.elements {
            0 => u64::from(self.at_once.clamp(1, self.config.elements_max)).min(fitting.max(1)),
            asked => asked.into(),
        };
        let (memory, elements) = (elements * each, elements as u32);
        let is_possible = u64::from(piece_bytes) <= self.config.piece_bytes_max()
            && elements <= self.config.elements_max
            && asked.run.retries == 0;
        if !is_possible {
            return Err(Status::INVALID_FIELD);
        }
        let has_room = self.open.borrow().len() < self.config.streams_max as usize
            && memory <= self.memory_max - self.memory.get();
        if !has_room {
            return Err(Status::STREAM_LIMIT_REACHED);
        }
        self.memory.set(self.memory.get() + memory);
        self.notes.opened(self.config.elements_max);
        let pipeline = Rc::new(Pipeline::new(
            (&self.sim, &self.notes),
            (self.copier.clone(), self.map),
            self.config.half(),
            (ends, piece_bytes),
            (asked.is_ordered, elements),
        ));
        let stream = Rc::new(Open {
            pipeline,
            halted: Cell::new(false),
            outcome: RefCell::default(),
            changed: Broadcast::new(&self.sim),
            fetching: Semaphore::new(&self.sim, 1),
            sending: Semaphore::new(&self.sim, 1),
            sent: Cell::default(),
            filling: RefCell::default(),
            program: RefCell::new(Some(program)),
        });
        let number = self.next.get();
        self.next.set(number + 1);
        let key = StreamId {
            namespace: place,
            number,
        };
        self.open.borrow_mut().insert(key, stream.clone());
        let streams = self.clone();
        self.sim.spawn_detached(async move {
            let outcome = streams.live(&stream, place, asked, elements, origin);
            let outcome = outcome.await;
            streams.memory.set(streams.memory.get() - memory);
            stream.program.borrow_mut().take();
            streams.notes.ended(outcome.ended == Ended::Committed);
            *stream.outcome.borrow_mut() = Some(outcome);
            stream.pipeline.output.end();
            stream.changed.announce();
        });
        Ok(number)
    }

    /// Bytes of memory that an element has: what was asked for, else what the program begins with and a little more.
    fn memory_of(&self, program: &InUse, run: &mut RunRequest) -> u64 {
        let program = program.program();
        let least = program.memory_min();
        let limit = &mut run.limits.memory_bytes;
        if *limit == 0 {
            let most = self.tasks.limits().memory_bytes;
            *limit = (least + HEAP_BYTES).min(most).max(least);
        }
        (*limit).min(program.memory_max()).max(1)
    }

    /// # Errors
    /// Invalid Field if a file is none, may not be written, or is both.
    fn ends_of(&self, asked: &StreamRequest) -> Result<Ends, Status> {
        let file = |number: u32| asked.run.files.get(number as usize);
        let input_fits = asked
            .input
            .is_none_or(|number| file(number).is_some() && !asked.is_collected);
        let output_fits = asked.output.is_none_or(|number| {
            file(number).is_some_and(crate::tx::File::is_writable) && asked.input != Some(number)
        });
        match input_fits && output_fits {
            true => Ok(Ends {
                input: asked.input,
                is_collected: asked.is_collected,
                output: asked.output,
            }),
            false => Err(Status::INVALID_FIELD),
        }
    }

    async fn live(
        &self,
        stream: &Open,
        namespace: NamespaceId,
        asked: StreamRequest,
        elements: u32,
        origin: Origin,
    ) -> Outcome {
        let begun = self.sim.now();
        let stopped = Outcome::not_begun(Ended::Stopped, "it was closed before its end");
        let limits = match self.programs.limits(&asked.run.limits) {
            Ok(limits) => limits,
            Err(reason) => return Outcome::not_begun(Ended::Rejected, reason),
        };
        let program = stream.program.borrow().as_ref().map(InUse::program);
        let Some(program) = program else {
            return stopped;
        };
        let arguments: Rc<[u8]> = asked.run.arguments.into();
        let memory = self.tasks.reserve(&program, &arguments, limits);
        let memory = match stream.unless_halted(memory).await {
            Some(Ok(memory)) => memory,
            Some(Err(reason)) => return Outcome::not_begun(Ended::Rejected, reason),
            None => return stopped,
        };
        let files = asked.run.files;
        let begin = self.transactions.begin(files, asked.run.isolation, origin);
        let transaction = match stream.unless_halted(begin).await {
            Some(Ok(transaction)) => transaction,
            Some(Err(error)) => {
                let error = failed(&error, error.to_string());
                return Outcome::not_begun(error.ended(), error.to_string());
            }
            None => return stopped,
        };
        let files = (namespace, &asked.run.stores[..]);
        let Ok(files) = self.programs.files(&transaction, files, origin) else {
            let reason = "the namespace does not have all search regions of the stream";
            return Outcome::not_begun(Ended::Rejected, reason);
        };
        let stages = Stages::new(
            &self.sim,
            Parts {
                tasks: self.tasks.clone(),
                pipeline: stream.pipeline.clone(),
                transaction: transaction.clone(),
                files,
                program,
                arguments,
                limits,
                elements,
                origin,
            },
        );
        let mut outcome = match stream.unless_halted(stages.live(memory)).await {
            Some(outcome) => outcome,
            None => {
                transaction.roll_back();
                // Whoever has it stopped may be about to erase what it writes to.
                transaction.at_rest().await;
                stopped
            }
        };
        outcome.nanoseconds = self.sim.now().since(begun).whole_ns();
        outcome
    }

    /// # Errors
    /// No Such Stream.
    fn of(&self, id: StreamId) -> Result<Rc<Open>, Status> {
        let open = self.open.borrow();
        open.get(&id).cloned().ok_or(Status::NO_SUCH_STREAM)
    }

    /// Fetches what comes next of a stream's output: `most` bytes, unless the end comes before, or the host or a collector has to
    /// send more input first. `take` has the room of what it is given until it returns, call by call. Gives how many they were, or what became of the
    /// stream if none are left; neither where more has to be sent. `give_up` ends it while it waits: then it gives what it has.
    ///
    /// # Errors
    /// No Such Stream; what `take` reports; Command Abort Requested if it was given up and has nothing.
    pub async fn fetch(
        &self,
        id: StreamId,
        most: u64,
        give_up: &GiveUp,
        mut take: impl AsyncFnMut(u64, Data) -> Result<(), Status>,
    ) -> Result<(u64, Option<Outcome>), Status> {
        let stream = self.of(id)?;
        let _turn = give_up.unless_asked(stream.fetching.acquire(1)).await?;
        let waits_for_input = || {
            let input = &stream.pipeline.input;
            stream.pipeline.ends.input.is_none() && !input.has_end() && !stream.is_over()
        };
        if stream.pipeline.ends.output.is_some() {
            return match waits_for_input() {
                true => Ok((0, None)),
                false => Ok((0, Some(give_up.unless_asked(stream.over()).await?))),
            };
        }
        let output = &stream.pipeline.output;
        let mut fetched = 0;
        while fetched < most {
            let left = most - fetched;
            let next = async {
                let parts = output.take(left.min(output.at_once()), left);
                match waits_for_input() {
                    true => match select(parts, stream.pipeline.rest.quiet()).await {
                        Either::Left(parts) => Some(parts),
                        // What there is, though it be less.
                        Either::Right(()) => match output.available() {
                            0 => None,
                            _ => Some(output.take(1, left).await),
                        },
                    },
                    false => Some(parts.await),
                }
            };
            let parts = match give_up.unless_asked(next).await {
                Ok(Some(Some(parts))) => parts,
                Ok(Some(None)) => break,
                Ok(None) => return Ok((fetched, None)),
                Err(_) if fetched > 0 => return Ok((fetched, None)),
                Err(aborted) => return Err(aborted),
            };
            let data = Data::joined(parts);
            let bytes = u64::from(data.bytes());
            let taken = match stream.has_failed() {
                // What it made counts for nothing.
                true => Ok(()),
                false => take(fetched, data).await,
            };
            output.release(bytes);
            taken?;
            if !stream.has_failed() {
                fetched += bytes;
            }
        }
        match fetched {
            0 if most > 0 => Ok((0, Some(give_up.unless_asked(stream.over()).await?))),
            fetched => Ok((fetched, None)),
        }
    }

    /// Takes what the host sends as input: pieces of it as soon as there is room for them. `end` says that no more will come; if its
    /// output goes to a file this returns when the stream is over then. Gives how many bytes were taken: fewer where the host has to fetch
    /// output before there is room; and what became of the stream if it is over.
    ///
    /// # Errors
    /// No Such Stream; Command Sequence Error if its input is a file, or has ended.
    pub async fn send(
        &self,
        id: StreamId,
        data: Data,
        end: bool,
        origin: Origin,
    ) -> Result<(u32, Option<Outcome>), Status> {
        let stream = self.of(id)?;
        if !stream.pipeline.ends.is_of_host() || stream.pipeline.input.has_end() {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        }
        let _turn = stream.sending.acquire(1).await;
        let all = data.bytes();
        let taken = Cell::new(0);
        let sent = async {
            let mut rest = data;
            while rest.bytes() > 0 {
                let (piece, after) = rest.split(stream.pipeline.piece_bytes);
                rest = after;
                let bytes = piece.bytes();
                if !stream.put(piece, origin).await {
                    return;
                }
                taken.set(taken.get() + bytes);
            }
            if end {
                stream.pipeline.input.end(stream.sent.get().1);
                stream.pipeline.output.set_count(stream.sent.get().1);
            }
        };
        let over = async {
            while stream.outcome.borrow().is_none() {
                stream.changed.next().await;
            }
        };
        // Of what is over nobody makes room.
        select(over, sent).await;
        let ends = end && taken.get() == all && stream.pipeline.ends.output.is_some();
        let over = match ends || stream.is_over() {
            true => Some(stream.over().await),
            false => None,
        };
        Ok((taken.get(), over))
    }

    /// Closes a stream, which is stopped if it is not over: what it wrote is rolled back then. Gives what became of it.
    ///
    /// # Errors
    /// No Such Stream.
    pub async fn close(&self, id: StreamId) -> Result<Outcome, Status> {
        let stream = self.of(id)?;
        stream.halt();
        let outcome = stream.over().await;
        self.open.borrow_mut().remove(&id);
        Ok(outcome)
    }

    /// Stops and forgets the streams of a namespace; returns when nothing of them goes on.
    pub async fn stop(&self, namespace: NamespaceId) {
        let ids = || -> Vec<StreamId> {
            let open = self.open.borrow();
            let of = open.keys().filter(|id| id.namespace == namespace);
            of.copied().collect()
        };
        for id in ids() {
            // One that is gone by then is gone.
            let _ = self.close(id).await;
        }
    }

    /// Reads bytes of streams' buffers, on their way to the host.
    pub async fn give_to_host(&self, origin: Origin, bytes: u64) {
        self.copier
            .read(origin.requester(), bytes, self.map.streams)
            .await;
    }

    /// What streams have done.
    pub fn counts(&self) -> StreamCounts {
        self.notes.counts()
    }

    /// Streams that are open.
    pub fn open_streams(&self) -> Vec<StreamId> {
        self.open.borrow().keys().copied().collect()
    }
}

impl Part for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }
}
