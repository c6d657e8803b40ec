//! The one place where an error of the drive becomes a Python exception. The classes
//! are in `python/bitline/errors.py`.

use std::cell::Cell;
use std::fmt::Display;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use ::attach::attachment::AttachError;
use ::attach::engine::EngineError;
use ::attach::fuse::FuseError;
use ::attach::mount::{CommandError, MountError};
use ::attach::mounted::MountedError;
use ::attach::serving::ServingError;
use ::attach::tcp::ServerError;
use bitline::workload::TraceError;
use bitline::{
    Error, ErrorKind, HostError, MediaError as OpenError, NandError, PlaceError, Status,
    StatusError, StatusType, StorageError, TaskError, Watch,
};
use pyo3::exceptions::{PyConnectionError, PyKeyboardInterrupt, PyOSError};
use pyo3::{PyErr, Python};

pyo3::import_exception!(bitline.errors, BusyError);
pyo3::import_exception!(bitline.errors, ConfigError);
pyo3::import_exception!(bitline.errors, ImageError);
pyo3::import_exception!(bitline.errors, InternalError);
pyo3::import_exception!(bitline.errors, MediaError);
pyo3::import_exception!(bitline.errors, NotFoundError);
pyo3::import_exception!(bitline.errors, NvmeError);
pyo3::import_exception!(bitline.errors, UsageError);

/// An error in words of this crate.
pub(crate) fn usage(message: impl Into<String>) -> PyErr {
    UsageError::new_err(message.into())
}

/// What was asked in words that mean nothing here, as the crate says that reads them.
pub(crate) fn said(error: impl Display) -> PyErr {
    usage(error.to_string())
}

/// A file or key that makes no drive or no workload.
pub(crate) fn config(error: impl Display) -> PyErr {
    ConfigError::new_err(error.to_string())
}

/// A bug of Bitline, in words of this crate.
pub(crate) fn internal(message: impl Into<String>) -> PyErr {
    InternalError::new_err(message.into())
}

