//! What a workload becomes on a drive: checked, with everything that running it needs.

use device::cache::CacheMode;
use device::ftl::MappingKind;
use sim::Span;

use super::Workload;
use super::facts::RangeFacts;
use super::flow::{Arrival, Flow};
use super::format::Format;
use super::prefill::{Prefill, Touched};
use super::queries::{Queries, Question};
use super::range::Range;
use super::replay::{Replay, Timing, TraceSource};
use crate::host_end::Plain;
use crate::{Drive, Error, Host};

/// When requests are sent.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    /// A number of workers, each of which waits for its request.
    Closed { depth: u32, think: Span },
    /// When they arrive.
    Timed { outstanding_max: u32 },
}

impl Pace {
    fn of(arrival: Arrival) -> Pace {
        let (_, depth) = arrival.depth();
        match arrival {
            Arrival::Closed { .. } => Pace::Closed {
                depth,
                think: Span::ZERO,
            },
            Arrival::Thinking { think_ns, .. } => Pace::Closed {
                depth,
                think: Span::from_ns(think_ns),
            },
            Arrival::Open { .. } | Arrival::Paced { .. } | Arrival::Bursts { .. } => Pace::Timed {
                outstanding_max: depth,
            },
        }
    }
}

/// Where requests come from.
pub(super) enum PlanSource {
    Flow(Flow, Range),
    Trace(Box<TraceSource>),
    Queries(Box<Question>),
}

/// A workload about to run.
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) queue: usize,
    /// Namespaces of the devices that requests name.
    pub(super) namespaces: Vec<u32>,
    pub(super) pace: Pace,
    pub(super) source: PlanSource,
    /// Where a flow goes, beside the drive.
    pub(super) range: Option<RangeFacts>,
    prefill: Option<Prefill>,
}

impl Plan {
    /// Checks a workload against the drive.
    pub(super) fn of(workload: &Workload, drive: &mut Drive, draw: u64) -> Result<Plan, Error> {
        match workload {
            Workload::Flow(flow) => Plan::of_flow(flow, drive, draw),
            Workload::Replay(replay) => Plan::of_replay(replay, drive),
            Workload::Queries(queries) => Plan::of_queries(queries, drive),
        }
    }

    fn of_flow(flow: &Flow, drive: &mut Drive, draw: u64) -> Result<Plan, Error> {
        let wrong = |what: String| Error::Workload(format!("flow {:?}: {what}", flow.name));
        let size = Format::of(drive, flow.namespace).map_err(|error| wrong(error.to_string()))?;
        let pairs = drive.host()?.queue_pairs();
        let range = flow.check(size.size, pairs).map_err(wrong)?;
        if flow.read_fraction < 1.0 {
            check_volume(drive, flow.namespace, range).map_err(wrong)?;
        }
        Ok(Plan {
            name: flow.name.clone(),
            queue: flow.queue,
            namespaces: vec![flow.namespace],
            pace: Pace::of(flow.arrival),
            range: Some(RangeFacts::of(range, &size, drive)?),
            prefill: match flow.prefill {
                true => Some(Prefill {
                    namespace: flow.namespace,
                    block_bytes: size.block_bytes,
                    range,
                    touched: Touched::by(flow, range, &size, drive, draw)?,
                }),
                false => None,
            },
            source: PlanSource::Flow(flow.clone(), range),
        })
    }

    fn of_replay(replay: &Replay, drive: &mut Drive) -> Result<Plan, Error> {
        let named = |what: String| {
            let file = replay.path.display();
            Error::Workload(format!("trace {file}: {what}"))
        };
        let mut sizes = Vec::new();
        for number in replay.namespaces_used() {
            let size = Format::of(drive, number).map_err(|error| named(error.to_string()))?;
            sizes.push((number, size));
        }
        let pairs = drive.host()?.queue_pairs();
        replay.check(pairs).map_err(named)?;
        let mut targets = Vec::new();
        for (_, size) in &sizes {
            targets.push(replay.target(size.size, size.block_bytes).map_err(named)?);
        }
        for ((number, _), target) in sizes.iter().zip(&targets) {
            check_volume(drive, *number, target.range).map_err(named)?;
        }
        let prefill = replay.prefill.then(|| Prefill {
            namespace: sizes[0].0,
            block_bytes: sizes[0].1.block_bytes,
            range: targets[0].range,
            touched: None,
        });
        Ok(Plan {
            name: replay.name.clone(),
            queue: replay.queue,
            namespaces: sizes.iter().map(|(number, _)| *number).collect(),
            pace: match replay.timing {
                Timing::AsFastAsPossible { depth } => Pace::Closed {
                    depth,
                    think: Span::ZERO,
                },
                Timing::Original | Timing::Scaled { .. } => Pace::Timed {
                    outstanding_max: replay.outstanding_max,
                },
            },
            source: PlanSource::Trace(Box::new(TraceSource::open(replay, targets)?)),
            range: None,
            prefill,
        })
    }

    fn of_queries(queries: &Queries, drive: &mut Drive) -> Result<Plan, Error> {
        let question = queries.question(drive)?;
        Ok(Plan {
            name: queries.name.clone(),
            queue: queries.queue,
            // Vectors are found through the host's volume.
            namespaces: Vec::new(),
            pace: Pace::of(queries.arrival),
            source: PlanSource::Queries(Box::new(question)),
            range: None,
            prefill: None,
        })
    }

    /// The range to fill before anything is measured.
    pub(super) fn take_prefill(&mut self) -> Option<Prefill> {
        self.prefill.take()
    }
}

/// What is written must stay away from the drive's volume, if it has one.
fn check_volume(drive: &mut Drive, namespace: u32, range: Range) -> Result<(), String> {
    if namespace != 1 {
        return Ok(());
    }
    let blocks = range.first..range.first + range.blocks;
    let check =
        |host: Host| async move { host.check_plain(blocks, Plain::Generate).await.map(drop) };
    let checked = drive.run(check).and_then(|checked| checked);
    checked.map_err(|error| error.to_string())
}

impl RangeFacts {
    fn of(range: Range, format: &Format, drive: &Drive) -> Result<RangeFacts, Error> {
        let config = &drive.config().device;
        let unit = drive.device_for("a workload")?.ftl.unit();
        let pages = range.pages(unit.blocks(format.block_bytes));
        Ok(RangeFacts {
            blocks: range.blocks,
            namespace_blocks: format.size.data.max(1),
            pages: pages.end - pages.start,
            planes: config.nand.geometry.planes().into(),
            is_cached: config.cache.mode != CacheMode::Off
                || config.ftl.mapping.kind == MappingKind::Cached,
        })
    }
}
