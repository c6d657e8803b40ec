//! The deterministic single-threaded executor whose clock is the event queue.
//!
//! Tasks live in a slab and are woken by index: a resource notes which task
//! polled it ([`Sim::current`]) and later calls [`Sim::wake`]. The standard
//! `Waker` is not used, so nothing is counted, locked or allocated per event.
//! In return a future may only be awaited inside a task of its own simulation.
//!
//! Order is total: timers of the present instant fire in the order in which they
//! were set, then the tasks woken during this instant run in the order of their
//! wake-ups, then the clock moves to the next timer.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::quantity::{Span, Time};
use crate::random::Random;
use crate::timers::{TimerId, Timers};
use crate::trace::Trace;

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Names a task for the length of its life; a finished task's name wakes nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    index: u32,
    generation: u32,
}

impl TaskId {
    /// The name of no task.
    pub const NONE: TaskId = TaskId {
        index: u32::MAX,
        generation: 0,
    };
}

enum Slot {
    /// No task; the next one here gets this generation.
    Free { generation: u32 },
    /// Waiting to be woken.
    Idle { generation: u32, work: Work },
    /// In the ready queue.
    Ready { generation: u32, work: Work },
    /// Being polled right now; `woken` if it was woken meanwhile.
    Running { generation: u32, woken: bool },
}

#[derive(Default)]
struct Tasks {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
}

struct Core {
    now: Cell<Time>,
    current: Cell<TaskId>,
    tasks: RefCell<Tasks>,
    timers: RefCell<Timers>,
    events: Cell<u64>,
    seed: u64,
    trace: Trace,
}

/// A handle on a simulation: the clock, sleeping, spawning and waking. Cheap to
/// clone; every part of a drive holds one.
#[derive(Clone)]
pub struct Sim(Rc<Core>);

/// Owns a simulation. Dropping it drops every task, which is also what a power
/// cut does ([`Simulation::cut`]).
pub struct Simulation {
    sim: Sim,
}

/// Nothing is left to happen, and the awaited future has not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// When the last event happened.
    pub at: Time,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the simulation stalled at {}: a task waits for what nobody will do",
            self.at
        )
    }
}

impl std::error::Error for Stalled {}

impl Simulation {
    /// An empty simulation at time zero; `seed` is the root of all its randomness.
    pub fn new(seed: u64) -> Simulation {
        Simulation::starting_at(seed, Time::ZERO)
    }

    /// An empty simulation whose clock begins at `start`: a drive that was
    /// powered up again goes on from where its predecessor stopped.
    pub fn starting_at(seed: u64, start: Time) -> Simulation {
        Simulation {
            sim: Sim(Rc::new(Core {
                now: Cell::new(start),
                current: Cell::new(TaskId::NONE),
                tasks: RefCell::default(),
                timers: RefCell::default(),
                events: Cell::new(0),
                seed,
                trace: Trace::default(),
            })),
        }
    }

    /// A handle on this simulation.
    pub fn handle(&self) -> Sim {
        self.sim.clone()
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.sim.now()
    }

    /// How many times a task has been polled.
    pub fn events(&self) -> u64 {
        self.sim.0.events.get()
    }

    /// Polls the next task, moving the clock if need be; false if nothing is left to happen.
    pub fn step(&self) -> bool {
        self.sim.step(Time::MAX)
    }

    /// Runs until nothing is left to happen.
    pub fn run(&self) {
        while self.step() {}
    }

    /// Runs everything up to and including `limit`, and leaves the clock there.
    pub fn run_until(&self, limit: Time) {
        while self.sim.step(limit) {}
        if self.now() < limit {
            self.sim.0.now.set(limit);
        }
    }

    /// Runs `future` as a task, and the simulation with it, until it finishes.
    ///
    /// # Errors
    /// [`Stalled`] if nothing is left to happen before it finishes.
    pub fn block_on<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Result<T, Stalled> {
        let handle = self.sim.spawn(future);
        loop {
            if let Some(output) = handle.take() {
                return Ok(output);
            }
            if !self.step() {
                handle.abort();
                return Err(Stalled { at: self.now() });
            }
        }
    }

