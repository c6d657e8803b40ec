//! Hashes of names, by which a drive that keeps no data finds them.

use std::ops::Range;

use super::bits::{WORD, transpose, word_of};
use super::names::{CHUNK, ColumnNames};

const HASH_SEED: u64 = 0x243F_6A88_85A3_08D3;

/// The hash of what came before, and of eight more bytes.
fn hash_on(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// A hash of a name of so many bits, whose bytes may go on.
pub(super) fn name_hash(name: &[u8], bits: u32) -> u32 {
    let mut hash = HASH_SEED;
    let mut left = bits;
    for eight in name[..bits.div_ceil(8) as usize].chunks(8) {
        let unused = (WORD as u32).saturating_sub(left);
        hash = hash_on(hash, word_of(eight) << unused >> unused);
        left = left.saturating_sub(WORD as u32);
    }
    (hash >> 32) as u32
}

impl ColumnNames {
    /// Tells `each` of these entries, and the hash of its name, [`name_hash`].
    pub(super) fn each_hash(&self, entries: Range<u32>, mut each: impl FnMut(u32, u32)) {
        let words = entries.start as usize / WORD..(entries.end as usize).div_ceil(WORD);
        for at in words {
            let mut hashes = [HASH_SEED; WORD];
            for group in (0..self.bits).step_by(WORD) {
                let mut bits = [0; WORD];
                for (bits, bit) in bits.iter_mut().zip(group..self.bits) {
                    *bits = self.planes(at / CHUNK, bit).0[at % CHUNK];
                }
                transpose(&mut bits);
                for (hash, bits) in hashes.iter_mut().zip(bits) {
                    *hash = hash_on(*hash, bits);
                }
            }
            for (entry, hash) in (at as u32 * WORD as u32..).zip(hashes) {
                if entries.contains(&entry) {
                    each(entry, (hash >> 32) as u32);
                }
            }
        }
    }

    /// Whether the name of an entry has these bytes, where there are no don't cares.
    pub(super) fn has(&self, entry: u32, name: &[u8]) -> bool {
        let (word, bit) = (entry as usize / WORD, entry as usize % WORD);
        let mut groups = (0..self.bits).step_by(WORD).zip(name.chunks(8));
        groups.all(|(first, eight)| {
            let planes = first..self.bits.min(first + WORD as u32);
            let unused = WORD - planes.len();
            let stored = planes.rev().fold(0, |bits, of| {
                let (ones, _) = self.planes(word / CHUNK, of);
                bits << 1 | ones[word % CHUNK] >> bit & 1
            });
            stored == word_of(eight) << unused >> unused
        })
    }
}
