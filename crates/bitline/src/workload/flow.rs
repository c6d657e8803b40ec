//! Flows: closed loop (a number of requests always outstanding) or open loop
//! (requests arrive whether or not earlier ones are done).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host::Buffer;
use host::block::BlockDevice;
use serde::{Deserialize, Serialize};
use sim::resource::Semaphore;
use sim::{Histogram, Random, Sim, Span, Time, join_all};

use super::report::{FlowReport, Report};
use crate::drive::Host;
use crate::driver::Queue;
use crate::{Drive, Error};

/// How often `progress` is called, in requests.
const PROGRESS_STEP: u64 = 4096;

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
            Arrival::Closed { depth: 0 } => return wrong("depth = 0 must be at least 1".into()),
            Arrival::Open {
                requests_per_second,
                outstanding_max,
            } if !(requests_per_second > 0.0 && requests_per_second.is_finite())
                || outstanding_max == 0 =>
            {
                return wrong("requests_per_second and outstanding_max must be above 0".into());
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
    progress: Rc<Progress>,
}

struct Progress {
    completed: Cell<u64>,
    report: Box<dyn Fn(u64)>,
}

pub(super) fn run(
    drive: &mut Drive,
    flows: &[Flow],
    progress: impl Fn(u64) + 'static,
) -> Result<Report, Error> {
    let blocks = drive.blocks()?;
    let queue_pairs = drive.host()?.queue_pairs();
    let places: Vec<u64> = flows
        .iter()
        .map(|flow| flow.places(blocks, queue_pairs))
        .collect::<Result<_, _>>()?;
    let flows = flows.to_vec();
    let progress = Rc::new(Progress {
        completed: Cell::new(0),
        report: Box::new(progress),
    });
    let before = drive.statistics()?;
    let reports = drive.run(|host| async move {
        for flow in flows.iter().filter(|flow| flow.prefill) {
            prefill(&host, flow, blocks).await?;
        }
        let begin = host.sim().now();
        let mut running = Vec::new();
        for (flow, places) in flows.into_iter().zip(places) {
            running.push(Rc::new(
                Running::new(&host, flow, places, progress.clone()).await?,
            ));
        }
        let tasks: Vec<_> = running
            .iter()
            .map(|flow| host.sim().spawn(flow.clone().run()))
            .collect();
        for outcome in join_all(tasks).await {
            outcome?;
        }
        (progress.report)(progress.completed.get());
        let reports = running.iter().map(|flow| flow.report(begin)).collect();
        Ok::<Vec<FlowReport>, host::Error>(reports)
    })??;
    Ok(Report::new(reports, &before, &drive.statistics()?))
}

/// Writes the range of a flow, many blocks at a time, several at once.
async fn prefill(host: &Host, flow: &Flow, blocks: u64) -> Result<(), host::Error> {
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
        while next < end {
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
            progress,
            flow,
        })
    }

    async fn run(self: Rc<Running>) -> Result<(), host::Error> {
        match self.flow.arrival {
            Arrival::Closed { depth } => {
                let workers: Vec<_> = (0..depth)
                    .map(|_| self.sim.spawn(self.clone().work()))
                    .collect();
                for outcome in join_all(workers).await {
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

    /// One of the workers of a closed loop.
    async fn work(self: Rc<Running>) -> Result<(), host::Error> {
        let buffer = self.device.buffer(self.flow.blocks)?;
        while self.started.get() < self.flow.requests {
            self.request(&buffer, self.sim.now()).await?;
        }
        Ok(())
    }

    async fn run_open(
        self: &Rc<Running>,
        requests_per_second: f64,
        outstanding_max: u32,
    ) -> Result<(), host::Error> {
        let permits = Rc::new(Semaphore::new(&self.sim, u64::from(outstanding_max)));
        let mut gaps = self
            .sim
            .random(&format!("arrivals of flow {}", self.flow.name));
        let mut arrives = self.sim.now();
        let mut tasks = Vec::new();
        for _ in 0..self.flow.requests {
            arrives += Span::from_ps(gaps.exponential(1e12 / requests_per_second) as u64);
            self.sim.sleep_until(arrives).await;
            let (flow, permits) = (self.clone(), permits.clone());
            tasks.push(self.sim.spawn(async move {
                let _permit = permits.acquire(1).await;
                let buffer = flow.device.buffer(flow.flow.blocks)?;
                flow.request(&buffer, arrives).await
            }));
        }
        for task in tasks {
            task.await?;
        }
        Ok(())
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
        self.note_progress();
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

    #[inline]
    fn note_progress(&self) {
        let completed = self.progress.completed.get() + 1;
        self.progress.completed.set(completed);
        if completed.is_multiple_of(PROGRESS_STEP) {
            (self.progress.report)(completed);
        }
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
