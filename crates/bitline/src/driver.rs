//! The NVMe driver of the in-process host: queue pairs in host memory, doorbells,
//! completions. It meets the drive only through queue entries, memory and
//! doorbells, as a driver on a PCIe bus would.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::task::Poll;

use device::frontend::{AdminQueues, Controller};
use device::port::HostPort;
use host::{Buffer, Error, Memory, Transport};
use nvme::command::{CreateCompletionQueue, CreateSubmissionQueue};
use nvme::{
    AdminCommand, CommandId, CompletionEntry, Cursor, HostMemory, QueueId, QueuePriority, Ring,
    Status, SubmissionEntry,
};
use sim::resource::Semaphore;
use sim::{Counter, Name, Sim, TaskId, Time, Track};
use zerocopy::{FromZeros, IntoBytes};

use crate::traced::Traced;

/// Entries of the admin queues.
const ADMIN_ENTRIES: u32 = 32;

/// A command slot of a queue pair, named by its command identifier.
#[derive(Clone, Copy)]
struct Pending {
    waiter: TaskId,
    completion: Option<Arrival>,
    /// Nobody awaits it any more: its identifier goes back when it completes.
    abandoned: bool,
    /// It is abandoned and the drive may still write to its data, so freed memory is held.
    holds_memory: bool,
}

/// A completion on its way over the link, or arrived.
#[derive(Clone, Copy)]
struct Arrival {
    entry: CompletionEntry,
    at: Time,
    /// The completion queue's head once this entry is consumed.
    head: u16,
    /// Rises with each completion that arrives.
    order: u64,
}

struct State {
    submission: Ring,
    completion: Cursor,
    pending: Vec<Pending>,
    free: Vec<u16>,
    /// The order of the last completion that arrived.
    arrived: u64,
    /// The order of the newest that was consumed: what older ones say of heads is out of date.
    consumed: u64,
}

/// A submission and a completion queue of the same number.
struct QueuePair {
    id: QueueId,
    submission_memory: Buffer,
    completion_memory: Buffer,
    state: RefCell<State>,
    /// Identifiers that are free and promised to nobody. Who finds none waits in line.
    room: Semaphore,
    /// Where a trace shows its commands, and how many are outstanding.
    lines: (Track, Counter),
}

/// The driver of one drive.
pub(crate) struct Driver {
    sim: Sim,
    memory: Memory,
    controller: OnceCell<Rc<Controller>>,
    admin: QueuePair,
    io: OnceCell<Vec<QueuePair>>,
    left: Left,
}

/// Commands that nobody awaits any more and the drive still carries out.
#[derive(Default)]
struct Left {
    count: Cell<u64>,
    /// Who waits until there are none.
    waiting: RefCell<Vec<TaskId>>,
}

impl Driver {
    /// A driver whose admin queues lie in fresh host memory.
    ///
    /// # Errors
    /// If host memory has no room.
    pub(crate) fn new(sim: &Sim) -> Result<Rc<Driver>, Error> {
        let memory: Memory = Rc::new(RefCell::new(HostMemory::new()));
        Ok(Rc::new(Driver {
            sim: sim.clone(),
            admin: QueuePair::new(sim, &memory, QueueId::new(0), ADMIN_ENTRIES)?,
            memory,
            controller: OnceCell::new(),
            io: OnceCell::new(),
            left: Left::default(),
        }))
    }

    /// Waits until the drive has carried out every command that nobody awaits any more: what they change is not known
    /// before.
    pub(crate) async fn nothing_left(&self) {
        std::future::poll_fn(|_| {
            if self.left.count.get() == 0 {
                return Poll::Ready(());
            }
            self.left.waiting.borrow_mut().push(self.sim.current());
            Poll::Pending
        })
        .await;
    }

    /// Where the controller finds the admin queues.
    pub(crate) fn admin_queues(&self) -> AdminQueues {
        AdminQueues {
            submission: self.admin.submission_memory.address(),
            completion: self.admin.completion_memory.address(),
            entries: ADMIN_ENTRIES,
        }
    }

    /// What the controller is given to reach this host.
    pub(crate) fn port(self: &Rc<Driver>) -> HostPort {
        let driver: Weak<Driver> = Rc::downgrade(self);
        HostPort {
            memory: self.memory.clone(),
            interrupt: Rc::new(move |queue, arrives| {
                if let Some(driver) = driver.upgrade() {
                    driver.interrupt(queue, arrives);
                }
            }),
        }
    }

