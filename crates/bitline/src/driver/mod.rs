//! The NVMe driver of the in-process host: queue pairs in host memory, doorbells,
//! completions. It meets the drive only through queue entries, memory and
//! doorbells, as a driver on a PCIe bus would.

mod claim;
mod controller;
mod fabric;
mod far;
mod pair;
mod queue;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::task::Poll;

use device::frontend::AdminQueues;
use device::port::HostPort;
use host::{Error, Memory};
use nvme::command::{Abort, CreateCompletionQueue, CreateSubmissionQueue};
use nvme::{
    AdminCommand, CommandId, CommandSet, CompletionEntry, HostMemory, NamespaceId, QueueId,
    QueuePriority, SubmissionEntry,
};
use sim::{Sim, Time};
use zerocopy::{FromZeros, IntoBytes};

pub(crate) use self::controller::Controller;
pub use self::fabric::{Capsule, Fabric, Response};
pub(crate) use self::far::Far;
pub use self::queue::{Queue, send_raw, send_raw_admin};

use self::claim::{Claim, Left};
use self::pair::{Arrival, QueuePair};
use crate::traced::Traced;

/// Entries of the admin queues.
const ADMIN_ENTRIES: u32 = 32;

/// The driver of one drive.
pub(crate) struct Driver {
    sim: Sim,
    memory: Memory,
    controller: OnceCell<Controller>,
    admin: QueuePair,
    io: OnceCell<Vec<QueuePair>>,
    left: Left,
    /// The priority of commands that are given none.
    priority: Rc<Cell<u32>>,
}

impl Driver {
    /// A driver whose admin queues lie in fresh host memory. I/O commands that are given no priority have that one.
    ///
    /// # Errors
    /// If host memory has no room.
    pub(crate) fn new(sim: &Sim, priority: &Rc<Cell<u32>>) -> Result<Rc<Driver>, Error> {
        let memory: Memory = Rc::new(RefCell::new(HostMemory::new()));
        Ok(Rc::new(Driver {
            sim: sim.clone(),
            admin: QueuePair::new(sim, &memory, QueueId::new(0), ADMIN_ENTRIES)?,
            memory,
            controller: OnceCell::new(),
            io: OnceCell::new(),
            left: Left::new(sim),
            priority: priority.clone(),
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

    /// Connects to the controller, so that admin commands reach it.
    pub(crate) fn connect(&self, controller: Controller) {
        let connected = self.controller.set(controller);
        assert!(connected.is_ok(), "a driver connects once");
    }

    /// Creates `pairs` I/O queue pairs of `entries` each, which have `priorities` in turn.
    ///
    /// # Errors
    /// What the drive reports.
    pub(crate) async fn create_pairs(
        self: &Rc<Driver>,
        pairs: u16,
        entries: u32,
        priorities: &[QueuePriority],
    ) -> Result<(), Error> {
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
        assert!(created.is_ok(), "a driver has its queues made once");
        self.sim.spawn_detached(self.clone().abort_runs());
        Ok(())
    }

    /// Aborts runs of programs and stream reads that nobody awaits any more, for ever.
    async fn abort_runs(self: Rc<Driver>) {
        loop {
            self.left.runs_left.heard().await;
            loop {
                let next = self.left.runs.borrow_mut().pop();
                let Some((queue, command)) = next else { break };
                self.abort_run(queue, command).await;
            }
        }
    }

    async fn abort_run(&self, queue: u16, command: u16) {
        let Ok(pair) = self.pair(usize::from(queue) - 1) else {
            return;
        };
        let set_aborted = |is_aborted| {
            let pending = &mut pair.state.borrow_mut().pending[usize::from(command)];
            pending.is_aborted = is_aborted;
            (pending.abandoned, pending.completion)
        };
        if !set_aborted(true).0 {
            set_aborted(false);
            return;
        }
        let abort = AdminCommand::Abort(Abort {
            queue: pair.id,
            command: CommandId::new(command),
        });
        // Whether it came in time is of no interest: the run is over either way.
        let _ = self
            .submit(Ok(&self.admin), &abort.encode(CommandId::new(0)))
            .await;
        if let (_, Some(arrival)) = set_aborted(false) {
            self.end_abandoned(pair, &arrival);
        }
    }

    async fn create(&self, command: &'static str, create: AdminCommand) -> Result<(), Error> {
        let completion = self
            .submit(Ok(&self.admin), &create.encode(CommandId::new(0)))
            .await?;
        Error::check(command, completion.status())
    }

    /// Notes in a trace that begins now the commands that are outstanding already.
    pub(crate) fn trace_outstanding(&self) {
        let pairs = self.io.get().into_iter().flatten();
        pairs
            .filter(|pair| pair.state.borrow().free.len() < pair.state.borrow().pending.len())
            .for_each(|pair| pair.trace_outstanding(&self.sim));
    }

    /// The namespaces of other command sets than NVM.
    pub(crate) fn other_sets(&self) -> Vec<(NamespaceId, CommandSet)> {
        self.controller
            .get()
            .map_or_else(Vec::new, Controller::other_sets)
    }

    /// Number of I/O queue pairs.
    pub(crate) fn queue_pairs(&self) -> usize {
        self.io.get().map_or(0, Vec::len)
    }

    fn controller(&self) -> Result<&Controller, Error> {
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
        let set = controller.set_of(pair.id, entry.namespace());
        let mut claim = Claim {
            pair,
            memory: &self.memory,
            left: &self.left,
            has_data: entry.data_pointer != [0; 16],
            may_last: set.may_last(entry.opcode),
            id: Some(id),
        };
        let begin = self.sim.now();
        pair.trace_outstanding(&self.sim);
        let mut entry = *entry;
        entry.command_id.set(id);
        let priority = self.priority.get();
        if priority > 0 && set == CommandSet::Nvm && entry.given_priority() == 0 {
            entry.give_priority(priority);
        }
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
                set,
                entry: &entry,
                completion: &arrival.entry,
                trace,
            };
            pair.trace_command(&self.sim, &traced, begin);
        }
        if is_newest {
            controller.ring_completion(pair.id, arrival.head);
        }
        if let Some(far) = controller.far()
            && let Some(reason) = far.reason_of(arrival.entry.status())
        {
            return Err(reason);
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
        let mut state = pair.state.borrow_mut();
        let Some(pending) = state.pending.get_mut(usize::from(id)) else {
            return;
        };
        pending.completion = Some(arrival);
        if std::mem::take(&mut pending.holds_memory) {
            self.memory.borrow_mut().let_go();
        }
        if !pending.abandoned {
            self.sim.wake_at(arrival.at, pending.waiter);
        } else if !pending.is_aborted {
            drop(state);
            self.end_abandoned(pair, &arrival);
        }
    }

    /// A command that nobody awaits any more is over.
    fn end_abandoned(&self, pair: &QueuePair, arrival: &Arrival) {
        self.left.count.set(self.left.count.get() - 1);
        if self.left.count.get() == 0 {
            let waiting = self.left.waiting.take();
            let at = arrival.at.max(self.sim.now());
            waiting
                .into_iter()
                .for_each(|task| self.sim.wake_at(at, task));
        }
        let id = arrival.entry.command_id.get();
        let is_newest = pair.consume(&mut pair.state.borrow_mut(), id, arrival);
        if let (Ok(controller), true) = (self.controller(), is_newest) {
            controller.ring_completion(pair.id, arrival.head);
        }
    }
}
