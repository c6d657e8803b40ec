//! Arrangements to climb from.

use nvme::{Expression, VectorId};

use super::Asked;
use super::arrangement::Arrangement;

/// The one given, simple ones, and some read off the expressions: the rules that a person would go
/// by (Flash-Cosmos 6.1). Operands of an AND in one string are one sense; so are those of an OR if
/// their inverses are stored.
pub(super) fn starts(
    asked: &[Asked],
    vectors: &[VectorId],
    given: &Arrangement,
) -> Vec<Arrangement> {
    let count = vectors.len();
    let together = Arrangement::together(count);
    let inverted = Arrangement {
        inverse: vec![true; count],
        ..together.clone()
    };
    let apart = Arrangement {
        group: (0..count).collect(),
        ..together.clone()
    };
    let clauses = Clauses::of(asked, vectors);
    let mut starts = vec![
        given.clone(),
        together,
        inverted,
        apart,
        clauses.each_a_group(count),
        clauses.two_groups(count),
    ];
    starts.extend(clauses.columns(count));
    let mut distinct: Vec<Arrangement> = Vec::new();
    for start in starts.drain(..).map(|start| start.tidied()) {
        if !distinct.contains(&start) {
            distinct.push(start);
        }
    }
    distinct
}

/// Vectors that are operands of one AND or OR, as places in the list, each with whether it is negated
/// there.
struct Clause {
    is_or: bool,
    literals: Vec<(usize, bool)>,
}

/// The clauses of all expressions, those asked most often first.
struct Clauses(Vec<Clause>);

impl Clauses {
    fn of(asked: &[Asked], vectors: &[VectorId]) -> Clauses {
        let mut by_frequency: Vec<&Asked> = asked.iter().collect();
        by_frequency.sort_by_key(|asked| std::cmp::Reverse(asked.frequency));
        let mut clauses = Clauses(Vec::new());
        for asked in by_frequency {
            clauses.gather(&asked.expression, false, vectors);
        }
        clauses
    }

    fn gather(&mut self, expression: &Expression, negated: bool, vectors: &[VectorId]) {
        let is_or = match expression {
            Expression::Vector(_) => return,
            Expression::Not(inner) => return self.gather(inner, !negated, vectors),
            Expression::And(_) => negated,
            Expression::Or(_) => !negated,
            // Operands of an exclusive or need not be sensed together.
            Expression::Xor(operands) => {
                return operands
                    .iter()
                    .for_each(|operand| self.gather(operand, false, vectors));
            }
        };
        let operands = expression.operands();
        let literal = |operand| literal(operand, negated, vectors);
        let literals = operands.iter().filter_map(literal).collect();
        self.0.push(Clause { is_or, literals });
        operands
            .iter()
            .for_each(|operand| self.gather(operand, negated, vectors));
    }

    /// A group for each clause, a vector in the first that names it.
    fn each_a_group(&self, vectors: usize) -> Arrangement {
        self.arranged(vectors, |number, _| number)
    }

    /// A group for all ANDs and one for all ORs.
    fn two_groups(&self, vectors: usize) -> Arrangement {
        self.arranged(vectors, |_, clause| usize::from(clause.is_or))
    }

    /// A group for each column: what is in an OR with each other, in one expression or by way of several. Inverted, as a
    /// clause of each of several columns is then one sense; what is in no OR is a column of its own, or all that together.
    fn columns(&self, vectors: usize) -> [Arrangement; 2] {
        let mut column: Vec<usize> = (0..vectors).collect();
        let mut apart = Arrangement::together(vectors);
        let mut in_or = vec![false; vectors];
        for clause in &self.0 {
            for &(vector, negated) in &clause.literals {
                // An AND is an OR of the complements, inverted.
                if clause.is_or || !in_or[vector] {
                    apart.inverse[vector] = !negated;
                }
                in_or[vector] |= clause.is_or;
            }
            let [(first, _), others @ ..] = &clause.literals[..] else {
                continue;
            };
            for (other, _) in others.iter().filter(|_| clause.is_or) {
                let (from, into) = (column[*other], column[*first]);
                let joins = column.iter_mut().filter(|column| **column == from);
                joins.for_each(|column| *column = into);
            }
        }
        apart.group = column;
        let mut joint = apart.clone();
        for vector in (0..vectors).filter(|vector| !in_or[*vector]) {
            joint.group[vector] = vectors;
            joint.inverse[vector] = !joint.inverse[vector];
        }
        [apart, joint]
    }

    fn arranged(&self, vectors: usize, group: impl Fn(usize, &Clause) -> usize) -> Arrangement {
        let mut placed = vec![false; vectors];
        let mut arrangement = Arrangement::together(vectors);
        // Vectors that no clause names get a group each.
        let beyond = self.0.len().max(2);
        (0..vectors).for_each(|vector| arrangement.group[vector] = beyond + vector);
        for (number, clause) in self.0.iter().enumerate() {
            for &(vector, negated) in &clause.literals {
                if !std::mem::replace(&mut placed[vector], true) {
                    arrangement.group[vector] = group(number, clause);
                    // The cells hold what is ANDed: operands of an AND, inverses of those of an OR.
                    arrangement.inverse[vector] = negated ^ clause.is_or;
                }
            }
        }
        arrangement
    }
}

/// The vector, and whether it is negated, if an operand is one or its complement.
fn literal(operand: &Expression, negated: bool, vectors: &[VectorId]) -> Option<(usize, bool)> {
    match operand {
        Expression::Vector(id) => {
            let place = vectors.iter().position(|known| known == id)?;
            Some((place, negated))
        }
        Expression::Not(inner) => literal(inner, !negated, vectors),
        _ => None,
    }
}
