//! How the host evaluates an expression: steps over a stack.

use device::bits::combine::{and_into, or_into, xor_into};
use nvme::{Expression, Operand};

/// How an operator takes in one more operand.
pub(crate) type Apply = fn(&mut [u8], &[u8]);

/// A step of the host's evaluation, over a stack of batches of vectors.
pub(crate) enum Step<V> {
    Read(V),
    Not,
    Combine(Apply),
}

/// The steps for an expression: operands are combined as they come.
pub(crate) fn steps_of<V: Operand>(expression: &Expression<V>, steps: &mut Vec<Step<V>>) {
    let (operands, apply): (_, Apply) = match expression {
        Expression::Vector(id) => return steps.push(Step::Read(*id)),
        Expression::Not(inner) => {
            steps_of(inner, steps);
            return steps.push(Step::Not);
        }
        Expression::And(operands) => (operands, and_into),
        Expression::Or(operands) => (operands, or_into),
        Expression::Xor(operands) => (operands, xor_into),
    };
    for (index, operand) in operands.iter().enumerate() {
        steps_of(operand, steps);
        if index > 0 {
            steps.push(Step::Combine(apply));
        }
    }
}
