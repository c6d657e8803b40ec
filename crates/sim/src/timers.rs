//! The event queue: which task wakes when. Order is (time, sequence number).

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use crate::executor::TaskId;
use crate::quantity::Time;

/// Names one pending timer, so that it can be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerId(u64);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Timer {
    at: Time,
    sequence: u64,
    task: TaskId,
}

impl Ord for Timer {
    /// Reversed, because the standard heap gives its greatest element first.
    fn cmp(&self, other: &Timer) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All timers that have not fired.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Timer>,
    next_sequence: u64,
    /// Sequence numbers of dropped sleeps still in the heap. Almost always
    /// empty: only cancellation puts anything here.
    cancelled: BTreeSet<u64>,
}

impl Timers {
    /// Wakes `task` at `at`, after every timer already set for that instant.
    pub(crate) fn set(&mut self, at: Time, task: TaskId) -> TimerId {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.heap.push(Timer { at, sequence, task });
        TimerId(sequence)
    }

    /// The timer will not fire, nor hold the clock.
    pub(crate) fn cancel(&mut self, timer: TimerId) {
        self.cancelled.insert(timer.0);
    }

    /// Takes the next timer if it fires no later than `limit`.
    pub(crate) fn pop(&mut self, limit: Time) -> Option<(Time, TaskId)> {
        self.discard_cancelled();
        if self.heap.peek()?.at > limit {
            return None;
        }
        self.heap.pop().map(|timer| (timer.at, timer.task))
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
        self.cancelled.clear();
    }

    fn discard_cancelled(&mut self) {
        while !self.cancelled.is_empty() {
            match self.heap.peek() {
                Some(timer) if self.cancelled.remove(&timer.sequence) => self.heap.pop(),
                _ => return,
            };
        }
    }
}
