//! Tasks and the places they lie in, one after another.

use std::future::Future;
use std::pin::Pin;

pub(super) type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Names a task for the length of its life; a finished task's name wakes nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl TaskId {
    /// The name of no task.
    pub const NONE: TaskId = TaskId {
        index: u32::MAX,
        generation: 0,
    };
}

/// Where a task stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There is no task here.
    Free,
    /// Waiting to be woken.
    Idle,
    /// In the ready queue.
    Ready,
    /// Being polled right now.
    Running,
    /// Being polled right now, and woken meanwhile.
    RunningWoken,
}

/// The place of one task after another.
pub(super) struct Slot {
    /// Which of them; a free slot has that of the next.
    pub(super) generation: u32,
    pub(super) state: State,
    /// The task, unless it is being polled.
    pub(super) work: Option<Work>,
}

impl Slot {
    pub(super) fn vacate(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.state = State::Free;
        self.work = None;
    }
}
