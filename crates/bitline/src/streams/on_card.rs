//! Streams whose program a card in the host runs, to compare with: the host reads the input from the drive and sends it to the card,
//! fetches what that makes of it, and hands it out or writes it to the drive. Every byte crosses the links of both (the compute-centric
//! architecture of TH-iSSD, Figure 2(a)).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::Rc;

use host::Prioritized;
use host::block::BlockDevice;
use host::streams::{Fetched, StreamDevice};
use host::tasks::Loading;
use host::volume::{Object, VolumeError};
use nvme::task::{Ended, Outcome};
use sim::resource::Broadcast;
use sim::{JoinHandle, Time};

use super::StreamRun;
use super::in_drive::BYTES_PER_COMMAND;
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Held, Holder, Host};
use crate::tasks::{TaskRun, Used};

/// A stream of a card that is open.
pub(super) struct OnCard {
    host: Host,
    /// The drive, whose commands have the stream's priority.
    block: BlockDevice<Prioritized<Queue>>,
    card: StreamDevice<Queue>,
    /// Its number on the card.
    number: u32,
    begun: Time,
    /// Whether the caller sends the input, and not the host from a file.
    is_fed: bool,
    output: Option<Object>,
    /// That objects that it works on stay where they are.
    held: Cell<Option<Held>>,
    /// What was fetched, and neither read nor written to the drive.
    made: RefCell<Vec<u8>>,
    /// Bytes written to the output's file.
    written: Cell<u64>,
    /// Commands of either kind that are over.
    sendings: Cell<u64>,
    fetchings: Cell<u64>,
    /// The card has nothing more to give before more is sent.
    is_idle: Cell<bool>,
    /// Nobody reads while this is waited for.
    is_awaited: Cell<bool>,
    ended: RefCell<Option<Outcome>>,
    is_closed: Cell<bool>,
    /// Announced when any of this changes.
    changed: Broadcast,
    jobs: RefCell<Vec<Job<()>>>,
    /// Writes of output to the drive that may not be over.
    writes: RefCell<VecDeque<Job<Result<(), Error>>>>,
}

/// One as its caller has it. Dropping it closes it, as soon as time passes.
pub(super) struct Handle(Rc<OnCard>);

/// Work that goes on by itself; dropping it stops it.
struct Job<T>(JoinHandle<T>);

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// As [`super::Streams::open_on_card`].
pub(super) async fn open(host: &Host, module: &[u8], asked: &StreamRun) -> Result<Handle, Error> {
    let (run, shape) = (&asked.run, asked.shape);
    check(asked)?;
    let (used, using) = host.use_objects(run).await?;
    let object = |number: u32| used.files[number as usize].clone();
    let (input, output) = (shape.input.map(object), shape.output.map(object));
    let card = host.card.host().await?;
    let program = card.load_program(module, Loading::default()).await?;
    let there = TaskRun {
        files: Vec::new(),
        ..run.clone()
    };
    let mut shape = shape;
    (shape.input, shape.output) = (None, None);
    let request = card.request_of(&program, &there, &Used::default()).await?;
    let owner = card.program_owner().await?;
    let device = StreamDevice::new(card.block.clone()).with_programs_of(owner);
    let number = device.open(program.index, &request, shape).await?;
    let objects = input.iter().chain(&output);
    let held = host.mount.uses.hold(objects, Holder::CardStream(number));
    drop(using);
    let stream = Rc::new(OnCard {
        host: host.clone(),
        block: host.block.clone().with_priority(run.priority),
        card: device,
        number,
        begun: host.sim.now(),
        is_fed: input.is_none(),
        output,
        held: Cell::new(Some(held)),
        made: RefCell::default(),
        written: Cell::new(0),
        sendings: Cell::new(0),
        fetchings: Cell::new(0),
        is_idle: Cell::new(false),
        is_awaited: Cell::new(false),
        ended: RefCell::default(),
        is_closed: Cell::new(false),
        changed: Broadcast::new(&host.sim),
        jobs: RefCell::default(),
        writes: RefCell::default(),
    });
    let piece_bytes = match shape.piece_bytes {
        0 => host.card.piece_bytes(),
        asked => asked,
    };
    if let Some(object) = input {
        stream.begin(stream.clone().feed(object, piece_bytes.into()));
    }
    stream.begin(stream.clone().fetch());
    Ok(Handle(stream))
}

