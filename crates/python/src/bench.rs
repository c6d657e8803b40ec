//! The benchmarks for Python.

use bitline::bench;
use pyo3::prelude::*;

use crate::error::{internal, to_python};
use crate::keeper::catch;

/// Measures the speed of the simulator on this machine, which takes some seconds; gives the
/// report as JSON. `progress(text)` is told what is measured next; an exception in it is
/// raised at the end.
#[pyfunction]
#[pyo3(signature = (progress = None))]
pub(crate) fn run_benchmarks(progress: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let failed = std::cell::RefCell::new(None);
    let tell = |what: &str| {
        let told = progress.as_ref().map(|progress| progress.call1((what,)));
        if let Some(Err(error)) = told {
            failed.borrow_mut().get_or_insert(error);
        }
    };
    let report = catch(|| bench::run(tell)).map_err(internal)?;
    let report = report.map_err(to_python)?;
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    serde_json::to_string(&report).map_err(|error| internal(error.to_string()))
}
