//! Which vectors to put into one group, and which to store inverted, for expressions that will be
//! asked so and so often.
//!
//! A search over arrangements with the planner and bounds of the cost model as the judges: what counts is about how long the
//! parts of the drive work for its plans, then how many senses these take. It climbs from several arrangements, most of them read off the expressions, by moving,
//! merging, splitting and inverting until nothing of that helps any more. Its effort is bounded and
//! its order fixed, so that the same question has the same answer.
//!
//! What it finds is then lived through, as is what was there: the routes that the drive would choose, on an idle drive of the
//! cost model. Only what takes clearly less time there is advised, or as much and clearly less energy.

mod arrangement;
mod climb;
mod judge;
mod lived;
mod replacing;
mod starts;
#[cfg(test)]
mod tests;
mod work;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use media::nand::ProgramMode;
use nvme::{Expression, VectorId};
use sim::{Energy, Span};

use super::plan::Limits;
use crate::cost::CostModel;
use arrangement::Arrangement;
use judge::{Judge, Patience, Weight};
use lived::Lived;
use work::Works;

pub use lived::{Outside, demand_of_vector};
pub use replacing::{Replacing, alike};

/// Operands of the expressions that the planner may be asked about for one piece of advice, each time it is asked.
const OPERANDS_MAX: usize = 40_000;
/// Evaluations that are lived through for one piece of advice, about, but for those of one arrangement and what is there.
const LIVED_MAX: usize = 200;
/// Less by one part of so many is clearly less: the cost model is that exact.
const CLEARLY: u128 = 100;

/// An expression and how often it is asked, in any unit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The expression; its vectors are names only.
    pub expression: Expression,
    /// How often, compared with the others.
    pub frequency: u64,
    /// Length of its vectors, bits; if it is not told, a page in every plane.
    pub bits: Option<u64>,
}

impl Asked {
    /// This expression, so often, of vectors of a page in every plane.
    pub fn new(expression: Expression, frequency: u64) -> Asked {
        Asked {
            expression,
            frequency,
            bits: None,
        }
    }

