//! Traces: every format, bad lines, compression, timing, and where requests go.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use bitline::workload::{
    BlkparseAction, Record, Replay, RequestKind, RunOptions, Timing, TraceError, TraceFormat,
    TraceOptions, TraceReader, Workload,
};
use bitline::{Config, Drive, Error};
use proptest::prelude::*;

use RequestKind::{Deallocate, Flush, Read as R, Write as W};

const MQSIM: &str = "1000 0 8 16 1\n2500 3 24 8 0\n";
const MSR: &str = "\
128166372003061629,usr,0,Read,7014609920,24576,41286
128166372003061630,usr,1,Write,1331011584,512,1963
";
const ALIBABA: &str = "\
419,W,8792731648,16384,1577808144360767
725,R,59110326272,16384,1577808144360768
";
const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427
  8,0    3        2     0.000001829   697  Q   W 223490 + 8 [kjournald]
  8,0    3        3     0.000004191   697  G   W 223490 + 8 [kjournald]
  8,0    3        4     0.000010000   697  D   W 223490 + 8 [kjournald]
  8,16   1        5     0.500000000   698  Q  RA 64 + 16 [cp]
  8,16   1        6     0.600000000   698  Q   D 4096 + 2048 [fstrim]
  8,16   1        7     0.700000000   698  Q  FN [sync]
  8,16   1        8     0.800000000   698  P   N [sync]
CPU0 (8,0):
 Reads Queued:           1,        8KiB	 Writes Queued:           1,        4KiB
";
const FIO_2: &str = "\
fio version 2 iolog
/dev/sdb add
/dev/sdb open
/dev/sdb read 4096 8192
/dev/sdb wait 250 0
/dev/sdb write 0 4096
/dev/sdb sync 0 0
/dev/sdb trim 1048576 65536
/dev/sdb close
";
const FIO_3: &str = "\
fio version 3 iolog
2 nvme0n1 add
872 nvme0n1 open
878 nvme0n1 write 0 16384
888 nvme0n1 datasync 0 0
10001677 nvme0n1 close
";
const CLOUDPHYSICS: &str = "\
version,time,op,size,lbn
1,5633898,2a,512,42932745
1,5633899,28,65536,100
1,5633899,35,0,0
";

fn record(time_ns: u64, device: u32, kind: RequestKind, offset: u64, bytes: u64) -> Record {
    Record {
        time_ns,
        device,
        kind,
        offset_bytes: offset,
        bytes,
    }
}

fn records(text: &[u8], options: TraceOptions) -> (TraceReader, Vec<Record>) {
    let mut reader = TraceReader::new(std::io::Cursor::new(text.to_vec()), options).expect("read");
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().expect("good lines") {
        records.push(record);
    }
    (reader, records)
}

#[test]
fn every_format_is_recognized_and_read() {
    let sample = |text: &str| records(text.as_bytes(), TraceOptions::default());
    let (reader, found) = sample(MQSIM);
    assert_eq!(reader.format(), TraceFormat::Mqsim);
    assert_eq!(
        found,
        [
            record(1000, 0, R, 4096, 8192),
            record(2500, 1, W, 12_288, 4096)
        ]
    );
    assert_eq!(reader.devices(), ["0", "3"]);

    let (reader, found) = sample(MSR);
    assert_eq!(reader.format(), TraceFormat::Msr);
    assert_eq!(
        found,
        [
            record(12_816_637_200_306_162_900, 0, R, 7_014_609_920, 24_576),
            record(12_816_637_200_306_163_000, 1, W, 1_331_011_584, 512)
        ]
    );
    assert_eq!(reader.devices(), ["usr,0", "usr,1"]);

    let (reader, found) = sample(ALIBABA);
    assert_eq!(reader.format(), TraceFormat::Alibaba);
    assert_eq!(
        found,
        [
            record(1_577_808_144_360_767_000, 0, W, 8_792_731_648, 16_384),
            record(1_577_808_144_360_768_000, 1, R, 59_110_326_272, 16_384)
        ]
    );

    let (reader, found) = sample(BLKPARSE);
    assert_eq!(reader.format(), TraceFormat::Blkparse);
    assert_eq!(
        found,
        [
            record(1829, 0, W, 223_490 * 512, 4096),
            record(500_000_000, 1, R, 64 * 512, 8192),
            record(600_000_000, 1, Deallocate, 4096 * 512, 2048 * 512),
            record(700_000_000, 1, Flush, 0, 0)
        ]
    );
    assert_eq!(reader.devices(), ["8,0", "8,16"]);

    let (reader, found) = sample(FIO_2);
    assert_eq!(reader.format(), TraceFormat::Fio);
    assert_eq!(
        found,
        [
            record(0, 0, R, 4096, 8192),
            record(250_000, 0, W, 0, 4096),
            record(250_000, 0, Flush, 0, 0),
            record(250_000, 0, Deallocate, 1 << 20, 65_536)
        ]
    );

    let (reader, found) = sample(FIO_3);
    assert_eq!(reader.format(), TraceFormat::Fio);
    assert_eq!(
        found,
        [
            record(878_000, 0, W, 0, 16_384),
            record(888_000, 0, Flush, 0, 0)
        ]
    );

    let (reader, found) = sample(CLOUDPHYSICS);
    assert_eq!(reader.format(), TraceFormat::Cloudphysics);
    let second = 1_000_000_000;
    assert_eq!(
        found,
        [
            record(5_633_898 * second, 0, W, 42_932_745 * 512, 512),
            record(5_633_899 * second, 0, R, 100 * 512, 65_536),
            record(5_633_899 * second, 0, Flush, 0, 0)
        ]
    );
}

