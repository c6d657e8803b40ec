//! How many commands may be in flight.

use std::cell::Cell;

use nvme::QueueId;
use sim::TaskId;

use crate::frontend::Controller;

/// What bounds the commands in flight.
pub(in crate::frontend) struct Room {
    /// Commands that may still be fetched.
    left: Cell<u32>,
    /// The leader, while it waits for one to complete.
    waiter: Cell<TaskId>,
}

impl Room {
    pub(in crate::frontend) fn new(commands: u32) -> Room {
        Room {
            left: Cell::new(commands),
            waiter: Cell::new(TaskId::NONE),
        }
    }
}

impl Controller {
    /// Waits until another command may be in flight, and counts it.
    #[inline]
    pub(in crate::frontend) fn take_room(&self) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(|_| match self.room.left.get() {
            0 => {
                self.room.waiter.set(self.sim.current());
                std::task::Poll::Pending
            }
            left => {
                self.room.left.set(left - 1);
                std::task::Poll::Ready(())
            }
        })
    }

    /// A command is not in flight any more.
    #[inline]
    pub(in crate::frontend) fn give_room(&self, queue: QueueId) {
        self.activity.end();
        if self.queues.borrow_mut().leave(queue) {
            self.fetch_again();
        }
        self.room.left.set(self.room.left.get() + 1);
        let waiter = self.room.waiter.replace(TaskId::NONE);
        if waiter != TaskId::NONE {
            self.sim.wake(waiter);
        }
    }
}
