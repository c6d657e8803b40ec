//! Names that tasks have the drive look up.

use bitline::{Drive, Ended, NameKind, NameTerm, NewStore, Outcome, Pattern, TaskRun};

use crate::modules::{look_up, wait};
use crate::{beside, drive};

/// A store of 4-byte names and 8-byte values, with those of these numbers.
fn with_store(numbers: &[u32]) -> Drive {
    let mut drive = drive(&[]);
    let what = NewStore {
        entries: 1000,
        value_bytes: 8,
        names: vec![NameKind {
            bits: 32,
            ternary: false,
        }],
        schema: Vec::new(),
    };
    drive.search().create("people", &what).expect("room");
    append(&mut drive, numbers);
    drive
}

fn records(numbers: &[u32]) -> Vec<u8> {
    let record = |number: &u32| [&number.to_le_bytes()[..], &value(*number)].concat();
    numbers.iter().flat_map(record).collect()
}

fn append(drive: &mut Drive, numbers: &[u32]) {
    let count = numbers.len() as u32;
    let appended = drive.search().append("people", &records(numbers), count);
    appended.expect("room");
}

fn value(number: u32) -> [u8; 8] {
    (u64::from(number) * 1_000_003).to_le_bytes()
}

fn asked(name: &[u8]) -> TaskRun {
    TaskRun::default().stores(["people"]).arguments(name)
}

/// What the task was told, and the value.
fn told(outcome: &Outcome) -> (i64, [u8; 8]) {
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    let (told, value) = outcome.value.split_at(8);
    let told = i64::from_le_bytes(told.try_into().expect("8 bytes"));
    (told, value.try_into().expect("8 bytes"))
}

#[test]
fn a_name_gives_its_value() {
    let numbers: Vec<u32> = (0..200).map(|number| number * 7).collect();
    let mut drive = with_store(&numbers);
    for number in [0, 7, 700, 199 * 7, 8, u32::MAX] {
        let run = asked(&number.to_le_bytes());
        let outcome = drive.tasks().run_module(&look_up(""), &run);
        let expected = match numbers.contains(&number) {
            true => (8, value(number)),
            false => (-2, [0; 8]),
        };
        assert_eq!(told(&outcome.expect("begun")), expected, "{number}");
    }
    let outcome = drive.tasks().run_module(&look_up(""), &asked(b"12345"));
    assert_eq!(told(&outcome.expect("begun")).0, -22, "a name too long");
    let run = TaskRun::default().arguments(*b"1234");
    let outcome = drive.tasks().run_module(&look_up(""), &run);
    assert_eq!(told(&outcome.expect("begun")).0, -9, "no store");
    for name in ["nobody", "people/1", "people/x"] {
        let run = asked(b"1234").stores([name]);
        let refused = drive.tasks().run_module(&look_up(""), &run);
        let refused = refused.expect_err("no such store").to_string();
        assert!(refused.contains(name), "{refused}");
    }
}

/// Of a name that is appended after the run began nothing is seen; an entry that is deleted makes it a conflict.
#[test]
fn a_store_is_as_it_was_when_the_run_began() {
    let mut seen = [0; 3];
    let module = look_up(&wait(200_000));
    for (events, comes_first) in (0..600).step_by(30).flat_map(|n| [(n, false), (n, true)]) {
        let mut drive = with_store(&[1, 2]);
        let run = asked(&3u32.to_le_bytes());
        let task = beside(
            &mut drive,
            (&module, run),
            (events, comes_first),
            async |host| {
                let appended = host.append_entries("people", &records(&[3]), 1).await;
                appended.expect("room");
            },
        );
        seen[usize::from(told(&task).0 == 8)] += 1;
    }
    let module = look_up(&wait(6_000_000));
    for (events, comes_first) in (0..40).step_by(2).flat_map(|n| [(n, false), (n, true)]) {
        let mut drive = with_store(&[1, 2, 3]);
        let run = asked(&3u32.to_le_bytes());
        let task = beside(
            &mut drive,
            (&module, run),
            (events, comes_first),
            async |host| {
                let one = NameTerm {
                    name: 0,
                    pattern: Pattern::exact(32, &1u32.to_le_bytes()).expect("a name"),
                };
                let deleted = host.delete_entries("people", &[vec![one]]).await;
                assert_eq!(deleted.expect("room"), 1);
            },
        );
        match task.ended {
            Ended::Conflict => seen[2] += 1,
            _ => assert_eq!(told(&task), (8, value(3))),
        }
    }
    assert!(
        seen.iter().all(|times| *times > 3),
        "not, seen, conflicts: {seen:?}"
    );
}
