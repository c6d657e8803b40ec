//! What a workload measured.

use serde::Serialize;
use sim::{Histogram, Span};

use super::flow::Flow;
use crate::statistics::{EnergyEntry, Statistics};

/// The result of running flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// One entry a flow.
    pub flows: Vec<FlowReport>,
    /// Pages sensed by reads during the run, prefilling included.
    pub flash_page_reads: u64,
    /// Pages programmed during the run, prefilling included.
    pub flash_page_programs: u64,
    /// Blocks erased during the run, prefilling included.
    pub flash_block_erases: u64,
    /// Energy spent during the run, prefilling included, in picojoules.
    pub energy_pj: u64,
    /// The same by component and cause.
    pub energy: Vec<EnergyEntry>,
}

/// The result of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// The flow's name.
    pub name: String,
    /// Requests completed.
    pub requests: u64,
    /// From the first arrival to the last completion, in nanoseconds.
    pub elapsed_ns: f64,
    /// Requests completed in a second.
    pub requests_per_second: f64,
    /// Megabytes (10^6 bytes) moved in a second.
    pub megabytes_per_second: f64,
    /// Latencies of reads; absent if there were none.
    pub read: Option<LatencySummary>,
    /// Latencies of writes; absent if there were none.
    pub write: Option<LatencySummary>,
}

/// Latencies of one class of requests, in nanoseconds. Least, mean and greatest
/// are exact; quantiles are good to three digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencySummary {
    /// How many requests.
    pub count: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The least.
    pub min_ns: f64,
    /// The median.
    pub p50_ns: f64,
    /// What 99 % do not exceed.
    pub p99_ns: f64,
    /// What 99.9 % do not exceed.
    pub p999_ns: f64,
    /// What 99.99 % do not exceed.
    pub p9999_ns: f64,
    /// The greatest.
    pub max_ns: f64,
}

impl LatencySummary {
    fn of(histogram: &Histogram) -> Option<LatencySummary> {
        let quantile = |q| histogram.quantile(q).as_ns();
        (histogram.count() > 0).then(|| LatencySummary {
            count: histogram.count(),
            mean_ns: histogram.mean().as_ns(),
            min_ns: histogram.min().as_ns(),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            p9999_ns: quantile(0.9999),
            max_ns: histogram.max().as_ns(),
        })
    }
}

impl FlowReport {
    pub(super) fn new(
        flow: &Flow,
        block_bytes: u32,
        reads: &Histogram,
        writes: &Histogram,
        elapsed: Span,
    ) -> FlowReport {
        let requests = reads.count() + writes.count();
        let per_second = if elapsed > Span::ZERO {
            requests as f64 / elapsed.as_seconds()
        } else {
            0.0
        };
        let bytes = f64::from(flow.blocks) * f64::from(block_bytes);
        FlowReport {
            name: flow.name.clone(),
            requests,
            elapsed_ns: elapsed.as_ns(),
            requests_per_second: per_second,
            megabytes_per_second: per_second * bytes / 1e6,
            read: LatencySummary::of(reads),
            write: LatencySummary::of(writes),
        }
    }
}

impl Report {
    pub(super) fn new(flows: Vec<FlowReport>, before: &Statistics, after: &Statistics) -> Report {
        let spent_before = |entry: &EnergyEntry| {
            let same = |other: &&EnergyEntry| {
                (&other.component, &other.cause) == (&entry.component, &entry.cause)
            };
            before
                .energy
                .iter()
                .find(same)
                .map_or((0, 0), |other| (other.energy_pj, other.events))
        };
        Report {
            flows,
            flash_page_reads: after.flash.page_reads - before.flash.page_reads,
            flash_page_programs: after.flash.page_programs - before.flash.page_programs,
            flash_block_erases: after.flash.block_erases - before.flash.block_erases,
            energy_pj: after.energy_pj - before.energy_pj,
            energy: after
                .energy
                .iter()
                .map(|entry| {
                    let (energy_pj, events) = spent_before(entry);
                    EnergyEntry {
                        energy_pj: entry.energy_pj - energy_pj,
                        events: entry.events - events,
                        ..entry.clone()
                    }
                })
                .collect(),
        }
    }
}
