//! Queries and patterns: as bytes, total decoding of any bytes, and what a pattern matches.

use nvme::RegionId;
use nvme::query::{Part, Pattern, Query, QueryError, Term};
use proptest::prelude::*;

fn pattern() -> impl Strategy<Value = Pattern> {
    (1u32..300).prop_flat_map(|bits| {
        let bytes = bits.div_ceil(8) as usize;
        let bytes = || prop::collection::vec(any::<u8>(), bytes);
        (Just(bits), bytes(), bytes()).prop_map(|(bits, name, mask)| {
            Pattern::new(bits, &name, &mask).expect("lengths that fit")
        })
    })
}

fn query() -> impl Strategy<Value = Query> {
    let term = (any::<u16>(), pattern()).prop_map(|(region, pattern)| Term {
        region: RegionId::new(region),
        pattern,
    });
    let groups = prop::collection::vec(prop::collection::vec(term, 1..5), 1..5);
    let part = (any::<u32>(), 1u32..).prop_map(|(first, bytes)| Part { first, bytes });
    (groups, prop::collection::vec(part, 0..4))
        .prop_map(|(groups, parts)| Query::new(groups, parts).expect("a small one"))
}

/// Bit for bit, by the definition.
fn matches(asked: &Pattern, stored: &Pattern) -> bool {
    let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (at % 8) & 1;
    (0..asked.bits().min(stored.bits()) as usize).all(|at| {
        bit(asked.mask(), at) == 0
            || bit(stored.mask(), at) == 0
            || bit(asked.name(), at) == bit(stored.name(), at)
    })
}

proptest! {
    #[test]
    fn queries_survive_the_link(query in query()) {
        let bytes = query.encode().expect("a small one");
        prop_assert_eq!(Query::decode(&bytes), Ok(query));
    }

    #[test]
    fn any_bytes_are_a_query_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(query) = Query::decode(&bytes) {
            let again = query.encode().and_then(|bytes| Query::decode(&bytes));
            prop_assert_eq!(again, Ok(query));
        }
    }

    #[test]
    fn a_query_that_ends_early_is_truncated(query in query(), cut in any::<prop::sample::Index>()) {
        let bytes = query.encode().expect("a small one");
        let cut = cut.index(bytes.len());
        prop_assert_eq!(Query::decode(&bytes[..cut]), Err(QueryError::Truncated(cut)));
        let longer = [&bytes[..], &[0]].concat();
        prop_assert_eq!(Query::decode(&longer), Err(QueryError::Trailing(1)));
    }

    #[test]
    fn a_pattern_matches_what_agrees_where_both_count(asked in pattern(), stored in pattern(), same in any::<bool>()) {
        let stored = if same { asked.clone() } else { stored };
        prop_assert_eq!(asked.matches(&stored), matches(&asked, &stored));
        let cares = asked.cares().count();
        prop_assert_eq!(asked.is_exact(), cares == asked.bits() as usize);
    }
}

#[test]
fn bits_past_the_last_do_not_count() {
    let one = Pattern::new(3, &[0xFF], &[0xFF]).expect("3 bits");
    assert_eq!((one.name(), one.mask()), (&[7][..], &[7][..]));
    assert_eq!(one, Pattern::exact(3, &[0x07]).expect("3 bits"));
    assert_eq!(Pattern::exact(0, &[]), Err(QueryError::Bits(0)));
    assert_eq!(
        Pattern::exact(9, &[1]),
        Err(QueryError::Bytes { bits: 9, bytes: 1 })
    );
    let few = vec![vec![Term {
        region: RegionId::new(1),
        pattern: one,
    }]];
    let empty = Part { first: 0, bytes: 0 };
    assert_eq!(Query::new(few, vec![empty]), Err(QueryError::EmptyPart(0)));
    assert_eq!(Query::new(vec![vec![]], vec![]), Err(QueryError::Empty));
}
