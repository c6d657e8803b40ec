//! Lookups take the same time wherever bits are kept: a drive without data knows what its match vectors have.

use bitline::{NameKind, NameTerm, NewStore, Pattern, SearchCounts, Wanted};

use crate::tiny;

const ENTRIES: u32 = 4096;

/// When appends and lookups of names in flash end, and what the drive counts.
fn lived(storage: &str) -> (Vec<u64>, SearchCounts) {
    let mut drive = tiny(&[("data.storage", storage)]);
    let store = NewStore {
        entries: ENTRIES,
        value_bytes: 32,
        names: vec![NameKind {
            bits: 16,
            ternary: false,
        }],
        schema: Vec::new(),
    };
    drive.search().create("store", &store).expect("it fits");
    let record = |number: u32| {
        let mut record = (number as u16).to_le_bytes().to_vec();
        record.extend([0; 32]);
        record
    };
    let records: Vec<u8> = (0..ENTRIES).flat_map(record).collect();
    let appended = drive.search().append("store", &records, ENTRIES);
    appended.expect("it fits");
    let mut times = vec![drive.now().as_ps()];
    while drive.statistics().expect("power").search.rows_sealed == 0 {
        drive.read(0, 64).expect("nothing is there");
    }
    times.push(drive.now().as_ps());
    // One name, those of 256 that follow one another, and none.
    for (name, mask) in [(7_u16, 0xFFFF_u16), (256, 0xFF00), (5000, 0xFFFF)] {
        let pattern = Pattern::new(16, &name.to_le_bytes(), &mask.to_le_bytes()).expect("a name");
        let groups = [vec![NameTerm { name: 0, pattern }]];
        let found = drive
            .search()
            .look_up("store", &groups, &[], Wanted::default());
        let count = found.expect("it can be asked").count;
        assert_eq!(count, [1, 256, 0][times.len() - 2], "{storage}");
        times.push(drive.now().as_ps());
    }
    (times, drive.statistics().expect("power").search)
}

#[test]
fn a_lookup_takes_the_same_time_wherever_bits_are_kept() {
    let (times, counts) = lived("memory");
    assert!(counts.match_vector_bytes > 0);
    assert_eq!(lived("none"), (times, counts));
}
