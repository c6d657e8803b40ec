//! A queue of values between tasks.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Poll;

use crate::executor::{Sim, TaskId};

struct Shared<T> {
    sim: Sim,
    queue: RefCell<VecDeque<T>>,
    capacity: usize,
    receiver: Cell<TaskId>,
    senders_waiting: RefCell<VecDeque<TaskId>>,
    senders: Cell<usize>,
    receiver_alive: Cell<bool>,
}

/// The end that puts values in. Clones feed the same queue.
pub struct Sender<T>(Rc<Shared<T>>);

/// The end that takes values out.
pub struct Receiver<T>(Rc<Shared<T>>);

/// A queue that holds up to `capacity` values.
///
/// # Panics
/// If `capacity` is zero.
pub fn channel<T>(sim: &Sim, capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a channel needs room for one value");
    let shared = Rc::new(Shared {
        sim: sim.clone(),
        queue: RefCell::default(),
        capacity,
        receiver: Cell::new(TaskId::NONE),
        senders_waiting: RefCell::default(),
        senders: Cell::new(1),
        receiver_alive: Cell::new(true),
    });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Sender<T> {
    /// Waits for room and puts `value` in; gives it back if the receiver is gone.
    pub async fn send(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        std::future::poll_fn(|_| match value.take() {
            None => Poll::Ready(Ok(())),
            Some(unsent) => match self.try_send(unsent) {
                Err(unsent) if self.0.receiver_alive.get() => {
                    value = Some(unsent);
                    let mut waiting = self.0.senders_waiting.borrow_mut();
                    let current = self.0.sim.current();
                    if !waiting.contains(&current) {
                        waiting.push_back(current);
                    }
                    Poll::Pending
                }
                result => Poll::Ready(result),
            },
        })
        .await
    }

    /// Puts `value` in if there is room and a receiver; gives it back otherwise.
    pub fn try_send(&self, value: T) -> Result<(), T> {
        let mut queue = self.0.queue.borrow_mut();
        if queue.len() >= self.0.capacity || !self.0.receiver_alive.get() {
            return Err(value);
        }
        queue.push_back(value);
        self.0.sim.wake(self.0.receiver.get());
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.senders.set(self.0.senders.get() + 1);
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.senders.set(self.0.senders.get() - 1);
        if self.0.senders.get() == 0 {
            self.0.sim.wake(self.0.receiver.get());
        }
    }
}

impl<T> Receiver<T> {
    /// Waits for a value; `None` once the queue is empty and every sender is gone.
    pub fn receive(&mut self) -> impl Future<Output = Option<T>> + '_ {
        std::future::poll_fn(|_| {
            if let Some(value) = self.try_receive() {
                return Poll::Ready(Some(value));
            }
            if self.0.senders.get() == 0 {
                return Poll::Ready(None);
            }
            self.0.receiver.set(self.0.sim.current());
            Poll::Pending
        })
    }

    /// Takes a value if there is one.
    pub fn try_receive(&mut self) -> Option<T> {
        let value = self.0.queue.borrow_mut().pop_front()?;
        // Every waiting sender looks again, in the order of their waiting: the
        // first may have been dropped, and waking the dead wakes nobody.
        for sender in self.0.senders_waiting.borrow_mut().drain(..) {
            self.0.sim.wake(sender);
        }
        Some(value)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.receiver_alive.set(false);
        for sender in self.0.senders_waiting.borrow_mut().drain(..) {
            self.0.sim.wake(sender);
        }
    }
}
