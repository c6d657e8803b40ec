//! Stores: made, filled, searched and removed, across power cuts.

use bitline::{
    Content, Drive, Error, NameKind, NameTerm, NewStore, Part, Pattern, VolumeError, Wanted,
};

use crate::{cut, drive, interruptible, small};

fn people() -> NewStore {
    NewStore {
        entries: 1000,
        value_bytes: 20,
        names: vec![
            NameKind {
                bits: 32,
                ternary: false,
            },
            NameKind {
                bits: 200,
                ternary: true,
            },
        ],
        schema: b"of people".to_vec(),
    }
}

/// A record whose second name cares for its first `cares` bytes alone, and whose value is its number.
fn record(number: u32, second: u8, cares: usize) -> Vec<u8> {
    let mut record = number.to_be_bytes().to_vec();
    record.extend([second; 25]);
    let mut mask = [0; 25];
    mask[..cares].fill(0xFF);
    record.extend(mask);
    record.extend(value(number));
    record
}

fn value(number: u32) -> [u8; 20] {
    let mut value = [0; 20];
    value[..4].copy_from_slice(&number.to_be_bytes());
    value[19] = number as u8;
    value
}

fn exactly(name: usize, bits: u32, bytes: &[u8]) -> NameTerm {
    let pattern = Pattern::exact(bits, bytes).expect("its bits");
    NameTerm { name, pattern }
}

fn find(drive: &mut Drive, groups: &[Vec<NameTerm>]) -> Vec<u32> {
    let wanted = Wanted {
        numbers: true,
        ..Wanted::default()
    };
    let parts = [Part { first: 0, bytes: 4 }];
    let found = drive.search().look_up("people", groups, &parts, wanted);
    let found = found.expect("it can be asked");
    let count = drive.search().count("people", groups).expect("likewise");
    assert_eq!(found.count, count);
    assert_eq!(found.numbers.len() as u32, count);
    assert!(found.numbers.is_sorted());
    let numbers = found
        .iter()
        .map(|part| part.try_into().expect("four bytes"));
    numbers.map(u32::from_be_bytes).collect()
}

#[test]
fn names_in_the_array_of_a_drive_that_keeps_only_time_are_found_until_the_power_goes() {
    let config = small().with([("data.storage", "none")]);
    let mut drive = Drive::open(config.expect("a drive")).expect("a drive");
    let many = NewStore {
        entries: 40_000,
        ..people()
    };
    for _ in 0..2 {
        let mut search = drive.search();
        search.create("people", &many).expect("it fits");
        let records: Vec<u8> = (0..17_000)
            .flat_map(|number| record(number, (number % 5) as u8, 25))
            .collect();
        search.append("people", &records, 17_000).expect("it fits");
        // In a row that is in the array, soon, and in one that waits.
        for number in [77_u32, 16_900] {
            let groups = [vec![exactly(0, 32, &number.to_be_bytes())]];
            assert_eq!(search.count("people", &groups).expect("asked"), 1);
            let found = search.look_up("people", &groups, &[], Wanted::default());
            let found = found.expect("asked");
            assert_eq!(found.count, 1, "values are not kept");
            assert_eq!(found.records, [0; 20]);
        }
        let threes = [vec![exactly(1, 200, &[3; 25])]];
        assert_eq!(search.delete("people", &threes).expect("asked"), 3400);
        assert_eq!(search.count("people", &threes).expect("asked"), 0);
        cut(&mut drive);
        let mut search = drive.search();
        let one = |number: u32| [vec![exactly(0, 32, &number.to_be_bytes())]];
        assert_eq!(search.count("people", &one(77)).expect("asked"), 0);
        let waited = search.count("people", &one(16_900)).expect("asked");
        assert_eq!(waited, 1, "it is in the journal");
        search.remove("people").expect("it is there");
    }
}

