//! The flag bits of the mapping table: which logical pages are of files that a transaction sees (TxISC III-B).

use std::ops::Range;

use sim::memory::zeroed;

use crate::ftl::Lpn;

/// A bit for each logical page. It costs memory only where bits are set.
pub(super) struct Flags {
    words: Vec<u64>,
}

impl Flags {
    pub(super) fn new(logical_pages: u32) -> Flags {
        Flags {
            words: zeroed((logical_pages as usize).div_ceil(64)),
        }
    }

    #[inline]
    pub(super) fn has(&self, lpn: Lpn) -> bool {
        self.words[lpn.0 as usize / 64] & 1 << (lpn.0 % 64) != 0
    }

    /// Sets or clears those of a range.
    pub(super) fn put(&mut self, pages: &Range<u32>, value: bool) {
        let mut next = pages.start;
        while next < pages.end {
            let bit = next % 64;
            let count = (64 - bit).min(pages.end - next);
            let mask = (u64::MAX >> (64 - count)) << bit;
            let word = &mut self.words[next as usize / 64];
            match value {
                true => *word |= mask,
                false => *word &= !mask,
            }
            next += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_set_and_cleared_bit_by_bit() {
        let mut flags = Flags::new(300);
        let set = |flags: &Flags| {
            (0..300)
                .filter(|lpn| flags.has(Lpn(*lpn)))
                .collect::<Vec<_>>()
        };
        flags.put(&(3..200), true);
        assert_eq!(set(&flags), (3..200).collect::<Vec<_>>());
        flags.put(&(64..128), false);
        flags.put(&(10..11), false);
        flags.put(&(7..7), false);
        let left = (3..10).chain(11..64).chain(128..200);
        assert_eq!(set(&flags), left.collect::<Vec<_>>());
    }
}
