//! How names of any length become names of a few sizes, and what finds them.
//!
//! A name of up to 13, 29 or 61 bytes is kept whole in the smallest of these classes: filled up with zeroes, then its length in
//! two bytes, the higher one first, so that "a" and "a\0" differ and the order of such names is that of their bytes. With
//! their lengths these are 120, 248 and 504 bits: what a Simple Lookup compares, what a flash block of 512 wordlines holds
//! with a bit for whether the entry is there, and two of these. Of a longer name, the first 15 bytes and a hash of
//! 128 bits are kept: 248 bits.

use std::ops::Bound;

use host::search::{NameKind, SearchError, ranges};
use nvme::query::Pattern;

use super::hash::hash;

/// Bytes of the longest name of each class that keeps names whole.
const WHOLE_BYTES: [usize; 3] = [13, 29, 61];
/// Bytes of a long name that are kept before its hash.
const LEAD_BYTES: usize = 15;
const LENGTH_BYTES: usize = 2;
const HASH_BYTES: usize = 16;
/// Fixed, as names are found again by later processes: who can choose names can find two of the same hash with 2^64 tries.
const HASH_KEY: [u64; 2] = [0x4269_746c_696e_6520, 0x6b65_7976_616c_7565];
/// Bytes behind those that both ends of a range begin with, up to which the drive compares: at most 62 patterns. What is
/// found beside the range, the host drops.
const RANGE_BYTES: usize = 4;

/// Names of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Kept whole, in so many bytes.
    Whole(usize),
    /// Kept as its beginning and a hash.
    Long,
}

impl Class {
    /// All classes, by the length of their names.
    pub(super) fn all() -> impl Iterator<Item = Class> {
        WHOLE_BYTES
            .into_iter()
            .map(Class::Whole)
            .chain([Class::Long])
    }

    /// The class of a name.
    pub(super) fn of(name: &[u8]) -> Class {
        let fits = |bytes: &usize| name.len() <= *bytes;
        let whole = WHOLE_BYTES.into_iter().find(fits);
        whole.map_or(Class::Long, Class::Whole)
    }

    /// What tells its store from those of other classes.
    pub(super) fn label(self) -> String {
        match self {
            Class::Whole(bytes) => bytes.to_string(),
            Class::Long => "long".into(),
        }
    }

    /// Bytes of the longest name.
    pub(super) fn name_bytes(self, longest: usize) -> usize {
        match self {
            Class::Whole(bytes) => bytes,
            Class::Long => longest,
        }
    }

    /// Bytes at the beginning of a kept name that are the name's own.
    fn own_bytes(self) -> usize {
        match self {
            Class::Whole(bytes) => bytes,
            Class::Long => LEAD_BYTES,
        }
    }

    /// What the drive keeps as its names.
    pub(super) fn kind(self) -> NameKind {
        let bytes = match self {
            Class::Whole(bytes) => bytes + LENGTH_BYTES,
            Class::Long => LEAD_BYTES + HASH_BYTES,
        };
        NameKind {
            bits: 8 * bytes as u32,
            ternary: false,
        }
    }

    /// A name of this class as the drive keeps it.
    pub(super) fn kept(self, name: &[u8]) -> Vec<u8> {
        let own = self.own_bytes();
        let mut kept = name[..name.len().min(own)].to_vec();
        kept.resize(own, 0);
        match self {
            Class::Whole(_) => kept.extend((name.len() as u16).to_be_bytes()),
            Class::Long => kept.extend(hash(HASH_KEY, name)),
        }
        kept
    }

    /// What finds a name of this class.
    pub(super) fn exact(self, name: &[u8]) -> Result<Pattern, SearchError> {
        Ok(Pattern::exact(self.kind().bits, &self.kept(name))?)
    }

    /// What finds all names.
    pub(super) fn any() -> Result<Pattern, SearchError> {
        Ok(Pattern::new(8, &[0], &[0])?)
    }

    /// What finds the names that begin with `prefix`, and perhaps others; `None` if none can.
    pub(super) fn prefix(self, prefix: &[u8]) -> Result<Option<Pattern>, SearchError> {
        let own = self.own_bytes();
        if self != Class::Long && prefix.len() > own {
            return Ok(None);
        }
        let compared = &prefix[..prefix.len().min(own)];
        if compared.is_empty() {
            return Class::any().map(Some);
        }
        Ok(Some(Pattern::exact(8 * compared.len() as u32, compared)?))
    }