#[test]
fn rows_that_are_not_full_make_room_in_memory_for_those_of_other_stores() {
    let config = small().with([("search.buffer_bytes", "100000")]);
    let mut drive = Drive::open(config.expect("a drive")).expect("a drive");
    let kind = |bits| NameKind {
        bits,
        ternary: false,
    };
    let what = NewStore {
        entries: 16_384,
        value_bytes: 4,
        names: vec![kind(32)],
        schema: Vec::new(),
    };
    let names = ["a", "b", "c", "d", "e", "f"];
    let one = |number: u32| [vec![exactly(0, 32, &number.to_be_bytes())]];
    for (name, first) in names.iter().zip((0u32..).step_by(10_000)) {
        let mut search = drive.search();
        search.create(name, &what).expect("it fits");
        // Several commands, each of which finds the memory full of others' names.
        for begin in (first..first + 9000).step_by(3000) {
            let records: Vec<u8> = (begin..begin + 3000)
                .flat_map(|number| [number.to_be_bytes(), number.to_le_bytes()].concat())
                .collect();
            search.append(name, &records, 3000).expect("there is room");
        }
    }
    let counts = drive.statistics().expect("power").search;
    assert!(counts.rows_sealed > 2, "{counts:?}");
    for _ in 0..2 {
        for (name, first) in names.iter().zip((0u32..).step_by(10_000)) {
            let mut search = drive.search();
            for number in [first, first + 2999, first + 8999] {
                let found = search.look_up(name, &one(number), &[], Wanted::default());
                assert_eq!(found.expect("asked").records, number.to_le_bytes());
            }
            assert_eq!(search.count(name, &one(first + 9000)).expect("asked"), 0);
            assert_eq!(search.report(name).expect("told")[0].live.get(), 9000);
        }
        cut(&mut drive);
    }
}

#[test]
fn a_store_is_what_it_was_after_a_power_cut() {
    let mut drive = drive();
    let mut search = drive.search();
    search.create("people", &people()).expect("it fits");
    let records: Vec<u8> = (0..500)
        .flat_map(|number| record(number, (number % 5) as u8, if number < 10 { 1 } else { 25 }))
        .collect();
    let appended = search.append("people", &records, 500).expect("it fits");
    assert_eq!(appended.first(), 0);
    for life in 0..3 {
        let info = drive.search().open("people").expect("it is there");
        let expected = people();
        assert_eq!((info.entries, info.value_bytes), (1000, 20));
        assert_eq!((info.names, info.schema), (expected.names, expected.schema));
        let one = exactly(0, 32, &77_u32.to_be_bytes());
        assert_eq!(find(&mut drive, &[vec![one.clone()]]), [77]);
        // Only its first byte counts for the first ten.
        let mut second = [3; 25];
        second[24] = 9;
        let loose = exactly(1, 200, &second);
        assert_eq!(find(&mut drive, &[vec![loose.clone()]]), [3, 8]);
        let threes = exactly(1, 200, &[3; 25]);
        assert_eq!(find(&mut drive, &[vec![threes.clone()]]).len(), 100);
        let both = [vec![one.clone(), threes.clone()], vec![loose]];
        assert_eq!(find(&mut drive, &both), [3, 8], "77 is no three");
        let first = Pattern::new(32, &[0; 4], &[0xFF, 0xFF, 0xFF, 0xFC]).expect("32 bits");
        let first = NameTerm {
            name: 0,
            pattern: first,
        };
        assert_eq!(
            find(&mut drive, &[vec![first]]),
            [0, 1, 2, 3],
            "a range of four"
        );
        let report = drive.search().report("people").expect("it is told");
        assert_eq!(report.len(), 2);
        assert_eq!(report[0].live.get(), 500, "life {life}");
        assert_eq!(report[1].name_bits.get(), 200);
        cut(&mut drive);
    }
}

#[test]
fn entries_are_replaced_and_deleted_for_good() {
    let mut drive = drive();
    drive.search().create("people", &people()).expect("it fits");
    let records: Vec<u8> = (0..100).flat_map(|number| record(number, 1, 25)).collect();
    drive
        .search()
        .append("people", &records, 100)
        .expect("it fits");
    let low = Pattern::new(32, &[0; 4], &[0xFF, 0xFF, 0xFF, 0xF0]).expect("32 bits");
    let low = vec![vec![NameTerm {
        name: 0,
        pattern: low,
    }]];
    assert_eq!(drive.search().delete("people", &low).expect("found"), 16);
    let new = record(20, 2, 25);
    let updated = drive
        .search()
        .update("people", None, &new, 1)
        .expect("it fits");
    assert_eq!((updated.first, updated.deleted), (100, 1));
    let twos = vec![vec![exactly(1, 200, &[2; 25])]];
    let other = record(7, 2, 25);
    let updated = drive
        .search()
        .update("people", Some(&twos), &other, 1)
        .expect("it fits");
    assert_eq!((updated.first, updated.deleted), (101, 1));
    for _ in 0..2 {
        assert_eq!(find(&mut drive, &twos), [7]);
        assert_eq!(find(&mut drive, &low), [7]);
        let all = vec![vec![NameTerm {
            name: 0,
            pattern: Pattern::new(8, &[0], &[0]).expect("bits"),
        }]];
        assert_eq!(find(&mut drive, &all).len(), 84);
        cut(&mut drive);
    }
}

