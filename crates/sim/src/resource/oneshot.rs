//! A single value handed from one task to another.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::executor::{Sim, TaskId};

struct Shared<T> {
    sim: Sim,
    value: Cell<Option<T>>,
    closed: Cell<bool>,
    waiter: Cell<TaskId>,
}

/// Hands over the value.
pub struct OneshotSender<T>(Rc<Shared<T>>);

/// Awaits the value; `None` if the sender was dropped without sending.
pub struct OneshotReceiver<T>(Rc<Shared<T>>);

/// A sender and a receiver of one value.
pub fn oneshot<T>(sim: &Sim) -> (OneshotSender<T>, OneshotReceiver<T>) {
    let shared = Rc::new(Shared {
        sim: sim.clone(),
        value: Cell::new(None),
        closed: Cell::new(false),
        waiter: Cell::new(TaskId::NONE),
    });
    (OneshotSender(shared.clone()), OneshotReceiver(shared))
}

impl<T> OneshotSender<T> {
    /// Sends the value.
    pub fn send(self, value: T) {
        self.0.value.set(Some(value));
    }
}

impl<T> Drop for OneshotSender<T> {
    fn drop(&mut self) {
        self.0.closed.set(true);
        self.0.sim.wake(self.0.waiter.get());
    }
}

impl<T> Future for OneshotReceiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        let value = self.0.value.take();
        if value.is_some() || self.0.closed.get() {
            return Poll::Ready(value);
        }
        self.0.waiter.set(self.0.sim.current());
        Poll::Pending
    }
}