    /// Connects to the controller and creates `pairs` I/O queue pairs of `entries` each, which
    /// have `priorities` in turn.
    ///
    /// # Errors
    /// What the drive reports.
    pub(crate) async fn connect(
        self: &Rc<Driver>,
        controller: Rc<Controller>,
        pairs: u16,
        entries: u32,
        priorities: &[QueuePriority],
    ) -> Result<(), Error> {
        let connected = self.controller.set(controller);
        assert!(connected.is_ok(), "a driver connects once");
        let mut io = Vec::with_capacity(usize::from(pairs));
        for number in 1..=pairs {
            let pair = QueuePair::new(&self.sim, &self.memory, QueueId::new(number), entries)?;
            let create = AdminCommand::CreateCompletionQueue(CreateCompletionQueue {
                queue: pair.id,
                size: entries,
                contiguous: true,
                interrupts: true,
                interrupt_vector: number,
                base: pair.completion_memory.address(),
            });
            self.create("create completion queue", create).await?;
            let create = AdminCommand::CreateSubmissionQueue(CreateSubmissionQueue {
                queue: pair.id,
                size: entries,
                contiguous: true,
                priority: priorities[usize::from(number - 1) % priorities.len()],
                completion_queue: pair.id,
                base: pair.submission_memory.address(),
            });
            self.create("create submission queue", create).await?;
            io.push(pair);
        }
        let created = self.io.set(io);
        assert!(created.is_ok(), "a driver connects once");
        Ok(())
    }

    async fn create(&self, command: &'static str, create: AdminCommand) -> Result<(), Error> {
        let completion = self
            .submit(Ok(&self.admin), &create.encode(CommandId::new(0)))
            .await?;
        match completion.status() {
            status if status.is_success() => Ok(()),
            status => Err(host::StatusError { command, status }.into()),
        }
    }

    /// Notes in a trace that begins now the commands that are outstanding already.
    pub(crate) fn trace_outstanding(&self) {
        let pairs = self.io.get().into_iter().flatten();
        pairs
            .filter(|pair| pair.state.borrow().free.len() < pair.state.borrow().pending.len())
            .for_each(|pair| pair.trace_outstanding(&self.sim));
    }

    /// Number of I/O queue pairs.
    pub(crate) fn queue_pairs(&self) -> usize {
        self.io.get().map_or(0, Vec::len)
    }

    fn controller(&self) -> Result<&Rc<Controller>, Error> {
        self.controller
            .get()
            .ok_or_else(|| Error::Transport("it was never connected".into()))
    }

    fn pair(&self, number: usize) -> Result<&QueuePair, Error> {
        let pairs = self
            .io
            .get()
            .ok_or_else(|| Error::Transport("it has no I/O queues".into()))?;
        pairs
            .get(number)
            .ok_or_else(|| Error::Usage(format!("there is no queue pair {number}")))
    }

    /// Puts an entry into a queue, if there is one, rings, and waits for its completion.
    #[inline]
    async fn submit(
        &self,
        pair: Result<&QueuePair, Error>,
        entry: &SubmissionEntry,
    ) -> Result<CompletionEntry, Error> {
        let (pair, controller) = (pair?, self.controller()?);
        let room = match pair.room.try_acquire(1) {
            Some(room) => room,
            None => pair.room.acquire(1).await,
        };
        let (id, slot, tail) = pair.claim().ok_or_else(|| {
            Error::Transport(
                "its heads leave no room for a command, though it has completed some".into(),
            )
        })?;
        // Given back with the identifier, when the completion is consumed.
        room.keep();
        let mut claim = Claim {
            pair,
            memory: &self.memory,
            left: &self.left,
            has_data: entry.data_pointer != [0; 16],
            id: Some(id),
        };
        let begin = self.sim.now();
        pair.trace_outstanding(&self.sim);
        let mut entry = *entry;
        entry.command_id.set(id);
        let address =
            pair.submission_memory.address() + u64::from(slot) * SubmissionEntry::BYTES as u64;
        nvme::Dma::write(&mut *self.memory.borrow_mut(), address, entry.as_bytes())?;
        let trace = self.sim.trace().announce(address);
        controller.ring_submission(pair.id, tail);
        let arrival = std::future::poll_fn(|_| {
            let pending = &mut pair.state.borrow_mut().pending[usize::from(id)];
            match pending.completion {
                Some(arrival) if arrival.at <= self.sim.now() => Poll::Ready(arrival),
                _ => {
                    pending.waiter = self.sim.current();
                    Poll::Pending
                }
            }
        })
        .await;
        claim.id = None;
        let is_newest = pair.consume(&mut pair.state.borrow_mut(), id, &arrival);
        if self.sim.trace().enabled() {
            let traced = Traced {
                queue: pair.id,
                entry: &entry,
                completion: &arrival.entry,
                trace,
            };
            pair.trace_command(&self.sim, &traced, begin);
        }
        if is_newest {
            controller.ring_completion(pair.id, arrival.head);
        }
        Ok(arrival.entry)
    }

