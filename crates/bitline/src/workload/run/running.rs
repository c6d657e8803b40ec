//! One workload under way: its source, its workers, and what they measured.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host::Buffer;
use host::block::BlockDevice;
use sim::resource::{OneshotSender, oneshot};
use sim::{Sim, Span, Time, join_all};

use super::crew::Crew;
use super::{Progress, Tally, device};
use crate::Error;
use crate::drive::Host;
use crate::driver::Queue;
use crate::workload::flow::Generator;
use crate::workload::plan::{Pace, Plan, PlanSource};
use crate::workload::replay::TraceSource;
use crate::workload::report::FlowReport;
use crate::workload::request::{Request, RequestKind, Source};

/// A workload under way, of either kind of source; each has code of its own, so that the generator
/// of a flow costs what it costs and no more.
#[derive(Clone)]
pub(super) enum RunningWorkload {
    Flow(Rc<Running<Generator>>),
    Trace(Rc<Running<TraceSource>>),
}

impl RunningWorkload {
    pub(super) async fn new(
        host: &Host,
        plan: Plan,
        number: u32,
        keep_going: bool,
        progress: Rc<Progress>,
    ) -> Result<RunningWorkload, Error> {
        let mut devices = Vec::new();
        for namespace in &plan.namespaces {
            devices.push(device(host, *namespace, plan.queue).await?);
        }
        let common = Common {
            sim: host.sim().clone(),
            name: plan.name,
            number,
            pace: plan.pace,
            devices,
            buffer: RefCell::default(),
            tally: RefCell::default(),
            keep_going,
            progress,
        };
        Ok(match plan.source {
            PlanSource::Flow(flow, range) => {
                let generator = Generator::new(&flow, range, host.sim());
                RunningWorkload::Flow(Running::new(common, generator))
            }
            PlanSource::Trace(source) => RunningWorkload::Trace(Running::new(common, *source)),
        })
    }

    pub(super) async fn run(self, begin: Time) -> Result<(), Error> {
        match self {
            RunningWorkload::Flow(running) => running.run(begin).await,
            RunningWorkload::Trace(running) => running.run(begin).await,
        }
    }

    pub(super) fn report(&self, begin: Time) -> FlowReport {
        match self {
            RunningWorkload::Flow(running) => running.common.report(begin),
            RunningWorkload::Trace(running) => FlowReport {
                trace: Some(running.source.borrow().report()),
                ..running.common.report(begin)
            },
        }
    }
}

/// What does not depend on where requests come from.
struct Common {
    sim: Sim,
    name: String,
    number: u32,
    pace: Pace,
    devices: Vec<BlockDevice<Queue>>,
    /// All requests share one buffer, as long as the longest so far: nobody looks at
    /// the data, and its address takes no time.
    buffer: RefCell<Option<Rc<Buffer>>>,
    tally: RefCell<Tally>,
    keep_going: bool,
    progress: Rc<Progress>,
}

pub(super) struct Running<S> {
    common: Common,
    source: RefCell<S>,
    crew: Crew,
    /// What ended an open loop before its time.
    failure: RefCell<Option<Error>>,
    failed: Cell<bool>,
}

impl<S: Source + 'static> Running<S> {
    fn new(common: Common, source: S) -> Rc<Running<S>> {
        Rc::new(Running {
            crew: Crew::new(&common.sim),
            source: RefCell::new(source),
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
                Ok(Some(request)) => self.common.carry_out(&request).await.map_err(Error::from),
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
            self.crew.has_room(outstanding_max).await;
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
            if let Err(error) = self.common.carry_out(&request).await {
                self.failed.set(true);
                self.failure.borrow_mut().get_or_insert(error.into());
            }
        }
    }
}

impl Common {
    /// Sends one request and notes how long it took since it arrived.
    #[inline]
    async fn carry_out(&self, request: &Request) -> Result<(), host::Error> {
        let device = &self.devices[request.device as usize];
        let (lba, blocks) = (request.lba, request.blocks);
        let outcome = match request.kind {
            RequestKind::Read => {
                let buffer = self.buffer(device, blocks)?;
                device.read_into(lba, blocks, &buffer).await
            }
            RequestKind::Write => {
                let buffer = self.buffer(device, blocks)?;
                device.write_from(lba, blocks, &buffer).await
            }
            RequestKind::Deallocate => device.deallocate_ranges(&[(lba, blocks)]).await,
            RequestKind::Flush => device.flush().await,
        };
        self.note(request, device, outcome)
    }

    #[inline]
    fn note(
        &self,
        request: &Request,
        device: &BlockDevice<Queue>,
        outcome: Result<(), host::Error>,
    ) -> Result<(), host::Error> {
        let end = self.sim.now();
        let bytes = u64::from(request.blocks) * u64::from(device.block_bytes());
        let status = match outcome {
            Ok(()) => {
                self.tally.borrow_mut().record(request, bytes, end);
                0
            }
            Err(host::Error::Status(error)) if self.keep_going => {
                let tally = &mut *self.tally.borrow_mut();
                tally.failed += 1;
                tally.last_end = end;
                error.status.field()
            }
            Err(error) => return Err(error),
        };
        let completed = &self.progress.completed;
        completed.set(completed.get() + 1);
        if let Some(latencies) = &self.progress.latencies {
            let namespace = device.namespace().get();
            let whose = (self.number, namespace);
            latencies
                .borrow_mut()
                .push(whose, request, bytes, end, status);
        }
        Ok(())
    }

    /// The shared buffer, with room for `blocks`.
    #[inline]
    fn buffer(&self, device: &BlockDevice<Queue>, blocks: u32) -> Result<Rc<Buffer>, host::Error> {
        let bytes = u64::from(blocks) * u64::from(device.block_bytes());
        let shared = &mut *self.buffer.borrow_mut();
        match shared {
            Some(buffer) if buffer.bytes() >= bytes => Ok(buffer.clone()),
            _ => {
                // Whoever still transfers keeps the old one alive.
                let longer = Rc::new(device.buffer(blocks.next_power_of_two())?);
                Ok(shared.insert(longer).clone())
            }
        }
    }

    fn report(&self, begin: Time) -> FlowReport {
        FlowReport::new(&self.name, &self.tally.borrow(), begin)
    }
}
