//! Streams: files as programs of the drive make them, held against what a few lines make of the same bytes.

use bitline::{
    Config, Content, Drive, Ended, Error, Loading, Program, Stream, StreamRun, TaskFile, TaskRun,
};
use sim::Span;

use crate::vectors::random;
use crate::{config, cut, drive, write_file};

/// A task that does `each` with `$bytes` bytes at byte 65536 of its memory, which are at `$at` of the input, for all pieces, and then
/// `end`.
fn stage(each: &str, end: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
          (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
          (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
          (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
          (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
          (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
          (memory (export "memory") 4 4)
          (global $sum (mut i64) (i64.const 0))
          (func (export "isc_main") (result i32)
            (local $bytes i32) (local $at i64) (local $i i32)
            (loop $pieces
              (local.set $bytes (i32.wrap_i64
                (call $next (i32.const 65536) (i32.const 131072) (i32.const 0))))
              (if (i32.gt_s (local.get $bytes) (i32.const 0)) (then
                (local.set $at (i64.load (i32.const 0)))
                {each}
                (br $pieces))))
            {end}
            (i32.const 0)))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every byte is emitted as it is.
fn echo() -> Vec<u8> {
    stage(EMIT, "")
}

const EMIT: &str = "(drop (call $emit (i32.const 65536) (local.get $bytes)))";

/// Every byte is emitted with its bits turned.
fn invert() -> Vec<u8> {
    stage(
        "(local.set $i (i32.const 0))
         (loop $more
           (i32.store8 (i32.add (i32.const 65536) (local.get $i))
             (i32.xor (i32.const 255) (i32.load8_u (i32.add (i32.const 65536) (local.get $i)))))
           (br_if $more (i32.lt_u
             (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $bytes))))
         (drop (call $emit (i32.const 65536) (local.get $bytes)))",
        "",
    )
}

/// So many rounds of a loop for each piece, of which nothing is emitted.
fn compute(rounds: u32) -> String {
    format!(
        "(local.set $i (i32.const {rounds}))
         (loop $again
           (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))"
    )
}

fn load(drive: &mut Drive, module: &[u8]) -> Program {
    drive
        .tasks()
        .load(module, Loading::default())
        .expect("room")
}

fn open(drive: &mut Drive, module: &[u8], asked: &StreamRun) -> Stream {
    let program = load(drive, module);
    drive.streams().open(&program, asked).expect("it opens")
}

/// Reads a stream to its end, so many bytes at a time.
fn read_all(drive: &mut Drive, stream: &mut Stream, each: u64) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    loop {
        let read = drive.streams().read(stream, each)?;
        if read.is_empty() {
            return Ok(all);
        }
        assert!(read.len() as u64 <= each);
        all.extend(read);
    }
}

fn from_file(name: &str) -> StreamRun {
    StreamRun::of(TaskRun::of(vec![TaskFile::read(name)])).from_file(0)
}

fn into_file(from: &str, to: &str) -> StreamRun {
    let files = vec![TaskFile::read(from), TaskFile::write(to)];
    StreamRun::of(TaskRun::of(files)).from_file(0).into_file(1)
}

fn ended(result: Result<Vec<u8>, Error>) -> Ended {
    match result {
        Err(Error::Stream(outcome)) => outcome.ended,
        other => panic!("it did not fail: {:?}", other.map(|read| read.len())),
    }
}

#[test]
fn a_file_comes_as_its_program_makes_it_in_its_order() {
    for (number, bytes) in [0, 1, 4095, 4096, 100_000, 700_001].into_iter().enumerate() {
        let data = random(number as u64, bytes);
        let inverted: Vec<u8> = data.iter().map(|byte| !byte).collect();
        for (elements, piece, each) in [
            (1, 0, 1 << 20),
            (1, 512, 777),
            (3, 4096, 100_000),
            (7, 10_000, 65_536),
        ] {
            let mut drive = drive(&[]);
            write_file(&mut drive, "file", &data);
            let asked = from_file("file").elements(elements).piece_bytes(piece);
            let mut stream = open(&mut drive, &invert(), &asked);
            let read = read_all(&mut drive, &mut stream, each).expect("it ends well");
            assert!(
                read == inverted,
                "{bytes} bytes, {elements} elements, pieces of {piece}"
            );
            let outcome = drive.streams().outcome(&mut stream).expect("well");
            assert_eq!(outcome.ended, Ended::Committed);
            drive.streams().close(stream).expect("it is open");
        }
    }
}

/// What elements emit when there is nothing left comes after all else, the first element's first.
#[test]
fn last_words_come_at_the_end() {
    let count = stage(
        "(global.set $sum (i64.add (global.get $sum) (i64.extend_i32_u (local.get $bytes))))",
        "(i64.store (i32.const 8) (global.get $sum)) (drop (call $emit (i32.const 8) (i32.const 8)))",
    );
    for elements in 1..6 {
        let mut drive = drive(&[]);
        write_file(&mut drive, "file", &random(1, 300_000));
        let asked = from_file("file").elements(elements).piece_bytes(4096);
        let mut stream = open(&mut drive, &count, &asked);
        let read = read_all(&mut drive, &mut stream, 1000).expect("well");
        assert_eq!(read.len(), 8 * usize::from(elements));
        let (counts, _) = read.as_chunks::<8>();
        let sum: u64 = counts.iter().map(|count| u64::from_le_bytes(*count)).sum();
        assert_eq!(sum, 300_000);
    }
}

#[test]
fn without_order_all_comes_all_the_same() {
    let records: Vec<u8> = (0..20_000_u32).flat_map(u32::to_be_bytes).collect();
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &records);
    let asked = from_file("file").elements(4).piece_bytes(4096).unordered();
    let mut stream = open(&mut drive, &echo(), &asked);
    let read = read_all(&mut drive, &mut stream, 100_000).expect("well");
    let (read, _) = read.as_chunks::<4>();
    let mut read: Vec<u32> = read
        .iter()
        .map(|bytes| u32::from_be_bytes(*bytes))
        .collect();
    read.sort_unstable();
    assert!(read.into_iter().eq(0..20_000));
}

#[test]
fn output_goes_to_a_file_as_a_whole_and_for_good() {
    let data = random(5, 500_123);
    let inverted: Vec<u8> = data.iter().map(|byte| !byte).collect();
    let mut drive = drive(&[]);
    write_file(&mut drive, "from", &data);
    write_file(&mut drive, "to", &vec![7; data.len()]);
    let asked = into_file("from", "to").elements(3);
    let mut stream = open(&mut drive, &invert(), &asked);
    assert_eq!(
        drive.volume().read("to").expect("it is there"),
        vec![7; data.len()]
    );
    drive.streams().outcome(&mut stream).expect("well");
    cut(&mut drive);
    assert!(drive.volume().read("to").expect("it is there") == inverted);
    // The number of a stream of another life is nobody's.
    assert!(matches!(
        drive.streams().read(&mut stream, 1),
        Err(Error::PowerLost)
    ));
}

/// The power may go at any event: the file is what it was, or all new.
#[test]
fn a_power_cut_leaves_all_of_the_output_or_nothing() {
    let (mut old, mut new) = (0, 0);
    for events in (0..1500).step_by(50) {
        let data = random(5, 60_000);
        let inverted: Vec<u8> = data.iter().map(|byte| !byte).collect();
        let mut drive = drive(&[]);
        write_file(&mut drive, "from", &data);
        write_file(&mut drive, "to", &vec![7; data.len()]);
        let asked = into_file("from", "to").elements(2).piece_bytes(4096);
        let stream = open(&mut drive, &invert(), &asked);
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
        cut(&mut drive);
        drop(stream);
        match drive.volume().read("to").expect("it is there") {
            found if found == inverted => new += 1,
            found => {
                assert!(found == vec![7; data.len()], "after {events} events");
                old += 1;
            }
        }
    }
    assert!(old > 2 && new > 2, "{old} and {new}");
}

#[test]
fn the_host_feeds_a_stream() {
    let data = random(9, 400_001);
    let inverted: Vec<u8> = data.iter().map(|byte| !byte).collect();
    // Into a file.
    let mut drive = drive(&[]);
    write_file(&mut drive, "to", &vec![0; data.len()]);
    let files = vec![TaskFile::write("to")];
    let asked = StreamRun::of(TaskRun::of(files)).into_file(0).elements(2);
    let mut stream = open(&mut drive, &invert(), &asked);
    for chunk in data.chunks(33_333) {
        drive.streams().write(&mut stream, chunk).expect("room");
    }
    drive.streams().finish(&mut stream).expect("well");
    cut(&mut drive);
    assert!(drive.volume().read("to").expect("it is there") == inverted);
    // And back to the host, which has to fetch before there is room for more.
    let asked = StreamRun::of(TaskRun::default())
        .elements(3)
        .piece_bytes(1000);
    let mut stream = open(&mut drive, &invert(), &asked);
    let mut read = Vec::new();
    for chunk in data.chunks(50_000) {
        drive.streams().write(&mut stream, chunk).expect("room");
        read.extend(
            drive
                .streams()
                .read(&mut stream, chunk.len() as u64 / 2)
                .expect("it comes"),
        );
    }
    drive.streams().finish(&mut stream).expect("it is taken");
    read.extend(read_all(&mut drive, &mut stream, 100_000).expect("well"));
    assert!(read == inverted);
}

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

/// Throughput is that of the slowest stage: of elements that compute for long, each on a core of its own, all at once.
#[test]
fn elements_compute_side_by_side() {
    let mut times = Vec::new();
    for elements in [1_u16, 2, 4, 8] {
        let mut drive = Drive::open(many_cores()).expect("a drive");
        write_file(&mut drive, "file", &random(8, 64 * 4096));
        let module = stage(&compute(2_000_000), "");
        let asked = from_file("file").elements(elements).piece_bytes(4096);
        let program = load(&mut drive, &module);
        let before = drive.now();
        let mut stream = drive.streams().open(&program, &asked).expect("room");
        assert_eq!(read_all(&mut drive, &mut stream, 4096).expect("well"), b"");
        times.push(drive.now().since(before));
    }
    for (count, time) in [1_u64, 2, 4, 8].into_iter().zip(&times) {
        let (ideal, found) = (times[0].as_ps() as f64 / count as f64, time.as_ps() as f64);
        assert!((found / ideal - 1.0).abs() < 0.01, "{count}: {times:?}");
    }
}

/// Where flash is the slowest stage, computing is hidden behind it, and the other way round.
#[test]
fn stages_overlap() {
    let time = |rounds: u32| -> Span {
        let mut drive = Drive::open(many_cores()).expect("a drive");
        write_file(&mut drive, "file", &random(8, 128 * 4096));
        let each = format!("{} {EMIT}", compute(rounds));
        let program = load(&mut drive, &stage(&each, ""));
        let asked = from_file("file").elements(1).piece_bytes(4096);
        let before = drive.now();
        let mut stream = drive.streams().open(&program, &asked).expect("room");
        assert_eq!(
            read_all(&mut drive, &mut stream, 1 << 20)
                .expect("well")
                .len(),
            128 * 4096
        );
        drive.now().since(before)
    };
    let (none, little, much, more) = (time(1), time(2_000), time(400_000), time(800_000));
    // A little computing is hidden: 256 times of it would be seen.
    assert!(
        little.as_ps() < none.as_ps() * 102 / 100,
        "{none:?} {little:?}"
    );
    // Reading is hidden behind much: what is left is proportional to the rounds.
    let ratio = more.as_ps() as f64 / much.as_ps() as f64;
    assert!((ratio / 2.0 - 1.0).abs() < 0.01, "{much:?} {more:?}");
}

fn many_cores() -> Config {
    config(&[
        ("cores.count", "10"),
        ("cores.task_cores", "8"),
        ("task.memory_bytes", "1048576"),
    ])
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
        StreamRun::of(run()).from_file(0).elements(17),
        StreamRun::of(run()).from_file(0).piece_bytes(1 << 30),
        StreamRun::of(run().retries(1)).from_file(0),
    ];
    for (number, asked) in cases.into_iter().enumerate() {
        let refused = drive.streams().open(&program, &asked);
        let status = crate::drive_status(refused.map(drop));
        assert_eq!(status, bitline::Status::INVALID_FIELD, "case {number}");
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

/// Time is the same without data.
#[test]
fn streams_take_the_same_time_without_data() {
    let times = ["memory", "none"].map(|storage| {
        let mut drive = drive(&[("data.storage", storage)]);
        let bytes = 300_000;
        let written = drive
            .volume()
            .write("file", Content::File { bytes }, &vec![0; 300_000]);
        written.expect("room");
        let mut stream = open(&mut drive, &invert(), &from_file("file").elements(3));
        let read = read_all(&mut drive, &mut stream, 70_000).expect("well");
        assert_eq!(read.len(), 300_000);
        drive.now()
    });
    assert_eq!(times[0], times[1]);
}
