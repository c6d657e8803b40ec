//! An exclusive server: one visitor at a time, by priority, first come, first
//! served among equals, with preemption at chunk borders or by suspension.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::executor::{Sim, TaskId, TimerId};
use crate::quantity::{Span, Time};

/// How urgent a visit is. A smaller number is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u8);

/// When a more urgent visitor may take the server from the one being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preemption {
    Never,
    /// At multiples of this span.
    Chunks(Span),
    /// At once: `suspend` passes before the urgent visit begins, `resume` is
    /// added to what is left of the suspended one.
    Suspension {
        suspend: Span,
        resume: Span,
    },
}

/// One visit, from arrival to departure.
struct Visit {
    task: TaskId,
    priority: Priority,
    preemption: Preemption,
    /// Service still owed, the slice being served included. `None`: the visitor
    /// holds the server until it lets go.
    remaining: Option<Span>,
    started: Time,
    ends: Time,
    timer: Option<TimerId>,
}

#[derive(Default)]
struct State {
    visits: Vec<Visit>,
    free: Vec<u32>,
    serving: Option<u32>,
    queue: VecDeque<u32>,
    /// The end of a visit that nobody waits for ([`Server::post`]).
    posted_until: Time,
    busy: Span,
    suspensions: u64,
}

/// An exclusive resource, such as a bus, a die or a core.
pub struct Server {
    sim: Sim,
    state: RefCell<State>,
}

impl Server {
    /// An idle server.
    pub fn new(sim: &Sim) -> Server {
        Server {
            sim: sim.clone(),
            state: RefCell::default(),
        }
    }

    /// Waits for the server and holds it until the returned guard is dropped.
    pub async fn acquire(&self, priority: Priority) -> Hold<'_> {
        let mut visit = self.visit(priority, None, Preemption::Never);
        std::future::poll_fn(|_| visit.poll_visit()).await;
        Hold { visit }
    }

    /// Waits for the server, occupies it for `span`, and lets it go: a single event.
    #[inline]
    pub fn serve(&self, priority: Priority, span: Span) -> Serve<'_> {
        self.visit(priority, Some(span), Preemption::Never)
    }

    /// As [`Server::serve`], but at every multiple of `chunk` a more urgent
    /// visitor goes first.
    ///
    /// # Panics
    /// If `chunk` is zero.
    pub fn serve_in_chunks(&self, priority: Priority, span: Span, chunk: Span) -> Serve<'_> {
        assert!(chunk > Span::ZERO, "a chunk has a length");
        self.visit(priority, Some(span), Preemption::Chunks(chunk))
    }

    /// As [`Server::serve`], but a more urgent visitor suspends this one at once:
    /// it begins after `suspend`, and what was left of this one takes `resume` longer.
    pub fn serve_suspendable(
        &self,
        priority: Priority,
        span: Span,
        suspend: Span,
        resume: Span,
    ) -> Serve<'_> {
        self.visit(
            priority,
            Some(span),
            Preemption::Suspension { suspend, resume },
        )
    }

    /// Occupies an idle server for `span` without waiting for the end, which it
    /// gives; `None` if the server is not idle. Costs no event at all unless
    /// somebody comes meanwhile.
    #[inline]
    pub fn post(&self, span: Span) -> Option<Time> {
        let state = &mut *self.state.borrow_mut();
        let now = self.sim.now();
        if state.serving.is_some() || state.posted_until > now || !state.queue.is_empty() {
            return None;
        }
        state.posted_until = now + span;
        state.busy += span;
        Some(state.posted_until)
    }

    /// Counts visits of `span` together that were summed up, while it was idle.
    pub fn add_busy(&self, span: Span) {
        self.state.borrow_mut().busy += span;
    }

    /// How long the server was occupied by visits, or slices of them, that are over.
    pub fn busy(&self) -> Span {
        self.state.borrow().busy
    }

    /// How many visitors wait, not counting the one being served.
    pub fn waiting(&self) -> usize {
        self.state.borrow().queue.len()
    }

    /// Whether nobody is being served.
    pub fn is_idle(&self) -> bool {
        let state = self.state.borrow();
        state.serving.is_none() && state.posted_until <= self.sim.now()
    }

    /// How often a visit was suspended.
    pub fn suspensions(&self) -> u64 {
        self.state.borrow().suspensions
    }

    fn visit(&self, priority: Priority, span: Option<Span>, preemption: Preemption) -> Serve<'_> {
        Serve {
            server: self,
            priority,
            span,
            preemption,
            ticket: None,
        }
    }
}

