//! Runs: what they see and leave, and how they end.

use bitline::{
    Content, Drive, Ended, Error, Isolation, Kind, Outcome, Status, TaskFile, TaskLimits, TaskRun,
    VolumeError,
};

use crate::modules::{copy, count, echo, fail, module, reach, spin};
use crate::{drive, drive_status, write_file};

fn run(drive: &mut Drive, module: &[u8], run: &TaskRun) -> Outcome {
    drive.tasks().run_module(module, run).expect("it is begun")
}

fn number(drive: &mut Drive, name: &str) -> u64 {
    let bytes = drive.volume().read_at(name, 0, 8).expect("it is there");
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

#[test]
fn arguments_come_back_as_value_and_log() {
    let mut drive = drive(&[]);
    let outcome = run(
        &mut drive,
        &echo(),
        &TaskRun::default().arguments("some words"),
    );
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    assert_eq!(
        (&outcome.value[..], &outcome.log[..]),
        (&b"some words"[..], "some words")
    );
    assert_eq!((outcome.attempts, &outcome.reason[..]), (1, ""));
    assert!(outcome.cycles > 0 && outcome.nanoseconds > 0);
    assert!(outcome.memory_bytes >= 4 << 16);
}

#[test]
fn a_run_reads_one_file_and_writes_another() {
    let mut drive = drive(&[]);
    let data: Vec<u8> = (0..23_456_u32).map(|byte| (byte * 7 % 251) as u8).collect();
    write_file(&mut drive, "from", &data);
    write_file(&mut drive, "to", &vec![0xFF; 23_456]);
    let files = vec![TaskFile::read("from"), TaskFile::write("to")];
    for isolation in Isolation::ALL {
        write_file(&mut drive, "to", &vec![0xFF; 23_456]);
        let outcome = run(
            &mut drive,
            &copy(),
            &TaskRun::of(files.clone()).isolation(isolation),
        );
        assert_eq!(
            outcome.ended,
            Ended::Committed,
            "{isolation:?}: {}",
            outcome.reason
        );
        assert_eq!(
            drive.volume().read("to").expect("it is there"),
            data,
            "{isolation:?}"
        );
    }
    assert_eq!(drive.volume().read("from").expect("it is there"), data);
}

/// Whatever a run wrote that does not end well is not there.
#[test]
fn what_does_not_end_well_leaves_nothing() {
    let mut drive = drive(&[]);
    let before = vec![0xAB; 9000];
    write_file(&mut drive, "file", &before);
    let files = TaskRun::of(vec![TaskFile::write("file")]);
    let failed = run(&mut drive, &fail(), &files);
    assert_eq!(failed.ended, Ended::Failed(7));
    assert!(failed.reason.contains('7'), "{}", failed.reason);
    let trapped = run(&mut drive, &reach(), &files);
    assert_eq!(trapped.ended, Ended::Trapped);
    assert!(
        trapped.reason.contains("out of bounds"),
        "{}",
        trapped.reason
    );
    assert_eq!(drive.volume().read("file").expect("it is there"), before);
}

#[test]
fn who_writes_more_than_there_is_room_for_is_told_so() {
    let mut drive = drive(&[("tx.delta_bytes", "96")]);
    write_file(&mut drive, "from", &[1; 5 * 4096]);
    write_file(&mut drive, "to", &[0; 5 * 4096]);
    let files = vec![TaskFile::read("from"), TaskFile::write("to")];
    let outcome = run(&mut drive, &copy(), &TaskRun::of(files));
    assert_eq!(outcome.ended, Ended::Full, "{}", outcome.reason);
    assert!(
        outcome.reason.contains("tx.delta_bytes"),
        "{}",
        outcome.reason
    );
    assert_eq!(drive.volume().read("to").expect("there"), [0; 5 * 4096]);
}

#[test]
fn a_run_that_goes_on_for_ever_is_stopped() {
    let mut drive = drive(&[]);
    let limits = TaskLimits {
        cycles: 1_000_000,
        ..TaskLimits::default()
    };
    let outcome = run(&mut drive, &spin(), &TaskRun::default().limits(limits));
    assert_eq!(outcome.ended, Ended::Trapped, "{}", outcome.reason);
    assert!(outcome.cycles >= 900_000, "{}", outcome.cycles);
}

#[test]
fn what_a_run_may_not_have_is_rejected_with_the_number() {
    let mut drive = drive(&[("task.cycles_max", "5000000"), ("task.log_bytes", "2000")]);
    let mut rejected = |limits: TaskLimits| {
        let outcome = run(&mut drive, &echo(), &TaskRun::default().limits(limits));
        assert_eq!(
            (outcome.ended, outcome.attempts),
            (Ended::Rejected, 0),
            "{limits:?}"
        );
        outcome.reason
    };
    let usual = TaskLimits::default;
    let cycles = rejected(TaskLimits {
        cycles: 5_000_001,
        ..usual()
    });
    assert!(cycles.contains("cycles = 5000001"), "{cycles}");
    let log = rejected(TaskLimits {
        log_bytes: 2001,
        ..usual()
    });
    assert!(
        log.contains("log_bytes = 2001") && log.contains("2000"),
        "{log}"
    );
}

/// A run sees no file but those that were registered, and writes none that were not to be written.
#[test]
fn rights_are_those_that_were_given() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &[5; 100]);
    let errno = |file: u32| {
        module(&format!(
            "(i64.store (i32.const 0)
               (call $file_write (i32.const {file}) (i32.const 100) (i32.const 10) (i64.const 95)))
             (drop (call $put_ret (i32.const 0) (i32.const 8)))
             (i32.const 0)"
        ))
    };
    let mut told = |file: u32, files: Vec<TaskFile>| {
        let outcome = run(&mut drive, &errno(file), &TaskRun::of(files));
        i64::from_le_bytes(outcome.value.try_into().expect("8 bytes"))
    };
    assert_eq!(told(0, vec![TaskFile::read("file")]), -13, "read only");
    assert_eq!(told(1, vec![TaskFile::write("file")]), -9, "no such file");
    assert_eq!(
        told(0, vec![TaskFile::write("file")]),
        -27,
        "beyond its end"
    );
    assert_eq!(drive.volume().read("file").expect("it is there"), [5; 100]);
}

