//! Expressions as queries and kernels have them: each family written as a program would write it, without a thought of the
//! array.

use bitline::{Expression, VectorId};

use crate::random::Random;

/// What a family is called, and an expression of it.
pub(crate) type Case = (&'static str, Expression);

type Family = fn(&mut Random, &[VectorId]) -> Expression;

/// The families, by name.
const FAMILIES: [(&str, Family); 15] = [
    ("or of ands", or_of_ands),
    ("and of ors", and_of_ors),
    ("threshold", threshold),
    ("exactly", exactly),
    ("multiplexer", multiplexer),
    ("less than a vector", less_than),
    ("less than a number", less_than_number),
    ("range", range),
    ("range in terms", range_in_terms),
    ("equal", equal),
    ("parity", parity),
    ("parity in terms", parity_in_terms),
    ("sum", sum),
    ("carry", carry),
    ("bitmap index", bitmap_index),
];

/// An expression over some of `vectors`: of a family, or in one case of three as random as can be.
pub(crate) fn case(random: &mut Random, vectors: &[VectorId]) -> Case {
    if random.below(3) == 0 {
        let depth = 1 + random.below(4) as u32;
        return ("random", random.expression(vectors, depth));
    }
    let (name, family) = FAMILIES[random.below(FAMILIES.len() as u64) as usize];
    (name, family(random, vectors))
}

/// `count` of the vectors, in any order, each once; all of them if there are not so many.
fn some(random: &mut Random, vectors: &[VectorId], count: u64) -> Vec<Expression> {
    let mut left = vectors.to_vec();
    let mut chosen = Vec::new();
    while (chosen.len() as u64) < count && !left.is_empty() {
        let at = random.below(left.len() as u64) as usize;
        chosen.push(left.swap_remove(at).into());
    }
    chosen
}

/// An operator takes two operands and more.
fn joined(
    mut operands: Vec<Expression>,
    operator: fn(Vec<Expression>) -> Expression,
) -> Expression {
    match operands.len() {
        1 => operands.swap_remove(0),
        _ => operator(operands),
    }
}

fn all(operands: Vec<Expression>) -> Expression {
    joined(operands, Expression::And)
}

fn any(operands: Vec<Expression>) -> Expression {
    joined(operands, Expression::Or)
}

fn or_of_ands(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let (terms, factors) = (2 + random.below(60), 2 + random.below(4));
    let term = |_| all(some(random, vectors, factors));
    any((0..terms).map(term).collect())
}

fn and_of_ors(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let (factors, terms) = (2 + random.below(8), 2 + random.below(4));
    let factor = |_| any(some(random, vectors, terms));
    all((0..factors).map(factor).collect())
}

/// All ways to choose `count` of the operands.
fn choices(operands: &[Expression], count: usize) -> Vec<Vec<Expression>> {
    match (count, operands) {
        (0, _) => vec![Vec::new()],
        (_, []) => Vec::new(),
        (_, [first, rest @ ..]) => {
            let mut with = choices(rest, count - 1);
            with.iter_mut()
                .for_each(|choice| choice.push(first.clone()));
            with.extend(choices(rest, count));
            with
        }
    }
}

fn at_least(operands: &[Expression], count: usize) -> Expression {
    any(choices(operands, count).into_iter().map(all).collect())
}

fn threshold(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let count = 3 + random.below(5);
    let operands = some(random, vectors, count);
    let least = 1 + random.below(operands.len() as u64 - 1);
    at_least(&operands, least as usize)
}

fn exactly(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let count = 3 + random.below(3);
    let operands = some(random, vectors, count);
    let count = 1 + random.below(operands.len() as u64 - 1) as usize;
    at_least(&operands, count) & !at_least(&operands, count + 1)
}

fn multiplexer(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let selects = 1 + random.below(3) as usize;
    let all_of = some(random, vectors, selects as u64 + (1 << selects));
    let (selects, data) = all_of.split_at(selects.min(all_of.len() - 1));
    let term = |(number, data): (usize, &Expression)| {
        let decided = selects.iter().enumerate().map(|(bit, select)| {
            if number >> bit & 1 == 1 {
                select.clone()
            } else {
                !select.clone()
            }
        });
        all(decided.chain([data.clone()]).collect())
    };
    any(data.iter().enumerate().map(term).collect())
}

/// Two numbers of the same length, bit slices from the least significant on.
fn two_numbers(
    random: &mut Random,
    vectors: &[VectorId],
    most: u64,
) -> Vec<(Expression, Expression)> {
    let length = (1 + random.below(most)).min(vectors.len() as u64 / 2);
    let slices = some(random, vectors, 2 * length.max(1));
    slices
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect()
}

fn less_than(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let slices = two_numbers(random, vectors, 8);
    let (first, rest) = slices.split_first().expect("a bit at least");
    let start = !first.0.clone() & first.1.clone();
    rest.iter().fold(start, |below, (a, b)| {
        (!a.clone() & b.clone()) | (!(a.clone() ^ b.clone()) & below)
    })
}

fn below_number(slices: &[Expression], number: u64) -> Expression {
    let mut terms = Vec::new();
    for (at, slice) in slices.iter().enumerate() {
        if number >> at & 1 == 0 {
            continue;
        }
        let higher = slices.iter().enumerate().skip(at + 1);
        let equal = higher.map(|(bit, higher)| match number >> bit & 1 {
            1 => higher.clone(),
            _ => !higher.clone(),
        });
        terms.push(all(equal.chain([!slice.clone()]).collect()));
    }
    match terms.len() {
        0 => all(vec![slices[0].clone(), !slices[0].clone()]),
        _ => any(terms),
    }
}

fn less_than_number(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let length = 2 + random.below(14);
    let slices = some(random, vectors, length);
    let number = random.below(1 << slices.len());
    below_number(&slices, number)
}

fn range(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let length = 2 + random.below(10);
    let slices = some(random, vectors, length);
    let (low, high) = (
        random.below(1 << slices.len()),
        random.below(1 << slices.len()),
    );
    !below_number(&slices, low.min(high)) & below_number(&slices, low.max(high))
}

/// A short range, each number of it a term.
fn range_in_terms(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let slices = some(random, vectors, 4);
    let numbers = 1 << slices.len();
    let low = random.below(numbers);
    let high = low + 1 + random.below(numbers - low);
    let term = |number: u64| {
        let literal = |(bit, slice): (usize, &Expression)| match number >> bit & 1 {
            1 => slice.clone(),
            _ => !slice.clone(),
        };
        all(slices.iter().enumerate().map(literal).collect())
    };
    any((low..high).map(term).collect())
}

fn equal(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let slices = two_numbers(random, vectors, 8);
    all(slices.into_iter().map(|(a, b)| !(a ^ b)).collect())
}

fn parity(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let count = 2 + random.below(30);
    joined(some(random, vectors, count), Expression::Xor)
}

fn parity_in_terms(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let count = 2 + random.below(4);
    let operands = some(random, vectors, count);
    operands
        .into_iter()
        .reduce(|a, b| (a.clone() & !b.clone()) | (!a & b))
        .expect("an operand at least")
}

fn carry_of(slices: &[(Expression, Expression)]) -> Expression {
    let (first, rest) = slices.split_first().expect("a bit at least");
    let start = first.0.clone() & first.1.clone();
    rest.iter().fold(start, |carry, (a, b)| {
        (a.clone() & b.clone()) | (carry & (a.clone() ^ b.clone()))
    })
}

fn carry(random: &mut Random, vectors: &[VectorId]) -> Expression {
    carry_of(&two_numbers(random, vectors, 6))
}

fn sum(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let slices = two_numbers(random, vectors, 6);
    match slices.split_last() {
        Some(((a, b), rest)) if !rest.is_empty() => a.clone() ^ b.clone() ^ carry_of(rest),
        _ => slices[0].0.clone() ^ slices[0].1.clone(),
    }
}

/// As TPC-H 6 asks its index: some months, some discounts, and a quantity.
fn bitmap_index(random: &mut Random, vectors: &[VectorId]) -> Expression {
    let (months, discounts) = (2 + random.below(11), 2 + random.below(3));
    let columns = some(random, vectors, months + discounts + 1);
    let split = (months as usize).min(columns.len() - 1);
    let (months, rest) = columns.split_at(split);
    let (quantity, discounts) = rest.split_first().expect("one is left");
    let mut asked = vec![any(months.to_vec()), quantity.clone()];
    if !discounts.is_empty() {
        asked.push(any(discounts.to_vec()));
    }
    all(asked)
}
