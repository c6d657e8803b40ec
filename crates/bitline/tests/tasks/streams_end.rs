//! How streams end: failing, stopped, refused, or closed when there is nothing left of what they read.

use bitline::{Drive, Ended, Error, StreamRun, TaskFile, TaskRun};

use crate::streams::{
    EMIT, compute, echo, ended, from_file, into_file, load, open, read_all, stage,
};
use crate::vectors::random;
use crate::{drive, write_file};

/// A stage that fails ends the stream with its reason, and leaves nothing behind.
#[test]
fn what_fails_leaves_nothing_behind() {
    // The fifth piece traps; or it asks for an end with 3.
    let at_five = "(i64.eq (local.get $at) (i64.const 16384))";
    let cases = [
        (
            stage(&format!("(if {at_five} (then (unreachable))) {EMIT}"), ""),
            Ended::Trapped,
        ),
        (
            stage(
                &format!("(if {at_five} (then (return (i32.const 3)))) {EMIT}"),
                "",
            ),
            Ended::Failed(3),
        ),
        (
            stage(&format!("(loop $l (br_if $l {at_five})) {EMIT}"), ""),
            Ended::Trapped,
        ),
    ];
    for (module, expected) in cases {
        let mut drive = drive(&[("task.cycles_max", "3000000")]);
        write_file(&mut drive, "from", &random(3, 100_000));
        write_file(&mut drive, "to", &[7; 100_000]);
        let asked = into_file("from", "to").elements(2).piece_bytes(4096);
        let mut stream = open(&mut drive, &module, &asked);
        let failed = drive.streams().outcome(&mut stream);
        assert_eq!(ended(failed.map(|_| Vec::new())), expected);
        drive.streams().close(stream).expect("it is open");
        assert_eq!(
            drive.volume().read("to").expect("it is there"),
            vec![7; 100_000]
        );
        let asked = from_file("from").elements(2).piece_bytes(4096);
        let mut stream = open(&mut drive, &module, &asked);
        assert_eq!(ended(read_all(&mut drive, &mut stream, 1 << 20)), expected);
        assert_eq!(
            ended(drive.streams().read(&mut stream, 10)),
            expected,
            "again"
        );
        drive.streams().close(stream).expect("it is open");
        // There is room for as many as before.
        for _ in 0..20 {
            let mut stream = open(&mut drive, &echo(), &from_file("from"));
            assert_eq!(
                read_all(&mut drive, &mut stream, 1 << 20)
                    .expect("well")
                    .len(),
                100_000
            );
            drive.streams().close(stream).expect("it is open");
        }
    }
}

/// A program may have enough before the end.
#[test]
fn a_program_that_returns_early_ends_the_stream() {
    let first = stage(&format!("{EMIT} (return (i32.const 0))"), "");
    for elements in [1, 3] {
        let data = random(3, 300_000);
        let mut drive = drive(&[]);
        write_file(&mut drive, "file", &data);
        let asked = from_file("file").elements(elements).piece_bytes(4096);
        let mut stream = open(&mut drive, &first, &asked);
        let read = read_all(&mut drive, &mut stream, 1 << 20).expect("well");
        assert!(read == data[..4096 * usize::from(elements)]);
    }
}

/// Of a stream that nobody reads no more is read ahead than there are buffers for; closing it gives all back.
#[test]
fn buffers_bound_what_is_read_ahead() {
    let small = [
        ("stream.buffer_bytes", "131072"),
        ("stream.streams_max", "2"),
        ("stream.piece_bytes", "4096"),
    ];
    let mut drive = drive(&small);
    write_file(&mut drive, "file", &random(4, 1_000_000));
    let program = load(&mut drive, &echo());
    let asked = from_file("file").elements(2);
    let streams = [(); 2].map(|()| drive.streams().open(&program, &asked).expect("room"));
    let third = drive.streams().open(&program, &asked);
    assert_eq!(
        crate::drive_status(third.map(drop)),
        bitline::Status::from_field(0x721)
    );
    while drive.simulation().expect("power").step() {}
    // A half of a stream's share for input, a half for output, and what two elements have at hand.
    let pages = drive.statistics().expect("power").tx.pages_read;
    assert!((16..=2 * (16 + 2)).contains(&pages), "{pages} pages");
    for stream in streams {
        drive.streams().close(stream).expect("it is open");
    }
    let dropped = drive.streams().open(&program, &asked).expect("room");
    drop(dropped);
    for _ in 0..3 {
        let mut stream = drive.streams().open(&program, &asked).expect("room");
        assert_eq!(
            read_all(&mut drive, &mut stream, 99_999)
                .expect("well")
                .len(),
            1_000_000
        );
        drive.streams().close(stream).expect("open");
    }
}

