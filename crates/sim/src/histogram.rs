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
        let nanoseconds = latency.whole_ns();
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

    /// Takes out all that was counted, which leaves the histogram empty, with its memory kept for what comes.
    pub fn take(&mut self) -> Recorded {
        let recorded = Recorded {
            values: self
                .nanoseconds
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
            sum_ps: self.sum_ps,
            min: self.min,
            max: self.max,
        };
        self.nanoseconds.reset();
        (self.sum_ps, self.min, self.max) = (0, Span::from_ps(u64::MAX), Span::ZERO);
        recorded
    }

    /// Adds what was taken out of a histogram.
    pub fn add(&mut self, recorded: &Recorded) {
        for (nanoseconds, count) in &recorded.values {
            self.nanoseconds
                .record_n(*nanoseconds, *count)
                .expect("a histogram that resizes itself takes any value");
        }
        self.sum_ps += recorded.sum_ps;
        self.min = self.min.min(recorded.min);
        self.max = self.max.max(recorded.max);
    }

    /// The sum of all latencies.
    pub fn sum(&self) -> Span {
        Span::from_ps(u64::try_from(self.sum_ps).unwrap_or(u64::MAX))
    }
}

/// What a histogram counted, packed: many of these, one an interval, take little memory.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Latencies in nanoseconds, to the histogram's precision, and how often each.
    values: Vec<(u64, u64)>,
    sum_ps: u128,
    min: Span,
    max: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out_and_added_again_is_the_same() {
        let mut random = crate::Random::named(1, "latencies");
        let mut latency = || {
            let magnitude = 10 + random.below(40);
            Span::from_ps(random.below(1 << magnitude))
        };
        let (mut whole, mut parts, mut part) = <(Histogram, Histogram, Histogram)>::default();
        for round in 0..20 {
            for _ in 0..500 + 600 * round {
                let latency = latency();
                whole.record(latency);
                part.record(latency);
            }
            parts.add(&part.take());
            assert_eq!((part.count(), part.max()), (0, Span::ZERO));
        }
        let all = |of: &Histogram| {
            let quantiles = [0.0, 0.1, 0.5, 0.99, 0.999, 1.0].map(|q| of.quantile(q));
            (of.count(), of.sum(), of.min(), of.max(), quantiles)
        };
        assert_eq!(all(&whole), all(&parts));
    }
}
