//! Waiting for a task's output.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::Sim;
use super::task::TaskId;

pub(super) struct Join<T> {
    pub(super) finished: Cell<bool>,
    pub(super) output: Cell<Option<T>>,
    pub(super) waiter: Cell<TaskId>,
}

impl<T> Default for Join<T> {
    fn default() -> Self {
        Join {
            finished: Cell::new(false),
            output: Cell::new(None),
            waiter: Cell::new(TaskId::NONE),
        }
    }
}

/// A task that somebody may wait for. An `async` block that awaits a future has room for it twice, and moves it when it is first
/// polled; this does not.
pub(super) struct Joined<F: Future> {
    pub(super) future: F,
    pub(super) sim: Sim,
    pub(super) shared: Rc<Join<F::Output>>,
}

impl<F: Future> Future for Joined<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: `future` is pinned as this is, which has no `Drop` and gives it out nowhere else; the others are not pinned.
        let (future, this) = unsafe {
            let this = self.get_unchecked_mut();
            (
                Pin::new_unchecked(&mut this.future),
                (&this.sim, &this.shared),
            )
        };
        let Poll::Ready(output) = future.poll(context) else {
            return Poll::Pending;
        };
        let (sim, shared) = this;
        shared.output.set(Some(output));
        shared.finished.set(true);
        sim.wake(shared.waiter.get());
        Poll::Ready(())
    }
}

/// Awaits a task's output.
pub struct JoinHandle<T> {
    pub(super) sim: Sim,
    pub(super) task: TaskId,
    pub(super) shared: Rc<Join<T>>,
}

impl<T> JoinHandle<T> {
    /// Drops the task where it stands. Does nothing to one that has finished.
    pub fn abort(&self) {
        self.sim.abort(self.task);
    }

    /// Whether the task has run to its end.
    pub fn is_finished(&self) -> bool {
        self.shared.finished.get()
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
