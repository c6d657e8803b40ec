//! What is counted of requests from outside.

use bitline::{Histogram, Span, Statistics};
use serde::Serialize;

use super::drift::Drift;

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Logical blocks to the host.
    Read,
    /// Logical blocks from the host.
    Write,
    /// What was written becomes durable.
    Flush,
    /// Logical blocks that are given back.
    Discard,
    /// Logical blocks that read as zeroes from then on.
    WriteZeroes,
    /// A run of a program, or of a stream.
    Task,
    /// Commands of the admin queue.
    Admin,
    /// All others.
    Other,
}

impl Kind {
    /// All of them, in their order.
    pub const ALL: [Kind; 8] = [
        Kind::Read,
        Kind::Write,
        Kind::Flush,
        Kind::Discard,
        Kind::WriteZeroes,
        Kind::Task,
        Kind::Admin,
        Kind::Other,
    ];
}

/// Simulated latencies, in microseconds; 0 without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Latencies {
    /// The mean.
    pub mean_us: f64,
    /// The median.
    pub p50_us: f64,
    /// What 99 in a hundred do not exceed.
    pub p99_us: f64,
    /// What 999 in a thousand do not exceed.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// What was counted of a kind of requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KindFigures {
    /// Which.
    pub kind: Kind,
    /// Requests that have ended.
    pub requests: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Bytes of those that did not.
    pub bytes: u64,
    /// How long they took in simulated time, from when the drive's host end had them.
    pub latency: Latencies,
}

/// What a served drive has done since it began to be served.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// Seconds of the wall clock.
    pub wall_s: f64,
    /// Seconds of simulated time.
    pub simulated_s: f64,
    /// Requests that are under way.
    pub in_flight: u64,
    /// Of each kind, in the order of [`Kind::ALL`].
    pub kinds: Vec<KindFigures>,
    /// Bytes programmed, for whatever reason, over bytes that hosts wrote; none before the first.
    pub write_amplification: Option<f64>,
    /// How far simulated time is behind the wall clock.
    pub drift: Drift,
    /// What the drive counts by itself.
    pub drive: Statistics,
}

/// Counts one kind.
#[derive(Default)]
pub(super) struct Counted {
    requests: u64,
    failed: u64,
    bytes: u64,
    latencies: Histogram,
}

impl Counted {
    /// A request has ended, which moved so many bytes.
    pub(super) fn note(&mut self, took: Span, bytes: u64, is_fine: bool) {
        self.requests += 1;
        match is_fine {
            true => self.bytes += bytes,
            false => self.failed += 1,
        }
        self.latencies.record(took);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn figures(&self, kind: Kind) -> KindFigures {
        let us = |span: Span| span.as_ns() / 1e3;
        let quantile = |quantile| us(self.latencies.quantile(quantile));
        KindFigures {
            kind,
            requests: self.requests,
            failed: self.failed,
            bytes: self.bytes,
            latency: Latencies {
                mean_us: us(self.latencies.mean()),
                p50_us: quantile(0.5),
                p99_us: quantile(0.99),
                p999_us: quantile(0.999),
                max_us: us(self.latencies.max()),
            },
        }
    }
}
