//! Running a scenario on our drive.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use device::ftl::History;
use host::Buffer;
use host::block::BlockDevice;
use serde::Serialize;
use sim::{JoinHandle, Sim, Span, Time, join_all};

use crate::device::MqsimDevice;
use crate::error::RunError;
use crate::requests::{Request, Requests, ranges};
use crate::state::{preconditioned, read_before_written};
use crate::workload::{Arrivals, FlowSource, Scenario};
use bitline::inside::{InsideDrive, InsideHost, Queue};
use bitline::{Drive, Error, Statistics};

/// Events between two calls of the progress function: some tens of milliseconds.
const EVENTS_PER_LOOK: u64 = 1 << 18;

/// What a scenario measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioResult {
    /// One entry a flow.
    pub flows: Vec<FlowResult>,
    /// What the flash did meanwhile.
    pub flash: FlashWork,
}

/// What one flow measured. Response times are from the ringing of the doorbell to the arrival
/// of the completion, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FlowResult {
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Mean response time.
    pub mean_ns: f64,
    /// Least response time.
    pub min_ns: f64,
    /// Greatest response time.
    pub max_ns: f64,
}

/// Work of the flash, in pages and blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlashWork {
    /// Pages read, of mapping and collection too.
    pub reads: u64,
    /// Pages programmed, of mapping and collection too.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Mapping pages read.
    pub mapping_reads: u64,
    /// Mapping pages programmed.
    pub mapping_writes: u64,
}

/// A flow under way.
struct Flow {
    sim: Sim,
    device: BlockDevice<Queue>,
    requests: RefCell<Requests>,
    depth: Option<u32>,
    /// Where data goes to and comes from. The drive keeps none, so all requests share it.
    buffer: RefCell<Rc<Buffer>>,
    begin: Time,
    tally: Cell<Tally>,
    completed: Rc<Cell<u64>>,
}

#[derive(Clone, Copy)]
struct Tally {
    reads: u64,
    writes: u64,
    sum: Span,
    min: Span,
    max: Span,
}

/// Runs `scenario` on the drive that `device` describes; `progress` is called now and then with
/// the number of requests completed.
///
/// # Errors
/// Flows that cannot be on this drive, a trace that cannot be read, or a request that failed.
pub(super) fn run(
    device: &MqsimDevice,
    workload: &Path,
    scenario: &Scenario,
    mut progress: impl FnMut(u64),
) -> Result<ScenarioResult, RunError> {
    let config = device.config(workload, scenario)?;
    let mut drive = Drive::open(config).map_err(RunError::Drive)?;
    let read = read_before_written(device, scenario)?;
    if device.preconditioning {
        drive.occupy(&preconditioned(device, scenario)?, History::Mqsim)?;
        // What preconditioning left out has a place from the first read on, behind all that there is.
        drive.append(&read)?;
    } else {
        drive.occupy(&read, History::Sequential)?;
    }
    let before = drive.statistics()?;
    let completed = Rc::new(Cell::new(0));
    let flows = start(&mut drive, device, scenario, &completed)?;
    while !drive
        .simulation()?
        .advance(&flows, EVENTS_PER_LOOK)
        .map_err(Error::from)?
    {
        progress(completed.get());
    }
    progress(completed.get());
    // What was acknowledged from the cache is still on its way to flash.
    drive.simulation()?.run();
    let flows = flows.take().expect("advance says that they are done")?;
    Ok(ScenarioResult {
        flows,
        flash: FlashWork::between(&before, &drive.statistics()?),
    })
}

type Outcome = Result<Vec<FlowResult>, RunError>;

fn start(
    drive: &mut Drive,
    device: &MqsimDevice,
    scenario: &Scenario,
    completed: &Rc<Cell<u64>>,
) -> Result<JoinHandle<Outcome>, RunError> {
    let ranges = ranges(device, scenario);
    let mut requests = Vec::new();
    for (flow, range) in scenario.flows.iter().zip(ranges) {
        let depth = match &flow.source {
            FlowSource::Synthetic(synthetic) => match synthetic.arrivals {
                Arrivals::QueueDepth(depth) => Some(depth),
                Arrivals::MeanGap(_) => None,
            },
            FlowSource::Trace(_) => None,
        };
        requests.push((Requests::new(flow, range)?, depth));
    }
    let host = drive.host()?;
    let completed = completed.clone();
    let sim = host.sim().clone();
    Ok(sim.spawn(async move {
        let mut flows = Vec::new();
        for (number, (requests, depth)) in requests.into_iter().enumerate() {
            let device = host.block_on_queue(number).await.map_err(Error::from)?;
            let buffer = Rc::new(device.buffer(1).map_err(Error::from)?);
            flows.push((device, buffer, requests, depth));
        }
        let begin = host.sim().now();
        let tasks: Vec<_> = flows
            .into_iter()
            .map(|(device, buffer, requests, depth)| {
                let flow = Rc::new(Flow {
                    sim: host.sim().clone(),
                    device,
                    requests: RefCell::new(requests),
                    depth,
                    buffer: RefCell::new(buffer),
                    begin,
                    tally: Cell::new(Tally::NONE),
                    completed: completed.clone(),
                });
                host.sim().spawn(flow.run())
            })
            .collect();
        join_all(tasks).await.into_iter().collect()
    }))
}

