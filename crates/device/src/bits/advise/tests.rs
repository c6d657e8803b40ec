//! Advice against what is known to be best, and against every arrangement there is.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use nvme::{Expression, VectorId};
use sim::{Energy, Span};

use super::arrangement::Arrangement;
use super::judge::{Judge, Patience};
use super::work::Works;
use super::{
    Advice, Asked, Given, OPERANDS_MAX, Outside, Placed, Replacing, Strings, Total, advise_within,
    found, vectors_of,
};
use crate::bits::plan::{Limits, Weights};
use crate::bits::rows::{Operand, Row, RowSetId};
use crate::cost::CostModel;

const STRINGS: Strings = Strings {
    limits: Limits {
        blocks_max: 4,
        weights: Weights::SENSES_FIRST,
    },
    cells_per_string: 48,
    ordinary: media::nand::ProgramMode::Tlc,
};

/// The drive of Flash-Cosmos.
fn model() -> CostModel {
    crate::cost::tests::model()
}

/// A host that computes nothing and spends nothing.
struct Idle;

impl Outside for Idle {
    fn counted(&self, _: &Expression, _: u64, _: Span) -> Option<(Span, Energy)> {
        None
    }

    fn received(&self, _: u64) -> Energy {
        Energy::ZERO
    }

    fn runs(&self, _: &[VectorId]) -> u64 {
        1
    }
}

fn go_on() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn advise(
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    strings: &Strings,
    model: &CostModel,
) -> Advice {
    let advice = super::advise(asked, given, strings, model, &Idle, &go_on);
    advice.expect("nobody breaks it off")
}

fn v(number: u32) -> Expression {
    VectorId::new(0, number).into()
}

fn all(numbers: impl IntoIterator<Item = u32>) -> Expression {
    Expression::all(numbers.into_iter().map(v)).expect("operands")
}

fn any(numbers: impl IntoIterator<Item = u32>) -> Expression {
    Expression::any(numbers.into_iter().map(v)).expect("operands")
}

fn advice(expressions: impl IntoIterator<Item = Expression>) -> Advice {
    let asked: Vec<Asked> = expressions
        .into_iter()
        .map(|expression| Asked::new(expression, 1))
        .collect();
    advise(&asked, &BTreeMap::new(), &STRINGS, &model())
}

/// Groups as numbers of vectors, and whether each is inverted as a whole.
fn shape(placed: &Placed) -> Vec<(Vec<u32>, Option<bool>)> {
    let group = |members: &Vec<super::Member>| {
        let inverse = members[0].inverse;
        let alike = members.iter().all(|member| member.inverse == inverse);
        let numbers = members.iter().map(|member| member.vector.vector);
        (numbers.collect(), alike.then_some(inverse))
    };
    placed.groups.iter().map(group).collect()
}

fn senses(placed: &Placed) -> Vec<u64> {
    placed.costs.iter().map(|cost| cost.senses).collect()
}

#[test]
fn an_and_of_many_is_one_group_and_an_or_of_many_one_inverted_group() {
    let found = advice([all(0..40)]);
    assert_eq!(shape(&found.after), [((0..40).collect(), Some(false))]);
    assert_eq!(found.before, found.after, "as good as can be already");
    let found = advice([any(0..40)]);
    assert_eq!(shape(&found.after), [((0..40).collect(), Some(true))]);
    assert_eq!(
        (senses(&found.before), senses(&found.after)),
        (vec![40], vec![1])
    );
}

/// Flash-Cosmos 6.2, Equation 4: (A1 + (B1 B2 B3 B4)) (C1 + C3) (D2 + D4) takes two senses where the
/// paper places it.
#[test]
fn the_papers_equation_takes_two_senses() {
    let b = all(1..5);
    let left = Expression::Or(vec![v(0), b]);
    let expression = Expression::And(vec![left, any([5, 6]), any([7, 8])]);
    let found = advice([expression]);
    assert_eq!(senses(&found.after), [2], "{:?}", shape(&found.after));
    assert!(senses(&found.before) > vec![2]);
}

#[test]
fn an_and_of_ors_is_an_inverted_group_for_each_or() {
    let ors = Expression::And(vec![any(0..7), any(7..12), any(12..15)]);
    let found = advice([ors]);
    assert_eq!(senses(&found.after), [1], "{:?}", shape(&found.after));
    let expected = [0..7, 7..12, 12..15].map(|numbers| (numbers.collect(), Some(true)));
    assert_eq!(shape(&found.after), expected);
}

