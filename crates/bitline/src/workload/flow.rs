//! Flows: closed loop (a number of requests always outstanding) or open loop
//! (requests arrive whether or not earlier ones are done).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host::Buffer;
use host::block::BlockDevice;
use serde::{Deserialize, Serialize};
use sim::resource::{OneshotSender, Semaphore, oneshot};
use sim::{Histogram, JoinHandle, Random, Sim, Span, Time, join_all};

use super::report::{FlowReport, Report};
use crate::drive::Host;
use crate::driver::Queue;
use crate::statistics::Statistics;
use crate::{Drive, Error};

/// The greatest queue depth: no NVMe queue has more entries.
const DEPTH_MAX: u32 = 65_535;

/// Rates of an open loop, in requests a second: between them neither a gap nor the
/// clock overflows, and gaps are longer than a picosecond.
const RATE_MIN: f64 = 1e-4;
const RATE_MAX: f64 = 1e11;
/// Longest simulated time of a flow: 64 bits of picoseconds reach to 1.8e7 seconds.
const SECONDS_MAX: f64 = 1e7;

/// A stream of requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// Names the flow, and its random numbers.
    pub name: String,
    /// Share of reads among the requests, 0 to 1; the rest are writes.
    pub read_fraction: f64,
    /// Logical blocks of each request.
    pub blocks: u32,
    /// How many requests.
    pub requests: u64,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Where they go.
    pub pattern: Pattern,
    /// First logical block that they go to.
    pub first_block: u64,
    /// Logical blocks of the range that they go to; 0 means all that follow.
    pub range_blocks: u64,
    /// Which queue pair carries them, counted from zero.
    pub queue: usize,
    /// Write the whole range once before anything is measured, so that reads find data.
    pub prefill: bool,
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields, tag = "kind")]
pub enum Arrival {
    /// So many are outstanding at any time.
    Closed {
        /// The queue depth.
        depth: u32,
    },
    /// At random (exponential gaps), so many a second on average, at most
    /// `outstanding_max` at a time: what comes then waits, and that counts.
    Open {
        /// Mean rate.
        requests_per_second: f64,
        /// Bound of the requests in flight.
        outstanding_max: u32,
    },
}

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Uniformly, aligned to the request size.
    Random,
    /// One after another, round and round.
    Sequential,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            name: "flow".into(),
            read_fraction: 1.0,
            blocks: 1,
            requests: 10_000,
            arrival: Arrival::Closed { depth: 32 },
            pattern: Pattern::Random,
            first_block: 0,
            range_blocks: 1 << 16,
            queue: 0,
            prefill: true,
        }
    }
}

impl Flow {
    /// Checks the flow against a drive of `blocks` logical blocks, and gives the
    /// number of request-sized places in its range.
    fn places(&self, blocks: u64, queue_pairs: usize) -> Result<u64, Error> {
        let wrong = |what: String| Err(Error::Workload(format!("flow {:?}: {what}", self.name)));
        if !(0.0..=1.0).contains(&self.read_fraction) {
            return wrong(format!(
                "read_fraction = {} must be 0 to 1",
                self.read_fraction
            ));
        }
        if self.blocks == 0 || self.blocks > host::block::BLOCKS_PER_COMMAND_MAX {
            return wrong(format!("blocks = {} must be 1 to 65536", self.blocks));
        }
        if self.queue >= queue_pairs {
            return wrong(format!(
                "queue = {} must be below the {queue_pairs} queue pairs",
                self.queue
            ));
        }
        match self.arrival {
            Arrival::Closed { depth } if !(1..=DEPTH_MAX).contains(&depth) => {
                return wrong(format!("depth = {depth} must be 1 to {DEPTH_MAX}"));
            }
            Arrival::Open {
                outstanding_max, ..
            } if !(1..=DEPTH_MAX).contains(&outstanding_max) => {
                return wrong(format!(
                    "outstanding_max = {outstanding_max} must be 1 to {DEPTH_MAX}"
                ));
            }
            Arrival::Open {
                requests_per_second,
                ..
            } if !(RATE_MIN..=RATE_MAX).contains(&requests_per_second) => {
                return wrong(format!(
                    "requests_per_second = {requests_per_second} must be {RATE_MIN} to {RATE_MAX}"
                ));
            }
            Arrival::Open {
                requests_per_second,
                ..
            } if self.requests as f64 / requests_per_second > SECONDS_MAX => {
                return wrong(format!(
                    "{} requests at {requests_per_second} a second take longer than the {SECONDS_MAX} s \
                     that the clock is good for",
                    self.requests
                ));
            }
            _ => {}
        }
        let rest = blocks.saturating_sub(self.first_block);
        let range = if self.range_blocks == 0 {
            rest
        } else {
            self.range_blocks
        };
        let places = range / u64::from(self.blocks);
        if range > rest || places == 0 {
            return wrong(format!(
                "blocks {} to {} must lie within the drive's {blocks} and hold a request of {}",
                self.first_block,
                self.first_block.saturating_add(range),
                self.blocks
            ));
        }
        Ok(places)
    }
}

