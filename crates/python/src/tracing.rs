//! Files of traces.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bitline::{Error, Keep};
use pyo3::prelude::*;

use crate::error::{file, to_python};

pub(crate) fn keep(busiest: bool) -> Keep {
    if busiest { Keep::Busiest } else { Keep::All }
}

/// Writes the trace of a drive to a file that appears whole or not at all.
pub(crate) fn write(drive: &bitline::Drive, path: &Path) -> PyResult<()> {
    if !drive.has_trace() {
        return drive.write_trace(io::sink()).map_err(to_python);
    }
    // What a link leads to is replaced, not the link; a device is written as it is.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let replaces = target.is_file() || !target.exists();
    let partial = if replaces {
        beside(&target)
    } else {
        target.clone()
    };
    let written = fill(drive, &partial).and_then(|()| match replaces {
        true => fs::rename(&partial, &target).map_err(Error::TraceWrite),
        false => Ok(()),
    });
    written.map_err(|error| {
        if replaces {
            // It may not even have been made; what went wrong before is what is told.
            let _ = fs::remove_file(&partial);
        }
        to_exception(path, error)
    })
}

/// Where the trace lies until it is whole.
fn beside(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn fill(drive: &bitline::Drive, path: &Path) -> Result<(), Error> {
    let out = Watched(File::create(path).map_err(Error::TraceWrite)?);
    let mut out = BufWriter::with_capacity(1 << 20, out);
    drive.write_trace(&mut out)?;
    out.flush().map_err(Error::TraceWrite)
}

fn to_exception(path: &Path, error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::TraceWrite(error) => match error.downcast::<PyErr>() {
            Ok(raised) => raised,
            Err(error) => file(path, &message, error.raw_os_error()),
        },
        other => to_python(other),
    }
}

/// A file whose writes end when a signal handler raises something, with that as their error.
struct Watched(File);

impl Watched {
    fn check_signals() -> io::Result<()> {
        Python::attach(|py| py.check_signals()).map_err(io::Error::other)
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Watched::check_signals()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Watched::check_signals()?;
        self.0.flush()
    }
}
