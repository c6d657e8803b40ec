//! Which sectors of partly written pages hold something.
//!
//! A page that a host wrote only a part of holds nothing elsewhere. Firmware that knows this need
//! not read the page before another part is written, unless a sector that was written stays.

use std::collections::HashMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lpn::Lpn;

/// What the firmware knows of pages that were written in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialPages {
    /// Nothing: a page that was written holds something everywhere.
    Whole,
    /// A bit for each sector says whether it was ever written, as in MQSim's mapping entries. Volatile:
    /// after power-up, all of a page counts as written.
    Sectors,
}

/// Sectors of a page, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sectors(u64);

/// The pages that were written in part.
pub(super) struct WrittenSectors {
    /// Bytes of a sector; a page has at most 64.
    sector_bytes: u32,
    /// All sectors of a page.
    all: Sectors,
    /// What they hold; none if nobody wants to know.
    // order: looked up by page, never walked
    partly: Option<HashMap<u32, Sectors>>,
}

impl WrittenSectors {
    pub(super) fn new(known: PartialPages, page_bytes: u32) -> WrittenSectors {
        let sector_bytes = page_bytes.div_ceil(64).next_multiple_of(512);
        let count = page_bytes.div_ceil(sector_bytes);
        WrittenSectors {
            sector_bytes,
            all: Sectors(u64::MAX >> (64 - count)),
            partly: (known == PartialPages::Sectors).then(HashMap::new),
        }
    }

    /// No page holds anything any more.
    pub(super) fn clear(&mut self) {
        if let Some(partly) = &mut self.partly {
            partly.clear();
        }
    }

    /// What a mapped page holds.
    #[inline]
    fn held(&self, lpn: Lpn) -> Sectors {
        let partly = self.partly.as_ref().filter(|partly| !partly.is_empty());
        partly
            .and_then(|partly| partly.get(&lpn.0))
            .map_or(self.all, |held| *held)
    }

    /// The bytes of a mapped page that must be kept when `written` are replaced; none if all that
    /// it holds is replaced.
    pub(super) fn kept(&self, lpn: Lpn, written: &Range<u32>) -> Option<Range<u32>> {
        let first = written.start.div_ceil(self.sector_bytes);
        let replaced = Sectors::between(first..written.end / self.sector_bytes);
        let kept = self.held(lpn).0 & !replaced.0 & self.all.0;
        (kept != 0).then(|| {
            let first = kept.trailing_zeros() * self.sector_bytes;
            first..(64 - kept.leading_zeros()) * self.sector_bytes
        })
    }

    /// A page holds the sectors of 512 bytes that have a bit.
    pub(super) fn set(&mut self, lpn: Lpn, sectors: u64) {
        let held = Sectors(sectors & self.all.0);
        if let Some(partly) = &mut self.partly
            && self.sector_bytes == 512
            && held != self.all
        {
            partly.insert(lpn.0, held);
        }
    }

    /// A page now holds what it did, if it was `mapped`, and `written`.
    #[inline]
    pub(super) fn note(&mut self, lpn: Lpn, mapped: bool, written: Range<u32>) {
        let Some(partly) = &mut self.partly else {
            return;
        };
        let last = written.end.div_ceil(self.sector_bytes);
        let written = Sectors::between(written.start / self.sector_bytes..last);
        if written == self.all {
            if !partly.is_empty() {
                partly.remove(&lpn.0);
            }
            return;
        }
        let before = match (mapped, partly.get(&lpn.0)) {
            (false, _) => Sectors(0),
            (true, Some(held)) => *held,
            (true, None) => return,
        };
        let held = Sectors(before.0 | written.0);
        if held == self.all {
            partly.remove(&lpn.0);
        } else {
            partly.insert(lpn.0, held);
        }
    }
}

impl Sectors {
    fn between(range: Range<u32>) -> Sectors {
        let below = |end: u32| u64::MAX.checked_shr(64 - end.min(64)).unwrap_or(0);
        Sectors(below(range.end) & !below(range.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Lpn = Lpn(3);

    #[test]
    fn what_is_replaced_entirely_need_not_be_read() {
        let mut written = WrittenSectors::new(PartialPages::Sectors, 8192);
        written.note(PAGE, false, 0..4096);
        assert_eq!(written.kept(PAGE, &(0..4096)), None);
        assert_eq!(written.kept(PAGE, &(4096..8192)), Some(0..4096));
        assert_eq!(written.kept(PAGE, &(0..4000)), Some(3584..4096));
        written.note(PAGE, true, 6144..8192);
        assert_eq!(written.kept(PAGE, &(0..4096)), Some(6144..8192));
        written.note(PAGE, true, 4096..6144);
        assert_eq!(written.kept(PAGE, &(512..8192)), Some(0..512));
    }

    #[test]
    fn of_what_is_not_known_all_is_kept() {
        for known in [PartialPages::Whole, PartialPages::Sectors] {
            let mut written = WrittenSectors::new(known, 16384);
            assert_eq!(written.kept(PAGE, &(0..512)), Some(512..16384));
            written.note(PAGE, true, 0..512);
            assert_eq!(written.kept(PAGE, &(0..16384)), None);
            assert_eq!(written.kept(PAGE, &(512..16384)), Some(0..512), "{known:?}");
        }
    }
}