#[test]
fn the_event_of_a_blkparse_text_can_be_chosen() {
    let options = TraceOptions {
        blkparse_action: BlkparseAction::Issued,
        ..TraceOptions::default()
    };
    let (_, found) = records(BLKPARSE.as_bytes(), options);
    assert_eq!(found, [record(10_000, 0, W, 223_490 * 512, 4096)]);
}

#[test]
fn line_ends_blank_lines_and_a_missing_last_end_do_not_matter() {
    let dos = MQSIM.replace('\n', "\r\n\r\n");
    let expected = records(MQSIM.as_bytes(), TraceOptions::default()).1;
    for text in [dos.as_str(), dos.trim_end(), MQSIM.trim_end()] {
        assert_eq!(
            records(text.as_bytes(), TraceOptions::default()).1,
            expected
        );
    }
}

#[test]
fn bad_lines_are_told_by_number_and_reason() {
    let wrong = [
        ("mqsim", "1 0 8 16", "it has no type"),
        ("mqsim", "1 0 8 16 1 1", "more than 5 fields"),
        ("mqsim", "1 0 8 16 2", "its type must be 0 (write) or 1"),
        ("mqsim", "1 0 8 0 1", "no length"),
        ("mqsim", "x 0 8 16 1", "its time is no number"),
        ("mqsim", "1 0 99999999999999999999 16 1", "its sector is no"),
        ("mqsim", "1 0 36028797018963967 8 1", "its end is out of"),
        (
            "msr",
            "1,usr,0,Trim,0,512,1",
            "its type must be Read or Write: \"1,usr,0,Trim,0,512,1\"",
        ),
        ("alibaba", "1,X,0,512,1", "its opcode must be R or W"),
        (
            "cloudphysics",
            "1,2,zz,512,1",
            "its operation must be the hexadecimal code of a SCSI command",
        ),
        ("blkparse", "8 0 1 0.0 1 Q R 0 + 8 [x]", "it has no device"),
        ("blkparse", "8,0 0 1 0.0 1 Q R 0 8", "no number of sectors"),
    ];
    for (format, line, words) in wrong {
        let good = match format {
            "mqsim" => MQSIM,
            "msr" => MSR,
            "alibaba" => ALIBABA,
            "cloudphysics" => CLOUDPHYSICS,
            _ => BLKPARSE.split("CPU0").next().expect("a beginning"),
        };
        let lines = good.lines().count() as u64;
        let text = format!("{good}{line}\n{}", good.lines().last().expect("a line"));
        let input = std::io::Cursor::new(text.clone().into_bytes());
        let mut reader = TraceReader::new(input, TraceOptions::default()).expect("recognized");
        assert_eq!(reader.format().name(), format);
        let error = loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{line:?} was taken for good"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains(words), "{line:?}: {error}");
        assert!(matches!(error, TraceError::Line { line, .. } if line == lines + 1));

        let options = TraceOptions {
            bad_lines_max: u64::MAX,
            ..TraceOptions::default()
        };
        let (reader, found) = records(text.as_bytes(), options);
        let good_ones = records(good.as_bytes(), TraceOptions::default()).1;
        assert!(found.len() > good_ones.len() || format == "blkparse");
        assert_eq!(reader.bad_lines(), 1);
        assert_eq!(reader.first_bad_lines()[0].line, lines + 1);
    }
}

