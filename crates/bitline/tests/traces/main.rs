//! Traces: every format, bad lines, compression, timing, and where requests go.

mod compression;
mod formats;
mod long;
mod published;
mod replay;

use std::io::Write;
use std::path::PathBuf;

use bitline::workload::{Record, Replay, RequestKind, TraceOptions, TraceReader};
use bitline::{Config, Drive};

const MQSIM: &str = "1000 0 8 16 1\n2500 3 24 8 0\n";
const MSR: &str = "\
128166372003061629,usr,0,Read,7014609920,24576,41286
128166372003061630,usr,1,Write,1331011584,512,1963
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

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("into memory");
    encoder.finish().expect("into memory")
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
