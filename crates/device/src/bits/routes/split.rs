//! An expression as the largest parts that one home can evaluate, and what combines them.

use nvme::Expression;

use crate::bits::rows::Leaf;

/// What combines parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Xor,
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// All its vectors have one home, given by number.
    One {
        site: usize,
        expression: Expression<Leaf>,
    },
    /// Parts of different homes; at most one direct part of each, but for those that are
    /// combinations themselves. Negations have sunk into the parts.
    Many {
        operator: Operator,
        parts: Vec<Part>,
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
pub(super) fn split(expression: &Expression<Leaf>, site: &impl Fn(Leaf) -> usize) -> Part {
    part_of(expression, false, site)
}

fn part_of(expression: &Expression<Leaf>, negated: bool, site: &impl Fn(Leaf) -> usize) -> Part {
    let operator = match expression {
        Expression::Vector(id) => {
            let vector = Expression::Vector(*id);
            return Part::One {
                site: site(*id),
                expression: if negated { !vector } else { vector },
            };
        }
        Expression::Not(inner) => return part_of(inner, !negated, site),
        Expression::And(_) => Operator::And,
        Expression::Or(_) => Operator::Or,
        Expression::Xor(_) => Operator::Xor,
    };
    let operands = expression.operands().iter().enumerate();
    // A negated parity is that of its operands with one of them negated.
    let negates = |place: usize| negated && (operator != Operator::Xor || place == 0);
    let parts = operands.map(|(place, operand)| part_of(operand, negates(place), site));
    join(operator.dual(negated), parts.collect())
}

/// Combines parts: those of one home become one.
fn join(operator: Operator, parts: Vec<Part>) -> Part {
    let mut of_sites: Vec<(usize, Vec<Expression<Leaf>>)> = Vec::new();
    let mut mixed = Vec::new();
    let flat = parts.into_iter().flat_map(|part| match part {
        Part::Many { operator: o, parts } if o == operator => parts,
        other => vec![other],
    });
    for part in flat {
        match part {
            Part::One { site, expression } => {
                match of_sites.iter_mut().find(|(known, _)| *known == site) {
                    Some((_, operands)) => operands.push(expression),
                    None => of_sites.push((site, vec![expression])),
                }
            }
            many @ Part::Many { .. } => mixed.push(many),
        }
    }
    let one = |(site, mut operands): (usize, Vec<Expression<Leaf>>)| Part::One {
        site,
        expression: match operands.len() {
            1 => operands.swap_remove(0),
            _ => operator.of(operands),
        },
    };
    let mut parts: Vec<Part> = of_sites.into_iter().map(one).chain(mixed).collect();
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => Part::Many { operator, parts },
    }
}

impl Part {
    /// The expression with temporary vectors in place of the parts of other homes than `site`, and
    /// these parts by the temporary vectors' numbers.
    pub(super) fn brought_to(&self, site: usize) -> (Expression<Leaf>, Vec<Expression<Leaf>>) {
        let mut foreign = Vec::new();
        let rest = self.replaced(site, &mut foreign);
        (rest, foreign)
    }

    fn replaced(&self, at: usize, foreign: &mut Vec<Expression<Leaf>>) -> Expression<Leaf> {
        match self {
            Part::One { site, expression } if *site == at => expression.clone(),
            Part::One { expression, .. } => {
                let known = foreign.iter().position(|known| known == expression);
                let number = known.unwrap_or_else(|| {
                    foreign.push(expression.clone());
                    foreign.len() - 1
                });
                Leaf::Brought(number as u32).into()
            }
            Part::Many { operator, parts } => {
                let parts = parts.iter().map(|part| part.replaced(at, foreign));
                operator.of(parts.collect())
            }
        }
    }
}
