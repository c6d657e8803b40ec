//! Bitwise work of the controller on pages: plain loops over words, in place.

use super::plan::Source;

/// `into &= other`, word by word.
///
/// # Panics
/// If the lengths differ; so do all functions here that take two slices.
pub fn and_into(into: &mut [u64], other: &[u64]) {
    assert_eq!(into.len(), other.len(), "pages of one length");
    for (word, other) in into.iter_mut().zip(other) {
        *word &= other;
    }
}

/// `into |= other`, word by word.
pub fn or_into(into: &mut [u64], other: &[u64]) {
    assert_eq!(into.len(), other.len(), "pages of one length");
    for (word, other) in into.iter_mut().zip(other) {
        *word |= other;
    }
}

/// `into ^= other`, word by word.
pub fn xor_into(into: &mut [u64], other: &[u64]) {
    assert_eq!(into.len(), other.len(), "pages of one length");
    for (word, other) in into.iter_mut().zip(other) {
        *word ^= other;
    }
}

/// `words = !words`.
pub fn invert(words: &mut [u64]) {
    for word in words {
        *word = !*word;
    }
}

/// Clears every bit from `bits` on: what a page holds past the end of a vector is no result.
pub fn mask_tail(words: &mut [u64], bits: u64) {
    let whole = (bits / 64).min(words.len() as u64) as usize;
    if let Some((first, rest)) = words[whole..].split_first_mut() {
        *first &= (1 << (bits % 64)) - 1;
        rest.fill(0);
    }
}

/// Number of ones among the first `bits` bits; words past the end of the slice count nothing.
pub fn count_ones(words: &[u64], bits: u64) -> u64 {
    let whole = (bits / 64).min(words.len() as u64) as usize;
    let full: u64 = words[..whole]
        .iter()
        .map(|w| u64::from(w.count_ones()))
        .sum();
    let tail = words
        .get(whole)
        .map_or(0, |word| word & ((1 << (bits % 64)) - 1));
    full + u64::from(tail.count_ones())
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

    /// Writes into `result` what `root` yields of the `pages`, one for each program of the plan.
    ///
    /// # Panics
    /// If `root` names a program without a page, or a page's length differs from that of `result`.
    pub fn combine<P: AsRef<[u64]>>(&mut self, root: &Source, pages: &[P], result: &mut [u64]) {
        match root {
            Source::Constant(value) => result.fill(if *value { u64::MAX } else { 0 }),
            Source::Array(program) => result.copy_from_slice(pages[*program].as_ref()),
            Source::Not(inner) => {
                self.combine(inner, pages, result);
                invert(result);
            }
            Source::And(parts) => self.fold(parts, pages, result, true, and_into),
            Source::Or(parts) => self.fold(parts, pages, result, false, or_into),
            Source::Xor(parts) => self.fold(parts, pages, result, false, xor_into),
        }
    }

    fn fold<P: AsRef<[u64]>>(
        &mut self,
        parts: &[Source],
        pages: &[P],
        result: &mut [u64],
        neutral: bool,
        apply: fn(&mut [u64], &[u64]),
    ) {
        let Some((first, rest)) = parts.split_first() else {
            return result.fill(if neutral { u64::MAX } else { 0 });
        };
        self.combine(first, pages, result);
        for part in rest {
            if let Source::Array(program) = part {
                apply(result, pages[*program].as_ref());
                continue;
            }
            let mut buffer = self.free.pop().unwrap_or_default();
            buffer.resize(result.len(), 0);
            self.combine(part, pages, &mut buffer);
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
            let mut words = [u64::MAX; 3];
            assert_eq!(count_ones(&words, bits), bits.min(192));
            mask_tail(&mut words, bits);
            let kept: u32 = words.iter().map(|w| w.count_ones()).sum();
            assert_eq!(u64::from(kept), bits.min(192));
            assert!((0..192).all(|i| (words[i / 64] >> (i % 64) & 1 == 1) == ((i as u64) < bits)));
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
