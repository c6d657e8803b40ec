//! Synthetic workloads: flows of requests, and what they measured.

mod flow;
mod report;

pub use flow::{Arrival, Flow, Pattern};
pub use report::{FlowReport, LatencySummary, Report};

use crate::{Drive, Error};

impl Drive {
    /// Runs flows side by side until each has completed its requests; `progress`
    /// is called now and then with the number of requests completed.
    ///
    /// # Errors
    /// A flow that makes no sense on this drive, or a request that failed.
    pub fn run_flows(
        &mut self,
        flows: &[Flow],
        progress: impl Fn(u64) + 'static,
    ) -> Result<Report, Error> {
        flow::run(self, flows, progress)
    }
}