    /// Cuts the power: every task is dropped where it stands, and no timer fires any more.
    pub fn cut(&self) {
        let slots = {
            let mut tasks = self.sim.0.tasks.borrow_mut();
            tasks.ready.clear();
            tasks.free.clear();
            std::mem::take(&mut tasks.slots)
        };
        // Dropped outside the borrow: guards wake waiters as they go, and the
        // names they wake mean nothing any more.
        drop(slots);
        self.sim.0.timers.borrow_mut().clear();
        self.sim.0.tasks.borrow_mut().ready.clear();
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Sim {
    /// The present instant.
    #[inline]
    pub fn now(&self) -> Time {
        self.0.now.get()
    }

    /// The stream of random numbers of the part called `name`.
    pub fn random(&self, name: &str) -> Random {
        Random::named(self.0.seed, name)
    }

    /// The trace of this simulation, off unless switched on.
    #[inline]
    pub fn trace(&self) -> &Trace {
        &self.0.trace
    }

    /// The task being polled, for a resource to wake later.
    #[inline]
    pub fn current(&self) -> TaskId {
        self.0.current.get()
    }

    /// Runs `future` as a task of its own, from this instant on. Dropping the
    /// handle lets the task run on; [`JoinHandle::abort`] drops the task.
    pub fn spawn<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        let shared = Rc::new(Join::default());
        let (done, sim) = (shared.clone(), self.clone());
        let task = self.insert(Box::pin(async move {
            let output = future.await;
            done.output.set(Some(output));
            sim.wake(done.waiter.get());
        }));
        JoinHandle {
            sim: self.clone(),
            task,
            shared,
        }
    }

    /// Makes `task` run later in this instant. A task that no longer exists is passed over.
    #[inline]
    pub fn wake(&self, task: TaskId) {
        let tasks = &mut *self.0.tasks.borrow_mut();
        let Some(slot) = tasks.slots.get_mut(task.index as usize) else {
            return;
        };
        match slot {
            Slot::Idle { generation, .. } if *generation == task.generation => {
                slot.make_ready();
                tasks.ready.push_back(task.index);
            }
            Slot::Running { generation, woken } if *generation == task.generation => *woken = true,
            _ => {}
        }
    }

    /// Waits for `span`. A zero span does not wait at all.
    pub fn sleep(&self, span: Span) -> Sleep<'_> {
        self.sleep_until(self.now() + span)
    }

    /// Waits until `deadline`; not at all if it has passed.
    pub fn sleep_until(&self, deadline: Time) -> Sleep<'_> {
        Sleep {
            sim: self,
            deadline,
            timer: None,
        }
    }

    /// Lets every task that is ready in this instant run first.
    pub fn yield_now(&self) -> impl Future<Output = ()> + '_ {
        let mut yielded = false;
        std::future::poll_fn(move |_| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            self.wake(self.current());
            Poll::Pending
        })
    }

    /// Wakes the current task at `at`.
    #[inline]
    pub(crate) fn set_timer(&self, at: Time, task: TaskId) -> TimerId {
        self.0.timers.borrow_mut().set(at, task)
    }

    pub(crate) fn cancel_timer(&self, timer: TimerId) {
        self.0.timers.borrow_mut().cancel(timer);
    }

    fn insert(&self, work: Work) -> TaskId {
        let tasks = &mut *self.0.tasks.borrow_mut();
        let index = tasks.free.pop().unwrap_or_else(|| {
            tasks.slots.push(Slot::Free { generation: 0 });
            tasks.slots.len() as u32 - 1
        });
        let slot = &mut tasks.slots[index as usize];
        let generation = slot.generation();
        *slot = Slot::Ready { generation, work };
        tasks.ready.push_back(index);
        TaskId { index, generation }
    }

    /// Polls one task: a timer's of this instant, else a woken one, else the
    /// next timer's no later than `limit`. False if there is none.
    fn step(&self, limit: Time) -> bool {
        loop {
            let now = self.now();
            let has_ready = !self.0.tasks.borrow().ready.is_empty();
            let timer = self
                .0
                .timers
                .borrow_mut()
                .pop(if has_ready { now } else { limit });
            match timer {
                Some((at, task)) => {
                    debug_assert!(at >= now, "time runs backwards");
                    self.0.now.set(at);
                    if self.poll_named(task) {
                        return true;
                    }
                }
                None => {
                    let ready = self.0.tasks.borrow_mut().ready.pop_front();
                    match ready {
                        Some(index) => {
                            if self.poll_ready(index) {
                                return true;
                            }
                        }
                        None => return false,
                    }
                }
            }
        }
    }

    /// Polls a task whose timer fired. If it also stood in the ready queue, this
    /// poll serves both: its turn there finds it idle and passes over it.
    fn poll_named(&self, task: TaskId) -> bool {
        let taken = {
            let slots = &mut self.0.tasks.borrow_mut().slots;
            let Some(slot) = slots.get_mut(task.index as usize) else {
                return false;
            };
            slot.start(task.generation)
        };
        self.poll(task, taken)
    }

    fn poll_ready(&self, index: u32) -> bool {
        let (task, taken) = {
            let slot = &mut self.0.tasks.borrow_mut().slots[index as usize];
            let generation = slot.generation();
            let taken = match slot {
                Slot::Ready { .. } => slot.start(generation),
                _ => None,
            };
            (TaskId { index, generation }, taken)
        };
        self.poll(task, taken)
    }

    fn poll(&self, task: TaskId, work: Option<Work>) -> bool {
        let Some(mut work) = work else {
            return false;
        };
        self.0.events.set(self.0.events.get() + 1);
        self.0.current.set(task);
        let mut context = Context::from_waker(Waker::noop());
        let finished = work.as_mut().poll(&mut context).is_ready();
        self.0.current.set(TaskId::NONE);
        self.put_back(task, work, finished);
        true
    }

    fn put_back(&self, task: TaskId, work: Work, finished: bool) {
        let unwanted = {
            let tasks = &mut *self.0.tasks.borrow_mut();
            let Some(slot) = tasks.slots.get_mut(task.index as usize) else {
                return;
            };
            match *slot {
                Slot::Running { generation, .. } if finished => {
                    *slot = Slot::Free {
                        generation: generation.wrapping_add(1),
                    };
                    tasks.free.push(task.index);
                    Some(work)
                }
                Slot::Running {
                    generation,
                    woken: true,
                } => {
                    *slot = Slot::Ready { generation, work };
                    tasks.ready.push_back(task.index);
                    None
                }
                Slot::Running {
                    generation,
                    woken: false,
                } => {
                    *slot = Slot::Idle { generation, work };
                    None
                }
                // Aborted by itself, or the power was cut from inside a task.
                _ => Some(work),
            }
        };
        drop(unwanted);
    }

    fn abort(&self, task: TaskId) {
        let dropped = {
            let tasks = &mut *self.0.tasks.borrow_mut();
            let Some(slot) = tasks.slots.get_mut(task.index as usize) else {
                return;
            };
            if slot.generation() != task.generation || matches!(slot, Slot::Free { .. }) {
                return;
            }
            let generation = task.generation.wrapping_add(1);
            tasks.free.push(task.index);
            std::mem::replace(slot, Slot::Free { generation })
        };
        drop(dropped);
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sim(at {})", self.now())
    }
}

