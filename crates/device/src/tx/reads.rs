//! The pages that a serializable transaction has read, in so much memory and no more.

use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes that a range takes in the drive's DRAM.
pub(super) const RANGE_BYTES: u64 = 4;

/// Aligned ranges of pages, all of one size, of which each has a page that was read. The size doubles when there are too many.
pub(super) struct Reads {
    ranges: BTreeSet<u32>,
    /// The base-2 logarithm of their size.
    shift: u32,
    ranges_max: usize,
}

impl Reads {
    /// None yet, and never more than `ranges_max`, which is at least 1.
    pub(super) fn new(ranges_max: u32) -> Reads {
        Reads {
            ranges: BTreeSet::new(),
            shift: 0,
            ranges_max: ranges_max as usize,
        }
    }

    /// A page was read. Whether that is a range more.
    pub(super) fn note(&mut self, page: u32) -> bool {
        let is_new = self.ranges.insert((u64::from(page) >> self.shift) as u32);
        while self.ranges.len() > self.ranges_max {
            self.shift += 1;
            self.ranges = self.ranges.iter().map(|range| range >> 1).collect();
        }
        is_new
    }

    /// How many ranges there are.
    pub(super) fn len(&self) -> u64 {
        self.ranges.len() as u64
    }

    /// What of `files`, ascending ranges of pages, lies in the ranges, ascending.
    pub(super) fn within(&self, files: &[Range<u32>]) -> Vec<Range<u32>> {
        let mut pages: Vec<Range<u32>> = Vec::new();
        for file in files.iter().filter(|file| !file.is_empty()) {
            // One range of all pages is shifted by as many bits as a page has.
            let range_of = |page: u32| (u64::from(page) >> self.shift) as u32;
            let between = range_of(file.start)..=range_of(file.end - 1);
            for range in self.ranges.range(between) {
                let start = u64::from(*range) << self.shift;
                let end = start + (1 << self.shift);
                let start = start.max(file.start.into()) as u32;
                let end = end.min(file.end.into()) as u32;
                match pages.last_mut() {
                    Some(before) if before.end == start => before.end = end,
                    _ => pages.push(start..end),
                }
            }
        }
        pages
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges")]
mod tests {
    use super::*;

    fn reads(pages: impl IntoIterator<Item = u32>, ranges_max: u32) -> Reads {
        let mut reads = Reads::new(ranges_max);
        for page in pages {
            reads.note(page);
        }
        reads
    }

    #[test]
    fn few_pages_are_known_one_by_one() {
        let reads = reads([7, 5, 6, 6, 20], 8);
        assert_eq!(reads.len(), 4);
        assert_eq!(reads.within(&[0..100]), [5..8, 20..21]);
        assert_eq!(reads.within(&[0..6, 7..8, 30..40]), [5..6, 7..8]);
    }

    #[test]
    fn many_pages_are_known_by_ranges_that_have_them_all() {
        for ranges_max in [1, 2, 3, 8, 100] {
            let pages: Vec<u32> = (0..50).map(|number| number * number * 7 % 1009).collect();
            let reads = reads(pages.iter().copied(), ranges_max);
            assert!(reads.len() <= u64::from(ranges_max));
            let within = reads.within(&[0..600, 700..1009]);
            assert!(within.windows(2).all(|pair| pair[0].end < pair[1].start));
            for page in pages {
                let is_file = !(600..700).contains(&page);
                let has = within.iter().any(|range| range.contains(&page));
                assert_eq!(has, is_file, "{page} in {within:?}");
            }
        }
    }

    #[test]
    fn the_last_page_is_one() {
        let reads = reads([0, u32::MAX - 1], 1);
        assert_eq!(
            reads.within(&[u32::MAX - 2..u32::MAX]),
            [u32::MAX - 2..u32::MAX]
        );
    }
}
