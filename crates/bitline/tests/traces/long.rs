//! Traces that are longer than any buffer.

use std::io::{Read, Write};

use bitline::workload::{Replay, RunOptions, Timing, TraceOptions, TraceReader, Workload};

use crate::{TraceFile, drive, gzip};

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
