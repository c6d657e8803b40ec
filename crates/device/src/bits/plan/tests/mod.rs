//! Plans against direct evaluation, closed forms and the paper's example.

mod families;
mod optimum;

use std::collections::BTreeMap;

use nvme::{Expression, VectorId};

use super::*;
use crate::bits::evaluate::evaluate;
use crate::bits::rows::Row;

/// Words of every test page.
const WORDS: usize = 4;
const ENGINES: [Engine; 3] = [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage];
const LIMITS: Limits = Limits {
    blocks_max: 4,
    weights: Weights::SENSES_FIRST,
};

/// A deterministic stream of numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Vectors with contents, placed group by group in the order of addition.
struct Store {
    cells_per_string: u32,
    vectors: Vec<(VectorId, Row)>,
    contents: BTreeMap<VectorId, [u64; WORDS]>,
    rows: BTreeMap<(RowSetId, u32), [u64; WORDS]>,
}

impl Store {
    fn new(cells_per_string: u32) -> Store {
        Store {
            cells_per_string,
            vectors: Vec::new(),
            contents: BTreeMap::new(),
            rows: BTreeMap::new(),
        }
    }

    fn add(&mut self, group: u32, inverse: bool, content: [u64; WORDS]) -> VectorId {
        let vector = self
            .vectors
            .iter()
            .filter(|(id, _)| id.group == group)
            .count() as u32;
        let id = VectorId { group, vector };
        let row_set = RowSetId(group * 1000 + vector / self.cells_per_string);
        let layer = vector % self.cells_per_string;
        self.vectors.push((
            id,
            Row {
                row_set,
                layer,
                inverse,
            },
        ));
        self.contents.insert(id, content);
        let stored = content.map(|word| if inverse { !word } else { word });
        self.rows.insert((row_set, layer), stored);
        id
    }

    fn plan(&self, expression: &Expression, engine: Engine, limits: &Limits) -> Plan {
        let placements: BTreeMap<_, _> = self.vectors.iter().copied().collect();
        plan(expression, engine, limits, |id| {
            Operand::Row(placements[&id])
        })
    }

    /// What the plan computes, after checking that every step is legal.
    fn run(&self, plan: &Plan, limits: &Limits) -> Vec<u64> {
        let fetch = |row_set, layer| &self.rows[&(row_set, layer)][..];
        evaluate(plan, limits.blocks_max, WORDS, &fetch).expect("plans are legal")
    }

    /// What the expression means.
    fn meaning(&self, expression: &Expression) -> [u64; WORDS] {
        let fold = |operands: &[Expression], start: u64, apply: fn(u64, u64) -> u64| {
            operands.iter().fold([start; WORDS], |sum, operand| {
                let operand = self.meaning(operand);
                std::array::from_fn(|i| apply(sum[i], operand[i]))
            })
        };
        match expression {
            Expression::Vector(id) => self.contents[id],
            Expression::Not(inner) => self.meaning(inner).map(|word| !word),
            Expression::And(operands) => fold(operands, u64::MAX, |a, b| a & b),
            Expression::Or(operands) => fold(operands, 0, |a, b| a | b),
            Expression::Xor(operands) => fold(operands, 0, |a, b| a ^ b),
        }
    }

    fn check(&self, expression: &Expression, limits: &Limits) -> [Plan; 3] {
        let meaning = self.meaning(expression);
        ENGINES.map(|engine| {
            let plan = self.plan(expression, engine, limits);
            let result = self.run(&plan, limits);
            assert_eq!(
                result, meaning,
                "{engine:?} of {expression:?} as\n{plan}\nover {:?}",
                self.vectors
            );
            plan
        })
    }
}

fn leaf(id: VectorId) -> Expression {
    Expression::Vector(id)
}

fn not(inner: Expression) -> Expression {
    Expression::Not(Box::new(inner))
}

fn leaves(ids: &[VectorId]) -> Vec<Expression> {
    ids.iter().copied().map(leaf).collect()
}

fn random_words(random: &mut Random) -> [u64; WORDS] {
    std::array::from_fn(|_| random.next())
}

fn random_store(random: &mut Random) -> Store {
    let mut store = Store::new(1 + random.below(4) as u32);
    let groups = 1 + random.below(5);
    for _ in 0..1 + random.below(12) {
        let (group, inverse) = (random.below(groups) as u32, random.below(3) == 0);
        let content = random_words(random);
        store.add(group, inverse, content);
    }
    store
}

