//! What a task sees of the drive: files by number, and what becomes of its calls.

use std::future::{Future, ready};
use std::pin::Pin;

use super::errno;
use crate::memory::Partition;

/// A future of this simulation.
pub type LocalBoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What a task sees of the drive: a transaction, or files without one.
pub trait Files {
    /// How many files are registered; they are numbered from 0.
    fn count(&self) -> u32;

    /// Bytes of a file; none if there is no such file. It stays what it was when the run began.
    fn bytes(&self, file: u32) -> Option<u64>;

    /// Whether the task may write to a file.
    fn writable(&self, file: u32) -> bool;

    /// Where in the drive's DRAM the files lie, if they do: then their bytes come from there, and not from page buffers.
    fn lie_in(&self) -> Option<Partition> {
        None
    }

    /// Two numbers that whoever runs the task gives it, if it is run over memory.
    fn parameters(&self) -> [u64; 2] {
        [0; 2]
    }

    /// Whether the drive keeps data; tasks of timing-only drives run on zeros.
    fn has_data(&self) -> bool;

    /// Reads bytes of a file, all of which it has.
    fn read<'a>(
        &'a self,
        file: u32,
        offset: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>>;

    /// Writes bytes to a file that is writable and has all of the range.
    fn write<'a>(
        &'a self,
        file: u32,
        offset: u64,
        data: Data,
    ) -> LocalBoxFuture<'a, Result<(), FileError>>;

    /// Evaluates a bulk bitwise expression over the first `bits` bits of files, or all that the shortest has if that is 0; in
    /// the form of the host's command, its operands the numbers of the files. The result goes to the beginning of a file, or
    /// else its ones are counted. Gives the count, or the bytes written.
    fn evaluate<'a>(
        &'a self,
        expression: Vec<u8>,
        bits: u64,
        to: Option<u32>,
    ) -> LocalBoxFuture<'a, Result<u64, FileError>> {
        drop((expression, bits, to));
        Box::pin(ready(Err(FileError::NOT_OFFERED)))
    }

    /// Looks a name up in a registered search region; gives the value of the first entry that has it, if there is one.
    fn look_up<'a>(
        &'a self,
        store: u32,
        name: Vec<u8>,
    ) -> LocalBoxFuture<'a, Result<Option<Vec<u8>>, FileError>> {
        drop((store, name));
        Box::pin(ready(Err(FileError::NOT_OFFERED)))
    }

    /// Of a task that is a stage of a stream: what comes next of its input, `capacity` bytes at most and never of two pieces;
    /// nothing at the end.
    fn next_piece<'a>(
        &'a self,
        capacity: u32,
    ) -> LocalBoxFuture<'a, Result<Option<Piece>, FileError>> {
        _ = capacity;
        Box::pin(ready(Err(FileError::NOT_OFFERED)))
    }

    /// Of such a task: adds to what it makes of the piece that it had last.
    fn emit<'a>(&'a self, data: Data) -> LocalBoxFuture<'a, Result<(), FileError>> {
        drop(data);
        Box::pin(ready(Err(FileError::NOT_OFFERED)))
    }
}

/// Bytes of a stream's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they lie in the input.
    pub offset: u64,
    /// Whether a piece begins with them.
    pub begins: bool,
    /// The bytes.
    pub data: Data,
}

/// Bytes that are read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// These.
    Bytes(Vec<u8>),
    /// So many, on a drive that keeps no data.
    Untold(u32),
}

impl Data {
    /// How many bytes.
    pub fn bytes(&self) -> u32 {
        match self {
            Data::Bytes(bytes) => bytes.len() as u32,
            Data::Untold(bytes) => *bytes,
        }
    }

    /// What it says, if that is known.
    pub fn known(&self) -> Option<&[u8]> {
        match self {
            Data::Bytes(bytes) => Some(bytes),
            Data::Untold(_) => None,
        }
    }

    /// Parts one behind the other.
    pub fn joined(parts: Vec<Data>) -> Data {
        let bytes = parts.iter().map(Data::bytes).sum();
        let mut all = Vec::new();
        for part in parts {
            match part {
                Data::Bytes(part) if all.is_empty() => all = part,
                Data::Bytes(part) => all.extend(part),
                Data::Untold(_) => return Data::Untold(bytes),
            }
        }
        Data::Bytes(all)
    }

    /// The first `bytes` bytes at most, and the rest.
    pub fn split(self, bytes: u32) -> (Data, Data) {
        let bytes = bytes.min(self.bytes());
        match self {
            Data::Bytes(mut first) => {
                let rest = first.split_off(bytes as usize);
                (Data::Bytes(first), Data::Bytes(rest))
            }
            Data::Untold(all) => (Data::Untold(bytes), Data::Untold(all - bytes)),
        }
    }
}

/// Why a call of a task could not be carried out. The task does not see it: its run is over, but for
/// [`FileError::Refused`], which it is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Somebody else wrote first what the task wants to write, or must have found as it was.
    #[error("{reason}")]
    Conflict {
        /// Who, and what.
        reason: String,
    },
    /// What the task reads from is not kept any more.
    #[error("{reason}")]
    Lost {
        /// What, and why.
        reason: String,
    },
    /// There is no room for what the task writes.
    #[error("{reason}")]
    Full {
        /// Of what there is none.
        reason: String,
    },
    /// The drive failed.
    #[error("{reason}")]
    Device {
        /// How.
        reason: String,
    },
    /// The call cannot be, as the task is told.
    #[error("refused with error {number}")]
    Refused {
        /// The error number.
        number: i32,
    },
}

impl FileError {
    /// The files have nothing to answer that with.
    pub const NOT_OFFERED: FileError = FileError::refused(errno::ENOSYS);

    /// A call that cannot be, with the number that the task is told.
    pub const fn refused(number: i32) -> FileError {
        FileError::Refused { number }
    }
}