    /// What finds the names that agree with `name`, of this class, where a bit of `mask` is 1, and are as long; and perhaps
    /// others.
    pub(super) fn masked(self, name: &[u8], mask: &[u8]) -> Result<Pattern, SearchError> {
        let mut cares = vec![0; self.kind().name_bytes()];
        let own = self.own_bytes().min(mask.len());
        cares[..own].copy_from_slice(&mask[..own]);
        if let Class::Whole(bytes) = self {
            cares[bytes..].fill(u8::MAX);
        }
        Ok(Pattern::new(self.kind().bits, &self.kept(name), &cares)?)
    }

    /// What finds the names between two bounds, and perhaps others; nothing if there can be none.
    pub(super) fn range(
        self,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Vec<Pattern>, SearchError> {
        let own = self.own_bytes();
        let end = |bound: Bound<&[u8]>, filler: u8| {
            let (Bound::Included(name) | Bound::Excluded(name)) = bound else {
                return vec![filler; own];
            };
            // What is longer comes right behind its beginning.
            let mut end = name[..name.len().min(own)].to_vec();
            end.resize(own, 0);
            end
        };
        let (low, high) = (end(low, 0), end(high, u8::MAX));
        if low > high {
            return Ok(Vec::new());
        }
        let common = low.iter().zip(&high).take_while(|(low, high)| low == high);
        let compared = (common.count() + RANGE_BYTES).min(own);
        let bits = 8 * compared as u32;
        let (low, high) = (&low[..compared], &high[..compared]);
        ranges::prefixes(bits, Bound::Included(low), Bound::Included(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(patterns: &[Pattern], class: Class, name: &[u8]) -> bool {
        let stored = Pattern::exact(class.kind().bits, &class.kept(name)).expect("its bits");
        patterns.iter().any(|pattern| pattern.matches(&stored))
    }

    /// Names of a few letters, zeroes among them, of all lengths.
    fn names() -> Vec<Vec<u8>> {
        let mut names = vec![Vec::new()];
        for length in [1, 2, 12, 13, 14, 15, 16, 29, 30, 61, 62, 200] {
            for letter in [0, b'a', b'b', 0xFF] {
                names.push(vec![letter; length]);
                let mut other = vec![letter; length];
                *other.last_mut().expect("not empty") = b'c';
                names.push(other);
                let mut first = vec![letter; length];
                first[0] = b'a';
                names.push(first);
            }
        }
        names
    }

    #[test]
    fn names_are_told_apart_and_keep_their_order() {
        let all = names();
        for a in &all {
            for b in &all {
                let (class, other) = (Class::of(a), Class::of(b));
                if class != other {
                    continue;
                }
                let kept = (class.kept(a), class.kept(b));
                assert_eq!(a == b, kept.0 == kept.1, "{a:?} {b:?}");
                if class != Class::Long {
                    assert_eq!(a.cmp(b), kept.0.cmp(&kept.1), "{a:?} {b:?}");
                }
                assert_eq!(found(&[class.exact(a).unwrap()], class, b), a == b);
            }
        }
    }

    #[test]
    fn nothing_that_is_wanted_is_missed() {
        let all = names();
        let mut left_out = 0;
        for wanted in &all {
            for name in &all {
                let class = Class::of(name);
                let by_prefix = class.prefix(wanted).unwrap();
                let by_prefix = Vec::from_iter(by_prefix);
                let begins = name.starts_with(wanted);
                assert!(
                    found(&by_prefix, class, name) || !begins,
                    "{wanted:?} {name:?}"
                );
                for (low, high) in [
                    (Bound::Included(&wanted[..]), Bound::Unbounded),
                    (Bound::Unbounded, Bound::Excluded(&wanted[..])),
                    (Bound::Included(&wanted[..]), Bound::Included(&b"b"[..])),
                ] {
                    let by_range = class.range(low, high).unwrap();
                    assert!(by_range.len() <= 62);
                    let is_within =
                        std::ops::RangeBounds::<[u8]>::contains(&(low, high), &name[..]);
                    let is_found = found(&by_range, class, name);
                    assert!(is_found || !is_within, "{low:?} {high:?} {name:?}");
                    left_out += u32::from(!is_found);
                }
            }
        }
        assert!(left_out > 5000, "only {left_out} names were left out");
    }

    #[test]
    fn a_mask_compares_names_of_one_length() {
        let class = Class::of(b"key-1");
        let mask = [0xFF, 0xFF, 0xFF, 0xFF, 0];
        let pattern = [class.masked(b"key-1", &mask).unwrap()];
        assert!(found(&pattern, class, b"key-9"));
        assert!(!found(&pattern, class, b"key-10"));
        assert!(!found(&pattern, class, b"kex-1"));
    }
}