impl State {
    fn insert(&mut self, visit: Visit) -> u32 {
        match self.free.pop() {
            Some(ticket) => {
                self.visits[ticket as usize] = visit;
                ticket
            }
            None => {
                self.visits.push(visit);
                self.visits.len() as u32 - 1
            }
        }
    }

    /// Begins or goes on with a visit, `lead` from now.
    #[inline]
    fn start(&mut self, sim: &Sim, ticket: u32, lead: Span) {
        let visit = &mut self.visits[ticket as usize];
        let now = sim.now();
        self.serving = Some(ticket);
        visit.started = now;
        match visit.remaining {
            None => sim.wake(visit.task),
            Some(remaining) => {
                let slice = match visit.preemption {
                    Preemption::Chunks(chunk) => remaining.min(chunk),
                    _ => remaining,
                };
                visit.ends = now + lead + slice;
                visit.timer = Some(sim.set_timer(visit.ends, visit.task));
            }
        }
    }

    /// Queues a visit behind the more urgent; behind its equals too, unless it
    /// was preempted and only waits to go on.
    fn enqueue(&mut self, ticket: u32, preempted: bool) {
        let priority = self.visits[ticket as usize].priority;
        let before = |other: &u32| {
            let theirs = self.visits[*other as usize].priority;
            theirs < priority || (!preempted && theirs == priority)
        };
        let position = self
            .queue
            .iter()
            .rposition(before)
            .map_or(0, |last| last + 1);
        self.queue.insert(position, ticket);
    }

    /// Suspends the visit being served if it allows that and is less urgent than
    /// `priority`. Gives the time that the suspension takes.
    fn suspend_for(&mut self, sim: &Sim, priority: Priority) -> Option<Span> {
        let ticket = self.serving?;
        let visit = &mut self.visits[ticket as usize];
        let Preemption::Suspension { suspend, resume } = visit.preemption else {
            return None;
        };
        if visit.priority <= priority || visit.ends <= sim.now() {
            return None;
        }
        visit.remaining = Some(visit.ends - sim.now() + resume);
        if let Some(timer) = visit.timer.take() {
            sim.cancel_timer(timer);
        }
        self.busy += sim.now() - visit.started;
        self.suspensions += 1;
        self.serving = None;
        self.enqueue(ticket, true);
        Some(suspend)
    }

    /// If a posted visit is over, the first in the queue is served.
    #[inline]
    fn end_posted(&mut self, sim: &Sim) {
        if self.serving.is_none() && self.posted_until <= sim.now() {
            self.start_next(sim);
        }
    }

    /// Whether it is the turn of this visit, which wakes up to ask.
    #[inline]
    fn is_served(&mut self, sim: &Sim, ticket: u32) -> bool {
        if self.serving.is_none() {
            self.end_posted(sim);
        }
        self.serving == Some(ticket)
    }

    #[inline]
    fn start_next(&mut self, sim: &Sim) {
        self.serving = None;
        if let Some(next) = self.queue.pop_front() {
            self.start(sim, next, Span::ZERO);
        }
    }

