//! Lets workloads run in steps, between which Python is told of progress and of requests, and Ctrl-C is looked for.

use bitline::Drive;
use bitline::workload::{Report, RunOptions, UnderWay, Workload};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::progress::Progress;
use crate::workload::columns;

/// Events of a workload between two calls of its progress function: some tens of milliseconds.
const EVENTS_PER_TELLING: u64 = 1 << 17;
/// Events of a workload between two looks for Ctrl-C.
const EVENTS_PER_LOOK: u64 = 1 << 13;

/// Requests are handed to Python when there are so many, or a little more.
const LATENCIES_PER_CHUNK: usize = 1 << 16;

/// Runs `workloads` to their end. `latencies`, if any, is called with columns of requests as they complete.
pub(crate) fn run(
    py: Python<'_>,
    drive: &mut Drive,
    workloads: &[Workload],
    options: RunOptions,
    progress: &Progress<'_>,
    latencies: Option<Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let under_way = drive
        .start_workloads(workloads, options)
        .map_err(to_python)?;
    loop {
        let mut done = false;
        for _ in 0..EVENTS_PER_TELLING / EVENTS_PER_LOOK {
            py.check_signals()?;
            done = under_way
                .advance(drive, EVENTS_PER_LOOK)
                .map_err(to_python)?;
            if done {
                break;
            }
        }
        if let Some(latencies) = &latencies {
            hand_over(py, &under_way, latencies, done)?;
        }
        progress.tell(under_way.completed())?;
        if done {
            return under_way.report(drive).map_err(to_python);
        }
    }
}

/// Hands requests to Python once there are enough of them, or at the end.
fn hand_over(
    py: Python<'_>,
    under_way: &UnderWay,
    latencies: &Bound<'_, PyAny>,
    done: bool,
) -> PyResult<()> {
    let kept = under_way.latencies_kept();
    if kept >= LATENCIES_PER_CHUNK || (done && kept > 0) {
        latencies.call1((columns(py, &under_way.take_latencies())?,))?;
    }
    Ok(())
}