impl Slot {
    fn generation(&self) -> u32 {
        match self {
            Slot::Free { generation }
            | Slot::Idle { generation, .. }
            | Slot::Ready { generation, .. }
            | Slot::Running { generation, .. } => *generation,
        }
    }

    fn make_ready(&mut self) {
        let generation = self.generation();
        if let Slot::Idle { work, .. } = std::mem::replace(self, Slot::Free { generation }) {
            *self = Slot::Ready { generation, work };
        }
    }

    /// Takes the work out to be polled, if the task is still the one meant.
    #[inline]
    fn start(&mut self, generation: u32) -> Option<Work> {
        if self.generation() != generation
            || matches!(self, Slot::Free { .. } | Slot::Running { .. })
        {
            return None;
        }
        let running = Slot::Running {
            generation,
            woken: false,
        };
        match std::mem::replace(self, running) {
            Slot::Idle { work, .. } | Slot::Ready { work, .. } => Some(work),
            Slot::Free { .. } | Slot::Running { .. } => None,
        }
    }
}

struct Join<T> {
    output: Cell<Option<T>>,
    waiter: Cell<TaskId>,
}

impl<T> Default for Join<T> {
    fn default() -> Self {
        Join {
            output: Cell::new(None),
            waiter: Cell::new(TaskId::NONE),
        }
    }
}

/// Awaits a task's output.
pub struct JoinHandle<T> {
    sim: Sim,
    task: TaskId,
    shared: Rc<Join<T>>,
}

impl<T> JoinHandle<T> {
    /// Drops the task where it stands. Does nothing to one that has finished.
    pub fn abort(&self) {
        self.sim.abort(self.task);
    }

    /// The output, once, if the task has finished.
    pub fn take(&self) -> Option<T> {
        self.shared.output.take()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        match self.shared.output.take() {
            Some(output) => Poll::Ready(output),
            None => {
                self.shared.waiter.set(self.sim.current());
                Poll::Pending
            }
        }
    }
}

/// Waits for an instant. Dropping it takes the timer back.
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep<'a> {
    sim: &'a Sim,
    deadline: Time,
    timer: Option<TimerId>,
}

impl Future for Sleep<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.sim.now() >= self.deadline {
            self.timer = None;
            return Poll::Ready(());
        }
        if self.timer.is_none() {
            self.timer = Some(self.sim.set_timer(self.deadline, self.sim.current()));
        }
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer
            && self.sim.now() < self.deadline
        {
            self.sim.cancel_timer(timer);
        }
    }
}
