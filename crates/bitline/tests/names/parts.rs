//! Objects in parts: read, written in place, made longer and shorter; cut and broken off anywhere.

use bitline::{Array, Content, Drive, Error, VolumeError};

use crate::{accounted, file, interruptible, small};

/// Bytes that tell rounds apart.
fn bytes(round: u64, count: usize) -> Vec<u8> {
    (0..count as u64)
        .map(|place| (round * 41 + place * 7) as u8)
        .collect()
}

#[test]
fn parts_are_read_written_appended_and_cut() {
    let mut drive = Drive::open(small(&[])).expect("a drive");
    let mut data = bytes(1, 5003);
    let mut volume = drive.volume();
    volume.write("file", file(&data), &data).expect("room");
    assert_eq!(
        volume.read_at("file", 1000, 30).expect("it has them"),
        data[1000..1030]
    );
    volume
        .write_at("file", 700, &[9; 3000])
        .expect("it has them");
    data[700..3700].fill(9);
    for count in [0, 1, 500, 7000] {
        let more = bytes(count, count as usize);
        volume.append("file", &more).expect("room");
        data.extend(more);
        assert_eq!(volume.read("file").expect("it is there"), data);
    }
    volume.truncate("file", 4000).expect("it is longer");
    assert_eq!(volume.read("file").expect("it is there"), data[..4000]);
    let beyond = [
        volume.read_at("file", 3999, 2).map(drop),
        volume.write_at("file", 3999, &[1, 2]),
        volume.truncate("file", 4001),
    ];
    for told in beyond {
        assert!(
            matches!(told, Err(Error::Volume(VolumeError::Beyond { .. }))),
            "{told:?}"
        );
    }
    let array = |rows: u64| Content::Array(Array::new("<u2", vec![rows, 3], rows * 6));
    volume.write("array", array(2), &[1; 12]).expect("room");
    volume.append("array", &[2; 6]).expect("a row");
    let content = volume
        .get("array")
        .expect("a catalogue")
        .expect("it is there")
        .content;
    assert_eq!(content, array(3));
    let odd = volume.append("array", &[2; 5]);
    assert!(
        matches!(odd, Err(Error::Volume(VolumeError::Rows { .. }))),
        "{odd:?}"
    );
    let none = volume.append("no", &[1]);
    assert!(
        matches!(none, Err(Error::Volume(VolumeError::NotFound { .. }))),
        "{none:?}"
    );
    drive
        .group("g")
        .expect("a name")
        .write(8, [[1_u8]])
        .expect("room");
    let group = drive.volume().append("g", &[1]);
    assert!(
        matches!(group, Err(Error::Volume(VolumeError::Fixed { .. }))),
        "{group:?}"
    );
}

/// What is done to a file, and the file afterwards.
type Change = (
    fn(&mut bitline::Volume<'_>, u64) -> Result<(), Error>,
    fn(&[u8], u64) -> Vec<u8>,
);

const CHANGES: [Change; 3] = [
    (
        |volume, round| volume.append("file", &bytes(round, 2900)),
        |before, round| [before, &bytes(round, 2900)].concat(),
    ),
    (
        |volume, _| volume.truncate("file", 1203),
        |before, _| before[..1203].to_vec(),
    ),
    (
        |volume, round| volume.write("file", file(&bytes(round, 3300)), &bytes(round, 3300)),
        |_, round| bytes(round, 3300),
    ),
];

#[test]
fn changes_broken_off_at_any_event_and_cut_then_leave_the_old_or_the_new() {
    for overrides in [
        &[][..],
        &[
            ("cache.mode", "write"),
            ("cache.write_back", "lazy"),
            ("cache.capacity_bytes", "65536"),
        ],
    ] {
        let (mut drive, looks) = interruptible(overrides);
        let mut held = bytes(0, 4000);
        drive
            .volume()
            .write("file", file(&held), &held)
            .expect("room");
        let blocks = accounted(&mut drive);
        let (mut old, mut new) = (0, 0);
        for round in 0..360_u64 {
            let (change, after) = CHANGES[round as usize % 3];
            let expected = after(&held, round);
            looks.set(1 + round / 3 % 40);
            let called = change(&mut drive.volume(), round);
            looks.set(u64::MAX);
            if round % 2 == 0 {
                drive.power_cut().expect("no image");
                drive.power_up().expect("it recovers");
            }
            let found = drive.volume().read("file").expect("it is there");
            match called {
                Ok(()) => assert!(found == expected, "round {round}: it was acknowledged"),
                Err(Error::Interrupted) => {
                    assert!(found == held || found == expected, "round {round}");
                    *if found == held { &mut old } else { &mut new } += 1;
                }
                Err(error) => panic!("round {round}: {error}"),
            }
            held = found;
            assert_eq!(
                accounted(&mut drive),
                blocks,
                "round {round}: nothing is lost"
            );
            if held.len() > 20_000 || held.len() < 1300 {
                held = bytes(round, 4000);
                drive
                    .volume()
                    .write("file", file(&held), &held)
                    .expect("room");
            }
        }
        assert!(old > 40 && new > 3, "{old} {new}");
    }
}

#[test]
fn bytes_written_in_place_are_each_the_old_or_the_new() {
    let (mut drive, looks) = interruptible(&[]);
    let held = vec![1; 6000];
    drive
        .volume()
        .write("file", file(&held), &held)
        .expect("room");
    let mut broken_off = 0;
    for round in 0..60_u64 {
        let byte = (round + 2) as u8;
        looks.set(1 + round / 2 % 15);
        let called = drive.volume().write_at("file", 100, &[byte; 5000]);
        looks.set(u64::MAX);
        broken_off += u64::from(called.is_err());
        if round % 2 == 0 {
            drive.power_cut().expect("no image");
            drive.power_up().expect("it recovers");
        }
        let found = drive.volume().read("file").expect("it is there");
        assert!(
            found[..100]
                .iter()
                .chain(&found[5100..])
                .all(|byte| *byte == 1)
        );
        assert!(
            found[100..5100]
                .iter()
                .all(|found| (1..=byte).contains(found))
        );
        assert!(called.is_err() || found[100..5100].iter().all(|found| *found == byte));
    }
    assert!(broken_off > 15, "{broken_off}");
}
