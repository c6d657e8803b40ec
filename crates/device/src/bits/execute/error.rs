//! What can go wrong when a command of bulk bitwise computing is carried out.

use nvme::{ExpressionError, Status};
use thiserror::Error;

use crate::ftl::FtlError;
use crate::schedule::Fault;

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The bytes that should be an expression are none.
    #[error("the expression: {0}")]
    Expression(#[from] ExpressionError),
    /// An operand is not where operands can be.
    #[error("an operand: {0}")]
    Operand(Status),
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
    /// Pages cannot be written, or found.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// The flash lost data, or refused.
    #[error(transparent)]
    Flash(#[from] Fault),
    /// Who the result is for within the drive did not take a page of it, and knows why.
    #[error("a page of the result was not taken")]
    NotReceived,
}

/// What stops a die's share.
#[derive(Clone, Copy)]
pub(super) enum Failure {
    Host(Status),
    Ftl(FtlError),
    Flash(Fault),
    Buffers { needed: u32, most: u32 },
    NotReceived,
}

impl From<Failure> for ExecuteError {
    fn from(failure: Failure) -> ExecuteError {
        match failure {
            Failure::Host(status) => ExecuteError::Host(status),
            Failure::Ftl(error) => ExecuteError::Ftl(error),
            Failure::Flash(fault) => ExecuteError::Flash(fault),
            Failure::Buffers { needed, most } => ExecuteError::Buffers { needed, most },
            Failure::NotReceived => ExecuteError::NotReceived,
        }
    }
}
