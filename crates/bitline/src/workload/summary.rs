//! Latencies of requests, summed up.

use serde::Serialize;
use sim::{Histogram, Span};

/// Latencies of one class of requests, in nanoseconds. Least, mean and greatest
/// are exact; quantiles are good to three digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
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
    pub(super) fn of(histogram: &Histogram) -> Option<LatencySummary> {
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

/// How many in a second, of so many in a span; none in none.
pub(super) fn per_second(count: u64, elapsed: Span) -> f64 {
    match elapsed > Span::ZERO {
        true => count as f64 / elapsed.as_seconds(),
        false => 0.0,
    }
}
