//! Bitwise work of the controller on pages: plain loops over words or bytes, in place.

use std::ops::{BitAndAssign, BitOrAssign, BitXorAssign, Not};

use super::plan::Source;
pub use media::words::count_ones;

/// What pages are made of: words or bytes.
pub trait Unit: Copy + BitAndAssign + BitOrAssign + BitXorAssign + Not<Output = Self> {}

impl Unit for u8 {}
impl Unit for u64 {}

/// `into &= other`, unit by unit.
///
/// # Panics
/// If the lengths differ; so do all functions here that take two slices.
pub fn and_into<U: Unit>(into: &mut [U], other: &[U]) {
    assert_eq!(into.len(), other.len(), "pages of one length");
    for (word, other) in into.iter_mut().zip(other) {
        *word &= *other;
    }
}

/// `into |= other`, unit by unit.
pub fn or_into<U: Unit>(into: &mut [U], other: &[U]) {
    assert_eq!(into.len(), other.len(), "pages of one length");
    for (word, other) in into.iter_mut().zip(other) {
        *word |= *other;
    }
}

/// `into ^= other`, unit by unit.
pub fn xor_into<U: Unit>(into: &mut [U], other: &[U]) {
    assert_eq!(into.len(), other.len(), "pages of one length");
    for (word, other) in into.iter_mut().zip(other) {
        *word ^= *other;
    }
}

/// `units = !units`.
pub fn invert<U: Unit>(units: &mut [U]) {
    for word in units {
        *word = !*word;
    }
}

/// Clears every bit from `bits` on: what a page holds past the end of a vector is no result.
pub fn mask_tail(bytes: &mut [u8], bits: u64) {
    let whole = (bits / 8).min(bytes.len() as u64) as usize;
    if let Some((first, rest)) = bytes[whole..].split_first_mut() {
        *first &= (1 << (bits % 8)) - 1;
        rest.fill(0);
    }
}

/// Combines pages read out of the array as a plan's root says, reusing its buffers from page to
/// page.
#[derive(Debug, Default)]
pub struct Combiner {
    free: Vec<Vec<u64>>,
}

impl Combiner {
    /// A combiner without buffers; they are allocated by the first page and kept.
    pub fn new() -> Combiner {
        Combiner::default()
    }

    /// Writes into `result` what `root` yields of the `pages`, one for each computation of the plan.
    ///
    /// # Panics
    /// If `root` names a computation without a page, or a page's length differs from that of `result`.
    pub fn combine<P: AsRef<[u64]>>(&mut self, root: &Source, pages: &[P], result: &mut [u64]) {
        match root {
            Source::Constant(value) => result.fill(if *value { u64::MAX } else { 0 }),
            Source::Array(computation) => result.copy_from_slice(pages[*computation].as_ref()),
            Source::Not(inner) => {
                self.combine(inner, pages, result);
                invert(result);
            }
            Source::And(operands) => self.fold(operands, pages, result, true, and_into),
            Source::Or(operands) => self.fold(operands, pages, result, false, or_into),
            Source::Xor(operands) => self.fold(operands, pages, result, false, xor_into),
        }
    }

    fn fold<P: AsRef<[u64]>>(
        &mut self,
        operands: &[Source],
        pages: &[P],
        result: &mut [u64],
        neutral: bool,
        apply: fn(&mut [u64], &[u64]),
    ) {
        let Some((first, rest)) = operands.split_first() else {
            return result.fill(if neutral { u64::MAX } else { 0 });
        };
        self.combine(first, pages, result);
        for operand in rest {
            if let Source::Array(computation) = operand {
                apply(result, pages[*computation].as_ref());
                continue;
            }
            let mut buffer = self.free.pop().unwrap_or_default();
            buffer.resize(result.len(), 0);
            self.combine(operand, pages, &mut buffer);
            apply(result, &buffer);
            self.free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_masked_and_not_counted() {
        for bits in 0..=200u64 {
            let mut bytes = [u8::MAX; 23];
            mask_tail(&mut bytes, bits);
            assert_eq!(count_ones(&bytes), bits.min(184));
            assert!((0..184).all(|i| (bytes[i / 8] >> (i % 8) & 1 == 1) == ((i as u64) < bits)));
        }
    }

    #[test]
    fn a_tree_is_combined_without_touching_its_pages() {
        let pages = [vec![0b1100u64; 2], vec![0b1010; 2]];
        let tree = Source::Xor(vec![
            Source::And(vec![Source::Array(0), Source::Array(1)]),
            Source::Not(Box::new(Source::Or(vec![
                Source::Array(0),
                Source::Array(1),
            ]))),
        ]);
        let mut combiner = Combiner::new();
        let mut result = [0; 2];
        for _ in 0..2 {
            combiner.combine(&tree, &pages, &mut result);
            assert_eq!(result, [!0b0110u64; 2]);
        }
        assert_eq!(combiner.free.len(), 1);
    }
}