#[test]
fn stores_are_objects_of_the_volume_and_nothing_writes_over_them() {
    let mut drive = drive();
    let usage = |drive: &mut Drive| drive.volume().usage().expect("a volume").free;
    drive
        .volume()
        .write("file", Content::File { bytes: 3 }, b"abc")
        .expect("it fits");
    let free = usage(&mut drive);
    drive.search().create("people", &people()).expect("it fits");
    drive.search().create("others", &people()).expect("it fits");
    assert_eq!(
        drive.search().names().expect("a volume"),
        ["others", "people"]
    );
    let taken = drive.search().create("people", &people());
    assert!(
        matches!(taken, Err(Error::Volume(VolumeError::Taken { .. }))),
        "{taken:?}"
    );
    let written = drive.volume().write_at("people", 0, b"x");
    assert!(
        matches!(written, Err(Error::Volume(VolumeError::Store { .. }))),
        "{written:?}"
    );
    let wrong = drive.search().open("file");
    assert!(
        matches!(wrong, Err(Error::Volume(VolumeError::WrongKind { .. }))),
        "{wrong:?}"
    );
    let wrong = drive.search().remove("file");
    assert!(
        matches!(wrong, Err(Error::Volume(VolumeError::WrongKind { .. }))),
        "{wrong:?}"
    );
    let none = drive.search().open("nobody");
    assert!(
        matches!(none, Err(Error::Volume(VolumeError::NotFound { .. }))),
        "{none:?}"
    );
    let field = drive.search().count("people", &[vec![exactly(2, 8, &[0])]]);
    assert!(matches!(field, Err(Error::Search(_))), "{field:?}");
    drive
        .volume()
        .rename("people", "persons")
        .expect("a free name");
    drive
        .search()
        .append("persons", &record(1, 1, 25), 1)
        .expect("it fits");
    drive.search().remove("persons").expect("it is there");
    drive.volume().remove("others").expect("by either way");
    assert!(drive.search().names().expect("a volume").is_empty());
    assert_eq!(usage(&mut drive), free);
    cut(&mut drive);
    assert!(drive.search().names().expect("a volume").is_empty());
    drive
        .search()
        .create("people", &people())
        .expect("nothing is left of it");
    let nobody = find(&mut drive, &[vec![exactly(1, 200, &[1; 25])]]);
    assert!(nobody.is_empty(), "{nobody:?}");
}

#[test]
fn a_store_whose_making_breaks_off_is_there_or_not() {
    let mut outcomes = [0; 2];
    let mut looks = 0;
    loop {
        looks += 1 + looks / 16;
        let (mut drive, shared) = interruptible();
        drive.search().create("stays", &people()).expect("it fits");
        shared.set(looks);
        let made = drive.search().create("people", &people());
        shared.set(u64::MAX);
        cut(&mut drive);
        let names = drive.search().names().expect("a whole volume");
        let is_there = names.iter().any(|name| name == "people");
        assert!(names.iter().any(|name| name == "stays"));
        assert!(is_there || made.is_err());
        outcomes[usize::from(is_there)] += 1;
        if is_there {
            drive.search().remove("people").expect("it is whole");
        }
        // Search regions that nobody has would take their numbers and blocks.
        drive.search().create("people", &people()).expect("it fits");
        let numbers = |drive: &mut Drive, name| -> Vec<u16> {
            let report = drive.search().report(name).expect("it is told");
            report.iter().map(|region| region.region.get()).collect()
        };
        assert_eq!(numbers(&mut drive, "people").len(), 2);
        assert_eq!(numbers(&mut drive, "stays").len(), 2);
        if made.is_ok() {
            break;
        }
    }
    assert!(outcomes[0] > 2, "{outcomes:?}");
}
