//! `cargo bench -p bitline --bench planning`: how long it takes to choose how an expression is evaluated, for expressions of a
//! hundred operands and of a thousand, by platform. Vectors are in groups, half of which have dies of their own. With the
//! name of a platform and a number of operands only these are planned, which is what a profiler wants.

use std::time::{Duration, Instant};

use bitline::{Config, Drive, Expression, Home, Platform, VectorId};

const GROUPS: u32 = 16;
const VECTORS_EACH: u32 = 8;
const BITS: u64 = 1000;
/// Expressions of each kind; what the quickest takes is told, since others may be kept from the processor.
const EXPRESSIONS: u64 = 9;

/// Platforms that plan.
const PLATFORMS: [Platform; 5] = [
    Platform::InStorage,
    Platform::ParaBit,
    Platform::FlashCosmos,
    Platform::Fastest,
    Platform::Thriftiest,
];

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % limit
    }

    fn vector(&mut self, vectors: &[VectorId]) -> Expression {
        vectors[self.below(vectors.len() as u64) as usize].into()
    }
}

type Family = fn(&mut Random, &[VectorId], usize) -> Expression;

/// ORs of ANDs of three.
fn or_of_ands(random: &mut Random, vectors: &[VectorId], operands: usize) -> Expression {
    let mut term = || Expression::And((0..3).map(|_| random.vector(vectors)).collect());
    Expression::Or((0..operands / 3).map(|_| term()).collect())
}

/// XORs of (a | b) & !c.
fn parity_of_terms(random: &mut Random, vectors: &[VectorId], operands: usize) -> Expression {
    let mut term = || {
        let either = random.vector(vectors) | random.vector(vectors);
        either & !random.vector(vectors)
    };
    Expression::Xor((0..operands / 3).map(|_| term()).collect())
}

/// AND and OR by turns, from left to right, as deep as an expression may be.
fn nested(random: &mut Random, vectors: &[VectorId], operands: usize) -> Expression {
    const DEPTH: usize = 60;
    let each = operands / DEPTH + 1;
    let mut whole = random.vector(vectors);
    for level in 0..(operands / each).min(DEPTH) {
        let others = (0..each).map(|_| random.vector(vectors));
        let operands = [whole].into_iter().chain(others).collect();
        whole = match level % 2 {
            0 => Expression::Or(operands),
            _ => Expression::And(operands),
        };
    }
    whole
}

const FAMILIES: [(&str, Family); 3] = [
    ("or of ands", or_of_ands),
    ("parity of terms", parity_of_terms),
    ("nested", nested),
];

/// A drive, and vectors in groups of which half have dies of their own.
fn drive() -> Result<(Drive, Vec<VectorId>), bitline::Error> {
    let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
    let mut vectors = Vec::new();
    for group in 0..GROUPS {
        let home = match group % 2 {
            0 => Home {
                first: group as u16,
                dies: 4,
            },
            _ => Home::ALL,
        };
        let name = format!("g{group}");
        let writer = drive.group(&name)?.at(home);
        let writer = if group % 3 == 0 {
            writer.inverse()
        } else {
            writer
        };
        let rows = (0..VECTORS_EACH).map(|_| vec![0; BITS.div_ceil(8) as usize]);
        let written = writer.write(BITS, rows.collect::<Vec<_>>())?;
        vectors.extend(written.iter().map(|vector| vector.id));
    }
    Ok((drive, vectors))
}

fn main() -> Result<(), bitline::Error> {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let wanted = |what: &str, at: usize| words.get(at).is_none_or(|word| word == what);
    let (mut drive, vectors) = drive()?;
    println!("operands  expression       platform      first time    again");
    for operands in [100, 1000] {
        for (name, family) in FAMILIES {
            for platform in PLATFORMS {
                if !wanted(platform.name(), 0) || !wanted(&operands.to_string(), 1) {
                    continue;
                }
                let (mut first, mut again) = (Duration::MAX, Duration::MAX);
                for seed in 0..EXPRESSIONS {
                    let expression = family(&mut Random(seed), &vectors, operands);
                    let mut explain = || -> Result<Duration, bitline::Error> {
                        let begin = Instant::now();
                        drive.query(&expression).on(platform).explain()?;
                        Ok(begin.elapsed())
                    };
                    first = first.min(explain()?);
                    again = again.min(explain()?);
                }
                let platform = platform.name();
                println!("{operands:8}  {name:15}  {platform:12}  {first:9.2?}  {again:9.2?}");
            }
        }
    }
    Ok(())
}
