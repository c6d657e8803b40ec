//! Synthetic workloads: flows of requests, and what they measured.

mod flow;
mod report;

pub use flow::{Arrival, Flow, FlowsUnderWay, Pattern};
pub use report::{FlowReport, LatencySummary, Report};

use crate::{Drive, Error};

/// Events between two calls of the progress function: some tens of milliseconds.
const EVENTS_PER_LOOK: u64 = 1 << 18;

impl Drive {
    /// Runs flows side by side until each has completed its requests; `progress`
    /// is called now and then with the number of requests completed.
    ///
    /// # Errors
    /// A flow that makes no sense on this drive, or a request that failed.
    pub fn run_flows(&mut self, flows: &[Flow], progress: impl Fn(u64)) -> Result<Report, Error> {
        let under_way = self.start_flows(flows)?;
        while !under_way.advance(self, EVENTS_PER_LOOK)? {
            progress(under_way.completed());
        }
        progress(under_way.completed());
        under_way.report(self)
    }

    /// Starts flows; they run as [`FlowsUnderWay::advance`] lets time pass, so that the
    /// caller can look up in between.
    ///
    /// # Errors
    /// A flow that makes no sense on this drive.
    pub fn start_flows(&mut self, flows: &[Flow]) -> Result<FlowsUnderWay, Error> {
        FlowsUnderWay::start(self, flows)
    }
}
