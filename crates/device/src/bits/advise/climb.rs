//! From an arrangement to better ones, step by step.

use super::arrangement::Arrangement;
use super::judge::{Judge, Weight};

/// Up to so many vectors, pairs of them are moved together as well: what two have to do with each
/// other may not show while only one is where it should be.
const PAIRS_UP_TO: usize = 12;

/// Takes every step that helps until none does, or the budget is spent.
pub(super) fn climb(arrangement: &mut Arrangement, judge: &mut Judge<'_>) -> Weight {
    let mut weight = judge.weigh(arrangement);
    loop {
        let before = weight;
        for step in steps(arrangement, judge) {
            if judge.is_budget_spent() {
                return weight;
            }
            let next = step.taken(arrangement);
            if next == *arrangement {
                continue;
            }
            let next_weight = judge.weigh(&next);
            if next_weight < weight {
                (*arrangement, weight) = (next, next_weight);
            }
        }
        *arrangement = arrangement.tidied();
        if weight == before {
            return weight;
        }
    }
}

/// A change of an arrangement: these vectors go to a group, each inverted or not as told.
struct Step {
    vectors: Vec<usize>,
    /// Where to; none if they stay where they are.
    group: Option<usize>,
    /// What becomes of the inversion of each.
    flip: Vec<bool>,
}

impl Step {
    fn taken(&self, arrangement: &Arrangement) -> Arrangement {
        let mut next = arrangement.clone();
        for (&vector, &flip) in self.vectors.iter().zip(&self.flip) {
            next.inverse[vector] ^= flip;
            if let Some(group) = self.group {
                next.group[vector] = group;
            }
        }
        next
    }
}

/// The steps from an arrangement, those that change least first.
fn steps(arrangement: &Arrangement, judge: &Judge<'_>) -> Vec<Step> {
    let count = arrangement.group.len();
    let new = arrangement.bound();
    let mut steps = Vec::new();
    let mut add = |vectors: &[usize], group: Option<usize>, flips: &[bool]| {
        steps.push(Step {
            vectors: vectors.to_vec(),
            group,
            flip: flips.to_vec(),
        });
    };
    for vector in 0..count {
        add(&[vector], None, &[true]);
        for group in 0..=new {
            add(&[vector], Some(group), &[false]);
            add(&[vector], Some(group), &[true]);
        }
    }
    let groups = arrangement.groups();
    for group in &groups {
        add(group, None, &vec![true; group.len()]);
    }
    // Groups merge; the vectors that one expression names leave theirs, and together.
    for (place, group) in groups.iter().enumerate() {
        for other in &groups[..place] {
            let into = arrangement.group[other[0]];
            for flip in [false, true] {
                add(group, Some(into), &vec![flip; group.len()]);
            }
        }
    }
    for operands in judge.operands() {
        for group in &groups {
            let both: Vec<usize> = group
                .iter()
                .copied()
                .filter(|v| operands.contains(v))
                .collect();
            for flip in [false, true] {
                add(&both, Some(new), &vec![flip; both.len()]);
            }
        }
        for flip in [false, true] {
            add(operands, Some(new), &vec![flip; operands.len()]);
        }
    }
    if count <= PAIRS_UP_TO {
        for one in 0..count {
            for other in 0..one {
                for flips in [[false, false], [false, true], [true, false], [true, true]] {
                    add(&[one, other], None, &flips);
                    for group in 0..=new {
                        add(&[one, other], Some(group), &flips);
                    }
                }
            }
        }
    }
    steps
}
