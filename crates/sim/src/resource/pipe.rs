//! A wire that carries bytes one message after another.

use std::cell::Cell;
use std::task::Poll;

use crate::executor::Sim;
use crate::quantity::{Span, Time};

/// A first-come, first-served wire of fixed bandwidth. Because nothing can
/// overtake, the end of a transfer is known when it is asked for, so a transfer
/// costs a single event.
///
/// A transfer that is dropped while it waits still occupies the wire: its bytes
/// were promised to it. A part that must be able to step back uses a
/// [`Server`](super::Server).
pub struct Pipe {
    sim: Sim,
    bytes_per_second: u64,
    free_at: Cell<Time>,
    busy: Cell<Span>,
    bytes: Cell<u64>,
}

impl Pipe {
    /// An idle wire.
    ///
    /// # Panics
    /// If `bytes_per_second` is zero.
    pub fn new(sim: &Sim, bytes_per_second: u64) -> Pipe {
        assert!(bytes_per_second > 0, "a pipe needs bandwidth");
        Pipe {
            sim: sim.clone(),
            bytes_per_second,
            free_at: Cell::new(sim.now()),
            busy: Cell::new(Span::ZERO),
            bytes: Cell::new(0),
        }
    }

    /// Waits until `bytes` have crossed, after all messages before them.
    #[inline]
    pub fn transfer(&self, bytes: u64) -> impl Future<Output = ()> + '_ {
        let span = Span::of_transfer(bytes, self.bytes_per_second);
        self.occupy(bytes, span, |_| {})
    }

    /// As [`Pipe::transfer`], for a message whose span the caller knows; `told` is given
    /// the instant of its end as soon as that is known.
    #[inline]
    pub fn occupy<'a>(
        &'a self,
        bytes: u64,
        span: Span,
        told: impl Fn(Time) + 'a,
    ) -> impl Future<Output = ()> + 'a {
        let mut end = None;
        std::future::poll_fn(move |_| {
            let end = *end.get_or_insert_with(|| {
                let end = self.reserve(bytes, span);
                told(end);
                if end > self.sim.now() {
                    self.sim.set_timer(end, self.sim.current());
                }
                end
            });
            if self.sim.now() >= end {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
    }

    /// Puts a message on the wire without waiting for it; gives the instant at
    /// which its last byte has crossed.
    #[inline]
    pub fn reserve(&self, bytes: u64, span: Span) -> Time {
        self.reserve_from(self.sim.now(), bytes, span)
    }

    /// As [`Pipe::reserve`], for a message that is not there before `from`. Until
    /// then the wire stands idle for it.
    #[inline]
    pub fn reserve_from(&self, from: Time, bytes: u64, span: Span) -> Time {
        let end = self.free_at.get().max(from) + span;
        self.free_at.set(end);
        self.busy.set(self.busy.get() + span);
        self.bytes.set(self.bytes.get() + bytes);
        end
    }

    /// Whether nothing is under way.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.free_at.get() <= self.sim.now()
    }

    /// How long the wire carried something, counting what is promised.
    pub fn busy(&self) -> Span {
        self.busy.get()
    }

    /// Bytes carried, counting what is promised.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}
