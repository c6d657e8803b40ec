//! An expression's postfix steps, their bytes, and the rules they obey.

use thiserror::Error;

use crate::expression::{Operand, VectorId};
use crate::status::Status;

/// The most NOT, AND, OR and XOR steps of one expression.
pub const MAX_OPERATORS: usize = 4096;
/// The most operand steps of one expression.
pub const MAX_OPERANDS: usize = 4096;
/// The most operators that may nest in one another.
pub const MAX_DEPTH: usize = 64;
/// The most bytes an encoded expression has.
pub const MAX_ENCODED_BYTES: usize =
    MAX_OPERANDS * OPERAND_STEP_BYTES + MAX_OPERATORS * COUNTED_STEP_BYTES;

/// Bytes of the longest step, an operand.
pub(super) const OPERAND_STEP_BYTES: usize = 9;
const COUNTED_STEP_BYTES: usize = 3;

const OPERAND: u8 = 0x01;
const NOT: u8 = 0x02;
const AND: u8 = 0x03;
const OR: u8 = 0x04;
const XOR: u8 = 0x05;

/// One step of an expression in postfix order, as a stack machine takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step<V: Operand = VectorId> {
    /// Pushes a vector.
    Vector(V),
    /// Replaces the top by its complement.
    Not,
    /// Replaces so many values by their AND.
    And(usize),
    /// Replaces so many values by their OR.
    Or(usize),
    /// Replaces so many values by their XOR.
    Xor(usize),
}

/// Why bytes are no expression, or an expression cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// There is nothing to evaluate.
    #[error("the expression is empty")]
    Empty,
    /// A code that is none of the five.
    #[error("unknown step code {code:#04x} at byte {offset}")]
    UnknownCode {
        /// The code.
        code: u8,
        /// Where it is, in bytes from the start.
        offset: usize,
    },
    /// The bytes end within a step.
    #[error("the step at byte {offset} is truncated")]
    Truncated {
        /// Where the step begins, in bytes from the start.
        offset: usize,
    },
    /// An AND, OR or XOR of fewer than two operands or more than fit.
    #[error("an operator takes 2 to {MAX_OPERANDS} operands, not {count}")]
    Arity {
        /// Operands it was given.
        count: usize,
    },
    /// An operator finds fewer values than it takes.
    #[error("an operator takes {wanted} values, but only {available} precede it")]
    MissingOperands {
        /// Values it takes.
        wanted: usize,
        /// Values there are.
        available: usize,
    },
    /// More than one value is left at the end.
    #[error("{count} values are left instead of one")]
    Unfinished {
        /// Values left.
        count: usize,
    },
    /// More than [`MAX_OPERATORS`].
    #[error("more than {MAX_OPERATORS} operators")]
    TooManyOperators,
    /// More than [`MAX_OPERANDS`].
    #[error("more than {MAX_OPERANDS} operands")]
    TooManyOperands,
    /// More than [`MAX_DEPTH`].
    #[error("operators nest more than {MAX_DEPTH} deep")]
    TooDeep,
}

impl From<ExpressionError> for Status {
    fn from(_: ExpressionError) -> Status {
        Status::INVALID_EXPRESSION
    }
}

impl<V: Operand> Step<V> {
    /// How many values the step takes from the stack.
    pub fn takes(self) -> usize {
        match self {
            Step::Vector(_) => 0,
            Step::Not => 1,
            Step::And(count) | Step::Or(count) | Step::Xor(count) => count,
        }
    }

    /// The step that `bytes` begin with and its length; they lie `offset` bytes from the start.
    pub(super) fn decode(bytes: &[u8], offset: usize) -> Result<(Step<V>, usize), ExpressionError> {
        let truncated = ExpressionError::Truncated { offset };
        let (code, operand) = bytes.split_first().ok_or(truncated)?;
        let count = || {
            let count = operand.first_chunk::<2>().ok_or(truncated)?;
            Ok(usize::from(u16::from_le_bytes(*count)))
        };
        match *code {
            OPERAND => {
                let code = operand.first_chunk::<8>().ok_or(truncated)?;
                let operand = V::from_code(u64::from_le_bytes(*code));
                Ok((Step::Vector(operand), OPERAND_STEP_BYTES))
            }
            NOT => Ok((Step::Not, 1)),
            AND => Ok((Step::And(count()?), COUNTED_STEP_BYTES)),
            OR => Ok((Step::Or(count()?), COUNTED_STEP_BYTES)),
            XOR => Ok((Step::Xor(count()?), COUNTED_STEP_BYTES)),
            code => Err(ExpressionError::UnknownCode { code, offset }),
        }
    }

    /// Appends the bytes of a step whose count has been checked.
    pub(super) fn encode_into(self, bytes: &mut Vec<u8>) {
        let (code, count) = match self {
            Step::Vector(id) => {
                bytes.push(OPERAND);
                bytes.extend(id.code().to_le_bytes());
                return;
            }
            Step::Not => return bytes.push(NOT),
            Step::And(count) => (AND, count),
            Step::Or(count) => (OR, count),
            Step::Xor(count) => (XOR, count),
        };
        bytes.push(code);
        // Counts are at most MAX_OPERANDS, which fits in 16 bits.
        bytes.extend((count as u16).to_le_bytes());
    }
}

/// Holds steps against the rules: arity, stack, and the three limits.
#[derive(Default)]
pub(super) struct Check {
    /// How deep operators nest in each value on the stack.
    depths: Vec<usize>,
    operators: usize,
    operands: usize,
}

impl Check {
    pub(super) fn take<V: Operand>(&mut self, step: Step<V>) -> Result<(), ExpressionError> {
        let wanted = step.takes();
        match step {
            Step::Vector(_) => self.operands += 1,
            Step::Not => self.operators += 1,
            Step::And(count) | Step::Or(count) | Step::Xor(count) => {
                if !(2..=MAX_OPERANDS).contains(&count) {
                    return Err(ExpressionError::Arity { count });
                }
                self.operators += 1;
            }
        }
        if self.operands > MAX_OPERANDS {
            return Err(ExpressionError::TooManyOperands);
        }
        if self.operators > MAX_OPERATORS {
            return Err(ExpressionError::TooManyOperators);
        }
        let available = self.depths.len();
        let rest = available
            .checked_sub(wanted)
            .ok_or(ExpressionError::MissingOperands { wanted, available })?;
        let depth = self.depths.drain(rest..).max().map_or(0, |depth| depth + 1);
        if depth > MAX_DEPTH {
            return Err(ExpressionError::TooDeep);
        }
        self.depths.push(depth);
        Ok(())
    }

    pub(super) fn finish(&self) -> Result<(), ExpressionError> {
        match self.depths.len() {
            0 => Err(ExpressionError::Empty),
            1 => Ok(()),
            count => Err(ExpressionError::Unfinished { count }),
        }
    }
}
