//! Traces that others published, where they are at hand.

use std::path::{Path, PathBuf};

use bitline::Error;
use bitline::workload::{Replay, Timing, TraceFormat, TraceOptions, TraceReader};

use crate::drive;

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
