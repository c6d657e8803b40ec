//! Cases of MQSim for Python.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::path::PathBuf;

use bitline::mqsim::{Case, Comparison, RunError};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{config, internal, to_python};
use crate::keeper::catch;

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
    let failed = RefCell::new(None);
    let tell = |requests: u64| {
        let told = py.check_signals().and_then(|()| match &progress {
            Some(progress) => progress.call1((requests,)).map(drop),
            None => Ok(()),
        });
        if let Err(error) = told {
            failed.replace(Some(error));
            // The only way out of the middle of it; the `catch` below is where it leads.
            resume_unwind(Box::new("ended by its progress function"));
        }
    };
    let validated = catch(|| case.validate(tell));
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let comparisons = match validated.map_err(internal)? {
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
