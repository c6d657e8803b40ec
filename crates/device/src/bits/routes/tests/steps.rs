//! How many steps planning takes, which is what its time grows with: counted, since no machine's load changes that.

use nvme::Expression as Tree;

use super::bounds::Operands;
use super::{Expression, Random};
use crate::bits::config::RouteRule;
use crate::bits::engine::{Engine, Evaluator, Objective};
use crate::bits::plan::{Limits, Weights};
use crate::bits::routes::{Choice, routes};
use crate::bits::rows::Leaf;
use crate::cost::tests;
use crate::region::{Home, Layout};

/// Groups, each of [`VECTORS`] operands; every other has dies of its own.
const GROUPS: u64 = 16;
const VECTORS: u64 = 8;

/// Who plans, by name.
const PLANNERS: [(&str, Evaluator); 4] = [
    ("parabit", Evaluator::Engine(Engine::ParaBit)),
    ("flash-cosmos", Evaluator::Engine(Engine::FlashCosmos)),
    ("fastest", Evaluator::Best(Objective::Time)),
    ("thriftiest", Evaluator::Best(Objective::Energy)),
];

impl Random {
    fn operand(&mut self) -> Expression {
        let (group, vector) = (self.below(GROUPS), self.below(VECTORS));
        Leaf::Stored((group * 10 + vector) as u32).into()
    }

    fn operands(&mut self, count: usize) -> Vec<Expression> {
        (0..count).map(|_| self.operand()).collect()
    }
}

/// ORs of ANDs of three.
fn or_of_ands(random: &mut Random, operands: usize) -> Expression {
    let terms = (0..operands / 3).map(|_| Expression::And(random.operands(3)));
    Tree::Or(terms.collect())
}

/// XORs of (a | b) & !c.
fn parity_of_terms(random: &mut Random, operands: usize) -> Expression {
    let term = |_| (random.operand() | random.operand()) & !random.operand();
    Tree::Xor((0..operands / 3).map(term).collect())
}

/// AND and OR by turns, 62 deep.
fn deep(random: &mut Random, operands: usize) -> Expression {
    const DEPTH: usize = 62;
    let mut whole = random.operand();
    for level in 0..DEPTH {
        let mut operands = random.operands((operands / DEPTH).max(1));
        operands.push(whole);
        whole = match level % 2 {
            0 => Tree::Or(operands),
            _ => Tree::And(operands),
        };
    }
    whole
}

/// Operands in groups at homes of four dies and at all dies by turns, or all at all dies.
fn placed(is_apart: bool) -> Operands {
    let mut geometry = tests::model().nand.geometry;
    geometry.blocks_per_plane = 8192;
    geometry.channels = 8;
    let all = Layout::new(geometry.clone());
    let group = |group: u64| {
        let home = match is_apart && group.is_multiple_of(2) {
            true => Home {
                first: (group % u64::from(geometry.dies())) as u16,
                dies: 4.min(geometry.dies() as u16),
            },
            false => Home::ALL,
        };
        let layout = all.at(home).expect("a home of this drive");
        Some((layout, group.is_multiple_of(3)))
    };
    Operands {
        groups: (0..GROUPS).map(group).collect(),
        geometry,
    }
}

/// The most steps that planning any of some expressions takes, by who plans.
fn most_steps(
    family: fn(&mut Random, usize) -> Expression,
    operands: usize,
    is_apart: bool,
) -> [u64; PLANNERS.len()] {
    let placed = placed(is_apart);
    let mut model = tests::model();
    model.nand.geometry = placed.geometry.clone();
    let limits = Limits {
        blocks_max: 4,
        weights: Weights::SENSES_FIRST,
    };
    let choice = Choice {
        geometry: &placed.geometry,
        limits: &limits,
        model: &model,
        rule: RouteRule::Fastest,
        count_only: false,
    };
    PLANNERS.map(|(_, by)| {
        let steps = (0..4).map(|seed| {
            let expression = family(&mut Random(seed), operands);
            let (expression, classes) = placed.classes(&expression, 1);
            let planned = routes(&expression, by, classes, &choice);
            planned.iter().map(|(_, routes)| routes.steps).sum::<u64>()
        });
        steps.max().unwrap_or_default()
    })
}

/// Each limit is about a twentieth above what it takes; a search that repeats what was found before exceeds it.
#[test]
fn planning_takes_few_steps() {
    type Case = (
        &'static str,
        fn(&mut Random, usize) -> Expression,
        usize,
        bool,
        [u64; 4],
    );
    let cases: [Case; 9] = [
        (
            "or of ands",
            or_of_ands,
            100,
            true,
            [330, 15_900, 16_200, 16_200],
        ),
        (
            "or of ands",
            or_of_ands,
            100,
            false,
            [460, 3_870, 4_150, 4_260],
        ),
        (
            "or of ands",
            or_of_ands,
            1000,
            true,
            [2_600, 60_800, 63_200, 63_500],
        ),
        (
            "parity of terms",
            parity_of_terms,
            100,
            true,
            [300, 53_400, 53_500, 53_600],
        ),
        (
            "parity of terms",
            parity_of_terms,
            100,
            false,
            [890, 4_410, 4_770, 4_910],
        ),
        (
            "parity of terms",
            parity_of_terms,
            1000,
            true,
            [2_370, 60_500, 61_900, 62_200],
        ),
        ("62 deep", deep, 62, true, [140, 5_730, 5_880, 5_880]),
        ("62 deep", deep, 62, false, [890, 37_600, 37_600, 37_600]),
        (
            "62 deep",
            deep,
            1000,
            true,
            [2_750, 1_460_000, 1_460_000, 1_460_000],
        ),
    ];
    for (name, family, operands, is_apart, most) in cases {
        let steps = most_steps(family, operands, is_apart);
        println!("{name}, {operands} operands, on different dies: {is_apart}: {steps:?}");
        for (((by, _), steps), most) in PLANNERS.iter().zip(steps).zip(most) {
            let case =
                format!("{name} of {operands} operands, on different dies: {is_apart}, {by}");
            assert!(steps <= most, "{case}: {steps} steps, of {most}");
            assert!(
                steps > most - most / 10,
                "{case}: {steps} steps only, let the limit follow"
            );
        }
    }
}
