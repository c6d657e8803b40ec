//! The benchmarks for Python.

use bitline::bench;
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{internal, to_python};
use crate::progress::Progress;

/// Measures the speed of the simulator on this machine, which takes some seconds; gives the
/// report as JSON. With `scaling` it also has the rates for drives of three sizes and runs of three
/// lengths, which takes minutes and 5 GiB of memory. `progress(text)` is told what is measured
/// next; an exception in it ends the measuring, and so does Ctrl-C when the present measurement is
/// done.
#[pyfunction]
#[pyo3(signature = (progress = None, *, scaling = false))]
pub(crate) fn run_benchmarks(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    scaling: bool,
) -> PyResult<String> {
    let measured = Progress::new(py, progress).catch(|progress| {
        let report = bench::run(|what| progress.tell_or_unwind(what))?;
        let scaling = if scaling {
            Some(bench::scaling(|what| progress.tell_or_unwind(what))?)
        } else {
            None
        };
        Ok::<_, bitline::Error>(Measured { report, scaling })
    })?;
    let measured = measured.map_err(to_python)?;
    serde_json::to_string(&measured).map_err(|error| internal(error.to_string()))
}

/// The report, and how rates scale if that was asked for.
#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    report: bench::BenchReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    scaling: Option<Vec<bench::Scaling>>,
}
