//! What a drive takes to open, and of memory.

use std::hint::black_box;
use std::time::Instant;

use super::requests::timing_only;
use crate::workload::Flow;
use crate::{Config, DEFAULT_PRESET, Drive, Error};

/// Pages written to measure the memory that a page costs.
const PAGES: u64 = 500_000;

pub(super) fn open_2tb() -> Result<(f64, f64), Error> {
    let config = Config::preset(DEFAULT_PRESET)?;
    let before = resident_bytes();
    let begin = Instant::now();
    let drive = Drive::open(config)?;
    let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
    let grown = resident_bytes().saturating_sub(before);
    black_box(&drive);
    Ok((milliseconds, grown as f64 / f64::from(1 << 20)))
}

pub(super) fn bytes_per_page() -> Result<f64, Error> {
    let mut drive = Drive::open(timing_only()?)?;
    let page_bytes = u64::from(drive.config().device.nand.geometry.page_bytes);
    let blocks_per_page = page_bytes / u64::from(drive.block_bytes()?);
    let fill = Flow {
        requests: 1,
        range_blocks: PAGES * blocks_per_page,
        ..Flow::default()
    };
    // What any traffic needs once, such as buffers and queues, is there before.
    let warm_up = Flow {
        range_blocks: 1 << 12,
        ..fill.clone()
    };
    drive.run_flows(&[warm_up], |_| {})?;
    let before = resident_bytes();
    drive.run_flows(&[fill], |_| {})?;
    Ok(resident_bytes().saturating_sub(before) as f64 / PAGES as f64)
}

/// Memory of this process, in bytes; zero where the system does not tell.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}
