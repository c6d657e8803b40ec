//! How a run went over time: the same figures as a report's, interval by interval.

use device::schedule::FlashCounts;
use serde::Serialize;
use sim::{Histogram, Span, Time};

use super::summary::{LatencySummary, per_second};
use super::tally::{Tally, TallyPart};
use crate::request_kind::RequestKind;

/// A run, interval by interval: what it began with shows here, and so does whether it came to a steady state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// Length of each interval but the last, in nanoseconds.
    pub interval_ns: f64,
    /// The intervals, in order and without gaps.
    pub intervals: Vec<Interval>,
}

/// What the drive did in one interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Interval {
    /// When it begins, in nanoseconds since the run began.
    pub begin_ns: f64,
    /// When it ends.
    pub end_ns: f64,
    /// Pages programmed.
    pub flash_page_programs: u64,
    /// Blocks erased.
    pub flash_block_erases: u64,
    /// Pages copied by garbage collection.
    pub gc_page_copies: u64,
    /// Bytes programmed for each byte that writes completed in the interval wrote; absent if there were none.
    pub write_amplification: Option<f64>,
    /// How often blocks were erased since the drive was new, on average, at the end of the interval.
    pub erase_count_mean: f64,
    /// The same of the block that was erased most.
    pub erase_count_max: u32,
    /// What each workload did, in the order in which they were given.
    pub workloads: Vec<WorkloadInterval>,
}

/// What one workload did in one interval: requests count where they complete.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorkloadInterval {
    /// Its name.
    pub name: String,
    /// Requests completed.
    pub requests: u64,
    /// Requests completed in a second.
    pub requests_per_second: f64,
    /// Megabytes (10^6 bytes) read and written in a second.
    pub megabytes_per_second: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests outstanding on average over the interval: those in flight, and those that had arrived and waited to be
    /// sent, whether or not they completed in it.
    pub outstanding: f64,
    /// Latencies of all requests; absent if none completed.
    pub latency: Option<LatencySummary>,
    /// Latencies of reads; absent if there were none.
    pub read: Option<LatencySummary>,
    /// Latencies of writes; absent if there were none.
    pub write: Option<LatencySummary>,
}

/// The end of an interval.
pub(super) struct Sample {
    pub(super) at: Time,
    /// What the flash has done by then.
    pub(super) flash: FlashCounts,
    /// What collection has copied by then.
    pub(super) gc_page_copies: u64,
    /// Erases of a block by then.
    pub(super) erase_count_mean: f64,
    pub(super) erase_count_max: u32,
    /// What each workload did in the interval.
    pub(super) tallies: Vec<TallyPart>,
}

impl Series {
    /// What `samples` hold of workloads of these names, of which so many requests were outstanding in each interval, on a
    /// drive whose pages have so many bytes.
    pub(super) fn new(
        interval: Span,
        samples: &[Sample],
        names: &[String],
        outstanding: &[Vec<f64>],
        page_bytes: u64,
    ) -> Series {
        let begins = samples.first().into_iter().chain(samples);
        // The first sample is the beginning: nothing was done before.
        let intervals = samples.iter().zip(begins).skip(1);
        let begin = samples.first().map_or(Time::ZERO, |sample| sample.at);
        Series {
            interval_ns: interval.as_ns(),
            intervals: intervals
                .enumerate()
                .map(|(number, (sample, before))| {
                    let workloads = names.iter().zip(&sample.tallies).zip(outstanding);
                    let workloads = workloads
                        .map(|((name, tally), outstanding)| {
                            let length = sample.at - before.at;
                            let outstanding = outstanding.get(number).copied().unwrap_or(0.0);
                            WorkloadInterval::new(name, &Tally::of(tally), outstanding, length)
                        })
                        .collect();
                    Interval::new(sample, before, begin, workloads, page_bytes)
                })
                .collect(),
        }
    }
}

impl Interval {
    fn new(
        sample: &Sample,
        before: &Sample,
        begin: Time,
        workloads: Vec<WorkloadInterval>,
        page_bytes: u64,
    ) -> Interval {
        let done = |of: fn(&FlashCounts) -> u64| of(&sample.flash) - of(&before.flash);
        let programs = done(|flash| flash.page_programs);
        let written: u64 = workloads
            .iter()
            .map(|workload| workload.written_bytes)
            .sum();
        let programmed = (programs * page_bytes) as f64;
        Interval {
            begin_ns: (before.at - begin).as_ns(),
            end_ns: (sample.at - begin).as_ns(),
            flash_page_programs: programs,
            flash_block_erases: done(|flash| flash.block_erases),
            gc_page_copies: sample.gc_page_copies - before.gc_page_copies,
            write_amplification: (written > 0).then(|| programmed / written as f64),
            erase_count_mean: sample.erase_count_mean,
            erase_count_max: sample.erase_count_max,
            workloads,
        }
    }
}

impl WorkloadInterval {
    fn new(name: &str, tally: &Tally, outstanding: f64, length: Span) -> WorkloadInterval {
        let mut all = Histogram::new();
        for kind in RequestKind::ALL {
            all.merge(tally.latencies(kind));
        }
        let (read_bytes, written_bytes) = (
            tally.bytes(RequestKind::Read),
            tally.bytes(RequestKind::Write),
        );
        WorkloadInterval {
            name: name.to_owned(),
            requests: all.count(),
            requests_per_second: per_second(all.count(), length),
            megabytes_per_second: per_second(read_bytes + written_bytes, length) / 1e6,
            read_bytes,
            written_bytes,
            outstanding,
            latency: LatencySummary::of(&all),
            read: LatencySummary::of(tally.latencies(RequestKind::Read)),
            write: LatencySummary::of(tally.latencies(RequestKind::Write)),
        }
    }
}