#[test]
fn a_line_without_end_is_one_bad_line() {
    let text = format!("{MQSIM}{}\n{MQSIM}", "7".repeat(300_000));
    let options = TraceOptions {
        bad_lines_max: u64::MAX,
        ..TraceOptions::default()
    };
    let (reader, found) = records(text.as_bytes(), options);
    assert_eq!((found.len(), reader.bad_lines()), (4, 1));
    assert_eq!(reader.first_bad_lines()[0].line, 3);
}

#[test]
fn what_is_no_trace_is_told() {
    for text in ["", "\n \n"] {
        let error = TraceReader::new(text.as_bytes(), TraceOptions::default());
        assert!(matches!(error, Err(TraceError::Empty { .. })));
    }
    for text in ["hello\nworld\n", "\u{0}\u{1}"] {
        let error = TraceReader::new(text.as_bytes(), TraceOptions::default());
        assert!(matches!(error, Err(TraceError::UnknownFormat { .. })));
    }
    let fails = |text: &str, format: TraceFormat| {
        let options = TraceOptions {
            format: Some(format),
            bad_lines_max: u64::MAX,
            ..TraceOptions::default()
        };
        let input = std::io::Cursor::new(text.as_bytes().to_vec());
        TraceReader::new(input, options)
            .and_then(|mut reader| reader.next_record())
            .expect_err("it is no trace")
            .to_string()
    };
    assert_eq!(
        fails(ALIBABA, TraceFormat::Msr),
        "trace: its first lines are not of the format msr, but of alibaba; leave the format out, \
         and it is found out"
    );
    let heading = "version,time,op,size,lbn\n";
    assert_eq!(
        fails(heading, TraceFormat::Cloudphysics),
        "trace: it has no request"
    );
    assert_eq!(
        fails("what\n", TraceFormat::Fio),
        "trace: it has no request (after 1 bad line that was passed over)"
    );
    let error = TraceReader::open(Path::new("/nowhere"), TraceOptions::default());
    assert!(matches!(error, Err(TraceError::Io { .. })));
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("into memory");
    encoder.finish().expect("into memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(text, level)
}

#[test]
fn compressed_traces_are_read_as_they_are() {
    let (first, second) = (MQSIM.as_bytes(), b"3000 0 8 8 1\n".as_slice());
    let whole = [first, second].concat();
    let expected = records(&whole, TraceOptions::default()).1;
    // A skippable frame of three bytes, as parallel compressors write.
    let skippable = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 7, 7, 7];
    let files = [
        gzip(&whole),
        [gzip(first), gzip(second)].concat(),
        zstd(&whole),
        [&zstd(first)[..], &skippable, &zstd(second)].concat(),
    ];
    for file in files {
        assert_eq!(records(&file, TraceOptions::default()).1, expected);
    }
}

