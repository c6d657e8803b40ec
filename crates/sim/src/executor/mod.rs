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

mod join;
mod kernel;
mod sleep;
mod task;
mod timers;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

pub use self::join::JoinHandle;

pub use self::task::TaskId;
pub(crate) use self::timers::TimerId;

use self::join::{Join, Joined};
use self::kernel::Kernel;
use self::sleep::Sleep;
use self::task::{Slot, State, Work};
use crate::quantity::{Span, Time};
use crate::random::Random;
use crate::trace::Trace;

struct Core {
    now: Cell<Time>,
    current: Cell<TaskId>,
    kernel: RefCell<Kernel>,
    /// Nothing comes from outside before what is being waited for is over.
    closed: Cell<bool>,
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
                kernel: RefCell::default(),
                closed: Cell::new(false),
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
        self.sim.0.kernel.borrow().polls
    }

    /// Polls the next task, moving the clock if need be; false if nothing is left to happen.
    pub fn step(&self) -> bool {
        self.sim.steps(Time::MAX, 1, || false)
    }

    /// Runs until nothing is left to happen.
    pub fn run(&self) {
        self.sim.steps(Time::MAX, u64::MAX, || false);
    }

    /// Runs everything up to and including `limit`, and leaves the clock there.
    pub fn run_until(&self, limit: Time) {
        self.sim.steps(limit, u64::MAX, || false);
        if self.now() < limit {
            self.sim.0.now.set(limit);
        }
    }

    /// As [`Simulation::run_until`], but no more than `events` events: true if more may be due, and the clock then stands
    /// at the last of them. With a limit of [`Time::MAX`] the clock is left at the last event either way.
    pub fn advance_until(&self, limit: Time, events: u64) -> bool {
        if self.sim.steps(limit, events, || false) {
            return true;
        }
        if self.now() < limit && limit < Time::MAX {
            self.sim.0.now.set(limit);
        }
        false
    }

    /// When the next event happens, if any is to: the present instant, if a task is ready.
    pub fn next_at(&self) -> Option<Time> {
        let kernel = self.sim.0.kernel.borrow();
        match kernel.ready.is_empty() {
            true => kernel.timers.next_at(),
            false => Some(self.now()),
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
        match self.advance(&handle, u64::MAX) {
            Ok(_) => handle.take().ok_or(Stalled { at: self.now() }),
            Err(stalled) => {
                handle.abort();
                Err(stalled)
            }
        }
    }

    /// Lets up to `events` events happen, or fewer if the task of `handle` finishes
    /// before; true once it has.
    ///
    /// # Errors
    /// [`Stalled`] if nothing is left to happen before it finishes.
    pub fn advance<T>(&self, handle: &JoinHandle<T>, events: u64) -> Result<bool, Stalled> {
        if handle.is_finished() {
            return Ok(true);
        }
        let is_over = || handle.is_finished();
        if !self.sim.steps(Time::MAX, events, is_over) {
            return Err(Stalled { at: self.now() });
        }
        Ok(handle.is_finished())
    }

    /// Says whether all that happens from now on comes from tasks that there are: nobody outside spawns one, or looks on,
    /// until it is said again. What happens alone may then be summed up ([`Sim::alone_until`]).
    pub fn set_closed(&self, closed: bool) {
        self.sim.0.closed.set(closed);
    }

    /// Cuts the power: every task is dropped where it stands, and no timer fires any more.
    pub fn cut(&self) {
        let slots = {
            let kernel = &mut *self.sim.0.kernel.borrow_mut();
            kernel.free.clear();
            std::mem::take(&mut kernel.slots)
        };
        // Dropped outside the borrow: guards wake waiters as they go, and the
        // names they wake mean nothing any more.
        drop(slots);
        let kernel = &mut *self.sim.0.kernel.borrow_mut();
        kernel.timers.clear();
        kernel.ready.clear();
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
        let task = self.insert(Box::pin(Joined {
            future,
            sim: self.clone(),
            shared: shared.clone(),
        }));
        JoinHandle {
            sim: self.clone(),
            task,
            shared,
        }
    }

    /// Runs `future` as a task that nobody waits for, such as one that serves for
    /// ever. Cheaper than [`Sim::spawn`], at every poll.
    pub fn spawn_detached(&self, future: impl Future<Output = ()> + 'static) {
        self.insert(Box::pin(future));
    }

    /// Makes `task` run later in this instant. A task that no longer exists is passed over.
    #[inline]
    pub fn wake(&self, task: TaskId) {
        let kernel = &mut *self.0.kernel.borrow_mut();
        let Some(slot) = kernel.slots.get_mut(task.index as usize) else {
            return;
        };
        if slot.generation != task.generation {
            return;
        }
        match slot.state {
            State::Idle => {
                slot.state = State::Ready;
                kernel.ready.push_back(task);
            }
            State::Running => slot.state = State::RunningWoken,
            State::Free | State::Ready | State::RunningWoken => {}
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

    /// Makes `task` run at `at`, or later in this instant if that has passed. For
    /// parts that know beforehand when something will be over.
    #[inline]
    pub fn wake_at(&self, at: Time, task: TaskId) {
        if at > self.now() {
            self.set_timer(at, task);
        } else {
            self.wake(task);
        }
    }

    /// Whether anything is still to happen besides the task that asks: for those who look on at intervals, and must
    /// not keep a simulation going that has come to rest.
    pub fn has_more(&self) -> bool {
        let kernel = self.0.kernel.borrow();
        !(kernel.ready.is_empty() && kernel.timers.is_empty())
    }

    /// Until when nothing happens but what the task that asks does, [`Time::MAX`] if nothing else is to come; the present
    /// if that cannot be said ([`Simulation::set_closed`]).
    pub fn alone_until(&self) -> Time {
        let kernel = self.0.kernel.borrow();
        if !self.0.closed.get() || !kernel.ready.is_empty() {
            return self.now();
        }
        kernel.timers.next_at().unwrap_or(Time::MAX)
    }

    /// Wakes the current task at `at`.
    #[inline]
    pub(crate) fn set_timer(&self, at: Time, task: TaskId) -> TimerId {
        self.0.kernel.borrow_mut().timers.set(at, task)
    }

    pub(crate) fn cancel_timer(&self, timer: TimerId) {
        self.0.kernel.borrow_mut().timers.cancel(timer);
    }

    fn insert(&self, work: Work) -> TaskId {
        let kernel = &mut *self.0.kernel.borrow_mut();
        let index = kernel.free.pop().unwrap_or_else(|| {
            kernel.slots.push(Slot {
                generation: 0,
                state: State::Free,
                work: None,
            });
            kernel.slots.len() as u32 - 1
        });
        let slot = &mut kernel.slots[index as usize];
        slot.state = State::Ready;
        slot.work = Some(work);
        let task = TaskId {
            index,
            generation: slot.generation,
        };
        kernel.ready.push_back(task);
        task
    }

    /// Polls tasks, up to `events` times, or until one has ended and `is_over`: each time a timer's of this instant,
    /// else a woken one, else the next timer's no later than `limit`. False if there was none before that.
    #[inline(always)]
    fn steps(&self, limit: Time, events: u64, is_over: impl Fn() -> bool) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        let mut left = events;
        let mut kernel = self.0.kernel.borrow_mut();
        while left > 0 {
            let Some((task, mut work)) = kernel.next(&self.0.now, limit) else {
                return false;
            };
            drop(kernel);
            left -= 1;
            self.0.current.set(task);
            let finished = work.as_mut().poll(context).is_ready();
            self.0.current.set(TaskId::NONE);
            kernel = self.0.kernel.borrow_mut();
            if let Some(unwanted) = kernel.put_back(task, work, finished) {
                // Dropped outside the borrow, for the guards it may hold.
                drop(kernel);
                drop(unwanted);
                if is_over() {
                    return true;
                }
                kernel = self.0.kernel.borrow_mut();
            }
        }
        true
    }

    fn abort(&self, task: TaskId) {
        let dropped = {
            let kernel = &mut *self.0.kernel.borrow_mut();
            let slot = kernel.slots.get_mut(task.index as usize);
            let Some(slot) =
                slot.filter(|slot| slot.generation == task.generation && slot.state != State::Free)
            else {
                return;
            };
            let work = slot.work.take();
            slot.vacate();
            kernel.free.push(task.index);
            work
        };
        drop(dropped);
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sim(at {})", self.now())
    }
}
