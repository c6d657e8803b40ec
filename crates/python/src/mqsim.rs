//! Cases of MQSim for Python.

use std::path::PathBuf;

use mqsim::{Case, Comparison, RunError};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{config, internal, to_python};
use crate::progress::Progress;

/// What a case came to.
#[derive(Serialize)]
struct Validated {
    notes: Vec<String>,
    comparisons: Vec<Comparison>,
}

/// The number of requests of the case in `folder`, which is checked by the way.
#[pyfunction]
pub(crate) fn mqsim_requests(folder: PathBuf) -> PyResult<u64> {
    let case = Case::read(&folder).map_err(config)?;
    case.import.requests().map_err(config)
}

/// Runs the case in `folder` and holds the results against MQSim's; gives both as JSON.
/// `progress(requests)` is called now and then; an exception in it ends the run.
#[pyfunction]
#[pyo3(signature = (folder, progress = None))]
pub(crate) fn validate_mqsim(
    py: Python<'_>,
    folder: PathBuf,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let case = Case::read(&folder).map_err(config)?;
    let validated = Progress::new(py, progress)
        .catch(|progress| case.validate(|requests| progress.tell_or_unwind(requests)))?;
    let comparisons = match validated {
        Ok(comparisons) => comparisons,
        Err(RunError::Files(error)) => return Err(config(error)),
        Err(RunError::Drive(error)) => return Err(to_python(error)),
    };
    let validated = Validated {
        notes: case.import.notes.iter().map(ToString::to_string).collect(),
        comparisons,
    };
    serde_json::to_string(&validated).map_err(|error| internal(error.to_string()))
}