impl Flow {
    async fn run(self: Rc<Flow>) -> Result<FlowResult, RunError> {
        match self.depth {
            Some(depth) => {
                let workers: Vec<_> = (0..depth)
                    .map(|_| self.sim.spawn(self.clone().work()))
                    .collect();
                for outcome in join_all(workers).await {
                    outcome?;
                }
            }
            None => self.send_as_they_arrive().await?,
        }
        Ok(self.tally.get().result())
    }

    /// One of the workers of a closed loop.
    async fn work(self: Rc<Flow>) -> Result<(), RunError> {
        loop {
            let now_ns = self.sim.now().since(self.begin).whole_ns();
            let next = self.requests.borrow_mut().next(now_ns)?;
            match next {
                Some(request) => self.send(request).await?,
                None => return Ok(()),
            }
        }
    }

    async fn send_as_they_arrive(self: &Rc<Flow>) -> Result<(), RunError> {
        let mut under_way = Vec::new();
        loop {
            let next = self.requests.borrow_mut().next(0)?;
            let Some(request) = next else { break };
            let arrives = self.begin + Span::from_ns(request.arrives_ns.unwrap_or(0));
            self.sim.sleep_until(arrives).await;
            let flow = self.clone();
            under_way.push(self.sim.spawn(async move { flow.send(request).await }));
            if under_way.len() >= 4096 {
                under_way.retain(|request: &JoinHandle<_>| !request.is_finished());
            }
        }
        for outcome in join_all(under_way).await {
            outcome?;
        }
        Ok(())
    }

    async fn send(&self, request: Request) -> Result<(), RunError> {
        let buffer = self.buffer_for(request.sectors)?;
        let (device, begin) = (&self.device, self.sim.now());
        let (sector, sectors) = (request.sector, request.sectors);
        let done = if request.reads {
            device.read_into(sector, sectors, &buffer).await
        } else {
            device.write_from(sector, sectors, &buffer).await
        };
        done.map_err(Error::from)?;
        let mut tally = self.tally.get();
        tally.add(request.reads, self.sim.now().since(begin));
        self.tally.set(tally);
        self.completed.set(self.completed.get() + 1);
        Ok(())
    }

    fn buffer_for(&self, sectors: u32) -> Result<Rc<Buffer>, RunError> {
        let mut buffer = self.buffer.borrow_mut();
        if buffer.bytes() < u64::from(sectors) * 512 {
            let larger = self.device.buffer(sectors.next_power_of_two().min(65_536));
            *buffer = Rc::new(larger.map_err(Error::from)?);
        }
        Ok(buffer.clone())
    }
}

impl Tally {
    const NONE: Tally = Tally {
        reads: 0,
        writes: 0,
        sum: Span::ZERO,
        min: Span::from_ps(u64::MAX),
        max: Span::ZERO,
    };

    fn add(&mut self, reads: bool, took: Span) {
        if reads {
            self.reads += 1;
        } else {
            self.writes += 1;
        }
        self.sum += took;
        self.min = self.min.min(took);
        self.max = self.max.max(took);
    }

    fn result(&self) -> FlowResult {
        let count = self.reads + self.writes;
        if count == 0 {
            return FlowResult::default();
        }
        FlowResult {
            reads: self.reads,
            writes: self.writes,
            mean_ns: self.sum.as_ns() / count as f64,
            min_ns: self.min.as_ns(),
            max_ns: self.max.as_ns(),
        }
    }
}

impl FlashWork {
    fn between(before: &Statistics, after: &Statistics) -> FlashWork {
        let (old, new) = (&before.flash, &after.flash);
        FlashWork {
            reads: new.page_reads - old.page_reads,
            programs: new.page_programs - old.page_programs,
            erases: new.block_erases - old.block_erases,
            mapping_reads: after.ftl.mapping_page_reads - before.ftl.mapping_page_reads,
            mapping_writes: after.ftl.mapping_page_writes - before.ftl.mapping_page_writes,
        }
    }
}
