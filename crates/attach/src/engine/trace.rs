//! A trace of what a served drive does, written to a file when it is no longer served.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bitline::Keep;

use super::{EngineError, Handle};

/// A trace that is being recorded: memory grows with every request.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
}

impl TraceFile {
    /// Has the drive record what it does from now on.
    ///
    /// # Errors
    /// [`EngineError`]; a drive that records a trace already.
    pub(crate) fn begin(handle: &Handle, path: &Path) -> Result<TraceFile, EngineError> {
        handle.ask(|drive, _| drive.start_trace(Keep::All))??;
        Ok(TraceFile { path: path.into() })
    }

    /// Ends the trace and writes it, in the trace-event format.
    ///
    /// # Errors
    /// [`EngineError::Trace`] for a file that cannot be written; [`EngineError`].
    pub(crate) fn write(self, handle: &Handle) -> Result<(), EngineError> {
        let path = self.path.clone();
        let written = handle.ask(move |drive, _| {
            drive.stop_trace()?;
            let file = File::create(path).map_err(bitline::Error::TraceWrite)?;
            let mut file = BufWriter::new(file);
            drive.write_trace(&mut file)?;
            file.flush().map_err(bitline::Error::TraceWrite)
        })?;
        written.map_err(|source| EngineError::Trace {
            path: self.path,
            source: Box::new(source),
        })
    }
}