/// A flow under way.
struct Running {
    flow: Flow,
    sim: Sim,
    device: BlockDevice<Queue>,
    places: u64,
    started: Cell<u64>,
    random: RefCell<Random>,
    reads: RefCell<Histogram>,
    writes: RefCell<Histogram>,
    last_end: Cell<Time>,
    /// The first request of an open loop that failed.
    failure: RefCell<Option<host::Error>>,
    progress: Rc<Progress>,
}

/// What the flows and who waits for them tell each other.
#[derive(Default)]
struct Progress {
    completed: Cell<u64>,
    /// Nobody waits any more: no further request is sent.
    stopped: Cell<bool>,
}

/// Flows that were started. Dropping this stops them once what is in flight is done.
pub struct FlowsUnderWay {
    flows: JoinHandle<Result<Vec<FlowReport>, host::Error>>,
    progress: Rc<Progress>,
    before: Statistics,
}

impl FlowsUnderWay {
    pub(super) fn start(drive: &mut Drive, flows: &[Flow]) -> Result<FlowsUnderWay, Error> {
        let blocks = drive.blocks()?;
        let host = drive.host()?;
        let places: Vec<u64> = flows
            .iter()
            .map(|flow| flow.places(blocks, host.queue_pairs()))
            .collect::<Result<_, _>>()?;
        let flows: Vec<(Flow, u64)> = flows.iter().cloned().zip(places).collect();
        let progress = Rc::new(Progress::default());
        let sim = host.sim().clone();
        Ok(FlowsUnderWay {
            before: drive.statistics()?,
            flows: sim.spawn(run(host, blocks, flows, progress.clone())),
            progress,
        })
    }

    /// Requests completed so far; those that fill the range beforehand do not count.
    pub fn completed(&self) -> u64 {
        self.progress.completed.get()
    }

    /// Lets up to `events` events happen on the drive that the flows were started on;
    /// true once the flows are done.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Stalled`] if nothing is left to happen.
    pub fn advance(&self, drive: &Drive, events: u64) -> Result<bool, Error> {
        Ok(drive.simulation()?.advance(&self.flows, events)?)
    }

    /// What the flows measured.
    ///
    /// # Errors
    /// A request that failed; [`Error::Workload`] if they are not done.
    pub fn report(self, drive: &Drive) -> Result<Report, Error> {
        let Some(reports) = self.flows.take() else {
            return Err(Error::Workload("the flows are still under way".into()));
        };
        Ok(Report::new(reports?, &self.before, &drive.statistics()?))
    }
}

impl Drop for FlowsUnderWay {
    fn drop(&mut self) {
        self.progress.stopped.set(true);
    }
}

/// Fills the ranges, then runs the flows side by side. Each comes with the number of
/// places in its range.
async fn run(
    host: Host,
    blocks: u64,
    flows: Vec<(Flow, u64)>,
    progress: Rc<Progress>,
) -> Result<Vec<FlowReport>, host::Error> {
    for (flow, _) in flows.iter().filter(|(flow, _)| flow.prefill) {
        prefill(&host, flow, blocks, &progress).await?;
    }
    let begin = host.sim().now();
    host.sim().trace().measure_from(begin);
    let mut running = Vec::new();
    for (flow, places) in flows {
        let flow = Running::new(&host, flow, places, progress.clone());
        running.push(Rc::new(flow.await?));
    }
    let tasks: Vec<_> = running
        .iter()
        .map(|flow| host.sim().spawn(flow.clone().run()))
        .collect();
    for outcome in join_all(tasks).await {
        outcome?;
    }
    Ok(running.iter().map(|flow| flow.report(begin)).collect())
}

/// Writes the range of a flow, many blocks at a time, several at once.
async fn prefill(
    host: &Host,
    flow: &Flow,
    blocks: u64,
    progress: &Progress,
) -> Result<(), host::Error> {
    const PIECE: u64 = 256;
    const DEPTH: u64 = 16;
    let device = host.block();
    let end = match flow.range_blocks {
        0 => blocks,
        range => flow.first_block + range,
    };
    let workers = (0..DEPTH).map(|worker| async move {
        let buffer = device.buffer(PIECE as u32)?;
        let mut next = flow.first_block + worker * PIECE;
        while next < end && !progress.stopped.get() {
            let count = (end - next).min(PIECE);
            device.write_from(next, count as u32, &buffer).await?;
            next += DEPTH * PIECE;
        }
        Ok(())
    });
    join_all(workers).await.into_iter().collect()
}

