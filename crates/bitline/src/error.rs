//! What can go wrong with a drive in this process.

use std::fmt;

use device::PowerUpError;
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
    /// The power was cut before what was submitted had ended.
    #[error("the power was cut before this had ended: whether the drive did it is not known")]
    PowerLost,
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

impl From<VolumeError> for Error {
    fn from(error: VolumeError) -> Error {
        match error {
            VolumeError::Device(error) => Error::Host(error),
            other => Error::Volume(other),
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
