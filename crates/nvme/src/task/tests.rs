//! Requests and outcomes: round trips, and any bytes.

use proptest::prelude::*;

use super::*;
use crate::identifier::{Lba, RegionId};

fn extent() -> impl Strategy<Value = Extent> {
    any::<(u64, u64)>().prop_map(|(first, blocks)| Extent {
        first: Lba::new(first),
        blocks,
    })
}

fn request() -> impl Strategy<Value = Request> {
    let file = (any::<(u64, bool)>(), prop::collection::vec(extent(), 0..5));
    let file = file.prop_map(|((bytes, writable), extents)| File {
        bytes,
        writable,
        extents,
    });
    let limits = any::<(u64, u64, u32, u32, u32)>().prop_map(|limits| Limits {
        memory_bytes: limits.0,
        cycles: limits.1,
        log_bytes: limits.2,
        return_bytes: limits.3,
        tickets: limits.4,
    });
    let isolation = prop::sample::select(Isolation::ALL.to_vec());
    let arguments = prop::collection::vec(any::<u8>(), 0..40);
    let files = prop::collection::vec(file, 0..5);
    let stores = prop::collection::vec(any::<u16>().prop_map(RegionId::new), 0..4);
    (isolation, any::<u16>(), limits, files, stores, arguments).prop_map(
        |(isolation, retries, limits, files, stores, arguments)| Request {
            identifier: limits.cycles.rotate_left(7),
            isolation,
            retries,
            limits,
            files,
            stores,
            arguments,
        },
    )
}

proptest! {
    #[test]
    fn requests_come_back(request in request()) {
        let bytes = request.encode().expect("few files");
        prop_assert_eq!(Request::decode(&bytes), Ok(request.clone()));
        prop_assert!(Request::decode(&bytes[..bytes.len() - 1]).is_err(), "cut short");
        // Whatever numbers it has, it is looked at without an overflow.
        let _looked_at = request.check(1 << 20, 512);
    }

    /// Any bytes are a request or refused; what is one means the same when encoded again.
    #[test]
    fn decoding_is_total(
        request in request(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = request.encode().expect("few files");
        for (place, value) in changes {
            let place = place.index(bytes.len().min(80));
            bytes[place] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(found) = Request::decode(&bytes) {
            let again = found.encode().expect("as long as it was");
            prop_assert_eq!(Request::decode(&again), Ok(found));
        }
        let _any = (Outcome::decode(&bytes), ProgramList::decode(&bytes));
    }

    #[test]
    fn outcomes_come_back(
        code in any::<i32>(),
        reason in ".{0,20}",
        value in prop::collection::vec(any::<u8>(), 0..30),
        log in ".{0,20}",
        numbers in any::<(u64, u64, u32, u64)>(),
    ) {
        let outcome = Outcome {
            ended: Ended::Failed(code),
            reason,
            value,
            log,
            cycles: numbers.0,
            memory_bytes: numbers.1,
            attempts: numbers.2,
            nanoseconds: numbers.3,
        };
        let bytes = outcome.encode();
        prop_assert_eq!(Outcome::decode(&bytes), Some(outcome));
        prop_assert_eq!(Outcome::decode(&bytes[..bytes.len() - 1]).is_none(), !bytes.is_empty());
    }
}

fn file(extents: &[(u64, u64)], bytes: u64) -> File {
    let extents = extents.iter().map(|(first, blocks)| Extent {
        first: Lba::new(*first),
        blocks: *blocks,
    });
    File {
        bytes,
        writable: true,
        extents: extents.collect(),
    }
}

fn checked(files: Vec<File>) -> Result<(), RequestError> {
    let request = Request {
        files,
        ..Request::default()
    };
    request.check(100, 512)
}

#[test]
fn files_lie_in_their_namespace_and_apart() {
    assert_eq!(checked(vec![file(&[(0, 4), (96, 4)], 8 * 512)]), Ok(()));
    let beyond = checked(vec![file(&[(96, 5)], 1)]);
    assert!(matches!(beyond, Err(RequestError::Beyond { file: 0, .. })));
    let wraps = checked(vec![file(&[(u64::MAX, 2)], 1)]);
    assert!(matches!(wraps, Err(RequestError::Beyond { .. })));
    let short = checked(vec![file(&[(0, 4)], 4 * 512 + 1)]);
    assert!(matches!(short, Err(RequestError::Short { .. })));
    let empty = checked(vec![file(&[(0, 0)], 0)]);
    assert_eq!(empty, Err(RequestError::Empty(0)));
    let overlap = checked(vec![file(&[(0, 4)], 1), file(&[(10, 2), (3, 1)], 1)]);
    let expected = RequestError::Overlap {
        block: 3,
        one: 0,
        other: 1,
    };
    assert_eq!(overlap, Err(expected));
}

#[test]
fn a_reason_is_cut_where_a_character_ends() {
    let outcome = Outcome::not_begun(Ended::Trapped, "ä".repeat(600));
    let found = Outcome::decode(&outcome.encode()).expect("an outcome");
    assert_eq!(found.reason, "ä".repeat(512));
}

#[test]
fn lists_come_back() {
    let mut list = ProgramList {
        programs: vec![ProgramRecord::default(); 3],
        ..ProgramList::default()
    };
    list.programs[1].index.set(7);
    let page = list.encode();
    let limits = ProgramList::limits(&page).expect("limits");
    assert_eq!(ProgramList::bytes(&limits), page.len() as u64);
    let found = ProgramList::decode(&page).expect("a list");
    assert_eq!(found.programs, list.programs);
    assert_eq!(ProgramList::decode(&page[..page.len() - 1]), None);
}
