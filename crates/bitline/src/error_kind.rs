//! Kinds of errors: what a program does about one, where what went wrong in particular is for people to read.

use host::tasks::TaskError;
use host::volume::VolumeError;
use media::nand::{MediaError, NandError, StorageError};

use crate::error::{Error, PlaceError};
use crate::traces::TraceError;

/// What kind of error an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A configuration that makes no drive.
    Config,
    /// What was asked for makes no sense, or not of this drive, or not now.
    Usage,
    /// Nothing has the name.
    NotFound,
    /// The module of a task is none that can run.
    Module,
    /// The drive reports another status than success.
    Status,
    /// The image is damaged, in use, no image, or made for another drive.
    Image,
    /// The operating system refused to read or write a file.
    File,
    /// A stream has failed.
    Stream,
    /// The drive has no power, or lost it meanwhile.
    Power,
    /// A drive elsewhere cannot be reached, or not any more.
    Connection,
    /// The drive's watch broke the call off.
    Interrupted,
    /// The drive is broken, or Bitline is.
    Internal,
}

impl Error {
    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Config(_) | Error::Media(MediaError::Config(_)) => ErrorKind::Config,
            Error::Media(MediaError::Storage(error))
            | Error::Flash(NandError::Storage(error))
            | Error::Place(PlaceError::Media(NandError::Storage(error))) => of_storage(error),
            Error::Host(error) => of_host(error),
            Error::Volume(error) => of_volume(error),
            Error::Task(TaskError::Module(_)) => ErrorKind::Module,
            Error::Task(TaskError::Device(error)) => of_host(error),
            Error::Task(TaskError::Failed { .. }) => ErrorKind::Status,
            Error::Stream(_) => ErrorKind::Stream,
            Error::NoVector(_) => ErrorKind::NotFound,
            Error::Trace(TraceError::Io { .. }) | Error::TraceWrite(_) => ErrorKind::File,
            Error::NoPower | Error::PowerLost => ErrorKind::Power,
            Error::Interrupted => ErrorKind::Interrupted,
            Error::Task(_)
            | Error::Remote { .. }
            | Error::StaleStream(_)
            | Error::Held { .. }
            | Error::Bits(_)
            | Error::Search(_)
            | Error::KeyValue(_)
            | Error::InVolume { .. }
            | Error::Lengths { .. }
            | Error::Expression(_)
            | Error::UnknownPlatform(_)
            | Error::Pending(_)
            | Error::Precondition(_)
            | Error::Ageing { .. }
            | Error::Workload(_)
            | Error::Tracing(_)
            | Error::Trace(_)
            | Error::Place(PlaceError::Home(_) | PlaceError::OutOfBlocks { .. }) => {
                ErrorKind::Usage
            }
            Error::Place(PlaceError::Media(_))
            | Error::Media(_)
            | Error::Flash(_)
            | Error::WriteBack(_)
            | Error::PowerUp(_)
            | Error::Stalled(_) => ErrorKind::Internal,
        }
    }
}

fn of_host(error: &host::Error) -> ErrorKind {
    match error {
        host::Error::Status(_) => ErrorKind::Status,
        host::Error::Usage(_) | host::Error::Memory(_) => ErrorKind::Usage,
        host::Error::Transport(_) => ErrorKind::Connection,
        host::Error::Protocol(_) | _ => ErrorKind::Internal,
    }
}

fn of_volume(error: &VolumeError) -> ErrorKind {
    match error {
        VolumeError::NotFound { .. } => ErrorKind::NotFound,
        VolumeError::Damaged { .. } | VolumeError::Version { .. } => ErrorKind::Image,
        _ => ErrorKind::Usage,
    }
}

fn of_storage(error: &StorageError) -> ErrorKind {
    match error {
        StorageError::Io { .. } | StorageError::DiskFull { .. } | StorageError::Unsaved { .. } => {
            ErrorKind::File
        }
        _ => ErrorKind::Image,
    }
}
