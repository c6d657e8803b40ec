//! An expression as the largest subexpressions that one home can evaluate, and what combines them.

use std::slice::Iter;

use nvme::Expression;

use crate::bits::rows::Leaf;

/// What combines subexpressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Xor,
}

/// A subexpression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subexpression {
    /// All its vectors have one home, given by number.
    One {
        site: usize,
        expression: Expression<Leaf>,
    },
    /// Subexpressions of different homes; at most one direct subexpression of each, but for those that are
    /// combinations themselves. Negations have sunk into the subexpressions.
    Many {
        operator: Operator,
        operands: Vec<Subexpression>,
    },
}

impl Operator {
    fn dual(self, negated: bool) -> Operator {
        match (self, negated) {
            (Operator::And, true) => Operator::Or,
            (Operator::Or, true) => Operator::And,
            _ => self,
        }
    }

    fn of(self, operands: Vec<Expression<Leaf>>) -> Expression<Leaf> {
        match self {
            Operator::And => Expression::And(operands),
            Operator::Or => Expression::Or(operands),
            Operator::Xor => Expression::Xor(operands),
        }
    }
}

/// Splits an expression, `site` telling the number of a vector's home.
pub(super) fn split(expression: &Expression<Leaf>, site: &impl Fn(Leaf) -> usize) -> Subexpression {
    split_of(expression, false, site)
}

fn split_of(
    expression: &Expression<Leaf>,
    negated: bool,
    site: &impl Fn(Leaf) -> usize,
) -> Subexpression {
    let operator = match expression {
        Expression::Vector(id) => {
            let vector = Expression::Vector(*id);
            return Subexpression::One {
                site: site(*id),
                expression: if negated { !vector } else { vector },
            };
        }
        Expression::Not(inner) => return split_of(inner, !negated, site),
        Expression::And(_) => Operator::And,
        Expression::Or(_) => Operator::Or,
        Expression::Xor(_) => Operator::Xor,
    };
    let operands = expression.operands().iter().enumerate();
    // A negated parity is that of its operands with one of them negated.
    let negates = |place: usize| negated && (operator != Operator::Xor || place == 0);
    let operands = operands.map(|(place, operand)| split_of(operand, negates(place), site));
    join(operator.dual(negated), operands.collect())
}

/// Combines subexpressions: those of one home become one.
fn join(operator: Operator, operands: Vec<Subexpression>) -> Subexpression {
    let mut of_sites: Vec<(usize, Vec<Expression<Leaf>>)> = Vec::new();
    let mut mixed = Vec::new();
    let flat = operands.into_iter().flat_map(|operand| match operand {
        Subexpression::Many {
            operator: o,
            operands,
        } if o == operator => operands,
        other => vec![other],
    });
    for operand in flat {
        match operand {
            Subexpression::One { site, expression } => {
                match of_sites.iter_mut().find(|(known, _)| *known == site) {
                    Some((_, operands)) => operands.push(expression),
                    None => of_sites.push((site, vec![expression])),
                }
            }
            many @ Subexpression::Many { .. } => mixed.push(many),
        }
    }
    let one = |(site, mut operands): (usize, Vec<Expression<Leaf>>)| Subexpression::One {
        site,
        expression: match operands.len() {
            1 => operands.swap_remove(0),
            _ => operator.of(operands),
        },
    };
    let mut operands: Vec<Subexpression> = of_sites.into_iter().map(one).chain(mixed).collect();
    match operands.len() {
        1 => operands.swap_remove(0),
        _ => Subexpression::Many { operator, operands },
    }
}

impl Subexpression {
    /// Tells of each subexpression of one home the home and what it is, in order.
    pub(super) fn each(&self, tell: &mut impl FnMut(usize, &Expression<Leaf>)) {
        match self {
            Subexpression::One { site, expression } => tell(*site, expression),
            Subexpression::Many { operands, .. } => {
                operands.iter().for_each(|operand| operand.each(tell));
            }
        }
    }

    /// The expression with temporary vectors in place of some subexpressions: the numbers of these are `foreign`, ascending, and
    /// their places there the temporary vectors' numbers. `numbers` are those of all subexpressions, in order: equal ones
    /// have the same.
    pub(super) fn without(&self, foreign: &[usize], numbers: &[usize]) -> Expression<Leaf> {
        self.replaced(foreign, &mut numbers.iter())
    }

    fn replaced(&self, foreign: &[usize], numbers: &mut Iter<'_, usize>) -> Expression<Leaf> {
        match self {
            Subexpression::One { expression, .. } => {
                let number = numbers.next().expect("each has a number");
                match foreign.binary_search(number) {
                    Ok(layer) => Leaf::Brought(layer as u32).into(),
                    Err(_) => expression.clone(),
                }
            }
            Subexpression::Many { operator, operands } => {
                let operands = operands.iter();
                let operands = operands.map(|of| of.replaced(foreign, numbers));
                operator.of(operands.collect())
            }
        }
    }
}