/// # Errors
/// What a card cannot do.
fn check(asked: &StreamRun) -> Result<(), Error> {
    let (run, shape) = (&asked.run, asked.shape);
    let refused = |text: &str| Err(Error::usage(text));
    if shape.collector.is_some() {
        return refused(
            "a card has no ports: have the collector's data written to an object first",
        );
    }
    if !run.stores.is_empty() {
        return refused("a card has no stores: its program cannot look names up");
    }
    let ends = [shape.input, shape.output];
    let files = run.files.len() as u32;
    if ends.iter().flatten().any(|number| *number >= files) {
        return refused("the input or output of a stream is a file that it does not have");
    }
    if shape.input.is_some() && shape.input == shape.output {
        return refused("the input of a stream is its output");
    }
    if (0..files).any(|number| !ends.contains(&Some(number))) {
        return refused("a card has no files: its program sees its input, and nothing else");
    }
    let output = shape.output.map(|number| &run.files[number as usize]);
    match output {
        Some(file) if !file.writable => refused("the output of a stream is a file to be read only"),
        _ => Ok(()),
    }
}

impl Deref for Handle {
    type Target = OnCard;

    fn deref(&self) -> &OnCard {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let stream = self.0.clone();
        if !stream.is_closed.get() {
            let sim = stream.host.sim.clone();
            sim.spawn_detached(async move {
                // Nobody is left to hear of it.
                let _ = stream.close().await;
            });
        }
    }
}

impl OnCard {
    fn begin(&self, work: impl Future<Output = ()> + 'static) {
        let job = Job(self.host.sim.spawn(work));
        self.jobs.borrow_mut().push(job);
    }

