//! Latency histograms with a high dynamic range.

use hdrhistogram::Histogram as Hdr;

use crate::quantity::Span;

/// Latencies of one class of operation, kept to three significant digits of a
/// nanosecond; the least, the greatest and the mean are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    nanoseconds: Hdr<u64>,
    sum_ps: u128,
    min: Span,
    max: Span,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram {
            nanoseconds: Hdr::new(3)
                .expect("three significant digits are within what the crate allows"),
            sum_ps: 0,
            min: Span::from_ps(u64::MAX),
            max: Span::ZERO,
        }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Span) {
        let nanoseconds = latency.as_ps() / 1000;
        self.nanoseconds
            .record(nanoseconds)
            .expect("a histogram that resizes itself takes any value");
        self.sum_ps += u128::from(latency.as_ps());
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.nanoseconds.len()
    }

    /// The exact mean; zero when empty.
    pub fn mean(&self) -> Span {
        match self.count() {
            0 => Span::ZERO,
            count => Span::from_ps((self.sum_ps / u128::from(count)) as u64),
        }
    }

    /// The exact least; zero when empty.
    pub fn min(&self) -> Span {
        if self.count() == 0 {
            Span::ZERO
        } else {
            self.min
        }
    }

    /// The exact greatest; zero when empty.
    pub fn max(&self) -> Span {
        self.max
    }

    /// The latency that `quantile` (0 to 1) of all do not exceed; zero when empty.
    pub fn quantile(&self, quantile: f64) -> Span {
        let bucket = Span::from_ns(self.nanoseconds.value_at_quantile(quantile));
        bucket.min(self.max).max(self.min())
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.nanoseconds
            .add(&other.nanoseconds)
            .expect("a histogram that resizes itself takes any other of its precision");
        self.sum_ps += other.sum_ps;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}