#[test]
fn damaged_compression_is_an_error() {
    let text = MQSIM.repeat(10_000);
    for mut file in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        file.truncate(file.len() / 2);
        let options = TraceOptions {
            format: Some(TraceFormat::Mqsim),
            bad_lines_max: u64::MAX,
            ..TraceOptions::default()
        };
        let outcome =
            TraceReader::new(std::io::Cursor::new(file), options).and_then(|mut reader| {
                while reader.next_record()?.is_some() {}
                Ok(())
            });
        assert!(matches!(outcome, Err(TraceError::Io { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No bytes make a parser panic, whichever the format.
    #[test]
    fn parsers_are_total(
        noise in proptest::collection::vec(any::<u8>(), 0..400),
        fields in proptest::collection::vec("[0-9a-zA-Z.,+ -]{0,24}", 0..12),
    ) {
        let lines = fields.join("\n");
        for format in TraceFormat::ALL {
            for text in [&noise[..], lines.as_bytes()] {
                let heading = if format == TraceFormat::Fio { "fio version 2 iolog\n" } else { "" };
                let text = [heading.as_bytes(), text].concat();
                let options = TraceOptions {
                    format: Some(format),
                    bad_lines_max: u64::MAX,
                    ..TraceOptions::default()
                };
                let mut reader = TraceReader::new(std::io::Cursor::new(text), options);
                while let Ok(Ok(Some(_))) = reader.as_mut().map(|reader| reader.next_record()) {}
            }
        }
    }
}

fn drive() -> Drive {
    let config = Config::preset("flash-cosmos").expect("a preset").with([
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "2"),
        ("nand.geometry.blocks_per_plane", "32"),
        ("ftl.gc.threshold_blocks", "3"),
        ("data.storage", "none"),
    ]);
    Drive::open(config.expect("a legal drive")).expect("a drive")
}

/// A file of this test, gone when dropped.
struct TraceFile(PathBuf);

impl TraceFile {
    fn of(name: &str, content: &[u8]) -> TraceFile {
        let name = format!("bitline-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("a writable temporary folder");
        TraceFile(path)
    }

    fn replay(&self) -> Replay {
        Replay::of(&self.0)
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        // Left behind, it would do no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Arrival, kind, first block and blocks of every request.
fn replayed(replay: &Replay) -> Vec<(f64, u8, u64, u32)> {
    let mut drive = drive();
    let options = RunOptions {
        latencies: true,
        ..RunOptions::default()
    };
    let under_way = drive
        .start_workloads(&[Workload::Replay(replay.clone())], options)
        .expect("it makes sense");
    while !under_way.advance(&drive, 1 << 20).expect("it goes on") {}
    let rows = under_way.take_latencies();
    under_way.report(&drive).expect("it is done");
    let first = rows.arrival_ns.iter().copied().fold(f64::MAX, f64::min);
    let mut requests: Vec<_> = (0..rows.len())
        .map(|row| {
            (
                rows.arrival_ns[row] - first,
                rows.kind[row],
                rows.lba[row],
                rows.blocks[row],
            )
        })
        .collect();
    requests.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    requests
}

#[test]
fn requests_arrive_by_the_clock_of_the_trace_or_faster() {
    let text = "5000 0 0 8 0\n1005000 0 8 8 0\n1004000 0 16 8 0\n3005000 0 24 16 1\n";
    let file = TraceFile::of("clock", text.as_bytes());
    // The third is earlier than the second, and arrives with it.
    let expected = [
        (0.0, 1, 0, 1),
        (1e6, 1, 1, 1),
        (1e6, 1, 2, 1),
        (3e6, 0, 3, 2),
    ];
    assert_eq!(replayed(&file.replay()), expected);
    let faster = Replay {
        timing: Timing::Scaled { factor: 0.25 },
        ..file.replay()
    };
    let quarter = expected.map(|(at, kind, lba, blocks)| (at / 4.0, kind, lba, blocks));
    assert_eq!(replayed(&faster), quarter);
    let twice = Replay {
        repeat: 2,
        ..file.replay()
    };
    let again = expected.map(|(at, kind, lba, blocks)| (at + 3e6, kind, lba, blocks));
    let mut both = [expected, again].concat();
    both.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    assert_eq!(replayed(&twice), both);

    let mut drive = drive();
    let fast = Replay {
        timing: Timing::AsFastAsPossible { depth: 1 },
        ..file.replay()
    };
    let report = drive.replay(&fast, |_| {}).expect("it runs");
    let flow = &report.flows[0];
    assert!(flow.elapsed_ns < 3e6, "{}", flow.elapsed_ns);
    let trace = flow.trace.as_ref().expect("a trace");
    assert_eq!((trace.requests, trace.lines, trace.format), (4, 4, "mqsim"));
}

#[test]
fn a_queue_that_is_full_costs_each_request_the_same() {
    // All at once, so that nearly all wait for a place in the queue of 1,023.
    let polls = |requests: u64| {
        let text: String = (0..requests)
            .map(|n| format!("0 0 {} 8 1\n", n * 8))
            .collect();
        let file = TraceFile::of(&format!("crowd-{requests}"), text.as_bytes());
        let mut drive = drive();
        let report = drive.replay(&file.replay(), |_| {}).expect("it runs");
        assert_eq!(report.flows[0].requests, requests);
        drive.simulation().expect("it is powered").events()
    };
    let (few, many) = (polls(4_000), polls(16_000));
    assert!(
        many < 5 * few,
        "{few} polls for 4,000 requests, {many} for 16,000"
    );
}

#[test]
fn waiting_counts_from_the_arrival() {
    // Ten writes at once, one at a time: the last waits for all others.
    let text: String = (0..10).map(|n| format!("0 0 {} 8 0\n", n * 8)).collect();
    let file = TraceFile::of("waiting", text.as_bytes());
    let replay = Replay {
        outstanding_max: 1,
        ..file.replay()
    };
    let report = drive().replay(&replay, |_| {}).expect("it runs");
    let write = report.flows[0].write.expect("writes");
    assert!(write.max_ns > 9.0 * write.min_ns, "{write:?}");
}

#[test]
fn requests_are_widened_to_blocks_and_folded_into_the_range() {
    // 512 bytes within a block; across two; beyond the range; across its end.
    let text = "0 0 1 1 0\n1 0 7 2 0\n2 0 8004 4 0\n3 0 799 8 0\n";
    let file = TraceFile::of("fold", text.as_bytes());
    let replay = Replay {
        first_block: 50,
        range_blocks: 100,
        ..file.replay()
    };
    let blocks: Vec<(u64, u32)> = replayed(&replay)
        .iter()
        .map(|request| (request.2, request.3))
        .collect();
    // 8004 sectors are block 1000, so block 0 of 100; 799 begins in block 99.
    assert_eq!(blocks, [(50, 1), (50, 2), (50, 1), (148, 2)]);
    let report = drive().replay(&replay, |_| {}).expect("it runs");
    let trace = report.flows[0].trace.as_ref().expect("a trace");
    assert_eq!((trace.widened, trace.wrapped), (4, 2));
    assert_eq!(report.written_bytes, 6 * 4096);
    assert_eq!(trace.requested_bytes, 15 * 512);
}

#[test]
fn deallocations_and_flushes_are_replayed() {
    let file = TraceFile::of("fio", FIO_2.as_bytes());
    let report = drive().replay(&file.replay(), |_| {}).expect("it runs");
    let flow = &report.flows[0];
    let counts = [flow.read, flow.write, flow.deallocate, flow.flush]
        .map(|class| class.map_or(0, |latency| latency.count));
    assert_eq!(counts, [1, 1, 1, 1]);
}

#[test]
fn devices_can_be_chosen() {
    let file = TraceFile::of("devices", MSR.as_bytes());
    let replay = Replay {
        devices: [("usr,1".to_owned(), 1)].into(),
        ..file.replay()
    };
    let report = drive().replay(&replay, |_| {}).expect("it runs");
    let trace = report.flows[0].trace.as_ref().expect("a trace");
    assert_eq!((trace.requests, trace.left_out, trace.devices), (1, 1, 2));
}

#[test]
fn a_replay_that_makes_no_sense_is_told_by_its_key() {
    let file = TraceFile::of("wrong", b"0 0 0 8 0\n1 0 0 4000000000 0\n");
    let base = file.replay();
    let wrong = [
        (
            Replay {
                repeat: 0,
                ..base.clone()
            },
            "repeat = 0",
        ),
        (
            Replay {
                queue: 99,
                ..base.clone()
            },
            "queue = 99",
        ),
        (
            Replay {
                range_blocks: u64::MAX,
                ..base.clone()
            },
            "must lie within",
        ),
        (
            Replay {
                timing: Timing::Scaled { factor: 0.0 },
                ..base.clone()
            },
            "factor = 0",
        ),
        (
            Replay {
                timing: Timing::AsFastAsPossible { depth: 0 },
                ..base.clone()
            },
            "depth = 0",
        ),
        (Replay::of("/nowhere/trace"), "/nowhere/trace: No such file"),
        (base, "line 2: its request is longer"),
    ];
    for (replay, words) in wrong {
        let error = drive().replay(&replay, |_| {}).expect_err("it is refused");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// Lines without end, made as they are read.
struct Endless {
    line: u64,
    lines: u64,
    rest: Vec<u8>,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.len() < into.len() && self.line < self.lines {
            let sector = self.line.wrapping_mul(0x9E37_79B9) % 100_000 * 8;
            writeln!(
                self.rest,
                "{} 0 {sector} 8 {}",
                self.line * 100,
                self.line % 2
            )?;
            self.line += 1;
        }
        let count = into.len().min(self.rest.len());
        into[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

/// The reader has one buffer, of a fixed size, which no line outgrows: that a million
/// lines pass shows that they do pass.
#[test]
fn a_million_lines_pass_through_one_buffer() {
    let input = Endless {
        line: 0,
        lines: 1_000_000,
        rest: Vec::new(),
    };
    let mut reader = TraceReader::new(input, TraceOptions::default()).expect("recognized");
    let (mut requests, mut bytes) = (0u64, 0u64);
    while let Some(record) = reader.next_record().expect("good lines") {
        requests += 1;
        bytes += record.bytes;
    }
    assert_eq!((requests, bytes), (1_000_000, 4096 * 1_000_000));
    assert_eq!(reader.lines(), 1_000_000);
    assert_eq!(reader.devices().len(), 1);
}

#[test]
fn a_long_trace_is_replayed_from_a_compressed_file() {
    let mut text = String::new();
    let lines = Endless {
        line: 0,
        lines: 50_000,
        rest: Vec::new(),
    };
    let mut lines = lines;
    lines.read_to_string(&mut text).expect("it ends");
    let file = TraceFile::of("long", &gzip(text.as_bytes()));
    let mut drive = drive();
    let replay = Replay {
        timing: Timing::AsFastAsPossible { depth: 64 },
        range_blocks: 4096,
        ..file.replay()
    };
    let options = RunOptions {
        latencies: true,
        ..RunOptions::default()
    };
    let under_way = drive
        .start_workloads(&[Workload::Replay(replay)], options)
        .expect("it makes sense");
    let (mut rows, mut most) = (0, 0);
    loop {
        let done = under_way.advance(&drive, 10_000).expect("it goes on");
        let taken = under_way.take_latencies().len();
        (rows, most) = (rows + taken, most.max(taken));
        if done {
            break;
        }
    }
    assert_eq!(rows, 50_000);
    assert!(most <= 10_000, "no more rows than events");
    let report = under_way.report(&drive).expect("it is done");
    assert_eq!(report.flows[0].requests, 50_000);
}

/// The data that lies beside the repository, or where `BITLINE_DATA` says.
fn shared(path: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("BITLINE_DATA").map_or(beside, PathBuf::from);
    let file = folder.join(path);
    if file.exists() {
        return Some(file);
    }
    eprintln!("SKIPPED: {} is not there", file.display());
    None
}

#[test]
fn the_cloudphysics_trace_is_read_and_replayed() {
    let Some(path) = shared("data/cloudphysics_io.csv.gz") else {
        return;
    };
    let mut reader = TraceReader::open(&path, TraceOptions::default()).expect("recognized");
    let mut kinds = [0u64; 4];
    while let Some(record) = reader.next_record().expect("good lines") {
        kinds[record.kind as usize] += 1;
    }
    assert_eq!(reader.format(), TraceFormat::Cloudphysics);
    assert_eq!(kinds, [46_974, 66_898, 0, 0]);
    let replay = Replay {
        requests_max: Some(5000),
        range_blocks: 4096,
        timing: Timing::AsFastAsPossible { depth: 32 },
        ..Replay::of(path)
    };
    let report = drive().replay(&replay, |_| {}).expect("it runs");
    assert_eq!(report.flows[0].requests, 5000);
}

#[test]
fn the_tpcc_trace_of_mqsim_is_read_and_replayed() -> Result<(), Error> {
    let Some(path) = shared("mqsim/traces/tpcc-small.trace") else {
        return Ok(());
    };
    let mut reader = TraceReader::open(&path, TraceOptions::default())?;
    let mut requests = 0;
    while reader.next_record()?.is_some() {
        requests += 1;
    }
    assert_eq!(
        (reader.format(), requests),
        (TraceFormat::Mqsim, reader.lines())
    );
    let report = drive().replay(&Replay::of(path), |_| {})?;
    let trace = report.flows[0].trace.as_ref().expect("a trace");
    assert_eq!((trace.requests, trace.bad_lines), (requests, 0));
    assert!(trace.devices > 1);
    Ok(())
}