    /// What became of it, if that is known.
    pub(super) fn known_outcome(&self) -> Option<Outcome> {
        self.ended.borrow().clone()
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    fn is_over(&self) -> bool {
        self.ended.borrow().is_some()
    }

    fn end(&self, mut outcome: Outcome) {
        outcome.nanoseconds = self.host.sim.now().since(self.begun).whole_ns();
        if outcome.ended == Ended::Committed {
            self.held.take();
        }
        self.ended.borrow_mut().get_or_insert(outcome);
        self.changed.announce();
    }

    fn fail(&self, error: &Error) {
        self.end(Outcome::not_begun(Ended::Faulted, error.to_string()));
    }

    /// Reads the input from the drive, several pieces ahead of the card, and sends it there.
    async fn feed(self: Rc<Self>, object: Object, piece_bytes: u64) {
        let (all, most) = (object.content.bytes(), self.host.card.config().pieces);
        let mut coming: VecDeque<Job<Result<Vec<u8>, Error>>> = VecDeque::new();
        let mut offset = 0;
        loop {
            while coming.len() < most as usize && offset < all {
                let bytes = piece_bytes.min(all - offset);
                let read = read(self.clone(), object.clone(), (offset, bytes));
                coming.push_back(Job(self.host.sim.spawn(read)));
                offset += bytes;
            }
            let piece = match coming.pop_front() {
                Some(mut piece) => (&mut piece.0).await,
                None => Ok(Vec::new()),
            };
            let is_last = coming.is_empty() && offset == all;
            let sent = match piece {
                Ok(piece) => self.send(&piece, is_last).await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(false) if !is_last => {}
                Ok(_) => return,
                Err(error) => return self.fail(&error),
            }
        }
    }

    /// Sends input to the card, and whether no more will come; whether the stream is over.
    async fn send(&self, data: &[u8], end: bool) -> Result<bool, Error> {
        let machine = &self.host.machine;
        let mut rest = data;
        loop {
            machine.kernel(machine.config().request_ns).await;
            machine.memory_moves(rest.len() as u64);
            let fetchings = self.fetchings.get();
            self.is_idle.set(false);
            let (taken, is_over) = self.card.write(self.number, rest, end).await?;
            self.sendings.set(self.sendings.get() + 1);
            self.changed.announce();
            rest = &rest[taken..];
            if is_over || rest.is_empty() {
                return Ok(is_over);
            }
            // There is room when some of what was made is here.
            while self.fetchings.get() == fetchings && !self.is_over() {
                self.changed.next().await;
            }
            if self.is_over() {
                return Ok(true);
            }
        }
    }

    /// Fetches what the card makes until its end, and writes it to the drive if it goes there.
    async fn fetch(self: Rc<Self>) {
        match self.fetch_all().await {
            Ok(outcome) => self.end(outcome),
            Err(error) => self.fail(&error),
        }
    }

    async fn fetch_all(&self) -> Result<Outcome, Error> {
        let machine = &self.host.machine;
        let most = BYTES_PER_COMMAND.min(self.block.bytes_per_command()) as u32;
        loop {
            let sendings = self.sendings.get();
            machine.kernel(machine.config().request_ns).await;
            match self.card.read(self.number, most).await? {
                Fetched::Data(data) if data.is_empty() => {
                    self.is_idle.set(self.sendings.get() == sendings);
                    self.changed.announce();
                    while self.sendings.get() == sendings {
                        self.changed.next().await;
                    }
                }
                Fetched::Data(data) => {
                    machine.memory_moves(data.len() as u64);
                    self.made.borrow_mut().extend(data);
                    self.fetchings.set(self.fetchings.get() + 1);
                    self.changed.announce();
                    match &self.output {
                        Some(object) => self.write_behind(object).await?,
                        None => self.read_by_then().await,
                    }
                }
                Fetched::Over(outcome) => {
                    if let Some(object) = &self.output {
                        self.write_rest(object).await?;
                    }
                    return Ok(outcome);
                }
            }
        }
    }

    /// Waits where more was made than the host's memory is to hold.
    async fn read_by_then(&self) {
        let most = self.host.card.config().output_bytes;
        let may_wait = || !self.is_fed && !self.is_awaited.get();
        while may_wait() && self.made.borrow().len() as u64 >= most {
            self.changed.next().await;
        }
    }

    /// Writes whole stretches of what was made.
    async fn write_behind(&self, object: &Object) -> Result<(), Error> {
        let stretch = self.host.machine.config().write_behind_bytes as usize;
        while self.made.borrow().len() >= stretch {
            let rest = self.made.borrow_mut().split_off(stretch);
            let whole = self.made.replace(rest);
            self.write(object, whole).await?;
        }
        Ok(())
    }

    async fn write_rest(&self, object: &Object) -> Result<(), Error> {
        let rest = self.made.take();
        if !rest.is_empty() {
            self.write(object, rest).await?;
        }
        self.written_but_for(0).await?;
        Ok(self.block.flush().await?)
    }

    /// Has bytes written while the card goes on.
    async fn write(&self, object: &Object, data: Vec<u8>) -> Result<(), Error> {
        let machine = &self.host.machine;
        machine.kernel(machine.config().request_ns).await;
        machine.memory_moves(data.len() as u64);
        let offset = self.written.get();
        self.written.set(offset + data.len() as u64);
        let (object, block) = (object.clone(), self.block.clone());
        let write = async move { Ok(object.write(&block, offset, &data).await?) };
        let job = Job(self.host.sim.spawn(write));
        self.writes.borrow_mut().push_back(job);
        let most = self.host.card.config().pieces;
        self.written_but_for(most as usize - 1).await
    }

    /// Waits until no more than so many writes are under way.
    async fn written_but_for(&self, most: usize) -> Result<(), Error> {
        while self.writes.borrow().len() > most {
            let Some(mut first) = self.writes.borrow_mut().pop_front() else {
                break;
            };
            (&mut first.0).await?;
        }
        Ok(())
    }

    /// As [`super::Streams::read`].
    pub(super) async fn read(&self, host: &Host, bytes: u64) -> Result<Vec<u8>, Error> {
        self.check(host)?;
        let wants = |there: usize| (there as u64) < bytes && !self.is_over();
        let may_come = || !(self.is_fed && self.is_idle.get());
        while wants(self.made.borrow().len()) && may_come() {
            self.changed.next().await;
        }
        if self.output.is_some() {
            self.check_outcome()?;
            return Ok(Vec::new());
        }
        let there = self.made.borrow().len().min(bytes as usize);
        if there == 0 {
            self.check_outcome()?;
        }
        let rest = self.made.borrow_mut().split_off(there);
        let read = self.made.replace(rest);
        self.changed.announce();
        Ok(read)
    }

    /// As [`super::Streams::write`], and [`super::Streams::finish`] at the end.
    pub(super) async fn put(&self, host: &Host, data: &[u8], end: bool) -> Result<(), Error> {
        self.check(host)?;
        if !self.is_fed {
            let text = "the input of the stream is a file";
            return Err(Error::usage(text));
        }
        self.check_outcome()?;
        let is_over = self.send(data, end).await?;
        if end && self.output.is_some() || is_over {
            self.outcome(host).await?;
        }
        Ok(())
    }

    /// As [`super::Streams::outcome`].
    pub(super) async fn outcome(&self, host: &Host) -> Result<Outcome, Error> {
        self.check_life(host)?;
        self.is_awaited.set(true);
        self.changed.announce();
        while !self.is_over() {
            if self.is_fed && self.is_idle.get() {
                self.is_awaited.set(false);
                let text = "the stream is not over: say first that no more will be written";
                return Err(Error::usage(text));
            }
            self.changed.next().await;
        }
        self.check_outcome()?;
        self.known_outcome()
            .ok_or(Error::Pending("the stream has no outcome"))
    }

    /// As [`super::Streams::close`].
    pub(super) async fn close(&self) -> Result<(), Error> {
        if self.is_closed.replace(true) {
            return Ok(());
        }
        self.jobs.take();
        self.writes.take();
        let closed = self.card.close(self.number).await;
        self.held.take();
        Ok(closed?)
    }

    /// Whether it is of the same life of the drive as this host.
    pub(super) fn is_of(&self, host: &Host) -> bool {
        Rc::ptr_eq(&self.host.driver, &host.driver)
    }

    fn check(&self, host: &Host) -> Result<(), Error> {
        match self.is_closed.get() {
            true => Err(Error::usage("the stream is closed")),
            false => self.check_life(host),
        }
    }

    fn check_life(&self, host: &Host) -> Result<(), Error> {
        match self.is_of(host) {
            true => Ok(()),
            false => Err(Error::PowerLost),
        }
    }

    fn check_outcome(&self) -> Result<(), Error> {
        match &*self.ended.borrow() {
            Some(outcome) if outcome.ended != Ended::Committed => {
                Err(Error::Stream(Box::new(outcome.clone())))
            }
            _ => Ok(()),
        }
    }
}

async fn read(
    stream: Rc<OnCard>,
    object: Object,
    (offset, bytes): (u64, u64),
) -> Result<Vec<u8>, Error> {
    let machine = &stream.host.machine;
    machine.kernel(machine.config().request_ns).await;
    machine.memory_moves(bytes);
    let data: Result<Vec<u8>, VolumeError> = object.read(&stream.block, offset, bytes).await;
    machine.kernel(machine.config().wake_ns).await;
    Ok(data?)
}
