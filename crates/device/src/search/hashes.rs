//! Names as words and hashes of them, by which a drive that keeps no data finds them.

use std::ops::Range;

use super::bits::{WORD, transpose, word_of};
use super::names::{CHUNK, ColumnNames};

const HASH_SEED: u64 = 0x243F_6A88_85A3_08D3;

/// The first bits of a name whose bytes may go on.
pub(super) fn words_of(name: &[u8], bits: u32) -> impl Iterator<Item = u64> + '_ {
    let eights = name[..bits.div_ceil(8) as usize].chunks(8);
    eights
        .zip((0..bits).step_by(WORD))
        .map(move |(eight, first)| {
            let unused = (WORD as u32).saturating_sub(bits - first);
            word_of(eight) << unused >> unused
        })
}

/// A hash of a name.
pub(super) fn name_hash(name: &[u64]) -> u32 {
    let hash = name.iter().fold(HASH_SEED, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    });
    (hash >> 32) as u32
}

impl ColumnNames {
    /// Tells `each` of these entries, and the words of its name.
    pub(super) fn each_name(&self, entries: Range<u32>, mut each: impl FnMut(u32, &[u64])) {
        let words = entries.start as usize / WORD..(entries.end as usize).div_ceil(WORD);
        let groups = (self.bits as usize).div_ceil(WORD);
        let mut names = vec![0; groups * WORD];
        for at in words {
            for (group, first) in (0..self.bits).step_by(WORD).enumerate() {
                let mut bits = [0; WORD];
                for (bits, bit) in bits.iter_mut().zip(first..self.bits) {
                    *bits = self.planes(at / CHUNK, bit).0[at % CHUNK];
                }
                transpose(&mut bits);
                for (name, bits) in names.chunks_exact_mut(groups).zip(bits) {
                    name[group] = bits;
                }
            }
            for (entry, name) in (at as u32 * WORD as u32..).zip(names.chunks_exact(groups)) {
                if entries.contains(&entry) {
                    each(entry, name);
                }
            }
        }
    }
}
