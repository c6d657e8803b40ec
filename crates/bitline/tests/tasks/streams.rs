//! Streams: files as programs of the drive make them, held against what a few lines make of the same bytes.

use bitline::{
    Config, Content, Drive, Ended, Error, Loading, Program, Stream, StreamRun, TaskFile, TaskRun,
};
use sim::Span;

use crate::vectors::random;
use crate::{config, cut, drive, write_file};

/// A task that does `each` with `$bytes` bytes at byte 65536 of its memory, which are at `$at` of the input, for all pieces, and then
/// `end`.
pub(crate) fn stage(each: &str, end: &str) -> Vec<u8> {
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
pub(crate) fn echo() -> Vec<u8> {
    stage(EMIT, "")
}

pub(crate) const EMIT: &str = "(drop (call $emit (i32.const 65536) (local.get $bytes)))";

/// Every byte is emitted with its bits turned.
pub(crate) fn invert() -> Vec<u8> {
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
pub(crate) fn compute(rounds: u32) -> String {
    format!(
        "(local.set $i (i32.const {rounds}))
         (loop $again
           (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))"
    )
}

pub(crate) fn load(drive: &mut Drive, module: &[u8]) -> Program {
    drive
        .tasks()
        .load(module, Loading::default())
        .expect("room")
}

pub(crate) fn open(drive: &mut Drive, module: &[u8], asked: &StreamRun) -> Stream {
    let program = load(drive, module);
    drive.streams().open(&program, asked).expect("it opens")
}

/// Reads a stream to its end, so many bytes at a time.
pub(crate) fn read_all(
    drive: &mut Drive,
    stream: &mut Stream,
    each: u64,
) -> Result<Vec<u8>, Error> {
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

pub(crate) fn from_file(name: &str) -> StreamRun {
    StreamRun::of(TaskRun::of(vec![TaskFile::read(name)])).from_file(0)
}

pub(crate) fn into_file(from: &str, to: &str) -> StreamRun {
    let files = vec![TaskFile::read(from), TaskFile::write(to)];
    StreamRun::of(TaskRun::of(files)).from_file(0).into_file(1)
}

pub(crate) fn ended(result: Result<Vec<u8>, Error>) -> Ended {
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
    // And back to the host, which may read after each write, all at the end, or nothing but what there is.
    for often in [true, false] {
        let asked = StreamRun::of(TaskRun::default())
            .elements(3)
            .piece_bytes(1000);
        let mut stream = open(&mut drive, &invert(), &asked);
        assert_eq!(read_all(&mut drive, &mut stream, 100).expect("well"), b"");
        let mut read = Vec::new();
        for chunk in data.chunks(50_000) {
            drive.streams().write(&mut stream, chunk).expect("room");
            if often {
                read.extend(drive.streams().read(&mut stream, 1 << 20).expect("well"));
            }
        }
        assert!(!often || read == inverted, "what was sent is there");
        assert!(drive.streams().outcome(&mut stream).is_err(), "not over");
        drive.streams().finish(&mut stream).expect("it is taken");
        read.extend(read_all(&mut drive, &mut stream, 100_000).expect("well"));
        assert!(read == inverted);
        let again = drive.streams().write(&mut stream, b"x");
        let status = crate::drive_status(again);
        assert_eq!(status, bitline::Status::COMMAND_SEQUENCE_ERROR);
        drive.streams().close(stream).expect("open");
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