    /// The controller has sent a completion, which arrives at `at`.
    fn interrupt(&self, queue: QueueId, at: Time) {
        let pair = match queue.get() {
            0 => &self.admin,
            number => match self.pair(usize::from(number) - 1) {
                Ok(pair) => pair,
                Err(_) => return,
            },
        };
        // One interrupt for each completion.
        if let Some(arrival) = self.next_completion(pair, at) {
            self.deliver(pair, arrival);
        }
    }

    /// The next entry of the completion queue, which arrives at `at`, if its phase says that it is new.
    #[inline]
    fn next_completion(&self, pair: &QueuePair, at: Time) -> Option<Arrival> {
        let state = &mut *pair.state.borrow_mut();
        let offset = u64::from(state.completion.index()) * CompletionEntry::BYTES as u64;
        let mut entry = CompletionEntry::new_zeroed();
        let address = pair.completion_memory.address() + offset;
        nvme::Dma::read(&*self.memory.borrow(), address, entry.as_mut_bytes()).ok()?;
        if entry.phase() != state.completion.phase() {
            return None;
        }
        state.completion.advance();
        state.arrived += 1;
        Some(Arrival {
            entry,
            at,
            head: state.completion.index(),
            order: state.arrived,
        })
    }

    #[inline]
    fn deliver(&self, pair: &QueuePair, arrival: Arrival) {
        let id = arrival.entry.command_id.get();
        let state = &mut *pair.state.borrow_mut();
        let Some(pending) = state.pending.get_mut(usize::from(id)) else {
            return;
        };
        pending.completion = Some(arrival);
        if std::mem::take(&mut pending.holds_memory) {
            self.memory.borrow_mut().let_go();
        }
        if pending.abandoned {
            self.left.count.set(self.left.count.get() - 1);
            if self.left.count.get() == 0 {
                let waiting = self.left.waiting.take();
                waiting
                    .into_iter()
                    .for_each(|task| self.sim.wake_at(arrival.at, task));
            }
            let controller = self.controller();
            let is_newest = pair.consume(state, id, &arrival);
            if let (Ok(controller), true) = (controller, is_newest) {
                controller.ring_completion(pair.id, arrival.head);
            }
        } else {
            self.sim.wake_at(arrival.at, pending.waiter);
        }
    }
}

impl QueuePair {
    fn new(sim: &Sim, memory: &Memory, id: QueueId, entries: u32) -> Result<QueuePair, Error> {
        let wrong_size = |_| {
            Error::Usage(format!(
                "a queue of {entries} entries: it must be 2 to 65536"
            ))
        };
        let submission = Ring::new(entries).map_err(wrong_size)?;
        let zeroed = vec![0; entries as usize * CompletionEntry::BYTES];
        Ok(QueuePair {
            id,
            submission_memory: Buffer::new(
                memory,
                u64::from(entries) * SubmissionEntry::BYTES as u64,
            )?,
            // Zeroed, so that no entry has the phase of a new one (Base 4.2.4).
            completion_memory: Buffer::holding(memory, &zeroed)?,
            state: RefCell::new(State {
                submission,
                completion: Cursor::new(entries).map_err(wrong_size)?,
                pending: vec![
                    Pending {
                        waiter: TaskId::NONE,
                        completion: None,
                        abandoned: false,
                        holds_memory: false,
                    };
                    entries as usize - 1
                ],
                free: (0..(entries - 1) as u16).rev().collect(),
                arrived: 0,
                consumed: 0,
            }),
            room: Semaphore::new(sim, u64::from(entries) - 1),
            lines: {
                let (name, trace) = (Name::numbered("queue pair", id.get().into()), sim.trace());
                let outstanding = trace.counter("queues", name.followed_by("outstanding"));
                (trace.overlapping_track("host", name), outstanding)
            },
        })
    }