fn random_expression(random: &mut Random, store: &Store, depth: u64) -> Expression {
    let kind = if depth == 0 { 0 } else { random.below(9) };
    let many = |random: &mut Random| {
        let operands = 2 + random.below(if depth > 2 { 2 } else { 4 });
        (0..operands)
            .map(|_| random_expression(random, store, depth - 1))
            .collect()
    };
    match kind {
        0 | 1 => leaf(store.vectors[random.below(store.vectors.len() as u64) as usize].0),
        2 => not(random_expression(random, store, depth - 1)),
        3..=5 => Expression::And(many(random)),
        6 | 7 => Expression::Or(many(random)),
        _ => Expression::Xor(many(random)),
    }
}

#[test]
fn plans_compute_what_the_expression_means() {
    let mut random = Random(2);
    for round in 0..25_000 {
        let store = random_store(&mut random);
        let depth = random.below(6);
        let expression = random_expression(&mut random, &store, depth);
        let limits = Limits {
            blocks_max: 1 + round % MWS_BLOCKS_MAX,
            ..LIMITS
        };
        let [cosmos, parabit, read_all] = store.check(&expression, &limits);
        let case = || format!("{expression:?}\n{cosmos}\n{parabit}\n{:?}", store.vectors);
        assert!(cosmos.senses() <= parabit.senses(), "{}", case());
        assert!(cosmos.senses() <= read_all.senses(), "{}", case());
        assert_eq!(read_all.senses(), read_all.page_transfers());
    }
}

/// The fewest ORs of `n` rows of one group of 48-cell strings, four blocks at once.
fn or_in_one_group(n: usize) -> usize {
    n.min(48).max(n.div_ceil(4))
}

#[test]
fn senses_of_wide_operations_have_closed_forms() {
    for n in 1..=200usize {
        let mut store = Store::new(48);
        let mut random = Random(n as u64);
        let mut ids = |store: &mut Store, group: &dyn Fn(u32) -> u32, inverse| -> Vec<VectorId> {
            (0..n as u32)
                .map(|i| store.add(group(i), inverse, random_words(&mut random)))
                .collect()
        };
        let plain = ids(&mut store, &|_| 1, false);
        let inverse = ids(&mut store, &|_| 2, true);
        let apart = ids(&mut store, &|i| 1000 + i, false);
        let strings = n.div_ceil(48);
        let cases = [
            (Expression::And(leaves(&plain)), strings),
            (not(Expression::And(leaves(&plain))), strings),
            (Expression::Or(leaves(&plain)), or_in_one_group(n)),
            (not(Expression::Or(leaves(&plain))), or_in_one_group(n)),
            (Expression::Or(leaves(&inverse)), strings),
            (not(Expression::Or(leaves(&inverse))), strings),
            (Expression::And(leaves(&inverse)), or_in_one_group(n)),
            (Expression::And(leaves(&apart)), n),
            (Expression::Or(leaves(&apart)), n.div_ceil(4)),
            (Expression::Xor(leaves(&plain)), n),
        ];
        for (expression, senses) in cases {
            let [cosmos, parabit, read_all] = store.check(&expression, &LIMITS);
            assert_eq!(cosmos.senses(), senses, "{n} operands\n{cosmos}");
            assert_eq!(cosmos.page_transfers(), 1, "{n} operands\n{cosmos}");
            assert_eq!(parabit.senses(), n, "{parabit}");
            assert_eq!((read_all.senses(), read_all.page_transfers()), (n, n));
            let pages = if matches!(expression, Expression::Xor(_)) {
                n
            } else {
                1
            };
            assert_eq!(parabit.page_transfers(), pages, "{parabit}");
        }
    }
}

/// Flash-Cosmos 6.2, Equation 4 and Figure 16: four blocks of four vectors, two of them stored
/// inverse.
fn equation_4() -> (Store, Expression) {
    let (mut store, mut random) = (Store::new(4), Random(4));
    let mut block = |group, inverse| -> [Expression; 4] {
        std::array::from_fn(|_| leaf(store.add(group, inverse, random_words(&mut random))))
    };
    let [a1, ..] = block(1, false);
    let b = block(2, false);
    let [c1, _, c3, _] = block(3, true);
    let [_, d2, _, d4] = block(4, true);
    let sum = |x, y| Expression::Or(vec![x, y]);
    let first = sum(a1, Expression::And(b.to_vec()));
    (
        store,
        Expression::And(vec![first, sum(c1, c3), sum(d2, d4)]),
    )
}

