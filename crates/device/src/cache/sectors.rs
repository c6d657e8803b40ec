//! Sectors of a page: which of them a slot holds.

use std::ops::{BitAnd, BitOr, Not, Range};

/// Bytes of a sector: the smallest logical block.
pub(super) const SECTOR_BYTES: u32 = 512;

/// A set of the sectors of one page, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sectors(u64);

impl Sectors {
    pub(super) const NONE: Sectors = Sectors(0);
    /// The most sectors of a page.
    pub(super) const MOST: u32 = u64::BITS;

    /// Those of `bytes` bytes from `column` on, whole sectors.
    #[inline]
    pub(super) fn of(column: u32, bytes: u32) -> Sectors {
        let (first, count) = (column / SECTOR_BYTES, bytes / SECTOR_BYTES);
        let ones = u64::MAX.checked_shr(u64::BITS - count).unwrap_or(0);
        Sectors(ones << first)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(super) fn bytes(self) -> u32 {
        self.0.count_ones() * SECTOR_BYTES
    }

    /// The bytes from the first of them to the last, others between them included.
    pub(super) fn hull(self) -> Range<u32> {
        let first = self.0.trailing_zeros();
        let end = u64::BITS - self.0.leading_zeros();
        first * SECTOR_BYTES..end.max(first) * SECTOR_BYTES
    }

    /// The runs of neighbours among them, in bytes, ascending.
    pub(super) fn runs(self) -> impl Iterator<Item = Range<usize>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let first = rest.trailing_zeros();
            let count = (rest >> first).trailing_ones();
            let run = u64::MAX >> (u64::BITS - count) << first;
            rest &= !run;
            let bytes = SECTOR_BYTES as usize;
            Some(first as usize * bytes..(first + count) as usize * bytes)
        })
    }
}

impl BitOr for Sectors {
    type Output = Sectors;

    #[inline]
    fn bitor(self, other: Sectors) -> Sectors {
        Sectors(self.0 | other.0)
    }
}

impl BitAnd for Sectors {
    type Output = Sectors;

    #[inline]
    fn bitand(self, other: Sectors) -> Sectors {
        Sectors(self.0 & other.0)
    }
}

impl Not for Sectors {
    type Output = Sectors;

    #[inline]
    fn not(self) -> Sectors {
        Sectors(!self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_know_their_bytes_runs_and_hull() {
        let set = Sectors::of(1024, 1024) | Sectors::of(4096, 512);
        assert_eq!(set.bytes(), 1536);
        assert_eq!(set.hull(), 1024..4608);
        let runs: Vec<_> = set.runs().collect();
        assert_eq!(runs, [1024..2048, 4096..4608]);
        assert!((set & !Sectors::of(0, 8192)).is_empty());
        assert!(!(Sectors::of(1024, 1536) & !set).is_empty());
    }

    #[test]
    fn the_largest_page_and_nothing_are_sets_too() {
        let all = Sectors::of(0, 32_768);
        assert_eq!((all.bytes(), all.hull()), (32_768, 0..32_768));
        assert_eq!(all.runs().next(), Some(0..32_768));
        assert_eq!(all.runs().count(), 1);
        assert!(Sectors::of(512, 0).is_empty());
        assert_eq!(Sectors::NONE.runs().count(), 0);
    }
}