#[test]
fn objects_of_any_kind_with_bytes_are_files() {
    let mut drive = drive(&[]);
    let vectors = drive
        .group("some")
        .expect("a group")
        .write(64, [[1u8; 8], [2; 8]]);
    vectors.expect("room");
    write_file(&mut drive, "file", &[0; 8]);
    let files = vec![TaskFile::write("file"), TaskFile::write("some/1")];
    let outcome = run(&mut drive, &count(), &TaskRun::of(files));
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    assert_eq!(number(&mut drive, "file"), 1);
    let vector = drive.run(|host| async move { host.vector_numbered("some", 1).await });
    let vector = vector.expect("power").expect("a vector");
    let read = drive
        .read(vector.extents[0].first, 1)
        .expect("it is written");
    assert_eq!(read[..8], 0x0202_0202_0202_0203_u64.to_le_bytes());
    let group = drive
        .tasks()
        .run_module(&count(), &TaskRun::of(vec![TaskFile::read("some")]));
    let Err(Error::Volume(VolumeError::WrongKind {
        found: Kind::Group, ..
    })) = group
    else {
        panic!("{group:?}");
    };
    let nothing = drive
        .tasks()
        .run_module(&count(), &TaskRun::of(vec![TaskFile::read("none")]));
    assert!(matches!(
        nothing,
        Err(Error::Volume(VolumeError::NotFound { .. }))
    ));
}

/// Registered twice, a file would have two sizes and two rights.
#[test]
fn a_file_is_registered_once() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &[0; 8]);
    let twice = vec![TaskFile::read("file"), TaskFile::write("file")];
    let refused = drive.tasks().run_module(&count(), &TaskRun::of(twice));
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("belongs to file 0 and to file 1"), "{told}");
}

/// Blocks that were marked cannot be read, not by tasks either.
#[test]
fn marked_blocks_are_refused() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &[0; 8]);
    let object = drive.volume().get("file").expect("power").expect("a file");
    let first = object.extents[0].first;
    drive.write_uncorrectable(first, 1).expect("marks are free");
    let refused = drive
        .tasks()
        .run_module(&count(), &TaskRun::of(vec![TaskFile::write("file")]));
    assert_eq!(drive_status(refused), Status::UNRECOVERED_READ_ERROR);
}

#[test]
fn an_empty_file_is_one() {
    let mut drive = drive(&[]);
    drive
        .volume()
        .write("empty", Content::File { bytes: 0 }, &[])
        .expect("room");
    let size = module(
        "(i64.store (i32.const 0) (call $file_size (i32.const 0)))
         (drop (call $put_ret (i32.const 0) (i32.const 8)))
         (i32.const 0)",
    );
    let outcome = run(
        &mut drive,
        &size,
        &TaskRun::of(vec![TaskFile::write("empty")]),
    );
    assert_eq!(
        (outcome.ended, outcome.value),
        (Ended::Committed, vec![0; 8])
    );
}

/// A task whose way does not depend on what it reads takes the same time on a drive that keeps only time, and on one that keeps
/// its bits.
#[test]
fn a_drive_without_data_takes_the_same_time() {
    let ran = |storage: &str| {
        let mut drive = drive(&[("data.storage", storage)]);
        write_file(&mut drive, "from", &[0; 20_000]);
        write_file(&mut drive, "to", &[0; 20_000]);
        let files = vec![TaskFile::read("from"), TaskFile::write("to")];
        let outcome = run(&mut drive, &copy(), &TaskRun::of(files));
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        (outcome.nanoseconds, outcome.cycles, drive.now())
    };
    assert_eq!(ran("memory"), ran("none"));
}

/// A log that is no text takes no more room than it was given: the run has committed, and its value is told.
#[test]
fn a_log_that_is_no_text_leaves_room_for_the_value() {
    let mut drive = drive(&[]);
    let module = module(
        "(memory.fill (i32.const 0) (i32.const 255) (i32.const 4096))
         (drop (call $log (i32.const 0) (i32.const 4096)))
         (drop (call $put_ret (i32.const 0) (i32.const 4096)))
         (i32.const 0)",
    );
    let limits = TaskLimits {
        log_bytes: 4096,
        return_bytes: 4096,
        ..TaskLimits::default()
    };
    let run = TaskRun::default().limits(limits);
    let outcome = drive.tasks().run_module(&module, &run).expect("begun");
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    assert_eq!(outcome.value, [255; 4096]);
    assert!(outcome.log.len() <= 4096 && outcome.log.len() > 4090);
}
