//! Which vectors to put into one group, and which to store inverted, for expressions that will be
//! asked so and so often.
//!
//! A search over arrangements with the planner as the judge: what counts is how many senses its plans
//! take. It climbs from several arrangements, most of them read off the expressions, by moving,
//! merging, splitting and inverting until nothing of that helps any more. Its effort is bounded and
//! its order fixed, so that the same question has the same answer.

mod arrangement;
mod climb;
mod judge;
mod starts;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use nvme::{Expression, VectorId};

use super::plan::Limits;
use arrangement::Arrangement;
use judge::Judge;

/// An expression and how often it is asked, in any unit.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The expression; its vectors are names only.
    pub expression: Expression,
    /// How often, compared with the others.
    pub frequency: u64,
}

/// Where a vector is before any advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Any number of its group.
    pub group: u32,
    /// Whether its inverse is stored.
    pub inverse: bool,
}

/// What is known of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strings {
    /// What the planner takes as given.
    pub limits: Limits,
    /// Wordlines of a string: as many vectors of a group share one.
    pub cells_per_string: u32,
}

/// A vector in a proposed group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The vector.
    pub vector: VectorId,
    /// Whether its inverse is to be stored.
    pub inverse: bool,
}

/// What an expression costs for each page of its vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageCost {
    /// Senses.
    pub senses: u64,
    /// Pages that cross the channel.
    pub page_transfers: u64,
}

/// Groups of vectors, and what each expression costs with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The groups, vectors in the order of writing.
    pub groups: Vec<Vec<Member>>,
    /// By expression, in the order asked.
    pub costs: Vec<PageCost>,
}

/// An arrangement as it is, and a better one if there is any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// As given.
    pub before: Placed,
    /// As proposed.
    pub after: Placed,
}

/// Proposes groups and inversions for `asked`. Vectors that `given` does not place are, before, in
/// one further group, as they are.
pub fn advise(asked: &[Asked], given: &BTreeMap<VectorId, Given>, strings: &Strings) -> Advice {
    let mut vectors: Vec<VectorId> = Vec::new();
    for id in asked.iter().flat_map(|asked| named(&asked.expression)) {
        if !vectors.contains(&id) {
            vectors.push(id);
        }
    }
    let before = Arrangement::given(&vectors, given);
    let mut judge = Judge::new(asked, &vectors, strings);
    let mut best = before.clone();
    let mut least = judge.weigh(&before);
    for mut arrangement in starts::starts(asked, &vectors, &before) {
        let cost = climb::climb(&mut arrangement, &mut judge);
        if cost < least {
            (best, least) = (arrangement, cost);
        }
    }
    Advice {
        before: placed(&before, &vectors, &mut judge),
        after: placed(&best, &vectors, &mut judge),
    }
}

/// The vectors of an expression in the order in which it names them.
fn named(expression: &Expression) -> Vec<VectorId> {
    match expression {
        Expression::Vector(id) => vec![*id],
        _ => expression.operands().iter().flat_map(named).collect(),
    }
}

fn placed(arrangement: &Arrangement, vectors: &[VectorId], judge: &mut Judge<'_>) -> Placed {
    let members = |group: Vec<usize>| -> Vec<Member> {
        let member = |place: usize| Member {
            vector: vectors[place],
            inverse: arrangement.inverse[place],
        };
        group.into_iter().map(member).collect()
    };
    Placed {
        groups: arrangement.groups().into_iter().map(members).collect(),
        costs: judge.costs(arrangement),
    }
}