impl Running {
    async fn new(
        host: &Host,
        flow: Flow,
        places: u64,
        progress: Rc<Progress>,
    ) -> Result<Running, host::Error> {
        Ok(Running {
            sim: host.sim().clone(),
            device: host.block_on_queue(flow.queue).await?,
            places,
            started: Cell::new(0),
            random: RefCell::new(host.sim().random(&format!("flow {}", flow.name))),
            reads: RefCell::default(),
            writes: RefCell::default(),
            last_end: Cell::new(host.sim().now()),
            failure: RefCell::default(),
            progress,
            flow,
        })
    }

    async fn run(self: Rc<Running>) -> Result<(), host::Error> {
        match self.flow.arrival {
            Arrival::Closed { depth } => {
                let mut workers = Vec::new();
                for _ in 0..depth {
                    let (done, outcome) = oneshot(&self.sim);
                    self.sim.spawn_detached(self.clone().work(done));
                    workers.push(outcome);
                }
                // A worker always says how it ended.
                for outcome in join_all(workers).await.into_iter().flatten() {
                    outcome?;
                }
            }
            Arrival::Open {
                requests_per_second,
                outstanding_max,
            } => self.run_open(requests_per_second, outstanding_max).await?,
        }
        Ok(())
    }

    /// One of the workers of a closed loop. Flat, with its outcome through a channel,
    /// because every layer of futures costs at every poll.
    async fn work(self: Rc<Running>, done: OneshotSender<Result<(), host::Error>>) {
        let buffer = match self.device.buffer(self.flow.blocks) {
            Ok(buffer) => buffer,
            Err(error) => return done.send(Err(error)),
        };
        while self.started.get() < self.flow.requests && !self.progress.stopped.get() {
            if let Err(error) = self.request(&buffer, self.sim.now()).await {
                return done.send(Err(error));
            }
        }
        done.send(Ok(()));
    }

    async fn run_open(
        self: &Rc<Running>,
        requests_per_second: f64,
        outstanding_max: u32,
    ) -> Result<(), host::Error> {
        let outstanding_max = u64::from(outstanding_max);
        let permits = Rc::new(Semaphore::new(&self.sim, outstanding_max));
        let mut gaps = self
            .sim
            .random(&format!("arrivals of flow {}", self.flow.name));
        let mut arrives = self.sim.now();
        for _ in 0..self.flow.requests {
            arrives += Span::from_ps(gaps.exponential(1e12 / requests_per_second) as u64);
            self.sim.sleep_until(arrives).await;
            // What waits here has arrived all the same: its latency has begun.
            permits.acquire(1).await.keep();
            if self.progress.stopped.get() || self.failure.borrow().is_some() {
                permits.release(1);
                break;
            }
            let (flow, permits) = (self.clone(), permits.clone());
            self.sim.spawn_detached(async move {
                let outcome = flow.request_arrived(arrives).await;
                if let Err(error) = outcome {
                    flow.failure.borrow_mut().get_or_insert(error);
                }
                permits.release(1);
            });
        }
        // All permits are back when all requests are done.
        permits.acquire(outstanding_max).await.keep();
        self.failure.borrow_mut().take().map_or(Ok(()), Err)
    }

    async fn request_arrived(&self, arrived: Time) -> Result<(), host::Error> {
        let buffer = self.device.buffer(self.flow.blocks)?;
        self.request(&buffer, arrived).await
    }

    /// Sends one request and notes how long it took since it arrived.
    #[inline]
    async fn request(&self, buffer: &Buffer, arrived: Time) -> Result<(), host::Error> {
        let number = self.started.get();
        self.started.set(number + 1);
        let (place, reads) = self.choose(number);
        let lba = self.flow.first_block + place * u64::from(self.flow.blocks);
        if reads {
            self.device.read_into(lba, self.flow.blocks, buffer).await?;
        } else {
            self.device
                .write_from(lba, self.flow.blocks, buffer)
                .await?;
        }
        let now = self.sim.now();
        let histogram = if reads { &self.reads } else { &self.writes };
        histogram.borrow_mut().record(now.since(arrived));
        self.last_end.set(now);
        let completed = &self.progress.completed;
        completed.set(completed.get() + 1);
        Ok(())
    }

    #[inline]
    fn choose(&self, number: u64) -> (u64, bool) {
        let random = &mut *self.random.borrow_mut();
        let reads = match self.flow.read_fraction {
            1.0 => true,
            0.0 => false,
            fraction => random.chance(fraction),
        };
        let place = match self.flow.pattern {
            Pattern::Random => random.below(self.places),
            Pattern::Sequential => number % self.places,
        };
        (place, reads)
    }

    fn report(&self, begin: Time) -> FlowReport {
        let (reads, writes) = (self.reads.borrow(), self.writes.borrow());
        FlowReport::new(
            &self.flow,
            self.device.block_bytes(),
            &reads,
            &writes,
            self.last_end.get().since(begin),
        )
    }
}
