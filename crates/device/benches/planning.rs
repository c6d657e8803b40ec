//! `cargo bench -p bitline-device --bench planning`: how long plans take to make, for structured expressions of a hundred
//! operands and of a thousand.

use std::hint::black_box;
use std::time::Instant;

use device::bits::Engine;
use device::bits::plan::{Limits, Weights, plan};
use device::bits::rows::{Operand, Row, RowSetId};
use nvme::{Expression, VectorId};

/// Plans of each that are made.
const TIMES: u32 = 10;

fn vector(number: u32) -> Expression {
    VectorId::new(0, number).into()
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
}

/// ORs of ANDs of five, each of any operands.
fn or_of_ands(operands: u32) -> Expression {
    let mut random = Random(1);
    let mut term = || {
        let factors = (0..5).map(|_| vector(random.below(operands.into()) as u32));
        Expression::And(factors.collect())
    };
    Expression::Or((0..operands / 5).map(|_| term()).collect())
}

/// Whether one number is less than another, of half the operands each.
fn less_than(operands: u32) -> Expression {
    let mut below = !vector(0) & vector(1);
    for slice in 1..(operands / 2).min(60) {
        let (a, b) = (vector(2 * slice), vector(2 * slice + 1));
        below = (!a.clone() & b.clone()) | (!(a ^ b) & below);
    }
    below
}

fn parity(operands: u32) -> Expression {
    Expression::Xor((0..operands).map(vector).collect())
}

/// An AND of ORs of four.
fn and_of_ors(operands: u32) -> Expression {
    let factor = |first: u32| Expression::Or((first..first + 4).map(vector).collect());
    Expression::And((0..operands / 4).map(|at| factor(4 * at)).collect())
}

type Family = fn(u32) -> Expression;

fn main() {
    let families: [(&str, Family); 4] = [
        ("or of ands", or_of_ands),
        ("less than", less_than),
        ("parity", parity),
        ("and of ors", and_of_ors),
    ];
    let find = |id: VectorId| {
        Operand::Row(Row {
            row_set: RowSetId(id.vector / 24),
            layer: id.vector % 24,
            inverse: id.vector.is_multiple_of(3),
        })
    };
    for operands in [100, 1000] {
        for (name, family) in families {
            let expression = family(operands);
            for (weighed, weights) in [
                ("fewest senses", Weights::SENSES_FIRST),
                ("fewest pages", Weights::PAGES_FIRST),
            ] {
                let limits = Limits {
                    blocks_max: 4,
                    weights,
                };
                let begin = Instant::now();
                for _ in 0..TIMES {
                    black_box(plan(&expression, Engine::FlashCosmos, &limits, find));
                }
                let each = begin.elapsed() / TIMES;
                println!("{operands:5} operands, {name:12} {weighed:14} {each:?}");
            }
        }
    }
}
