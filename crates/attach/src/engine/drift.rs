//! How far simulated time is behind the wall clock.

use std::time::Duration;

use bitline::{Histogram, Span};
use serde::Serialize;

/// How late completions were told, by the wall clock: none with a pace of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Drift {
    /// The mean, in microseconds.
    pub mean_us: f64,
    /// What half of them did not exceed, in microseconds.
    pub p50_us: f64,
    /// What 99 in a hundred did not exceed, in microseconds.
    pub p99_us: f64,
    /// The latest, in microseconds.
    pub max_us: f64,
    /// How far the simulated clock is behind now, in microseconds of the wall clock: more and more, if the simulator is slower than the
    /// drive that it simulates.
    pub behind_us: f64,
}

/// Counts lateness.
#[derive(Default)]
pub(super) struct Lateness {
    told: Histogram,
}

impl Lateness {
    /// A completion is told so much late.
    pub(super) fn note(&mut self, late: Duration) {
        self.told.record(Span::from_ns(late.as_nanos() as u64));
    }

    /// What there was so far, `behind` as it is now.
    pub(super) fn drift(&self, behind: Duration) -> Drift {
        let us = |span: Span| span.as_ns() / 1e3;
        Drift {
            mean_us: us(self.told.mean()),
            p50_us: us(self.told.quantile(0.5)),
            p99_us: us(self.told.quantile(0.99)),
            max_us: us(self.told.max()),
            behind_us: behind.as_secs_f64() * 1e6,
        }
    }
}