    /// Notes in the trace how many commands are outstanding.
    #[inline]
    fn trace_outstanding(&self, sim: &Sim) {
        if sim.trace().enabled() {
            let state = self.state.borrow();
            let outstanding = state.pending.len() - state.free.len();
            sim.trace().count(self.lines.1, sim.now(), outstanding);
        }
    }

    /// Notes in the trace a command that was sent at `begin` and is complete.
    #[cold]
    fn trace_command(&self, sim: &Sim, traced: &Traced<'_>, begin: Time) {
        let (trace, track) = (sim.trace(), self.lines.0);
        trace.slice_with(track, traced.name(), begin, sim.now(), |args| {
            traced.tell(args);
        });
        self.trace_outstanding(sim);
    }

    /// A free command identifier, the slot of its entry and the tail after it.
    #[inline]
    fn claim(&self) -> Option<(u16, u16, u16)> {
        let state = &mut *self.state.borrow_mut();
        if state.submission.is_full() {
            return None;
        }
        let id = state.free.pop()?;
        let (slot, _) = state.submission.produce()?;
        Some((id, slot, state.submission.tail()))
    }

    /// The host has taken a completion: its identifier and the entries that the
    /// drive has fetched are free again. Says whether none that came later was taken before.
    #[inline]
    fn consume(&self, state: &mut State, id: u16, arrival: &Arrival) -> bool {
        let is_newest = arrival.order > state.consumed;
        if is_newest {
            state.consumed = arrival.order;
            // A head that makes no sense is not believed; the ring stays as it was.
            let moved = state.submission.set_head(arrival.entry.queue_head.get());
            debug_assert!(moved.is_ok(), "the drive reports a head beyond the tail");
        }
        let pending = &mut state.pending[usize::from(id)];
        pending.completion = None;
        pending.abandoned = false;
        state.free.push(id);
        self.room.release(1);
        is_newest
    }
}

/// A command under way. Dropping it before its completion leaves the command to
/// the drive, and its identifier taken until then; the buffers that its caller drops with it are
/// not used again before.
struct Claim<'a> {
    pair: &'a QueuePair,
    memory: &'a Memory,
    left: &'a Left,
    has_data: bool,
    id: Option<u16>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let state = &mut *self.pair.state.borrow_mut();
        match state.pending[usize::from(id)].completion {
            None => {
                let pending = &mut state.pending[usize::from(id)];
                (pending.abandoned, pending.holds_memory) = (true, self.has_data);
                self.left.count.set(self.left.count.get() + 1);
                if self.has_data {
                    self.memory.borrow_mut().hold();
                }
            }
            Some(arrival) => {
                self.pair.consume(state, id, &arrival);
            }
        }
    }
}

/// One queue pair of a driver, as the transport of the host library. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    driver: Rc<Driver>,
    pair: usize,
}

impl Queue {
    /// Queue pair `pair` of `driver`, counted from zero.
    ///
    /// # Errors
    /// If there is no such pair.
    pub(crate) fn new(driver: Rc<Driver>, pair: usize) -> Result<Queue, Error> {
        driver.pair(pair)?;
        Ok(Queue { driver, pair })
    }
}

impl Transport for Queue {
    fn memory(&self) -> &Memory {
        &self.driver.memory
    }

    async fn admin(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        self.driver.submit(Ok(&self.driver.admin), entry).await
    }

    // Not a future around a future: each costs at every poll.
    #[inline]
    fn io(&self, entry: &SubmissionEntry) -> impl Future<Output = Result<CompletionEntry, Error>> {
        self.driver.submit(self.driver.pair(self.pair), entry)
    }
}

/// Sends an entry as it is and gives the status: for tests of what the drive
/// makes of malformed commands.
///
/// # Errors
/// If the transport fails.
pub async fn send_raw(queue: &Queue, entry: SubmissionEntry) -> Result<Status, Error> {
    Ok(queue.io(&entry).await?.status())
}

/// As [`send_raw`], for the admin queue.
///
/// # Errors
/// If the transport fails.
pub async fn send_raw_admin(queue: &Queue, entry: SubmissionEntry) -> Result<Status, Error> {
    Ok(queue.admin(&entry).await?.status())
}
