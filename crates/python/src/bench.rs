//! The benchmarks for Python.

use std::cell::RefCell;
use std::panic::resume_unwind;

use bitline::bench;
use pyo3::prelude::*;

use crate::error::{internal, to_python};
use crate::keeper::catch;

/// Measures the speed of the simulator on this machine, which takes some seconds; gives the
/// report as JSON. `progress(text)` is told what is measured next; an exception in it ends
/// the measuring, and so does Ctrl-C when the present measurement is done.
#[pyfunction]
#[pyo3(signature = (progress = None))]
pub(crate) fn run_benchmarks(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let failed = RefCell::new(None);
    let tell = |what: &str| {
        let told = py.check_signals().and_then(|()| match &progress {
            Some(progress) => progress.call1((what,)).map(drop),
            None => Ok(()),
        });
        if let Err(error) = told {
            failed.replace(Some(error));
            // The only way out of the middle of it; the `catch` below is where it leads.
            resume_unwind(Box::new("ended by its progress function"));
        }
    };
    let report = catch(|| bench::run(tell));
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let report = report.map_err(internal)?.map_err(to_python)?;
    serde_json::to_string(&report).map_err(|error| internal(error.to_string()))
}
