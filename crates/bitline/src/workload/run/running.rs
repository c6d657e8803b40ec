//! One workload under way: its source, its workers, and what they measured.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

use sim::resource::{OneshotSender, oneshot};
use sim::{Span, Time, join_all};

use super::asked::Asked;
use super::blocks::Blocks;
use super::carrier::{Carrier, Common};
use super::crew::Crew;
use super::outstanding::Outstanding;
use crate::Error;
use crate::host_end::Host;
use crate::request_kind::RequestKind;
use crate::workload::RunOptions;
use crate::workload::facts::{Facts, Offered};
use crate::workload::flow::Generator;
use crate::workload::plan::{Pace, Plan, PlanSource};
use crate::workload::progress::Progress;
use crate::workload::queries::Asker;
use crate::workload::replay::TraceSource;
use crate::workload::report::{FlowReport, QueriesReport, Reports};
use crate::workload::request::Source;
use crate::workload::tally::{Tally, TallyPart};

/// A workload under way, of any kind of source; each has code of its own, so that the generator
/// of a flow costs what it costs and no more.
#[derive(Clone)]
pub(super) enum RunningWorkload {
    Flow(Rc<Running<Generator, Blocks>>),
    Trace(Rc<Running<TraceSource, Blocks>>),
    Queries(Rc<Running<Asker, Asked>>),
}

impl RunningWorkload {
    pub(super) async fn new(
        host: &Host,
        plan: Plan,
        number: u32,
        options: RunOptions,
        progress: Rc<Progress>,
    ) -> Result<RunningWorkload, Error> {
        let draw = options.draw.unwrap_or(0);
        let common = Common {
            sim: host.sim().clone(),
            name: plan.name,
            number,
            pace: plan.pace,
            tally: RefCell::default(),
            outstanding: RefCell::default(),
            range: plan.range,
            offered: Cell::default(),
            keep_going: options.keep_going,
            progress,
        };
        let blocks = Blocks::open(host, &plan.namespaces, plan.queue);
        Ok(match plan.source {
            PlanSource::Flow(flow, range) => {
                let generator = Generator::new(&flow, range, host.sim(), draw);
                RunningWorkload::Flow(Running::new(common, generator, blocks.await?))
            }
            PlanSource::Trace(source) => {
                RunningWorkload::Trace(Running::new(common, *source, blocks.await?))
            }
            PlanSource::Queries(question) => {
                let asker = Asker::new(&question.queries, host.sim(), draw);
                let asked = Asked::open(host, *question).await?;
                RunningWorkload::Queries(Running::new(common, asker, asked))
            }
        })
    }

    pub(super) async fn run(self, begin: Time) -> Result<(), Error> {
        match self {
            RunningWorkload::Flow(running) => running.run(begin).await,
            RunningWorkload::Trace(running) => running.run(begin).await,
            RunningWorkload::Queries(running) => running.run(begin).await,
        }
    }

    /// Adds what it measured, all of which is in `total`, to the reports of its kind.
    pub(super) fn report(&self, total: &Tally, begin: Time, reports: &mut Reports) {
        let name = &self.common().name;
        match self {
            RunningWorkload::Flow(_) => reports.flows.push(FlowReport::new(name, total, begin)),
            RunningWorkload::Trace(running) => reports.flows.push(FlowReport {
                trace: Some(running.source.borrow().report()),
                ..FlowReport::new(name, total, begin)
            }),
            RunningWorkload::Queries(running) => {
                let question = running.carrier.question();
                reports
                    .queries
                    .push(QueriesReport::new(question, total, begin));
            }
        }
    }

    /// What is known of it beside what it measured.
    pub(super) fn facts(&self, total: &Tally, begin: Time) -> Facts {
        let common = self.common();
        let is_closed = matches!(common.pace, Pace::Closed { .. });
        Facts {
            name: common.name.clone(),
            range: common.range,
            // The rate of a trace is what was traced.
            is_closed: is_closed && !matches!(self, RunningWorkload::Trace(_)),
            offered: (!is_closed).then(|| Offered {
                begin,
                ..common.offered.get()
            }),
            elapsed: total.last_end.since(begin),
            written_bytes: total.bytes(RequestKind::Write),
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        self.common().name.clone()
    }

    /// Takes out what it measured since the last time.
    pub(super) fn take(&self) -> TallyPart {
        self.common().tally.borrow_mut().take()
    }

    /// What is known of how many of its requests were outstanding.
    pub(super) fn outstanding(&self) -> RefMut<'_, Outstanding> {
        self.common().outstanding.borrow_mut()
    }

