//! Programs of the compute namespace: run over memory and over files, and what becomes of runs that fail.

use bitline::inside::InsideHost;
use bitline::{
    Content, Ended, Error, Loading, MemoryRun, RunRanges, Status, TaskError, TaskFile, TaskRun,
};
use host::tasks::TaskDevice;

use crate::{bytes, drive, fails, load, scale, scaled, status};

/// One program, in one place, runs over files and over memory.
#[test]
fn a_program_is_loaded_once_and_runs_over_both() {
    let mut drive = drive(&[]);
    let data = bytes(3, 4096);
    for name in ["in", "out"] {
        let content = Content::File { bytes: 4096 };
        drive.volume().write(name, content, &data).expect("room");
    }
    let program = load(&mut drive, &scale());
    let files = vec![TaskFile::read("in"), TaskFile::write("out")];
    let run = TaskRun::of(files).arguments(5u32.to_le_bytes());
    let outcome = drive.tasks().run(&program, &run).expect("it is begun");
    // A run over files has no parameters.
    let (expected, sum) = scaled(&data, 0, 5);
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    assert_eq!(outcome.value, sum.to_le_bytes());
    assert_eq!(drive.volume().read("out").expect("it is there"), expected);

    drive.memory().write(0, &data).expect("it fits");
    let run = MemoryRun {
        arguments: 5u32.to_le_bytes().to_vec(),
        parameters: [2, 0],
        ..MemoryRun::over(RunRanges::These(vec![0..4096, 4096..8192]))
    };
    let (expected, sum) = scaled(&data, 2, 5);
    assert_eq!(
        drive.memory().run(&program, &run).expect("it ends well"),
        sum
    );
    assert_eq!(
        drive.memory().read(4096, 4096).expect("it is there"),
        expected
    );
    let list = drive.tasks().list().expect("it says so");
    assert_eq!(list.programs.len(), 1);
    assert_eq!(list.programs[0].runs.get(), 2);
}

/// Programs of a namespace of blocks are what they were.
#[test]
fn programs_of_the_first_namespace_are_others() {
    let mut drive = drive(&[]);
    load(&mut drive, &scale());
    let own = drive.run(|host| async move {
        let device = TaskDevice::new(host.block().clone());
        let before = device.list().await?.programs.len();
        let index = device.load(&fails(4), Loading::default()).await?;
        device.activate(index).await?;
        let outcome = device.run(index, &nvme::task::Request::default()).await?;
        Ok::<_, TaskError>((before, index, outcome.ended))
    });
    let own = own.expect("power").expect("it is begun");
    assert_eq!(own, (0, 0, Ended::Failed(4)));
    assert_eq!(drive.tasks().list().expect("it says so").programs.len(), 1);
}

#[test]
fn runs_that_fail_say_how_and_why() {
    let mut drive = drive(&[]);
    let program = load(&mut drive, &fails(42));
    let run = MemoryRun::over(RunRanges::These(vec![0..64]));
    let failed = drive.memory().run(&program, &run);
    let Err(Error::Task(TaskError::Failed { ended, reason })) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(ended, Ended::Failed(42));
    assert!(reason.contains("returned 42"), "{reason}");
    let endless = r#"(module (memory (export "memory") 1)
        (func (export "isc_main") (result i32) (loop $l (br $l)) (i32.const 0)))"#;
    let mut drive = crate::drive(&[("task.cycles_max", "1000000")]);
    let program = load(&mut drive, &wat::parse_str(endless).expect("a module"));
    let failed = drive.memory().run(&program, &run);
    let Err(Error::Task(TaskError::Failed { ended, reason })) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(ended, Ended::Trapped);
    assert!(reason.contains("1000000 cycles"), "{reason}");
}

#[test]
fn a_program_reaches_nothing_but_its_ranges() {
    // Reads beyond the end of its first file, a third file, and writes past the end: all are refused, and it says so.
    let text = r#"(module
        (import "isc" "file_count" (func $count (result i32)))
        (import "isc" "file_size" (func $size (param i32) (result i64)))
        (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
        (import "isc" "file_write" (func $write (param i32 i32 i32 i64) (result i64)))
        (import "isc" "put_ret" (func $return (param i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "isc_main") (result i32)
            (i32.store8 (i32.const 0) (call $count))
            (i32.store8 (i32.const 1) (i32.wrap_i64 (call $size (i32.const 1))))
            (i32.store8 (i32.const 2) (i32.wrap_i64 (call $read (i32.const 0) (i32.const 64) (i32.const 100) (i64.const 12))))
            (i32.store8 (i32.const 3) (i32.wrap_i64 (call $read (i32.const 2) (i32.const 64) (i32.const 4) (i64.const 0))))
            (i32.store8 (i32.const 4) (i32.wrap_i64 (call $write (i32.const 1) (i32.const 64) (i32.const 8) (i64.const 28))))
            (call $return (i32.const 0) (i32.const 8))))"#;
    let mut drive = drive(&[]);
    let program = load(&mut drive, &wat::parse_str(text).expect("a module"));
    drive.memory().write(0, &[9; 4096]).expect("it fits");
    let run = MemoryRun::over(RunRanges::These(vec![16..32, 64..96]));
    let returned = drive.memory().run(&program, &run).expect("it ends well");
    let [count, size, read, other, written, ..] = returned.to_le_bytes();
    assert_eq!((count, size, read), (2, 32, 4));
    assert_eq!((other as i8, written as i8), (-9, -27), "EBADF, EFBIG");
    assert_eq!(
        drive.memory().read(0, 4096).expect("it is there"),
        [9; 4096]
    );
}

#[test]
fn sets_are_numbered_listed_and_kept_while_a_run_sees_them() {
    let mut drive = drive(&[]);
    let program = load(&mut drive, &scale());
    let mut memory = drive.memory();
    let ranges = [vec![0..4096, 4096..8192], vec![8..12], vec![0..65536]];
    for (number, ranges) in (1..).zip(&ranges) {
        assert_eq!(memory.create_ranges(ranges).expect("a set"), number);
    }
    let most = status(memory.create_ranges(&[0..4]));
    assert_eq!(most, Status::MAXIMUM_MEMORY_RANGE_SETS_EXCEEDED);
    let listed = memory.range_sets().expect("it says so");
    assert_eq!(listed, (1..).zip(ranges).collect::<Vec<_>>());
    assert_eq!(status(memory.delete_ranges(2)), Status::SUCCESS);
    let gone = Status::INVALID_MEMORY_RANGE_SET_IDENTIFIER;
    assert_eq!(status(memory.delete_ranges(2)), gone);
    assert_eq!(status(memory.delete_ranges(0)), gone);
    let over = |set| MemoryRun::over(RunRanges::Set(set));
    assert_eq!(status(memory.run(&program, &over(2))), gone);
    assert_eq!(memory.create_ranges(&[0..4]).expect("a set"), 2);

    let run = over(1);
    let begun = drive.submit(async move |host: bitline::Host| {
        let memory = host.memory().await.expect("it is there");
        memory.run(program.index, &run).await.expect("it ends well");
    });
    let begun = begun.expect("power");
    // The run has its program and its set well before it is over.
    let end = drive.now() + sim::Span::from_us(30);
    while drive.now() < end && drive.simulation().expect("power").step() {}
    assert_eq!(
        status(drive.memory().delete_ranges(1)),
        Status::MEMORY_RANGE_SET_IN_USE
    );
    drive.wait(&begun).expect("power");
    assert_eq!(status(drive.memory().delete_ranges(1)), Status::SUCCESS);
}
