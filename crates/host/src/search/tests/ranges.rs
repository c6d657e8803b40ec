//! Ranges as prefixes, against every number of a few bits, and long ones by their bounds.

use std::ops::Bound;

use nvme::query::Pattern;
use proptest::prelude::*;

use crate::search::numbers::{float, signed, to_float, to_signed, unsigned};
use crate::search::ranges::prefixes;

/// A number as the bytes of its name.
fn name(bits: u32, number: u64) -> Vec<u8> {
    let last = (bits - 1) % 8 + 1;
    let mut bytes = vec![(number & ((1 << last) - 1)) as u8];
    let above = number.checked_shr(last).unwrap_or(0).to_be_bytes();
    let others = bits.div_ceil(8) as usize - 1;
    bytes.splice(0..0, above[8 - others..].iter().copied());
    bytes
}

fn bound(bits: u32, bound: Bound<u64>) -> Bound<Vec<u8>> {
    bound.map(|number| name(bits, number))
}

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

fn is_within(number: u64, low: Bound<u64>, high: Bound<u64>) -> bool {
    std::ops::RangeBounds::contains(&(low, high), &number)
}

/// The fewest prefixes by trying all: a binary tree, whose whole nodes are one.
fn fewest(bits: u32, wanted: &dyn Fn(u64) -> bool) -> usize {
    fn of(first: u64, bits: u32, wanted: &dyn Fn(u64) -> bool) -> (bool, usize) {
        if bits == 0 {
            return (wanted(first), usize::from(wanted(first)));
        }
        let (low, high) = (
            of(first, bits - 1, wanted),
            of(first + (1 << (bits - 1)), bits - 1, wanted),
        );
        match (low.0, high.0) {
            (true, true) => (true, 1),
            _ => (false, low.1 + high.1),
        }
    }
    of(0, bits, wanted).1
}

fn any_bound(bits: u32) -> impl Strategy<Value = Bound<u64>> {
    let number = 0..1_u64 << bits;
    prop_oneof![
        Just(Bound::Unbounded),
        number.clone().prop_map(Bound::Included),
        number.prop_map(Bound::Excluded),
    ]
}

proptest! {
    #[test]
    fn prefixes_are_the_range_and_the_fewest(
        (bits, low, high) in (1_u32..=10).prop_flat_map(|bits| (Just(bits), any_bound(bits), any_bound(bits)))
    ) {
        let found = prefixes(bits, slice(&bound(bits, low)), slice(&bound(bits, high))).unwrap();
        for number in 0..1 << bits {
            let stored = Pattern::exact(bits, &name(bits, number)).unwrap();
            let times = found.iter().filter(|pattern| pattern.matches(&stored)).count();
            let wanted = usize::from(is_within(number, low, high));
            prop_assert_eq!(times, wanted, "number {}", number);
        }
        prop_assert_eq!(found.len(), fewest(bits, &|number| is_within(number, low, high)));
    }
}

proptest! {
    // Each is of some thousand patterns.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn long_numbers_need_no_more_than_the_bound(
        (bits, low, high) in (2_u32..=8192).prop_flat_map(|bits| {
            let bytes = bits.div_ceil(8) as usize;
            let number = move || proptest::collection::vec(any::<u8>(), bytes).prop_map(move |mut bytes| {
                *bytes.last_mut().unwrap() &= (0xFF_u16 >> (7 - (bits - 1) % 8)) as u8;
                bytes
            });
            (Just(bits), number(), number())
        })
    ) {
        let (low, high) = if low <= high { (low, high) } else { (high, low) };
        let found = prefixes(bits, Bound::Included(&low), Bound::Included(&high)).unwrap();
        prop_assert!(found.len() <= 2 * bits as usize - 2);
        let is_found = |number: &[u8]| {
            let stored = Pattern::exact(bits, number).unwrap();
            found.iter().filter(|pattern| pattern.matches(&stored)).count()
        };
        prop_assert_eq!((is_found(&low), is_found(&high)), (1, 1));
        let outside = prefixes(bits, Bound::Excluded(&low), Bound::Excluded(&high)).unwrap();
        let stored = [&low, &high].map(|number| Pattern::exact(bits, number).unwrap());
        prop_assert!(!outside.iter().any(|pattern| stored.iter().any(|name| pattern.matches(name))));
    }
}

proptest! {
    #[test]
    fn the_order_of_names_is_that_of_numbers(low: i64, high: i64, a: f64, b: f64) {
        prop_assert_eq!(low.cmp(&high), signed(low).cmp(&signed(high)));
        prop_assert_eq!(low.cast_unsigned().cmp(&high.cast_unsigned()),
            unsigned(low.cast_unsigned()).cmp(&unsigned(high.cast_unsigned())));
        prop_assert_eq!(to_signed(signed(low)), low);
        if let (Some(first), Some(second)) = (float(a), float(b)) {
            prop_assert_eq!(a.partial_cmp(&b).unwrap(), first.cmp(&second));
            prop_assert_eq!(to_float(first).partial_cmp(&a), Some(std::cmp::Ordering::Equal));
        }
    }
}

#[test]
fn the_worst_range_takes_as_many_as_the_bound() {
    for bits in [2, 3, 8, 9, 63] {
        let (low, high) = (name(bits, 1), name(bits, (1 << bits) - 2));
        let found = prefixes(bits, Bound::Included(&low), Bound::Included(&high)).unwrap();
        assert_eq!(found.len() as u32, 2 * bits - 2, "{bits} bits");
    }
}

#[test]
fn ends_that_are_open_or_beyond_are_none_or_all() {
    let all = prefixes(13, Bound::Unbounded, Bound::Unbounded).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].cares().count(), 0);
    let (least, most) = (name(13, 0), name(13, (1 << 13) - 1));
    let none = prefixes(13, Bound::Excluded(&most), Bound::Unbounded).unwrap();
    assert!(none.is_empty());
    let none = prefixes(13, Bound::Unbounded, Bound::Excluded(&least)).unwrap();
    assert!(none.is_empty());
    let none = prefixes(13, Bound::Included(&most), Bound::Included(&least)).unwrap();
    assert!(none.is_empty());
    for wrong in [&[0_u8][..], &[0, 0, 0], &[0, 32]] {
        let refused = prefixes(13, Bound::Included(wrong), Bound::Unbounded);
        assert!(refused.is_err(), "{wrong:?}");
    }
    assert!(prefixes(0, Bound::Unbounded, Bound::Unbounded).is_err());
    assert!(prefixes(8193, Bound::Unbounded, Bound::Unbounded).is_err());
}

#[test]
fn floats_have_one_zero_and_no_place_for_what_is_not_a_number() {
    assert_eq!(float(-0.0), float(0.0));
    assert_eq!(float(f64::NAN), None);
    let ascending = [
        f64::NEG_INFINITY,
        -1.5,
        -f64::MIN_POSITIVE,
        -5e-324,
        0.0,
        5e-324,
        1.0,
        f64::INFINITY,
    ];
    assert!(ascending.is_sorted_by(|a, b| float(*a) < float(*b)));
}
