//! What a drive takes to open, and of memory.

use std::hint::black_box;
use std::time::Instant;

use super::requests::timing_only;
use crate::{Config, DEFAULT_PRESET, Drive, Error, History, Precondition};

/// Pages that hold something when the memory that a page costs is measured: so many that
/// the memory's own pages, of up to 2 MiB, do not show.
const PAGES: u64 = 1 << 22;

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

/// Of a drive of 2 TB whose first pages were written in order.
pub(super) fn bytes_per_page() -> Result<f64, Error> {
    let mut drive = Drive::open(timing_only()?)?;
    let page_bytes = u64::from(drive.config().device.nand.geometry.page_bytes);
    let pages = drive.data_blocks()? * u64::from(drive.block_bytes()?) / page_bytes;
    let share = PAGES as f64 / pages as f64;
    let before = resident_bytes();
    let plan = Precondition::new(History::Sequential);
    let done = drive.precondition(&plan.occupying(share).within(share))?;
    let grown = resident_bytes().saturating_sub(before);
    Ok(grown as f64 / done.mapped_pages as f64)
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
