//! What splitting an expression keeps, and what bringing its subexpressions together means.

mod bounds;
mod steps;

use nvme::Expression as Tree;

use super::split::{Operator, Subexpression, split};
use super::ways::Split;
use crate::bits::rows::Leaf;

/// Operand `group * 10 + vector`, which is at home at `group`.
type Expression = Tree<Leaf>;

fn group(leaf: Leaf) -> usize {
    match leaf {
        Leaf::Stored(number) => number as usize / 10,
        Leaf::Brought(_) => panic!("not brought yet"),
    }
}

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn expression(&mut self, depth: u32) -> Expression {
        let kind = if depth == 0 { 0 } else { self.bits() % 6 };
        if kind <= 1 {
            let (group, vector) = (self.bits() % 3, self.bits() % 4);
            return Leaf::Stored((group * 10 + vector) as u32).into();
        }
        if kind == 2 {
            return !self.expression(depth - 1);
        }
        let operands = (0..2 + self.bits() % 3).map(|_| self.expression(depth - 1));
        let operands = operands.collect();
        match kind {
            3 => Expression::And(operands),
            4 => Expression::Or(operands),
            _ => Expression::Xor(operands),
        }
    }
}

/// 64 bits of every vector.
fn word(leaf: Leaf) -> u64 {
    Random(nvme::Operand::code(leaf)).bits()
}

fn meaning(expression: &Expression, word: &impl Fn(Leaf) -> u64) -> u64 {
    let operands = expression.operands().iter();
    let operands = operands.map(|operand| meaning(operand, word));
    match expression {
        Expression::Vector(id) => word(*id),
        Expression::Not(inner) => !meaning(inner, word),
        Expression::And(_) => operands.fold(u64::MAX, |a, b| a & b),
        Expression::Or(_) => operands.fold(0, |a, b| a | b),
        Expression::Xor(_) => operands.fold(0, |a, b| a ^ b),
    }
}

/// What a subexpression means; on the way, that it is split as promised.
fn meaning_of_split(operand: &Subexpression) -> u64 {
    match operand {
        Subexpression::One { site, expression } => {
            let mut vectors = expression.vectors().into_iter();
            assert!(vectors.all(|leaf| group(leaf) == *site), "{expression}");
            meaning(expression, &word)
        }
        Subexpression::Many { operator, operands } => {
            let mut sites: Vec<usize> = Vec::new();
            for operand in operands {
                match operand {
                    Subexpression::One { site, .. } => sites.push(*site),
                    Subexpression::Many {
                        operator: inner, ..
                    } => assert_ne!(inner, operator),
                }
            }
            let count = sites.len();
            sites.sort_unstable();
            sites.dedup();
            assert_eq!(sites.len(), count, "a home has one direct operand");
            let operands = operands.iter().map(meaning_of_split);
            match operator {
                Operator::And => operands.fold(u64::MAX, |a, b| a & b),
                Operator::Or => operands.fold(0, |a, b| a | b),
                Operator::Xor => operands.fold(0, |a, b| a ^ b),
            }
        }
    }
}

#[test]
fn subexpressions_mean_together_what_the_whole_means() {
    let mut combined = 0;
    for seed in 0..2000 {
        let expression = Random(seed).expression(4);
        let expected = meaning(&expression, &word);
        let whole = split(&expression, &group);
        assert_eq!(meaning_of_split(&whole), expected, "{expression}");
        combined += u32::from(matches!(whole, Subexpression::Many { .. }));
        let with_room = |layers| Split::of(whole.clone(), 3, layers);
        let all = with_room(usize::MAX);
        for home in 0..3 {
            let gather = all.gathers[home].as_ref().expect("room for all");
            let foreign = &gather.foreign;
            let rest = all.whole.without(foreign, &all.numbers);
            let few = |most| with_room(most).gathers[home].is_some();
            assert!(few(foreign.len()), "{expression}: as many as there are");
            assert!(
                foreign.is_empty() || !few(foreign.len() - 1),
                "{expression}: one too many"
            );
            let with_temporary = |leaf| match leaf {
                Leaf::Brought(layer) => {
                    meaning(&all.parts[foreign[layer as usize]].expression, &word)
                }
                Leaf::Stored(_) => {
                    assert_eq!(group(leaf), home, "{expression}: the rest is of one home");
                    word(leaf)
                }
            };
            assert_eq!(meaning(&rest, &with_temporary), expected, "{expression}");
        }
    }
    assert!(combined > 800, "{combined}");
}