#[test]
fn what_is_asked_more_often_counts_more() {
    let (often, seldom) = (all(0..4), any(0..4));
    for (frequencies, inverse) in [([9, 1], false), ([1, 9], true)] {
        let asked = [often.clone(), seldom.clone()];
        let asked: Vec<Asked> = asked
            .into_iter()
            .zip(frequencies)
            .map(|(expression, frequency)| Asked::new(expression, frequency))
            .collect();
        let found = advise(&asked, &BTreeMap::new(), &STRINGS, &model());
        let cheap = usize::from(inverse);
        assert_eq!(found.after.costs[cheap].senses, 1, "{found:?}");
    }
}

#[test]
fn many_vectors_and_expressions_take_a_bounded_effort() {
    let mut random = Random(7);
    let asked: Vec<Asked> = (0..30)
        .map(|_| {
            let first = random.below(140) as u32;
            let operands = first..first + 2 + random.below(12) as u32;
            let wide = if random.below(2) == 0 {
                all(operands)
            } else {
                any(operands)
            };
            Asked::new(wide, 1 + random.below(9))
        })
        .collect();
    let found = advise(&asked, &BTreeMap::new(), &STRINGS, &model());
    let (before, after): (u64, u64) = (
        senses(&found.before).iter().sum(),
        senses(&found.after).iter().sum(),
    );
    assert!(after * 3 < before * 2, "{before} to {after}");
}

#[test]
fn a_string_has_an_end() {
    let strings = Strings {
        cells_per_string: 4,
        ..STRINGS
    };
    let asked = [Asked::new(all(0..10), 1)];
    let found = advise(&asked, &BTreeMap::new(), &strings, &model());
    assert_eq!(senses(&found.after), [3]);
}

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % limit
    }

    fn expression(&mut self, vectors: u64, depth: u32) -> Expression {
        match if depth == 0 { 0 } else { self.below(6) } {
            0 | 1 => v(self.below(vectors) as u32),
            2 => !self.expression(vectors, depth - 1),
            kind => {
                let count = 2 + self.below(2);
                let operands = (0..count).map(|_| self.expression(vectors, depth - 1));
                let operands = operands.collect();
                match kind {
                    3 => Expression::And(operands),
                    4 => Expression::Or(operands),
                    _ => Expression::Xor(operands),
                }
            }
        }
    }
}

/// How long the drive works for all expressions, each as often as asked, under an arrangement by number of vector.
fn total(asked: &[Asked], group: &[u32], inverse: &[bool]) -> u64 {
    let find = |id: VectorId| {
        let place = id.vector as usize;
        let layer = group[..place]
            .iter()
            .filter(|g| **g == group[place])
            .count();
        Operand::Row(Row {
            row_set: RowSetId(group[place]),
            layer: layer as u32,
            inverse: inverse[place],
        })
    };
    let works = Works::of(&model());
    let work = |asked: &Asked| {
        let work = works.of_expression(&asked.expression, &STRINGS.limits, &find);
        work.span.as_ps() * asked.frequency
    };
    asked.iter().map(work).sum()
}

/// The same under the best arrangement that climbing finds.
fn climbed(asked: &[Asked]) -> u64 {
    let vectors = vectors_of(asked);
    let works = Works::of(&model());
    let patience = Patience::new(&go_on);
    let effort = (OPERANDS_MAX, &patience);
    let mut judge = Judge::new(asked, &vectors, &STRINGS, &works, effort);
    let given = Arrangement::together(vectors.len());
    let found = found(asked, &vectors, &given, &mut judge);
    let (mut group, mut inverse) = ([0; 4], [false; 4]);
    for (place, id) in vectors.iter().enumerate() {
        group[id.vector as usize] = found[0].group[place] as u32;
        inverse[id.vector as usize] = found[0].inverse[place];
    }
    total(asked, &group, &inverse)
}

/// The least work of all ways to share vectors out over groups and to invert some.
fn least(asked: &[Asked], vectors: usize) -> u64 {
    fn partitions(vectors: usize) -> Vec<Vec<u32>> {
        let Some(fewer) = vectors.checked_sub(1) else {
            return vec![Vec::new()];
        };
        let mut all = Vec::new();
        for partition in partitions(fewer) {
            let groups = partition.iter().max().map_or(0, |most| most + 1);
            for group in 0..=groups {
                all.push(partition.iter().copied().chain([group]).collect());
            }
        }
        all
    }
    let inversions = |set: u32| {
        (0..vectors)
            .map(move |v| set >> v & 1 == 1)
            .collect::<Vec<_>>()
    };
    let all = partitions(vectors);
    let costs = all
        .iter()
        .flat_map(|group| (0..1 << vectors).map(move |set| total(asked, group, &inversions(set))));
    costs.min().expect("there are arrangements")
}

