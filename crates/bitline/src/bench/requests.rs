//! How many requests a second are simulated: reads, cached reads, and writes with garbage
//! collection.

use std::time::Instant;

use serde::Serialize;

use crate::inside::InsideDrive;
use crate::workload::{Flow, Size};
use crate::{Config, DEFAULT_PRESET, Drive, Error, History, Precondition};

/// Requests of a measurement.
const REQUESTS: u64 = 1_000_000;
/// Requests that go before those that are measured, where caches and blocks have to come into the state that lasts.
const WARM_UP: u64 = REQUESTS / 4;
/// Logical blocks of 4 KiB that reads go to, without a cache.
const RANGE: u64 = 1 << 16;
/// Logical blocks that cached reads go to: eight for each entry of the mapping cache, four
/// for each page of the data cache.
const CACHED_RANGE: u64 = 1 << 19;
/// Blocks of a plane of the drive that is written: 68 GB.
const WRITTEN_BLOCKS: u32 = 256;

/// A rate, and what it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Scaling {
    /// Capacity of the drive, in gigabytes (10^9).
    pub capacity_gb: f64,
    /// Requests of the run.
    pub requests: u64,
    /// Random 4-KiB reads, ideal mapping, a second.
    pub read_ideal: f64,
    /// Random 8-KiB writes in steady state, a second.
    pub write_gc: f64,
}

/// A rate of requests that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rate {
    /// [`super::RequestRates::read_ideal`].
    ReadIdeal,
    /// [`super::RequestRates::read_cached`].
    ReadCached,
    /// [`super::RequestRates::write_gc`].
    WriteGc,
}

impl Rate {
    /// Every rate.
    pub const ALL: [Rate; 3] = [Rate::ReadIdeal, Rate::ReadCached, Rate::WriteGc];

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Rate::ReadIdeal => "read_ideal",
            Rate::ReadCached => "read_cached",
            Rate::WriteGc => "write_gc",
        }
    }

    /// Measures it once: requests a second of real time, and flash pages programmed for each flash page's worth
    /// of logical pages written.
    ///
    /// # Errors
    /// None on a machine with the memory for it.
    pub fn measure(self) -> Result<(f64, f64), Error> {
        let mut drive = self.drive()?;
        match self {
            Rate::ReadIdeal => {}
            Rate::ReadCached | Rate::WriteGc => {
                drive.run_flows(&[self.flow(WARM_UP)], |_| {})?;
            }
        }
        let before = drive.statistics()?;
        let rate = time(&mut drive, &self.flow(REQUESTS))?;
        let after = drive.statistics()?;
        let programs = after.flash.page_programs - before.flash.page_programs;
        let units = after.ftl.host_page_writes - before.ftl.host_page_writes;
        // The host writes logical pages, of which a flash page may have several.
        let unit = drive.device()?.ftl.unit();
        let pages = units as f64 / f64::from(unit.per_page());
        Ok((rate, programs as f64 / pages.max(1.0)))
    }

    /// Carries out so many of its requests, for whoever counts what that takes: the difference of two counts has
    /// nothing of what comes before. Gives the pages that were programmed.
    ///
    /// # Errors
    /// None on a machine with the memory for it.
    pub fn carry_out(self, requests: u64) -> Result<u64, Error> {
        let report = self.drive()?.run_flows(&[self.flow(requests)], |_| {})?;
        Ok(report.flash_page_programs)
    }

    /// The drive that it is measured on.
    fn drive(self) -> Result<Drive, Error> {
        match self {
            Rate::ReadIdeal => read_ideal(),
            Rate::ReadCached => read_cached(),
            Rate::WriteGc => steady_drive(WRITTEN_BLOCKS),
        }
    }

    fn flow(self, requests: u64) -> Flow {
        match self {
            Rate::ReadIdeal => reads(requests, RANGE),
            Rate::ReadCached => reads(requests, CACHED_RANGE),
            Rate::WriteGc => writes(requests),
        }
    }
}

pub(super) fn timing_only() -> Result<Config, Error> {
    Ok(Config::preset(DEFAULT_PRESET)?.with([("data.storage", "none")])?)
}