#[test]
fn the_papers_example_takes_two_senses() {
    let (store, expression) = equation_4();
    let [plan, ..] = store.check(&expression, &LIMITS);
    let expected = "Flash-Cosmos: 2 senses and 1 page transfer per chunk
  page 0
    C = 0; S = !(string 3000[0,2] | string 4000[1,3])
    S &= (string 1000[0] | string 2000[0-3]); C |= S
";
    assert_eq!(plan.to_string(), expected);
    assert_eq!(plan.controller_bytes_per_page(16384), 0);
}

#[test]
fn clauses_over_inverse_groups_are_one_inverse_sense() {
    let (mut store, mut random) = (Store::new(48), Random(6));
    let mut clause = |group| {
        let ids: Vec<_> = (0..24)
            .map(|_| store.add(group, true, random_words(&mut random)))
            .collect();
        Expression::Or(leaves(&ids))
    };
    let expression = Expression::And(vec![clause(1), clause(2), clause(3)]);
    let [plan, parabit, _] = store.check(&expression, &LIMITS);
    assert_eq!((plan.senses(), plan.page_transfers()), (1, 1), "{plan}");
    assert_eq!(parabit.senses(), 72);
}

#[test]
fn xor_stays_in_the_latches() {
    let (mut store, mut random) = (Store::new(48), Random(7));
    let [a, b, c] = [0; 3].map(|_| leaf(store.add(1, false, random_words(&mut random))));
    let product = Expression::And(vec![a.clone(), b.clone()]);
    for (expression, senses) in [
        (Expression::Xor(vec![a.clone(), b.clone()]), 2),
        (
            not(Expression::Xor(vec![a.clone(), not(b.clone()), c.clone()])),
            3,
        ),
        (Expression::Xor(vec![product.clone(), not(c.clone())]), 2),
        (Expression::Or(vec![Expression::Xor(vec![a, b]), c]), 3),
    ] {
        let [plan, ..] = store.check(&expression, &LIMITS);
        assert_eq!(
            (plan.senses(), plan.page_transfers()),
            (senses, 1),
            "{plan}"
        );
    }
}

#[test]
fn what_does_not_fit_is_combined_by_the_controller() {
    let (mut store, mut random) = (Store::new(48), Random(8));
    let mut next = |group| leaf(store.add(group, false, random_words(&mut random)));
    let (a, b, c) = (next(1), next(1), next(1));
    let xor = |x: &Expression, y: &Expression| Expression::Xor(vec![x.clone(), y.clone()]);
    let expression = Expression::And(vec![xor(&a, &b), xor(&a, &c)]);
    let [plan, ..] = store.check(&expression, &LIMITS);
    assert_eq!((plan.senses(), plan.page_transfers()), (3, 3), "{plan}");
    assert!(plan.controller_bytes_per_page(16384) > 0, "{plan}");
}

#[test]
fn what_is_used_twice_is_computed_once() {
    let (mut store, mut random) = (Store::new(48), Random(12));
    let mut next = |group| leaf(store.add(group, false, random_words(&mut random)));
    // A multiplexer, decided by a parity of six rows.
    let condition = Expression::Xor((0..6).map(|_| next(1)).collect());
    let (a, b) = (next(1), next(2));
    let expression = Expression::Or(vec![
        Expression::And(vec![condition.clone(), a]),
        Expression::And(vec![not(condition), b]),
    ]);
    let [plan, ..] = store.check(&expression, &LIMITS);
    assert_eq!((plan.senses(), plan.page_transfers()), (8, 3), "{plan}");
}

#[test]
fn alternating_operators_stay_in_the_latches() {
    let (mut store, mut random) = (Store::new(48), Random(14));
    let mut group = 0;
    let mut next = || {
        group += 1;
        leaf(store.add(group, false, random_words(&mut random)))
    };
    // ((((a | b) & c) | d) & e) ..., a block at a time: each operand one sense, and one page.
    let mut nested = Expression::Or(vec![next(), next()]);
    for depth in 0..10 {
        let operands = vec![nested, next()];
        nested = match depth % 2 {
            0 => Expression::And(operands),
            _ => Expression::Or(operands),
        };
    }
    let limits = Limits {
        blocks_max: 1,
        ..LIMITS
    };
    let [plan, parabit, _] = store.check(&nested, &limits);
    assert_eq!((plan.senses(), plan.page_transfers()), (12, 1), "{plan}");
    assert!(parabit.page_transfers() > 1, "{parabit}");
}