#[test]
fn on_small_cases_nothing_is_better_than_what_climbing_finds() {
    let (mut improved, cases) = (0, 80);
    for seed in 0..cases {
        let mut random = Random(seed);
        let vectors = 2 + random.below(3);
        let asked: Vec<Asked> = (0..1 + random.below(4))
            .map(|_| Asked::new(random.expression(vectors, 3), 1 + random.below(5)))
            .collect();
        let (before, after) = (total(&asked, &[0; 4], &[false; 4]), climbed(&asked));
        let least = least(&asked, vectors as usize);
        assert_eq!(after, least, "seed {seed}: {asked:?}");
        improved += u64::from(after < before);
    }
    assert!(improved > cases / 5, "{improved}");
}

#[test]
fn advice_is_never_worse_than_what_is_given() {
    let mut improved = 0;
    for seed in 0..20 {
        let mut random = Random(1000 + seed);
        let asked: Vec<Asked> = (0..3)
            .map(|_| Asked::new(random.expression(8, 4), 1 + random.below(9)))
            .collect();
        let place = |random: &mut Random| Given {
            group: random.below(3) as u32,
            inverse: random.below(2) == 0,
        };
        let given: BTreeMap<VectorId, Given> = (0..8)
            .map(|number| (VectorId::new(0, number), place(&mut random)))
            .collect();
        // Broken off early, or hardly.
        let effort = [50, 500, 2000][seed as usize % 3];
        let drive = (&STRINGS, &model());
        let patience = Patience::new(&go_on);
        let advice = || advise_within((effort, &patience), &asked, &given, drive, &Idle);
        let found = advice();
        let total = |placed: &Placed| Total::of(&asked, &placed.costs);
        let (before, after) = (total(&found.before), total(&found.after));
        assert!(after <= before, "seed {seed}");
        assert_eq!(after < before, found.before != found.after, "seed {seed}");
        improved += u32::from(after < before);
        assert_eq!(found, advice(), "the same again");
    }
    assert!(improved > 0, "there was something to find");
}

/// A bitmap index of columns of so many bitmaps, a few questions about each pair of columns.
fn bitmap_index(columns: &[u32]) -> Vec<Expression> {
    let mut begin = 0;
    let ranges: Vec<std::ops::Range<u32>> = columns
        .iter()
        .map(|bitmaps| {
            begin += bitmaps;
            begin - bitmaps..begin
        })
        .collect();
    let mut asked = Vec::new();
    for (at, one) in ranges.iter().enumerate() {
        for other in &ranges[..at] {
            for part in 1..3 {
                let some = |range: &std::ops::Range<u32>| {
                    let length = (range.end - range.start) / part;
                    any(range.end - length.max(2)..range.end)
                };
                asked.push(Expression::And(vec![some(one), some(other)]));
            }
        }
    }
    asked
}

#[test]
fn a_large_bitmap_index_is_one_inverted_group_a_column() {
    for columns in [&[12, 12, 12][..], &[20, 10, 10]] {
        let found = advice(bitmap_index(columns));
        let mut begin = 0;
        for bitmaps in columns {
            let column: Vec<u32> = (begin..begin + bitmaps).collect();
            let is_group = |(mut group, inverse): (Vec<u32>, Option<bool>)| {
                group.sort_unstable();
                group == column && inverse == Some(true)
            };
            let shape = shape(&found.after);
            assert!(
                shape.clone().into_iter().any(is_group),
                "{columns:?}: {shape:?}"
            );
            begin += bitmaps;
        }
        assert!(senses(&found.after).iter().all(|senses| *senses == 1));
    }
}

#[test]
fn placing_anew_pays_back_after_what_it_takes_is_won() {
    let found = advice([any(0..40)]);
    let (before, after) = (found.before.costs[0], found.after.costs[0]);
    let Replacing {
        vectors,
        time,
        energy,
        questions_for_time,
        questions_for_energy,
    } = found.replacing;
    assert_eq!(vectors, 40);
    let won = |questions: u64| (before.time - after.time) * questions > time;
    let questions = questions_for_time.expect("an OR of forty is far faster");
    assert!(won(questions) && !won(questions - 1), "{questions}");
    let won = |questions: u64| (before.energy - after.energy) * questions > energy;
    let questions = questions_for_energy.expect("and takes far less energy");
    assert!(won(questions) && !won(questions - 1), "{questions}");
    // What is best already needs nothing.
    let none = advice([all(0..40)]).replacing;
    assert_eq!((none.vectors, none.questions_for_time), (0, None));
}

#[test]
fn advice_that_nobody_waits_for_ends_soon() {
    let asked: Vec<Asked> = (0..20)
        .map(|number| Asked::new(all(number..number + 20), 1))
        .collect();
    let questions = std::cell::Cell::new(0);
    let watch = || {
        questions.set(questions.get() + 1);
        match questions.get() < 30 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let given = BTreeMap::new();
    let advice = super::advise(&asked, &given, &STRINGS, &model(), &Idle, &watch);
    assert_eq!(advice, None);
    assert_eq!(
        questions.get(),
        30,
        "it is not asked again, and nothing is planned any more"
    );
}