    fn common(&self) -> &Common {
        match self {
            RunningWorkload::Flow(running) => &running.common,
            RunningWorkload::Trace(running) => &running.common,
            RunningWorkload::Queries(running) => &running.common,
        }
    }
}

pub(super) struct Running<S, C> {
    common: Common,
    source: RefCell<S>,
    carrier: C,
    crew: Crew,
    /// What ended an open loop before its time.
    failure: RefCell<Option<Error>>,
    failed: Cell<bool>,
}

impl<S: Source + 'static, C: Carrier + 'static> Running<S, C> {
    fn new(common: Common, source: S, carrier: C) -> Rc<Running<S, C>> {
        Rc::new(Running {
            crew: Crew::new(&common.sim),
            source: RefCell::new(source),
            carrier,
            failure: RefCell::default(),
            failed: Cell::new(false),
            common,
        })
    }

    async fn run(self: Rc<Self>, begin: Time) -> Result<(), Error> {
        self.source.borrow_mut().begin(begin);
        self.common.tally.borrow_mut().last_end = begin;
        match self.common.pace {
            Pace::Closed { depth, think } => self.run_closed(depth, think).await,
            Pace::Timed { outstanding_max } => self.run_timed(outstanding_max).await,
        }
    }

    async fn run_closed(self: &Rc<Self>, depth: u32, think: Span) -> Result<(), Error> {
        let mut workers = Vec::new();
        for _ in 0..depth {
            let (done, outcome) = oneshot(&self.common.sim);
            self.common
                .sim
                .spawn_detached(self.clone().work(think, done));
            workers.push(outcome);
        }
        // A worker always says how it ended.
        for outcome in join_all(workers).await.into_iter().flatten() {
            outcome?;
        }
        Ok(())
    }

    /// One of the workers of a closed loop. Flat, with its outcome through a channel,
    /// because every layer of futures costs at every poll.
    async fn work(self: Rc<Self>, think: Span, done: OneshotSender<Result<(), Error>>) {
        while !self.common.progress.stopped.get() && !self.failed.get() {
            let next = self.source.borrow_mut().next(self.common.sim.now());
            let outcome = match next {
                Ok(Some(request)) => self.carrier.carry_out(&self.common, &request).await,
                Ok(None) => break,
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                self.failed.set(true);
                return done.send(Err(error));
            }
            if think > Span::ZERO {
                self.common.sim.sleep(think).await;
            }
        }
        done.send(Ok(()));
    }

    /// Requests come when they come, and wait if too many are outstanding.
    async fn run_timed(self: &Rc<Self>, outstanding_max: u32) -> Result<(), Error> {
        let outcome = self.dispatch(outstanding_max).await;
        self.common.offered.set(Offered {
            in_flight: self.crew.busy() as u64,
            ..self.common.offered.get()
        });
        self.crew.dismiss().await;
        outcome?;
        self.failure.borrow_mut().take().map_or(Ok(()), Err)
    }

    async fn dispatch(self: &Rc<Self>, outstanding_max: u32) -> Result<(), Error> {
        let sim = &self.common.sim;
        loop {
            let next = self.source.borrow_mut().next(sim.now())?;
            let Some(request) = next else { return Ok(()) };
            sim.sleep_until(request.arrives).await;
            // What waits here has arrived all the same: its latency has begun.
            let was_held = self.crew.has_room(outstanding_max).await;
            self.common.arrived(request.arrives, was_held);
            if self.common.progress.stopped.get() || self.failed.get() {
                return Ok(());
            }
            if let Some(number) = self.crew.hand_over(request) {
                sim.spawn_detached(self.clone().serve(number));
            }
        }
    }

    /// One of the workers of an open loop.
    async fn serve(self: Rc<Self>, number: u32) {
        while let Some(request) = self.crew.next(number).await {
            if let Err(error) = self.carrier.carry_out(&self.common, &request).await {
                self.failed.set(true);
                self.failure.borrow_mut().get_or_insert(error);
            }
        }
    }
}
