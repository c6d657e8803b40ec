//! Which vectors to put into one group, and which to store inverted, for expressions that will be
//! asked so and so often.
//!
//! A search over arrangements with the planner and the cost model as the judges: what counts is how long the parts of the drive
//! work for its plans, then how many senses these take. It climbs from several arrangements, most of them read off the expressions, by moving,
//! merging, splitting and inverting until nothing of that helps any more. Its effort is bounded and
//! its order fixed, so that the same question has the same answer.

mod arrangement;
mod climb;
mod judge;
mod price;
mod starts;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use nvme::{Expression, VectorId};
use sim::{Energy, Span};

use super::plan::Limits;
use crate::cost::CostModel;
use arrangement::Arrangement;
use judge::Judge;
use price::Prices;

/// An expression and how often it is asked, in any unit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The expression; its vectors are names only.
    pub expression: Expression,
    /// How often, compared with the others.
    pub frequency: u64,
}

impl Asked {
    /// This expression, so often.
    pub fn new(expression: Expression, frequency: u64) -> Asked {
        Asked {
            expression,
            frequency,
        }
    }
}

/// Where a vector is before any advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Given {
    /// Any number of its group.
    pub group: u32,
    /// Whether its inverse is stored.
    pub inverse: bool,
}

impl Given {
    /// In the group of this number, `inverse` if its inverse is stored.
    pub const fn new(group: u32, inverse: bool) -> Given {
        Given { group, inverse }
    }
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
#[non_exhaustive]
pub struct Member {
    /// The vector.
    pub vector: VectorId,
    /// Whether its inverse is to be stored.
    pub inverse: bool,
}

/// What an expression costs: senses and pages for each page of its vectors, time and energy for a page in every plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct PageCost {
    /// Senses.
    pub senses: u64,
    /// Pages that cross the channel.
    pub page_transfers: u64,
    /// About how long dies, channels and accelerator work until the result is there, whatever becomes of it.
    pub work: Span,
    /// About how long it takes to count its ones.
    pub time: Span,
    /// About what that spends.
    pub energy: Energy,
}

/// Groups of vectors, and what each expression costs with them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed {
    /// The groups, vectors in the order of writing.
    pub groups: Vec<Vec<Member>>,
    /// By expression, in the order asked.
    pub costs: Vec<PageCost>,
}

/// An arrangement as it is, and a better one if there is any.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// As given.
    pub before: Placed,
    /// As proposed.
    pub after: Placed,
    /// What bringing it about takes.
    pub replacing: Replacing,
}

/// What it takes to place vectors anew, and after how many questions that has paid back: as often asked as was said, in
/// proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replacing {
    /// Vectors that are to be written anew.
    pub vectors: u64,
    /// About how long reading and writing these takes, of a page in every plane.
    pub time: Span,
    /// About what that spends.
    pub energy: Energy,
    /// Questions after which time is won; none if none is.
    pub questions_for_time: Option<u64>,
    /// Questions after which energy is won; none if none is.
    pub questions_for_energy: Option<u64>,
}

/// Proposes groups and inversions for `asked`. Vectors that `given` does not place are, before, in
/// one further group, as they are.
pub fn advise(
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    strings: &Strings,
    model: &CostModel,
) -> Advice {
    let mut vectors: Vec<VectorId> = Vec::new();
    for id in asked.iter().flat_map(|asked| named(&asked.expression)) {
        if !vectors.contains(&id) {
            vectors.push(id);
        }
    }
    let before = Arrangement::given(&vectors, given);
    let prices = Prices::of(model);
    let mut judge = Judge::new(asked, &vectors, strings, &prices);
    let mut best = before.clone();
    let mut least = judge.weigh(&before);
    // From the best on: the effort may not last for all.
    let mut starts = starts::starts(asked, &vectors, &before);
    starts.sort_by_cached_key(|start| judge.weigh(start));
    for mut arrangement in starts {
        let cost = climb::climb(&mut arrangement, &mut judge);
        if cost < least {
            (best, least) = (arrangement, cost);
        }
    }
    let before = placed(&before, &vectors, &mut judge);
    let after = placed(&best, &vectors, &mut judge);
    Advice {
        replacing: Replacing::of(asked, &before, &after, &prices),
        before,
        after,
    }
}

impl Replacing {
    fn of(asked: &[Asked], before: &Placed, after: &Placed, prices: &Prices) -> Replacing {
        let is_new = |group: &&Vec<Member>| !before.groups.contains(group);
        let vectors = after
            .groups
            .iter()
            .filter(is_new)
            .map(|group| group.len() as u64);
        let vectors: u64 = vectors.sum();
        let (time, energy) = prices.of_replacing();
        let (time, energy) = (time * vectors, energy * vectors);
        let of_all = |placed: &Placed, of: fn(&PageCost) -> u64| -> u128 {
            let costs = asked.iter().zip(&placed.costs);
            costs
                .map(|(asked, cost)| u128::from(asked.frequency) * u128::from(of(cost)))
                .sum()
        };
        let questions: u128 = asked.iter().map(|asked| u128::from(asked.frequency)).sum();
        let pays_back = |spent: u64, of: fn(&PageCost) -> u64| {
            let won = of_all(before, of).checked_sub(of_all(after, of))?;
            let needed = (u128::from(spent) * questions).checked_div(won)?;
            u64::try_from(needed + 1).ok()
        };
        Replacing {
            vectors,
            time,
            energy,
            questions_for_time: pays_back(time.as_ps(), |cost| cost.time.as_ps()),
            questions_for_energy: pays_back(energy.as_pj(), |cost| cost.energy.as_pj()),
        }
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