/// A stream sees its file as it was when it was opened. One that was replaced, moved or resized is refused.
#[test]
fn what_changes_meanwhile_is_not_seen_or_refused() {
    let data = random(6, 400_000);
    let mut drive = drive(&[
        ("stream.buffer_bytes", "262144"),
        ("stream.piece_bytes", "4096"),
    ]);
    write_file(&mut drive, "file", &data);
    let asked = from_file("file");
    let mut stream = open(&mut drive, &echo(), &asked);
    let first = drive.streams().read(&mut stream, 1000).expect("it comes");
    let write = drive.run(async |host| host.write_object_at("file", 100_000, &[0; 200_000]).await);
    write.expect("power").expect("room");
    let rest = read_all(&mut drive, &mut stream, 1 << 20).expect("well");
    assert!(
        [first, rest].concat() == data,
        "what was written meanwhile is seen"
    );
    drive.streams().close(stream).expect("open");

    for what in 0..3 {
        write_file(&mut drive, "file", &data);
        let mut stream = open(&mut drive, &echo(), &asked);
        drive.streams().read(&mut stream, 1000).expect("it comes");
        match what {
            0 => drive.volume().remove("file").expect("it is there"),
            1 => write_file(&mut drive, "file", &data[..5000]),
            _ => drive.volume().truncate("file", 4).expect("it is there"),
        }
        let stale = drive.streams().read(&mut stream, 1000);
        assert!(matches!(stale, Err(Error::StaleStream(name)) if name == "file"));
        let closed = drive.streams().read(&mut stream, 1000);
        assert!(closed.expect_err("closed").to_string().contains("closed"));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &[1; 5000]);
    let program = load(&mut drive, &echo());
    let run = || TaskRun::of(vec![TaskFile::read("file")]);
    let cases = [
        StreamRun::of(run()).from_file(1),
        StreamRun::of(run()).into_file(0),
        StreamRun::of(run()).from_file(0).into_file(0),
        StreamRun::of(run().retries(1)).from_file(0),
    ];
    for (number, asked) in cases.into_iter().enumerate() {
        let refused = drive.streams().open(&program, &asked);
        let status = crate::drive_status(refused.map(drop));
        assert_eq!(status, bitline::Status::INVALID_FIELD, "case {number}");
    }
    let too_much = [
        (from_file("file").elements(17), "stream.elements_max"),
        (
            from_file("file").piece_bytes(1 << 30),
            "stream.buffer_bytes",
        ),
    ];
    for (asked, key) in too_much {
        let refused = drive.streams().open(&program, &asked);
        let text = refused.map(drop).expect_err("too much").to_string();
        assert!(text.contains(key), "{text}");
        // Who asks the drive itself is told by it.
        let opened = drive.run(move |host| async move { host.open_stream(&program, &asked).await });
        let status = crate::drive_status(opened.expect("power").map(drop));
        assert_eq!(status, bitline::Status::INVALID_FIELD, "{key}");
    }
    let missing = StreamRun::of(TaskRun::of(vec![TaskFile::read("none")])).from_file(0);
    assert!(drive.streams().open(&program, &missing).is_err());
    // A file is not to be fed.
    let mut stream = drive
        .streams()
        .open(&program, &from_file("file"))
        .expect("room");
    let fed = drive.streams().write(&mut stream, b"x");
    assert_eq!(
        crate::drive_status(fed),
        bitline::Status::COMMAND_SEQUENCE_ERROR
    );
    assert_eq!(
        read_all(&mut drive, &mut stream, 100).expect("well"),
        [1; 5000]
    );
    // Outside of a stream there is nothing to come.
    let outcome = drive.tasks().run(&program, &run()).expect("begun");
    assert_eq!(outcome.ended, Ended::Committed);
    // A program of an open stream stays.
    let unloaded = drive.tasks().unload(program.index);
    assert!(unloaded.is_ok(), "the stream is over");
}

/// Erasing all of a namespace ends its streams.
#[test]
fn a_format_ends_streams() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "from", &random(3, 500_000));
    write_file(&mut drive, "to", &[7; 500_000]);
    let asked = into_file("from", "to").elements(2);
    let mut stream = open(
        &mut drive,
        &stage(&format!("{} {EMIT}", compute(100_000)), ""),
        &asked,
    );
    drive.sanitize().expect("it is erased");
    assert!(drive.streams().outcome(&mut stream).is_err());
    write_file(&mut drive, "from", &[1; 5000]);
    let mut stream = open(&mut drive, &echo(), &from_file("from"));
    assert_eq!(
        read_all(&mut drive, &mut stream, 100).expect("well"),
        [1; 5000]
    );
}

/// However many streams wait for the host, there is memory for runs: half of what tasks have.
#[test]
fn streams_leave_memory_for_runs() {
    let mut drive = drive(&[
        ("task.dram_bytes", "1048576"),
        ("task.memory_bytes", "262144"),
    ]);
    write_file(&mut drive, "file", &[1; 5000]);
    let program = load(&mut drive, &echo());
    let open = |drive: &mut Drive, elements| {
        let asked = StreamRun::of(TaskRun::default()).elements(elements);
        drive.streams().open(&program, &asked)
    };
    let full = bitline::Status::from_field(0x721);
    let refused = open(&mut drive, 3).map(drop);
    assert_eq!(
        crate::drive_status(refused),
        full,
        "three times 256 of 512 KiB"
    );
    let held = open(&mut drive, 2).expect("room");
    let refused = open(&mut drive, 0).map(drop);
    assert_eq!(crate::drive_status(refused), full);
    let run = TaskRun::of(vec![TaskFile::read("file")]);
    for _ in 0..3 {
        let outcome = drive.tasks().run(&program, &run).expect("begun");
        assert_eq!(outcome.ended, Ended::Committed);
    }
    drive.streams().close(held).expect("open");
    let next = open(&mut drive, 2).expect("room again");
    drive.streams().close(next).expect("open");
}
