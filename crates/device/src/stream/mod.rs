//! Streams: a file as the drive's tasks make it, piece by piece, while the host reads the beginning (TH-iSSD 3.2, Figure 4); or what
//! the host sends, on its way into a file.
//!
//! `input` has pieces on their way to the elements, `element` is an instance of the task that takes them and emits, `output` brings what
//! was emitted into order; `stages` has reading, computing and writing overlap, and ends them. All of it is one transaction, which sees the file as
//! it was when the stream was opened: who changes it meanwhile does not change the stream.

mod config;
mod element;
mod input;
mod output;
mod pipeline;
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
pub use config::StreamConfig;
use pipeline::{Ends, Pipeline, whole};
use stages::{Parts, Stages};

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
    /// The file that is the input; else the host sends it.
    pub input: Option<u32>,
    /// The file that takes the output; else the host fetches it.
    pub output: Option<u32>,
    /// Bytes of a piece; 0 is the drive's choice.
    pub piece_bytes: u32,
    /// Instances of the task; 0 is as many as the drive has cores for tasks.
    pub elements: u32,
    /// Whether output has the order of the input.
    pub is_ordered: bool,
}

/// A stream that is open.
struct Open {
    pipeline: Rc<Pipeline>,
    /// It is to stop.
    halted: Cell<bool>,
    /// What became of it, once it is over.
    outcome: RefCell<Option<Outcome>>,
    /// Announced when either changes.
    changed: Broadcast,
    /// One command after another has what goes out, and another what comes in.
    fetching: Semaphore,
    sending: Semaphore,
    /// Bytes that the host has sent, and pieces of these.
    sent: Cell<(u64, u64)>,
    /// The program, until the stream is over.
    program: RefCell<Option<InUse>>,
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
    cores: u32,
    open: RefCell<BTreeMap<StreamId, Rc<Open>>>,
    next: Cell<u32>,
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
            cores: backend.cores.for_tasks(),
            open: RefCell::default(),
            next: Cell::new(1),
        })
    }

    /// Opens a stream of an activated program, which begins at once; what is wrong with what was asked is told at its end.
    ///
    /// # Errors
    /// No Program, Program Not Activated; Invalid Field for files that there are not, or pieces and elements beyond what the drive allows;
    /// Stream Limit Reached.
    pub fn open(
        self: &Rc<Streams>,
        id: ProgramId,
        asked: StreamRequest,
        origin: Origin,
    ) -> Result<u32, Status> {
        let ends = self.ends_of(&asked)?;
        let piece_bytes = match asked.piece_bytes {
            0 => self.config.piece_bytes,
            asked => asked,
        };
        let elements = match asked.elements {
            0 => self.cores.clamp(1, self.config.elements_max),
            asked => asked,
        };
        let is_possible = u64::from(piece_bytes) <= self.config.piece_bytes_max()
            && elements <= self.config.elements_max
            && asked.run.retries == 0;
        if !is_possible {
            return Err(Status::INVALID_FIELD);
        }
        if self.open.borrow().len() >= self.config.streams_max as usize {
            return Err(Status::STREAM_LIMIT_REACHED);
        }
        let program = self.programs.enter(id, asked.run.identifier)?;
        let pipeline = Rc::new(Pipeline::new(
            &self.sim,
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
            program: RefCell::new(Some(program)),
        });
        let number = self.next.get();
        self.next.set(number + 1);
        let key = StreamId {
            namespace: id.namespace,
            number,
        };
        self.open.borrow_mut().insert(key, stream.clone());
        let streams = self.clone();
        self.sim.spawn_detached(async move {
            let outcome = streams.live(&stream, id.namespace, asked, elements, origin);
            let outcome = outcome.await;
            stream.program.borrow_mut().take();
            *stream.outcome.borrow_mut() = Some(outcome);
            stream.pipeline.output.end();
            stream.changed.announce();
        });
        Ok(number)
    }

    /// # Errors
    /// Invalid Field if a file is none, may not be written, or is both.
    fn ends_of(&self, asked: &StreamRequest) -> Result<Ends, Status> {
        let file = |number: u32| asked.run.files.get(number as usize);
        let input_fits = asked.input.is_none_or(|number| file(number).is_some());
        let output_fits = asked.output.is_none_or(|number| {
            file(number).is_some_and(crate::tx::File::is_writable) && asked.input != Some(number)
        });
        match input_fits && output_fits {
            true => Ok(Ends {
                input: asked.input,
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
        outcome.nanoseconds = self.sim.now().since(begun).as_ps() / 1000;
        outcome
    }

    /// # Errors
    /// No Such Stream.
    fn of(&self, id: StreamId) -> Result<Rc<Open>, Status> {
        let open = self.open.borrow();
        open.get(&id).cloned().ok_or(Status::NO_SUCH_STREAM)
    }

    /// Fetches what comes next of a stream's output, as soon as there is something: `most` bytes at most, in `take`, which has their
    /// room until it returns, call by call; gives how many they were, or what became of the stream if none are left.
    ///
    /// # Errors
    /// No Such Stream; Command Sequence Error if its output goes to a file and it is not over; what `take` reports.
    pub async fn fetch(
        &self,
        id: StreamId,
        most: u64,
        mut take: impl AsyncFnMut(u64, Data) -> Result<(), Status>,
    ) -> Result<(u64, Option<Outcome>), Status> {
        let stream = self.of(id)?;
        let _turn = stream.fetching.acquire(1).await;
        if stream.pipeline.ends.output.is_some() {
            return Ok((0, Some(stream.over().await)));
        }
        let output = &stream.pipeline.output;
        let mut fetched = 0;
        while fetched < most {
            let left = most - fetched;
            let Some(parts) = output.take(left.min(output.at_once()), left).await else {
                break;
            };
            let data = whole(parts);
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
            0 if most > 0 => Ok((0, Some(stream.over().await))),
            fetched => Ok((fetched, None)),
        }
    }

    /// Takes what the host sends as input: pieces of it as soon as there is room for them. `end` says that no more will come; this
    /// returns when the stream is over then. Gives what became of the stream if it is.
    ///
    /// # Errors
    /// No Such Stream; Command Sequence Error if its input is a file, or has ended.
    pub async fn send(
        &self,
        id: StreamId,
        data: Data,
        end: bool,
        origin: Origin,
    ) -> Result<Option<Outcome>, Status> {
        let stream = self.of(id)?;
        if stream.pipeline.ends.input.is_some() {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        }
        let _turn = stream.sending.acquire(1).await;
        let sent = async {
            let mut rest = data;
            while rest.bytes() > 0 {
                let (piece, after) = rest.split(stream.pipeline.piece_bytes);
                rest = after;
                stream.put(piece, origin).await;
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
        let is_over = stream.outcome.borrow().is_some();
        match end && stream.pipeline.ends.output.is_some() || is_over {
            true => Ok(Some(stream.over().await)),
            false => Ok(None),
        }
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

    /// Streams that are open.
    pub fn count(&self) -> usize {
        self.open.borrow().len()
    }
}

impl Open {
    fn halt(&self) {
        self.halted.set(true);
        self.changed.announce();
    }

    /// Does something unless the stream is to stop.
    async fn unless_halted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let halted = async {
            while !self.halted.get() {
                self.changed.next().await;
            }
        };
        match select(halted, work).await {
            Either::Left(()) => None,
            Either::Right(done) => Some(done),
        }
    }

    /// What became of it, once it is over.
    async fn over(&self) -> Outcome {
        loop {
            if let Some(outcome) = &*self.outcome.borrow() {
                return outcome.clone();
            }
            self.changed.next().await;
        }
    }

    /// Whether it is over and has not ended well.
    fn has_failed(&self) -> bool {
        let outcome = self.outcome.borrow();
        outcome
            .as_ref()
            .is_some_and(|outcome| outcome.ended != Ended::Committed)
    }

    /// Puts a piece that the host has sent into the input.
    async fn put(&self, piece: Data, origin: Origin) {
        let bytes = u64::from(piece.bytes());
        self.pipeline.input.reserve(bytes).await;
        let requester = origin.requester();
        self.pipeline.take_in(requester, piece.bytes()).await;
        let (offset, index) = self.sent.get();
        self.sent.set((offset + bytes, index + 1));
        self.pipeline.input.put(index, offset, piece);
    }
}

impl Part for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }
}
