//! What can go wrong with a drive in this process.

use std::fmt;

use device::PowerUpError;
use host::search::SearchError;
use host::tasks::TaskError;
use host::volume::VolumeError;
use media::nand::{MediaError, NandError};
use nvme::{ExpressionError, Status, VectorId};

use crate::config::ConfigError;
use crate::traces::TraceError;

/// Errors of the facade. `{:?}` is the sentence that `{}` is, for it is what a `main` that returns one prints.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The media, mostly the image file, cannot be used.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The flash refused, mostly because the image file cannot be written.
    #[error(transparent)]
    Flash(#[from] NandError),
    /// A command failed, or was not even sent.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// What the drive has acknowledged does not reach its flash.
    #[error("what is in the write cache does not reach the flash: {0}")]
    WriteBack(#[from] device::ftl::FtlError),
    /// An expression over stored vectors that cannot be evaluated.
    #[error(transparent)]
    Bits(#[from] device::bits::ExecuteError),
    /// Vectors that cannot be set up at once.
    #[error("placing vectors: {0}")]
    Place(#[from] PlaceError),
    /// The drive's volume, or an object of it.
    #[error(transparent)]
    Volume(VolumeError),
    /// Name-value lookup that cannot be, or ended early.
    #[error(transparent)]
    Search(SearchError),
    /// A program that cannot be loaded, or a run that cannot be begun.
    #[error(transparent)]
    Task(TaskError),
    /// A map of names to values that cannot have this.
    #[error(transparent)]
    KeyValue(#[from] KeyValueError),
    /// Blocks that a plain write must leave alone.
    #[error(
        "blocks {first} to {end} reach into {what}: write before block {before}, name what you write \
         (drive.volume), or format the drive, which takes all names with it"
    )]
    InVolume {
        /// The first block of the write.
        first: u64,
        /// The block after its last.
        end: u64,
        /// What lies there.
        what: String,
        /// The first block of the volume.
        before: u64,
    },
    /// An expression names a vector that the drive does not hold: it was deleted, or everything was erased.
    #[error("the drive does not hold vector {0}")]
    NoVector(VectorId),
    /// The vectors of an expression are equally long.
    #[error("vectors of {others} and {found} bits do not combine")]
    Lengths {
        /// The length of the first one, bits.
        others: u64,
        /// That of another.
        found: u64,
    },
    /// No expression, or one beyond the bounds of a command.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// No platform of this name.
    #[error(
        "there is no platform {0:?}; it must be fastest, thriftiest, host, in-storage, parabit or flash-cosmos"
    )]
    UnknownPlatform(String),
    /// The drive did not power up: it refuses the host's admin queues.
    #[error("the admin queues cannot be created: {0}")]
    PowerUp(Status),
    /// The drive has no power: it was cut, or the drive was closed.
    #[error("the drive has no power; power it up first")]
    NoPower,
    /// Something that only the process can do which has the drive.
    #[error(
        "{asked}: that cannot be had of a drive elsewhere, as {drive} is; do it in the process that has the drive, or on its \
         image when that is closed"
    )]
    Remote {
        /// What was asked for.
        asked: &'static str,
        /// What the drive is called.
        drive: String,
    },
    /// The power was cut before what was submitted had ended.
    #[error("the power was cut before this had ended: whether the drive did it is not known")]
    PowerLost,
    /// A stream has failed.
    #[error("the stream {}: {}", .0.ended.name(), .0.reason)]
    Stream(Box<nvme::task::Outcome>),
    /// What a stream works on is not what it was when it was opened.
    #[error(
        "{0:?} was removed, replaced, moved or resized since the stream was opened, which is closed now: open it again"
    )]
    StaleStream(String),
    /// An object cannot be removed, replaced, moved or resized.
    #[error("{name:?} is held by {by}")]
    Held {
        /// Its name.
        name: String,
        /// Who holds it, and what ends that.
        by: String,
    },
    /// Something that was submitted cannot be waited for.
    #[error("there is nothing to wait for: {0}")]
    Pending(&'static str),
    /// The drive's watch broke the call off.
    #[error(
        "the call was interrupted; what it had sent to the drive is carried out, and nothing more is sent"
    )]
    Interrupted,
    /// Nothing is left to happen in the simulation, and the call has not finished.
    #[error(transparent)]
    Stalled(#[from] sim::Stalled),
    /// The drive cannot be preconditioned as asked for.
    #[error("precondition: {0}")]
    Precondition(#[from] device::ftl::PreconditionError),
    /// The drive cannot grow older as asked for.
    #[error("age: {key} is {value}; it must be {allowed}")]
    Ageing {
        /// Of what.
        key: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// A workload that makes no sense.
    #[error("workload: {0}")]
    Workload(String),
    /// A trace of what the drive does cannot be begun, ended or had.
    #[error("{0}")]
    Tracing(&'static str),
    /// A trace of what the drive did cannot be written.
    #[error("cannot write the trace: {0}")]
    TraceWrite(#[source] std::io::Error),
    /// A trace that cannot be read.
    #[error("trace {0}")]
    Trace(#[from] TraceError),
}

impl Error {
    /// A caller has asked tasks, streams or collectors for what cannot be.
    pub(crate) fn usage(text: impl Into<String>) -> Error {
        Error::Task(TaskError::Usage(text.into()))
    }
}

impl From<VolumeError> for Error {
    fn from(error: VolumeError) -> Error {
        match error {
            VolumeError::Device(error) => Error::Host(error),
            VolumeError::Search(error) => Error::Search(error),
            other => Error::Volume(other),
        }
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Error {
        match error {
            SearchError::Device(error) => Error::Host(error),
            other => Error::Search(other),
        }
    }
}

impl From<TaskError> for Error {
    fn from(error: TaskError) -> Error {
        match error {
            TaskError::Device(error) => Error::Host(error),
            other => Error::Task(other),
        }
    }
}

impl From<PowerUpError> for Error {
    fn from(error: PowerUpError) -> Error {
        match error {
            PowerUpError::Config(error) => Error::Config(error.into()),
            PowerUpError::AdminQueues(status) => Error::PowerUp(status),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Why vectors cannot be set up at once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The drive has no such dies.
    #[error(transparent)]
    Home(#[from] device::region::HandleError),
    /// There is no room.
    #[error("group {group:?} cannot grow: plane {plane} has no free block")]
    OutOfBlocks {
        /// The group.
        group: String,
        /// The plane without a free block (global index).
        plane: u32,
    },
    /// The media refused.
    #[error(transparent)]
    Media(#[from] NandError),
}

/// What a map of names to values cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyValueError {
    /// A name or value is longer than the map's options say.
    #[error(
        "a {what} of {bytes} bytes: this map has room for {most}, which was said when it was made"
    )]
    TooLong {
        /// Name or value.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The longest, bytes.
        most: usize,
    },
    /// Entries that no command moves.
    #[error(
        "entries of {bytes} bytes with their names: one command, which puts an entry, moves at most {most}: let values or \
         names be shorter"
    )]
    Entry {
        /// Bytes of the longest entry and its name.
        bytes: u64,
        /// Bytes that one command moves.
        most: u64,
    },
    /// A mask compares as many bytes as the name has.
    #[error("a name of {name} bytes and a mask of {mask}: they are as long")]
    Mask {
        /// Bytes of the name.
        name: usize,
        /// Bytes of the mask.
        mask: usize,
    },
    /// There is no room for another name of this size.
    #[error("the map is full: it has all of the {entries} names of this size that it was made for")]
    Full {
        /// What it was made for.
        entries: u32,
    },
    /// A store of this name was not made by a map.
    #[error("{name:?} is no map of names to values: it was made otherwise")]
    NoMap {
        /// The store.
        name: String,
    },
    /// A map with other options.
    #[error(
        "the map {name:?} is there for {entries} names of each size, values of {value_bytes} bytes and names of {name_bytes}"
    )]
    Other {
        /// Its name.
        name: String,
        /// Names of each size.
        entries: u32,
        /// Bytes of the longest value.
        value_bytes: u32,
        /// Bytes of the longest name.
        name_bytes: u16,
    },
    /// An entry whose lengths cannot be: somebody else wrote it.
    #[error("an entry of the map is damaged: its lengths do not fit")]
    Damaged,
}
