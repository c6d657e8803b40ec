//! What the latches hold in the course of a computation, as expressions over vectors.

use nvme::Expression;

use super::{Computation, Sense, Step};
use crate::bits::rows::RowSetId;

/// What a latch holds after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing yet.
    Nothing,
    /// All zeros.
    Zeros,
    /// What this expression gives.
    Value(Expression),
    /// Something of more than [`OPERANDS_SHOWN`] operands.
    Long,
}

/// Operands up to which the contents of a latch are spelled out.
pub const OPERANDS_SHOWN: usize = 512;

/// The latches after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The sensing latch.
    pub s: Held,
    /// The cache latch.
    pub c: Held,
}

/// The latches after each step of `computation`, `stored` giving what a row holds: a vector, or its
/// inverse.
pub fn contents(
    computation: &Computation,
    stored: &impl Fn(RowSetId, u32) -> Expression,
) -> Vec<Contents> {
    let (mut s, mut c) = (Held::Nothing, Held::Nothing);
    // C before S joined it, as long as S is the same.
    let mut before = None;
    let mut all = Vec::with_capacity(computation.steps.len());
    for step in &computation.steps {
        match step {
            Step::Sense(sense) => {
                if sense.iscm.init_c {
                    c = Held::Zeros;
                }
                let sensed = Held::Value(sensed(sense, stored));
                s = if sense.iscm.init_s {
                    sensed
                } else {
                    both(&s, sensed, Expression::And)
                };
                before = None;
                if sense.iscm.transfer {
                    before = Some(c.clone());
                    c = both(&c, s.clone(), Expression::Or);
                }
            }
            // (C | S) ^ S is C & !S.
            Step::Xor => {
                c = match before.take() {
                    Some(before) => both(&before, inverted(s.clone()), Expression::And),
                    None => both(&c, s.clone(), Expression::Xor),
                }
            }
        }
        all.push(Contents {
            s: s.clone(),
            c: c.clone(),
        });
    }
    all
}

/// What a sense gives, its inversion drawn inwards.
fn sensed(sense: &Sense, stored: &impl Fn(RowSetId, u32) -> Expression) -> Expression {
    let strings = sense.slots.iter().map(|slot| {
        let rows = slot
            .wordlines
            .iter()
            .map(|layer| stored(slot.row_set, layer));
        joined(rows.collect(), Expression::And)
    });
    let any = joined(strings.collect(), Expression::Or);
    if sense.iscm.inverse {
        negation(any)
    } else {
        any
    }
}

fn both(held: &Held, other: Held, operator: fn(Vec<Expression>) -> Expression) -> Held {
    match (held, other) {
        (Held::Long, _) | (_, Held::Long) => Held::Long,
        // Zeros take part in an OR or XOR, or in an AND: an evaluated computation begins with neither.
        (Held::Nothing | Held::Zeros, other) => other,
        (held, Held::Nothing | Held::Zeros) => held.clone(),
        (Held::Value(held), Held::Value(other)) => {
            if operands(held) + operands(&other) > OPERANDS_SHOWN {
                return Held::Long;
            }
            Held::Value(joined(vec![held.clone(), other], operator))
        }
    }
}

fn inverted(held: Held) -> Held {
    match held {
        Held::Value(value) => Held::Value(negation(value)),
        other => other,
    }
}

fn operands(expression: &Expression) -> usize {
    match expression {
        Expression::Vector(_) => 1,
        _ => expression.operands().iter().map(operands).sum(),
    }
}

/// Operands under one operator, those of the same operator taken in.
fn joined(operands: Vec<Expression>, operator: fn(Vec<Expression>) -> Expression) -> Expression {
    let like = operator(Vec::new());
    let same =
        |operand: &Expression| std::mem::discriminant(operand) == std::mem::discriminant(&like);
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        if same(&operand) {
            flat.extend_from_slice(operand.operands());
        } else {
            flat.push(operand);
        }
    }
    if flat.len() == 1 {
        return flat.remove(0);
    }
    operator(flat)
}

/// The inverse, with NOT before vectors and XORs only.
fn negation(expression: Expression) -> Expression {
    let all = |operands: &[Expression]| operands.iter().cloned().map(negation).collect();
    match &expression {
        Expression::Not(inner) => (**inner).clone(),
        Expression::And(operands) => joined(all(operands), Expression::Or),
        Expression::Or(operands) => joined(all(operands), Expression::And),
        Expression::Vector(_) | Expression::Xor(_) => !expression,
    }
}
