//! What can go wrong when a command of bulk bitwise computing is carried out.

use nvme::{ExpressionError, Status};
use thiserror::Error;

use crate::bits::BitsError;
use crate::schedule::Fault;

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ExecuteError {
    /// Placing or planning is not possible.
    #[error(transparent)]
    Bits(#[from] BitsError),
    /// The bytes that should be an expression are none.
    #[error("the expression: {0}")]
    Expression(#[from] ExpressionError),
    /// The vectors have another length than the command says.
    #[error(
        "the command asks for {asked} bits, which are not all its vectors have or a part of them: {stored}"
    )]
    Length {
        /// Bits the command asks for.
        asked: u64,
        /// Bits of the vectors.
        stored: u64,
    },
    /// Data cannot be moved from or to host memory.
    #[error("host memory: {0}")]
    Host(Status),
    /// Some die's share takes more page buffers at a time than there are.
    #[error(
        "the expression takes {needed} page buffers at a time, and the drive has {most} for commands (memory.page_buffers)"
    )]
    Buffers {
        /// What it takes.
        needed: u32,
        /// What there is.
        most: u32,
    },
    /// The flash lost data, or refused.
    #[error(transparent)]
    Flash(#[from] Fault),
}

/// What stops a lane.
#[derive(Clone, Copy)]
pub(super) enum Failure {
    Host(Status),
    Flash(Fault),
    Buffers { needed: u32, most: u32 },
}

impl From<Failure> for ExecuteError {
    fn from(failure: Failure) -> ExecuteError {
        match failure {
            Failure::Host(status) => ExecuteError::Host(status),
            Failure::Flash(fault) => ExecuteError::Flash(fault),
            Failure::Buffers { needed, most } => ExecuteError::Buffers { needed, most },
        }
    }
}
