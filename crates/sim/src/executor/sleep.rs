//! Waiting for an instant.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Sim;
use super::timers::TimerId;
use crate::quantity::Time;

/// Waits for an instant. Dropping it takes the timer back.
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep<'a> {
    pub(super) sim: &'a Sim,
    pub(super) deadline: Time,
    pub(super) timer: Option<TimerId>,
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