thread_local! {
    /// What a signal handler raised, until [`to_python`] hands it on.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Has calls of a drive look for Ctrl-C and other signals.
pub(crate) fn watch() -> Watch {
    Rc::new(|| match Python::attach(|py| py.check_signals()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(raised) => {
            RAISED.set(Some(raised));
            ControlFlow::Break(())
        }
    })
}

/// The exception for an error of the drive.
pub(crate) fn to_python(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let message = error.to_string();
    match error {
        Error::Interrupted => RAISED
            .take()
            .unwrap_or_else(|| PyKeyboardInterrupt::new_err(message)),
        Error::Media(OpenError::Storage(error))
        | Error::Flash(NandError::Storage(error))
        | Error::Place(PlaceError::Media(NandError::Storage(error))) => storage(error),
        Error::Host(HostError::Status(error)) => status(message, &error),
        Error::Trace(TraceError::Io { path, source }) => file(
            &path,
            &format!("cannot read the trace: {source}"),
            source.raw_os_error(),
        ),
        Error::TraceWrite(source) => system(&message, &source),
        Error::Task(TaskError::Failed { .. }) => {
            let failed = StatusError::new("execute program", Status::PROGRAM_FAILED);
            status(message, &failed)
        }
        Error::NoVector(id) => NotFoundError::new_err((message, Some((id.group, id.vector)))),
        error => match error.kind() {
            ErrorKind::Config => ConfigError::new_err(message),
            ErrorKind::Image => ImageError::new_err(message),
            ErrorKind::Connection => PyConnectionError::new_err(message),
            ErrorKind::NotFound => NotFoundError::new_err((message, None::<(u32, u32)>)),
            ErrorKind::Usage | ErrorKind::Module | ErrorKind::Power => UsageError::new_err(message),
            _ => InternalError::new_err(message),
        },
    }
}

/// The exception for an error of a drive that is attached.
pub(crate) fn attaching(error: AttachError) -> PyErr {
    match error {
        AttachError::Engine(error) => engine(error),
        AttachError::Fuse(error) => fuse(error),
        AttachError::Server(error) => server(error),
        AttachError::Mount(error) => mount(error),
        other => internal(other.to_string()),
    }
}

/// The exception for an error of a drive on a network.
pub(crate) fn serving(error: ServingError) -> PyErr {
    match error {
        ServingError::Engine(error) => engine(error),
        ServingError::Server(error) => server(error),
        other => internal(other.to_string()),
    }
}

/// The exception for an error of a drive that is served.
pub(crate) fn engine(error: EngineError) -> PyErr {
    match error {
        EngineError::Drive(error) => to_python(error),
        EngineError::Trace { path, source } => match *source {
            Error::TraceWrite(ref written) => refused(&path, &source, written),
            other => to_python(other),
        },
        EngineError::Thread(ref source) => system(&error, source),
        other => internal(other.to_string()),
    }
}

/// The exception for an error of files of a mounted file system.
pub(crate) fn mounted(error: MountedError) -> PyErr {
    match error {
        MountedError::Drive(error) => to_python(error),
        MountedError::System {
            ref path,
            ref source,
            ..
        } => refused(path, &error, source),
        other => said(other),
    }
}

fn fuse(error: FuseError) -> PyErr {
    match error {
        FuseError::Engine(error) => engine(error),
        FuseError::Busy { .. } => BusyError::new_err(error.to_string()),
        FuseError::Mount {
            ref path,
            ref source,
        }
        | FuseError::Unmount {
            ref path,
            ref source,
        } => refused(path, &error, source),
        other => said(other),
    }
}

fn server(error: ServerError) -> PyErr {
    match error {
        ServerError::Engine(error) => engine(error),
        ServerError::System(ref source)
        | ServerError::Listen {
            error: ref source, ..
        } => system(&error, source),
        other => said(other),
    }
}

fn mount(error: MountError) -> PyErr {
    match error {
        MountError::Busy { .. } => BusyError::new_err(error.to_string()),
        MountError::Command(CommandError::Start { ref source, .. }) => system(&error, source),
        MountError::Command(_) => PyOSError::new_err(error.to_string()),
        MountError::System {
            ref path,
            ref source,
            ..
        } => refused(path, &error, source),
        other => said(other),
    }
}

/// What the operating system refused of a path, with which the error's text may begin.
fn refused(path: &Path, error: &impl Display, source: &io::Error) -> PyErr {
    let message = error.to_string();
    let place = format!("{}: ", path.display());
    let message = message.strip_prefix(&place).unwrap_or(&message);
    file(path, message, source.raw_os_error())
}

/// What it refused otherwise.
fn system(error: &impl Display, source: &io::Error) -> PyErr {
    match source.raw_os_error() {
        Some(number) => PyOSError::new_err((number, without_number(&error.to_string(), number))),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// Python gives the number itself.
fn without_number(message: &str, number: i32) -> String {
    message.replace(&format!(" (os error {number})"), "")
}

/// A status other than success. Media errors are a class of their own.
fn status(message: String, error: &StatusError) -> PyErr {
    let status = error.status;
    let kind = match status.status_type() {
        StatusType::Generic => 0,
        StatusType::CommandSpecific => 1,
        StatusType::MediaAndDataIntegrity => 2,
        StatusType::PathRelated => 3,
        StatusType::Reserved(code) => code,
        StatusType::VendorSpecific => 7,
    };
    let name = status.name().unwrap_or("unknown status");
    let arguments = (message, error.command, name, kind, status.code());
    if status.status_type() == StatusType::MediaAndDataIntegrity {
        MediaError::new_err(arguments)
    } else {
        NvmeError::new_err(arguments)
    }
}

/// What the operating system refused keeps its own class, such as FileNotFoundError.
fn storage(error: StorageError) -> PyErr {
    match &error {
        StorageError::Io { path, what, source } => file(
            path,
            &format!("cannot {what}: {source}"),
            source.raw_os_error(),
        ),
        StorageError::DiskFull { path, source, .. }
        | StorageError::Unsaved { path, source, .. } => {
            // The path is told by the exception itself.
            refused(path, &error, source)
        }
        StorageError::Locked { path, .. } => {
            let reached = ::attach::mount::control_of(path);
            let reached = reached.map(|socket| format!(", nvme+unix://{}", socket.display()));
            ImageError::new_err(format!("{error}{}", reached.unwrap_or_default()))
        }
        _ => ImageError::new_err(error.to_string()),
    }
}

/// An operation on a file that the operating system refused.
pub(crate) fn file(path: &Path, message: &str, number: Option<i32>) -> PyErr {
    match number {
        Some(number) => {
            let message = without_number(message, number);
            PyOSError::new_err((number, message, path.display().to_string()))
        }
        None => PyOSError::new_err(format!("{}: {message}", path.display())),
    }
}

/// A value as JSON text.
pub(crate) fn json(value: &impl serde::Serialize) -> pyo3::PyResult<String> {
    serde_json::to_string(value).map_err(|error| internal(error.to_string()))
}
