//! Workloads: synthetic flows of requests, replayed traces, streams of queries, and what they measured.
//!
//! ```
//! use bitline::workload::{Arrival, Flow};
//! use bitline::{Config, Drive};
//!
//! let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
//! let flow = Flow {
//!     arrival: Arrival::Closed { depth: 8 },
//!     requests: 500,
//!     range_blocks: 1024,
//!     ..Flow::default()
//! };
//! let report = drive.run_flows(&[flow], |_completed| {})?;
//! assert_eq!(report.flows[0].requests, 500);
//! # Ok::<(), bitline::Error>(())
//! ```

mod draw;
mod facts;
mod flow;
mod format;
mod formula;
mod latencies;
mod named;
mod plan;
mod prefill;
mod progress;
mod queries;
mod range;
mod replay;
mod report;
mod request;
mod run;
mod series;
mod summary;
mod tally;
mod warnings;

pub use crate::request_kind::RequestKind;
pub use crate::traces::{
    BadLine, BlkparseAction, LineError, Record, TraceError, TraceFormat, TraceOptions, TraceReader,
};
pub use facts::{Warning, WarningKind};
pub use flow::{Arrival, CLOSED_DEPTH, Flow, OPEN_DEPTH, Pattern, Size};
pub use formula::Formula;
pub use latencies::Latencies;
pub use queries::{Answer, Queries};
pub use replay::{Replay, Timing};
pub use report::{
    CacheReport, FlowReport, MappingReport, QueriesReport, Report, TraceReport, Utilization,
    WearReport,
};
pub use run::UnderWay;
pub use series::{Interval, Series, WorkloadInterval};
pub use summary::LatencySummary;

use crate::{Drive, Error};

/// Events between two calls of the progress function: some tens of milliseconds.
const EVENTS_PER_LOOK: u64 = 1 << 18;

/// What a drive can be made to do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Workload {
    /// A synthetic flow.
    Flow(Flow),
    /// A replayed trace.
    Replay(Replay),
    /// A stream of queries.
    Queries(Queries),
}

/// What else a run is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Keep every request for [`UnderWay::take_latencies`].
    pub latencies: bool,
    /// Count requests and queries that the drive fails, instead of ending at the first.
    pub keep_going: bool,
    /// Length of the intervals of the report's series, in nanoseconds; zero for one that follows the run's, so that
    /// there are 20 to 100 of them unless it is very short.
    pub interval_ns: u64,
    /// Which random numbers workloads draw: those of the run whose report has the same [`Report::draw`]. By default each
    /// run on a drive has others.
    pub draw: Option<u64>,
}

impl Drive {
    /// Runs flows side by side until each has completed its requests; `progress`
    /// is called now and then with the number of requests completed.
    ///
    /// # Errors
    /// A flow that makes no sense on this drive, or a request that failed.
    pub fn run_flows(&mut self, flows: &[Flow], progress: impl Fn(u64)) -> Result<Report, Error> {
        let under_way = self.start_flows(flows)?;
        self.finish(under_way, progress)
    }

    /// Replays a trace; `progress` is called as by [`Drive::run_flows`].
    ///
    /// # Errors
    /// A trace that cannot be read or makes no sense on this drive, or a request that
    /// failed.
    pub fn replay(&mut self, replay: &Replay, progress: impl Fn(u64)) -> Result<Report, Error> {
        let workload = Workload::Replay(replay.clone());
        let under_way = self.start_workloads(&[workload], RunOptions::default())?;
        self.finish(under_way, progress)
    }

    /// Runs any workloads, side by side; `progress` is called as by [`Drive::run_flows`].
    ///
    /// # Errors
    /// As [`Drive::start_workloads`]; a request or query that failed.
    pub fn run_workloads(
        &mut self,
        workloads: &[Workload],
        options: RunOptions,
        progress: impl Fn(u64),
    ) -> Result<Report, Error> {
        let under_way = self.start_workloads(workloads, options)?;
        self.finish(under_way, progress)
    }

    fn finish(&mut self, under_way: UnderWay, progress: impl Fn(u64)) -> Result<Report, Error> {
        while !under_way.advance(self, EVENTS_PER_LOOK)? {
            progress(under_way.completed());
        }
        progress(under_way.completed());
        under_way.report(self)
    }

    /// Starts flows; they run as [`UnderWay::advance`] lets time pass, so that the
    /// caller can look up in between.
    ///
    /// # Errors
    /// A flow that makes no sense on this drive.
    pub fn start_flows(&mut self, flows: &[Flow]) -> Result<UnderWay, Error> {
        let workloads: Vec<Workload> = flows.iter().cloned().map(Workload::Flow).collect();
        self.start_workloads(&workloads, RunOptions::default())
    }

    /// Starts any workloads, side by side.
    ///
    /// # Errors
    /// A workload that makes no sense on this drive, a trace that cannot be opened, or a query about vectors that are
    /// not there.
    pub fn start_workloads(
        &mut self,
        workloads: &[Workload],
        options: RunOptions,
    ) -> Result<UnderWay, Error> {
        UnderWay::start(self, workloads, options)
    }
}
