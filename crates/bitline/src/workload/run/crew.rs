//! Workers who wait for requests: an open loop has as many as were ever needed at
//! once, and asks nothing of the allocator per request.

use std::cell::{Cell, RefCell};
use std::task::Poll;

use sim::resource::Signal;
use sim::{Sim, TaskId};

use crate::workload::request::Request;

/// What a worker is to do, and the task that it is.
struct Desk {
    request: Option<Request>,
    worker: TaskId,
}

pub(super) struct Crew {
    sim: Sim,
    /// One for each worker, by number.
    desks: RefCell<Vec<Desk>>,
    /// Numbers of the workers that have nothing to do.
    idle: RefCell<Vec<u32>>,
    /// Rung when a worker has nothing to do any more.
    rested: Signal,
    dismissed: Cell<bool>,
}

impl Crew {
    pub(super) fn new(sim: &Sim) -> Crew {
        Crew {
            sim: sim.clone(),
            desks: RefCell::default(),
            idle: RefCell::default(),
            rested: Signal::new(sim),
            dismissed: Cell::new(false),
        }
    }

    /// Waits until a worker is idle or another may be hired; whether that took a wait.
    pub(super) async fn has_room(&self, workers_max: u32) -> bool {
        let mut waited = false;
        while self.idle.borrow().is_empty() && self.desks.borrow().len() >= workers_max as usize {
            waited = true;
            self.rested.heard().await;
        }
        waited
    }

    /// Workers that have a request.
    pub(super) fn busy(&self) -> usize {
        self.desks.borrow().len() - self.idle.borrow().len()
    }

    /// Gives a request to an idle worker; if there is none, the number of the worker
    /// that the caller must hire for it.
    pub(super) fn hand_over(&self, request: Request) -> Option<u32> {
        let desks = &mut *self.desks.borrow_mut();
        if let Some(number) = self.idle.borrow_mut().pop() {
            let desk = &mut desks[number as usize];
            desk.request = Some(request);
            self.sim.wake(desk.worker);
            return None;
        }
        desks.push(Desk {
            request: Some(request),
            worker: TaskId::NONE,
        });
        Some(desks.len() as u32 - 1)
    }

    /// The next request for worker `number`; none once the crew is dismissed.
    #[inline]
    pub(super) fn next(&self, number: u32) -> impl Future<Output = Option<Request>> + '_ {
        let mut waits = false;
        std::future::poll_fn(move |_| {
            let desk = &mut self.desks.borrow_mut()[number as usize];
            if let Some(request) = desk.request.take() {
                return Poll::Ready(Some(request));
            }
            if self.dismissed.get() {
                return Poll::Ready(None);
            }
            if !std::mem::replace(&mut waits, true) {
                desk.worker = self.sim.current();
                self.idle.borrow_mut().push(number);
                self.rested.ring();
            }
            Poll::Pending
        })
    }

    /// Waits until every worker has nothing to do, then lets them go.
    pub(super) async fn dismiss(&self) {
        while self.idle.borrow().len() < self.desks.borrow().len() {
            self.rested.heard().await;
        }
        self.dismissed.set(true);
        for desk in self.desks.borrow().iter() {
            self.sim.wake(desk.worker);
        }
    }
}