/// A drive for random 4-KiB reads at queue depth 32, ideal mapping, no data cache.
fn read_ideal() -> Result<Drive, Error> {
    let mut drive = Drive::open(timing_only()?)?;
    fill(&mut drive, RANGE)?;
    Ok(drive)
}

/// One for the same through a mapping cache of 64 K entries and a data cache, both far too small
/// for the range; random reads fill them.
fn read_cached() -> Result<Drive, Error> {
    let config = Config::preset("mqsim-default")?.with([
        ("data.storage", "none"),
        ("ftl.mapping.kind", "cached"),
        ("ftl.mapping.cache_entries", "65536"),
        ("cache.mode", "read_write"),
    ])?;
    let mut drive = Drive::open(config)?;
    fill(&mut drive, CACHED_RANGE)?;
    Ok(drive)
}

/// The rates for drives of three sizes and runs of three lengths, each over two decades.
///
/// # Errors
/// None on a machine with the memory for it (about 5 GiB).
pub fn scaling(progress: impl Fn(&str)) -> Result<Vec<Scaling>, Error> {
    let sizes = [40, 400, 4000].map(|blocks| (blocks, REQUESTS));
    let lengths = [100_000, 1_000_000, 10_000_000].map(|requests| (WRITTEN_BLOCKS, requests));
    let scale = |(blocks, requests)| {
        let mut drive = steady_drive(blocks)?;
        let range = drive.data_blocks()?;
        let capacity_gb = (range * u64::from(drive.block_bytes()?)) as f64 / 1e9;
        progress(&format!("{requests} requests to {capacity_gb:.0} GB"));
        drive.run_flows(&[reads(10_000, range), writes(10_000)], |_| {})?;
        Ok(Scaling {
            capacity_gb,
            requests,
            read_ideal: time(&mut drive, &reads(requests, range))?,
            write_gc: time(&mut drive, &writes(requests))?,
        })
    };
    sizes.into_iter().chain(lengths).map(scale).collect()
}

/// A drive of so many blocks a plane that was overwritten at random for ever, with as much
/// space kept back as makes each write cost about 2.3.
fn steady_drive(blocks_per_plane: u32) -> Result<Drive, Error> {
    let (blocks, threshold) = (
        blocks_per_plane.to_string(),
        (blocks_per_plane / 64).max(4).to_string(),
    );
    let config = Config::preset("mqsim-default")?.with([
        ("data.storage", "none"),
        ("nand.geometry.blocks_per_plane", blocks.as_str()),
        ("ftl.overprovisioning", "0.227"),
        ("ftl.gc.policy", "greedy"),
        ("ftl.gc.threshold_blocks", threshold.as_str()),
        ("ftl.gc.hard_threshold_blocks", "3"),
        ("ftl.gc.urgent_threshold_blocks", "3"),
        ("compatibility.gc_pace", "refill"),
        ("cache.mode", "off"),
    ])?;
    let mut drive = Drive::open(config)?;
    drive.precondition(&Precondition::new(History::SteadyState))?;
    Ok(drive)
}

fn fill(drive: &mut Drive, blocks: u64) -> Result<(), Error> {
    let prefill = Flow {
        requests: 1,
        range_blocks: blocks,
        ..Flow::default()
    };
    drive.run_flows(&[prefill], |_| {})?;
    Ok(())
}

fn reads(requests: u64, range_blocks: u64) -> Flow {
    Flow {
        requests,
        range_blocks,
        prefill: false,
        ..Flow::default()
    }
}

fn writes(requests: u64) -> Flow {
    Flow {
        name: "writes".into(),
        read_fraction: 0.0,
        blocks: Size::Fixed { blocks: 2 },
        requests,
        range_blocks: 0,
        prefill: false,
        ..Flow::default()
    }
}

/// Requests a second of real time.
fn time(drive: &mut Drive, flow: &Flow) -> Result<f64, Error> {
    let begin = Instant::now();
    drive.run_flows(std::slice::from_ref(flow), |_| {})?;
    Ok(flow.requests as f64 / begin.elapsed().as_secs_f64())
}
