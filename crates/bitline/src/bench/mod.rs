//! How fast this machine simulates: the figures that `bitline bench` prints.
//!
//! Every rate is the best of a few runs, and stands beside a reference measured in
//! the same run, because machines are noisy: the bare executor for requests, plain
//! reading of memory for computing.

mod computing;
mod executor;
mod memory;
mod names;
mod requests;

use serde::Serialize;

use crate::Error;
use executor::AWAITS_PER_ROUND;
pub use requests::{Rate, Scaling, scaling};

/// Runs of each measurement.
const RUNS: u32 = 3;

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BenchReport {
    /// Simulated requests carried out in a second on one core.
    pub requests_per_second: RequestRates,
    /// Awaits of the bare executor in a second: servers, pipes and sleeps with
    /// nothing else around them.
    pub executor_awaits_per_second: f64,
    /// Memory read bandwidth of one core, in gigabytes (10^9) per second.
    pub memory_read_gbps: f64,
    /// Operand bytes of an AND of 48 vectors in the array, data included, in the
    /// same unit.
    pub and48_gbps: f64,
    /// The same of an OR of four such ANDs, all in one sense of four blocks.
    pub or4x48_gbps: f64,
    /// Bytes of the wordlines that searches for names of 97 bits among 131,072 select, in the same unit. Of
    /// most of them little is read: soon there is no name left that they could rule out.
    pub search_gbps: f64,
    /// Bytes of values that are appended, each with a name of 12 bytes, data included, in megabytes (10^6) per second.
    pub append_mbps: f64,
    /// Lookups of one name among a million, timing only, a second.
    pub lookups_per_second: f64,
    /// Time to open a drive of 2 TB, in milliseconds.
    pub open_2tb_ms: f64,
    /// Memory that the process grows by when it does, in MiB.
    pub open_2tb_mib: f64,
    /// Memory that the process grows by for each page that holds something, without its data, in bytes.
    pub bytes_per_page: f64,
    /// Requests per seven awaits of the bare executor, which is about what a
    /// request needs.
    pub read_ideal_of_executor: f64,
    /// The same of cached reads.
    pub read_cached_of_executor: f64,
    /// The same of steady-state writes.
    pub write_gc_of_executor: f64,
    /// The AND's rate as a fraction of memory read bandwidth.
    pub and48_of_memory_read: f64,
    /// The same of the OR of four ANDs.
    pub or4x48_of_memory_read: f64,
    /// The same of searches.
    pub search_of_memory_read: f64,
}

/// Rates of simulated requests, a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RequestRates {
    /// Random 4-KiB reads at queue depth 32, ideal mapping, timing only.
    pub read_ideal: f64,
    /// The same with a mapping cache of 65 536 entries and a data cache, most reads missing
    /// both.
    pub read_cached: f64,
    /// Random 8-KiB writes at queue depth 32 to a drive in its steady state, greedy
    /// collection.
    pub write_gc: f64,
    /// Write amplification of these: pages programmed for each page written.
    pub write_gc_waf: f64,
}

/// Measures everything; `progress` is told what is measured next.
///
/// # Errors
/// None on a machine with the memory for it (about 3 GiB).
pub fn run(progress: impl Fn(&str)) -> Result<BenchReport, Error> {
    // First, while the process has not grown yet.
    progress("opening a drive of 2 TB");
    let (open_2tb_ms, open_2tb_mib) = memory::open_2tb()?;
    progress("memory of a page without data");
    let bytes_per_page = memory::bytes_per_page()?;
    let mut awaits = 0.0f64;
    let mut rates = [(0.0, 0.0); Rate::ALL.len()];
    for run in 1..=RUNS {
        progress(&format!("bare executor and requests, run {run} of {RUNS}"));
        awaits = awaits.max(executor::awaits_per_second());
        for (best, rate) in rates.iter_mut().zip(Rate::ALL) {
            let measured = rate.measure()?;
            if measured.0 > best.0 {
                *best = measured;
            }
        }
    }
    let [(read_ideal, _), (read_cached, _), (write_gc, write_gc_waf)] = rates;
    progress("AND of 48 vectors, OR of four such ANDs, and searches");
    let computing = computing::measure()?;
    progress("names appended and looked up");
    let names = names::measure()?;
    let of_executor = |rate: f64| rate / (awaits / AWAITS_PER_ROUND as f64);
    Ok(BenchReport {
        requests_per_second: RequestRates {
            read_ideal,
            read_cached,
            write_gc,
            write_gc_waf,
        },
        executor_awaits_per_second: awaits,
        memory_read_gbps: computing.memory_read,
        and48_gbps: computing.and48,
        or4x48_gbps: computing.or4x48,
        search_gbps: computing.search,
        append_mbps: names.append_mbps,
        lookups_per_second: names.lookups,
        open_2tb_ms,
        open_2tb_mib,
        bytes_per_page,
        read_ideal_of_executor: of_executor(read_ideal),
        read_cached_of_executor: of_executor(read_cached),
        write_gc_of_executor: of_executor(write_gc),
        and48_of_memory_read: computing.and48 / computing.memory_read,
        or4x48_of_memory_read: computing.or4x48 / computing.memory_read,
        search_of_memory_read: computing.search / computing.memory_read,
    })
}