    /// The end of a slice: true if nothing of the visit is left.
    #[inline]
    fn slice_over(&mut self, sim: &Sim, ticket: u32) -> bool {
        let visit = &mut self.visits[ticket as usize];
        visit.timer = None;
        let remaining = visit.remaining.unwrap_or(Span::ZERO);
        if let Preemption::Chunks(chunk) = visit.preemption
            && remaining > chunk
        {
            visit.remaining = Some(remaining - chunk);
            self.busy += sim.now() - visit.started;
            let priority = visit.priority;
            let urgent = self
                .queue
                .front()
                .is_some_and(|first| self.visits[*first as usize].priority < priority);
            if urgent {
                self.enqueue(ticket, true);
                self.start_next(sim);
            } else {
                self.start(sim, ticket, Span::ZERO);
            }
            return false;
        }
        self.depart(sim, ticket);
        true
    }

    /// Takes the visit being served off the server.
    #[inline]
    fn depart(&mut self, sim: &Sim, ticket: u32) {
        self.busy += sim.now() - self.visits[ticket as usize].started;
        self.free.push(ticket);
        self.start_next(sim);
    }
}

/// The future of one visit. Dropping it leaves the queue, or lets the server go.
#[must_use = "futures do nothing unless awaited"]
pub struct Serve<'a> {
    server: &'a Server,
    priority: Priority,
    span: Option<Span>,
    preemption: Preemption,
    ticket: Option<u32>,
}

impl Serve<'_> {
    #[inline]
    fn poll_visit(&mut self) -> Poll<()> {
        let sim = &self.server.sim;
        let state = &mut *self.server.state.borrow_mut();
        match self.ticket {
            None => {
                self.arrive(state);
                // A holder of an idle server need not wait for its own wake-up.
                if self.span.is_none() && state.serving == self.ticket {
                    return Poll::Ready(());
                }
                Poll::Pending
            }
            Some(ticket) if state.is_served(sim, ticket) => match self.span {
                None => Poll::Ready(()),
                Some(_) if sim.now() >= state.visits[ticket as usize].ends => {
                    if !state.slice_over(sim, ticket) {
                        return Poll::Pending;
                    }
                    self.ticket = None;
                    Poll::Ready(())
                }
                Some(_) => Poll::Pending,
            },
            Some(_) => Poll::Pending,
        }
    }

    #[inline]
    fn arrive(&mut self, state: &mut State) {
        let sim = &self.server.sim;
        let ticket = state.insert(Visit {
            task: sim.current(),
            priority: self.priority,
            preemption: self.preemption,
            remaining: self.span,
            started: sim.now(),
            ends: Time::MAX,
            timer: None,
        });
        self.ticket = Some(ticket);
        let posted = state.posted_until > sim.now();
        if state.serving.is_none() && (posted || !state.queue.is_empty()) {
            state.enqueue(ticket, false);
            if posted {
                // Whoever wakes first then lets the first in the queue in.
                sim.set_timer(state.posted_until, sim.current());
            } else {
                state.end_posted(sim);
            }
        } else if state.serving.is_none() {
            state.start(sim, ticket, Span::ZERO);
        } else if let Some(suspend) = state.suspend_for(sim, self.priority) {
            state.start(sim, ticket, suspend);
        } else {
            state.enqueue(ticket, false);
        }
    }
}

impl Future for Serve<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.poll_visit()
    }
}

impl Drop for Serve<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else {
            return;
        };
        let sim = &self.server.sim;
        let state = &mut *self.server.state.borrow_mut();
        let visit = &mut state.visits[ticket as usize];
        if let Some(timer) = visit.timer.take()
            && visit.ends > sim.now()
        {
            sim.cancel_timer(timer);
        }
        if state.serving == Some(ticket) {
            state.depart(sim, ticket);
        } else {
            state.queue.retain(|queued| *queued != ticket);
            state.free.push(ticket);
        }
    }
}

/// The server, held; dropping it lets the next visitor in.
#[must_use = "dropping a hold lets the server go"]
pub struct Hold<'a> {
    visit: Serve<'a>,
}

impl Hold<'_> {
    /// Whether somebody more urgent waits.
    pub fn is_wanted_by_more_urgent(&self) -> bool {
        let state = self.visit.server.state.borrow();
        let more_urgent =
            |first: &u32| state.visits[*first as usize].priority < self.visit.priority;
        state.queue.front().is_some_and(more_urgent)
    }
}
