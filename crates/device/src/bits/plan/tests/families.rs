//! Plans of structured expressions against closed forms, and plans by all weights against what they mean.

use super::*;

/// Senses and pages that cost much the same, as on a wide drive whose dies share channels.
const BALANCED: Weights = Weights {
    sense: 25,
    page_transfer: 27,
    operand: 4,
};

/// As many numbered vectors in one group.
fn one_group(count: u32, inverse: bool) -> (Store, Vec<Expression>) {
    let (mut store, mut random) = (Store::new(48), Random(u64::from(count)));
    let ids = (0..count).map(|_| leaf(store.add(1, inverse, random_words(&mut random))));
    let ids = ids.collect();
    (store, ids)
}

fn by(weights: Weights) -> Limits {
    Limits { weights, ..LIMITS }
}

/// The plan of the fewest pages, which has to be right.
fn fewest_pages(store: &Store, expression: &Expression) -> Plan {
    let [plan, ..] = store.check(expression, &by(Weights::PAGES_FIRST));
    plan
}

/// `slices` as a number, least significant first, is less than `number`: a term for each of its ones.
fn below(slices: &[Expression], number: u64) -> Expression {
    let ones = (0..slices.len()).filter(|at| number >> at & 1 == 1);
    let term = |at: usize| {
        let higher = at + 1..slices.len();
        let equal = higher.map(|bit| match number >> bit & 1 {
            1 => slices[bit].clone(),
            _ => not(slices[bit].clone()),
        });
        Expression::And(equal.chain([not(slices[at].clone())]).collect())
    };
    Expression::Or(ones.map(term).collect())
}

/// A sense for each run of ones, whose slices are not all ones, and for each zero above the lowest one.
fn senses_below(number: u64, slices: u32) -> usize {
    let above = (0..slices).skip_while(|at| number >> at & 1 == 0);
    let bits: Vec<u64> = above.map(|at| number >> at & 1).collect();
    let runs = bits.chunk_by(|a, b| a == b);
    runs.map(|run| if run[0] == 1 { 1 } else { run.len() })
        .sum()
}

#[test]
fn comparing_with_a_number_takes_a_sense_a_slice_at_most() {
    for slices in 2..=12u32 {
        let (store, ids) = one_group(slices, false);
        for number in (1..1u64 << slices).step_by(1 << (slices.max(7) - 7)) {
            let plan = fewest_pages(&store, &below(&ids, number));
            let expected = (senses_below(number, slices), 1);
            assert!(
                (plan.senses(), plan.page_transfers()) <= expected,
                "{number} of {slices} slices: {plan}"
            );
        }
    }
}

fn below_vector(a: &[Expression], b: &[Expression]) -> Expression {
    let slices = a.iter().zip(b);
    let mut slices = slices.map(|(a, b)| {
        let less = Expression::And(vec![not(a.clone()), b.clone()]);
        let equal = not(Expression::Xor(vec![a.clone(), b.clone()]));
        (less, equal)
    });
    let (first, _) = slices.next().expect("a slice");
    slices.fold(first, |below, (less, equal)| {
        Expression::Or(vec![less, Expression::And(vec![equal, below])])
    })
}

#[test]
fn comparing_two_numbers_takes_four_senses_a_slice_and_one_page() {
    for slices in 1..=16usize {
        let (store, ids) = one_group(2 * slices as u32, false);
        let (a, b) = ids.split_at(slices);
        let plan = fewest_pages(&store, &below_vector(a, b));
        assert_eq!(plan.page_transfers(), 1, "{slices} slices: {plan}");
        assert!(plan.senses() <= 4 * slices - 2, "{slices} slices: {plan}");
    }
}

#[test]
fn multiplexers_take_a_page() {
    for selects in 1..=3usize {
        let data = 1 << selects;
        let (store, ids) = one_group((selects + data) as u32, false);
        let (select, data) = ids.split_at(selects);
        let term = |(number, data): (usize, &Expression)| {
            let decided = select
                .iter()
                .enumerate()
                .map(|(bit, select)| match number >> bit & 1 {
                    1 => select.clone(),
                    _ => not(select.clone()),
                });
            Expression::And(decided.chain([data.clone()]).collect())
        };
        let expression = Expression::Or(data.iter().enumerate().map(term).collect());
        let plan = fewest_pages(&store, &expression);
        // The last that is selected decides: a sense for it, and one for what is selected.
        let most = (2 * data.len() - 1, 1);
        assert!(
            (plan.senses(), plan.page_transfers()) <= most,
            "{selects} selects: {plan}"
        );
    }
}

#[test]
fn a_threshold_takes_a_sense_for_each_choice() {
    // Of six inverted vectors in one group, two are ones unless five are zeros.
    let (store, ids) = one_group(6, true);
    let mut terms = Vec::new();
    for (at, one) in ids.iter().enumerate() {
        terms.extend(
            ids[..at]
                .iter()
                .map(|other| Expression::And(vec![one.clone(), other.clone()])),
        );
    }
    let plan = fewest_pages(&store, &Expression::Or(terms));
    assert_eq!((plan.senses(), plan.page_transfers()), (6, 1), "{plan}");
}

#[test]
fn plans_by_all_weights_compute_what_the_expression_means() {
    let mut random = Random(77);
    for round in 0..6_000 {
        let store = random_store(&mut random);
        let depth = random.below(6);
        let expression = random_expression(&mut random, &store, depth);
        for weights in [BALANCED, Weights::PAGES_FIRST] {
            let limits = Limits {
                blocks_max: 1 + round % MWS_BLOCKS_MAX,
                weights,
            };
            let [cosmos, parabit, read_all] = store.check(&expression, &limits);
            let cost = |plan: &Plan| {
                let Weights {
                    sense,
                    page_transfer,
                    operand,
                } = weights;
                plan.senses() as u64 * sense
                    + plan.page_transfers() as u64 * page_transfer
                    + plan.root.operand_pages() * operand
            };
            let least = cost(&parabit).min(cost(&read_all));
            assert!(
                cost(&cosmos) <= least,
                "{expression:?}\n{cosmos}\n{parabit}"
            );
        }
    }
}
