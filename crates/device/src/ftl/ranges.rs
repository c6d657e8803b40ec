//! Logical pages as ranges.

use std::ops::Range;

/// Pages as ranges of those that follow one another; one that is there twice in a row counts once.
pub(crate) fn runs(pages: &[u32]) -> impl Iterator<Item = Range<u32>> + '_ {
    let runs = pages.chunk_by(|page, next| page == next || page + 1 == *next);
    runs.map(|run| run[0]..run[run.len() - 1] + 1)
}

/// Ranges ascending, no page twice.
pub(crate) fn merged(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut().filter(|last| last.end >= range.start) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_in_one_range_each() {
        let of = |pages: &[u32]| runs(pages).collect::<Vec<_>>();
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[3, 4, 4, 7, 9, 10]), [3..5, 7..8, 9..11]);
        assert_eq!(of(&[4, 3, 9, 10]), [4..5, 3..4, 9..11]);
        assert_eq!(merged(vec![9..11, 3..5, 4..6, 6..7]), [3..7, 9..11]);
    }
}