    /// Of vectors of this length.
    #[must_use]
    pub fn of_bits(mut self, bits: u64) -> Asked {
        self.bits = Some(bits);
        self
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
    /// How ordinary data are programmed, such as the names of vectors.
    pub ordinary: ProgramMode,
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

/// What counting the ones of an expression costs, by whoever is fastest: senses and pages that leave the dies for each page
/// of its vectors, time and energy of an idle drive for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct PageCost {
    /// Senses.
    pub senses: u64,
    /// Pages that cross the channel.
    pub page_transfers: u64,
    /// How long it takes.
    pub time: Span,
    /// What it spends.
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

impl Placed {
    /// Nothing yet, for so many expressions.
    fn of(expressions: usize) -> Placed {
        Placed {
            groups: Vec::new(),
            costs: vec![PageCost::default(); expressions],
        }
    }

    /// Adds further groups, and what they make the expressions at these places cost.
    fn add(&mut self, other: Placed, places: &[usize]) {
        self.groups.extend(other.groups);
        for (at, cost) in places.iter().zip(other.costs) {
            self.costs[*at] = cost;
        }
    }
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

impl Advice {
    /// The proposed groups that are not there yet: those whose vectors do not share a group before, alone and stored alike.
    pub fn new_groups(&self) -> impl Iterator<Item = &[Member]> {
        replacing::new_groups(&self.before, &self.after)
    }
}

/// Proposes groups and inversions for `asked`, where no vector is of two lengths. Vectors that `given` does not place are,
/// before, in one further group, as they are. Vectors of different lengths share no group. `outside` is the host that asks;
/// none if `watch` breaks off.
pub fn advise(
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    strings: &Strings,
    model: &CostModel,
    outside: &dyn Outside,
    watch: &dyn Fn() -> ControlFlow<()>,
) -> Option<Advice> {
    let patience = Patience::new(watch);
    let effort = (OPERANDS_MAX, &patience);
    let advice = advise_within(effort, asked, given, (strings, model), outside);
    (!patience.is_over.get()).then_some(advice)
}

/// The same with a search that is broken off when the planner was asked about so many operands, for each length of vectors.
fn advise_within(
    effort: (usize, &Patience<'_>),
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    drive: (&Strings, &CostModel),
    outside: &dyn Outside,
) -> Advice {
    let bits_of = |asked: &Asked| asked.bits.unwrap_or(drive.1.stripe_bits());
    let mut lengths: Vec<u64> = asked.iter().map(bits_of).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let (mut before, mut after) = (Placed::of(asked.len()), Placed::of(asked.len()));
    let mut replacing = Replacing::default();
    for bits in lengths {
        let is_of_length = |at: &usize| bits_of(&asked[*at]) == bits;
        let places: Vec<usize> = (0..asked.len()).filter(is_of_length).collect();
        let of_length: Vec<Asked> = places.iter().map(|at| asked[*at].clone()).collect();
        let advice = advise_on(bits, effort, &of_length, given, drive, outside);
        before.add(advice.before, &places);
        after.add(advice.after, &places);
        replacing = replacing.and(&advice.replacing);
    }
    let of = |placed: &Placed| Total::of(asked, &placed.costs);
    let moved = replacing::new_groups(&before, &after).flatten();
    let moved: Vec<VectorId> = moved.map(|member| member.vector).collect();
    let replacing = replacing.named(drive.1, drive.0.ordinary, outside.runs(&moved));
    Advice {
        replacing: replacing.paid_back(asked, of(&before), of(&after)),
        before,
        after,
    }
}

/// The same of vectors of one length, without when it has paid back.
fn advise_on(
    bits: u64,
    (operands_max, patience): (usize, &Patience<'_>),
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    (strings, model): (&Strings, &CostModel),
    outside: &dyn Outside,
) -> Advice {
    let vectors = vectors_of(asked);
    let given = Arrangement::given(&vectors, given);
    let works = Works::of(model);
    let mut judge = Judge::new(asked, &vectors, strings, &works, (operands_max, patience));
    let found = found(asked, &vectors, &given, &mut judge);
    let mut lived = Lived::on(model, bits, strings.limits, outside);
    let mut placed = |arrangement: &Arrangement, groups: Vec<Vec<usize>>| -> Placed {
        let positions = judge.positions(arrangement, &groups.concat());
        let costs = asked.iter().zip(positions);
        let costs = costs.map(|(asked, positions)| match patience.is_over() {
            true => PageCost::default(),
            false => lived.cost(&asked.expression, positions),
        });
        Placed {
            costs: costs.collect(),
            groups: members(groups, arrangement, &vectors),
        }
    };
    let before = placed(&given, given.groups());
    let total = |placed: &Placed| Total::of(asked, &placed.costs);
    let tried = found.iter().take((LIVED_MAX / asked.len().max(1)).max(1));
    let tried = tried.map(|found| placed(found, found.to_be_written(strings.cells_per_string)));
    let fastest = tried.min_by_key(total);
    let better = fastest.filter(|placed| total(placed).is_clearly_less(&total(&before)));
    let after = better.unwrap_or_else(|| before.clone());
    Advice {
        replacing: Replacing::of((&before, &after), &lived),
        before,
        after,
    }
}

/// All vectors of expressions, in the order in which these name them.
fn vectors_of(asked: &[Asked]) -> Vec<VectorId> {
    let mut vectors: Vec<VectorId> = Vec::new();
    for id in asked.iter().flat_map(|asked| named(&asked.expression)) {
        if !vectors.contains(&id) {
            vectors.push(id);
        }
    }
    vectors
}

/// The vectors of an expression in the order in which it names them.
fn named(expression: &Expression) -> Vec<VectorId> {
    match expression {
        Expression::Vector(id) => vec![*id],
        _ => expression.operands().iter().flat_map(named).collect(),
    }
}

/// What climbing finds, the best first, each once.
fn found(
    asked: &[Asked],
    vectors: &[VectorId],
    given: &Arrangement,
    judge: &mut Judge<'_>,
) -> Vec<Arrangement> {
    let mut starts = starts::starts(asked, vectors, given);
    // From the best on: the effort may not last for all.
    starts.sort_by_cached_key(|start| judge.weigh(start));
    let mut found: Vec<(Weight, Arrangement)> = Vec::new();
    for mut arrangement in starts {
        let weight = climb::climb(&mut arrangement, judge);
        if found.iter().all(|(_, known)| *known != arrangement) {
            found.push((weight, arrangement));
        }
    }
    found.sort_by_key(|(weight, _)| *weight);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Groups of vectors that are places in a list.
fn members(
    groups: Vec<Vec<usize>>,
    arrangement: &Arrangement,
    vectors: &[VectorId],
) -> Vec<Vec<Member>> {
    let member = |place: usize| Member {
        vector: vectors[place],
        inverse: arrangement.inverse[place],
    };
    let members = |group: Vec<usize>| group.into_iter().map(member).collect();
    groups.into_iter().map(members).collect()
}

/// What all expressions take and spend together, each as often as it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Total {
    time: u128,
    energy: u128,
}

impl Total {
    fn of(asked: &[Asked], costs: &[PageCost]) -> Total {
        let sum = |of: fn(&PageCost) -> u64| -> u128 {
            let costs = asked.iter().zip(costs);
            costs
                .map(|(asked, cost)| u128::from(asked.frequency) * u128::from(of(cost)))
                .sum()
        };
        Total {
            time: sum(|cost| cost.time.as_ps()),
            energy: sum(|cost| cost.energy.as_pj()),
        }
    }

    /// Whether it takes clearly less time than another, or no more and spends clearly less.
    fn is_clearly_less(&self, other: &Total) -> bool {
        let clearly = |less: u128, more: u128| less + less / CLEARLY < more;
        clearly(self.time, other.time)
            || self.time <= other.time && clearly(self.energy, other.energy)
    }
}