/// So many rows, each of a group of its own, and what one sense of one block at a time makes of them.
fn one_block_at_a_time<const N: usize>(
    weights: Weights,
    expression: impl Fn([Expression; N]) -> Expression,
) -> Plan {
    let (mut store, mut random) = (Store::new(48), Random(17));
    let rows = std::array::from_fn(|group| {
        leaf(store.add(group as u32, false, random_words(&mut random)))
    });
    let limits = Limits {
        blocks_max: 1,
        weights,
    };
    let [plan, ..] = store.check(&expression(rows), &limits);
    plan
}

#[test]
fn what_cannot_join_an_exclusive_or_begins_it() {
    // Of a & b the sensing latch holds no inverse, and c | d is no product at all.
    let plan = one_block_at_a_time(Weights::SENSES_FIRST, |[a, b, c, d, e]| {
        Expression::Xor(vec![e, a & b, c | d])
    });
    assert_eq!((plan.senses(), plan.page_transfers()), (5, 1), "{plan}");
}

#[test]
fn what_can_neither_begin_an_exclusive_or_nor_join_it_is_a_page_of_its_own() {
    let plan = one_block_at_a_time(Weights::SENSES_FIRST, |[a, b, c, d, e]| {
        Expression::Xor(vec![e, a | b, c | d])
    });
    assert_eq!((plan.senses(), plan.page_transfers()), (5, 2), "{plan}");
}

#[test]
fn the_inverse_of_a_chain_takes_as_many_senses() {
    let plan = one_block_at_a_time(Weights::PAGES_FIRST, |[a, b, c, d, e]| {
        Expression::Or(vec![Expression::Or(vec![!a, b, !c]) & d, e])
    });
    assert_eq!((plan.senses(), plan.page_transfers()), (5, 1), "{plan}");
}

#[test]
fn constants_need_no_sense() {
    let (mut store, mut random) = (Store::new(48), Random(9));
    let [a, b] = [0; 2].map(|_| leaf(store.add(1, false, random_words(&mut random))));
    let never = Expression::And(vec![a.clone(), b.clone(), not(a.clone())]);
    let always = Expression::Or(vec![not(b.clone()), b.clone()]);
    let same = Expression::Xor(vec![a.clone(), b.clone(), a.clone(), b]);
    for expression in [never.clone(), always, same, not(never)] {
        for plan in store.check(&expression, &LIMITS) {
            assert_eq!((plan.senses(), plan.page_transfers()), (0, 0), "{plan}");
        }
    }
}

#[test]
fn repeated_operands_are_sensed_once() {
    let (mut store, mut random) = (Store::new(48), Random(10));
    let [a, b] = [0; 2].map(|_| leaf(store.add(1, false, random_words(&mut random))));
    let absorbed = Expression::And(vec![a.clone(), Expression::Or(vec![b.clone(), a.clone()])]);
    let repeated = Expression::And(vec![a.clone(), a.clone(), a]);
    for expression in [absorbed, repeated] {
        for plan in store.check(&expression, &LIMITS) {
            assert_eq!(plan.senses(), 1, "{plan}");
        }
    }
}

#[test]
fn what_was_never_written_is_zeroes_and_is_not_sensed() {
    let id = |vector| VectorId { group: 1, vector };
    let find = |found: VectorId| match found.vector {
        0 => Operand::Zeroes,
        layer => Operand::Row(Row {
            row_set: RowSetId(0),
            layer,
            inverse: false,
        }),
    };
    let planned = |expression| plan(&expression, Engine::FlashCosmos, &LIMITS, find);
    let nothing = planned(Expression::And(vec![leaf(id(0)), leaf(id(1))]));
    assert_eq!(
        (nothing.senses(), nothing.root),
        (0, Source::Constant(false))
    );
    let one = planned(Expression::Or(vec![leaf(id(0)), leaf(id(1))]));
    assert_eq!(one.senses(), 1, "{one}");
}

#[test]
fn deep_and_wide_expressions_are_planned() {
    let mut random = Random(11);
    for wide in [1, 20, 200] {
        let mut store = Store::new(48);
        for i in 0..200 {
            let inverse = random.below(2) == 0;
            store.add(i % 7, inverse, random_words(&mut random));
        }
        let mut next = leaf(store.vectors[0].0);
        for depth in 0..64 {
            let mut operands: Vec<_> = (0..wide / 20 + 1)
                .map(|_| leaf(store.vectors[random.below(200) as usize].0))
                .collect();
            operands.push(if random.below(3) == 0 {
                not(next)
            } else {
                next
            });
            next = match depth % 3 {
                0 => Expression::And(operands),
                1 => Expression::Or(operands),
                _ => Expression::Xor(operands),
            };
        }
        store.check(&next, &LIMITS);
    }
}
