//! What changes as events happen: whose turn it is, and where the clock stands.

use std::cell::Cell;
use std::collections::VecDeque;

use super::task::{Slot, State, TaskId, Work};
use super::timers::Timers;
use crate::quantity::Time;

/// What changes as events happen, in one cell: an event borrows it twice.
#[derive(Default)]
pub(super) struct Kernel {
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u32>,
    pub(super) ready: VecDeque<TaskId>,
    pub(super) timers: Timers,
    pub(super) polls: u64,
}

impl Kernel {
    /// Takes the task whose turn it is, moving the clock if need be. A task that a
    /// timer wakes while it stands in the ready queue is polled once for both.
    #[inline(always)]
    pub(super) fn next(&mut self, now: &Cell<Time>, limit: Time) -> Option<(TaskId, Work)> {
        loop {
            let until = if self.ready.is_empty() {
                limit
            } else {
                now.get()
            };
            let task = match self.timers.pop(until) {
                Some((at, task)) => {
                    debug_assert!(at >= now.get(), "time runs backwards");
                    now.set(at);
                    task
                }
                None => {
                    let task = self.ready.pop_front()?;
                    if self.slots[task.index as usize].state != State::Ready {
                        continue;
                    }
                    task
                }
            };
            let Some(slot) = self.slots.get_mut(task.index as usize) else {
                continue;
            };
            if slot.generation == task.generation
                && let Some(work) = slot.work.take()
            {
                slot.state = State::Running;
                self.polls += 1;
                return Some((task, work));
            }
        }
    }

    /// Puts a polled task back; gives it to be dropped if it is over.
    #[inline(always)]
    pub(super) fn put_back(&mut self, task: TaskId, work: Work, finished: bool) -> Option<Work> {
        // The slot is gone if the power was cut from inside the task, and another's
        // if the task aborted itself.
        let slot = self.slots.get_mut(task.index as usize);
        let Some(slot) = slot.filter(|slot| slot.generation == task.generation) else {
            return Some(work);
        };
        if finished {
            slot.vacate();
            self.free.push(task.index);
            return Some(work);
        }
        slot.work = Some(work);
        if slot.state == State::RunningWoken {
            slot.state = State::Ready;
            self.ready.push_back(task);
        } else {
            slot.state = State::Idle;
        }
        None
    }
}
