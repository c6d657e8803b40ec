//! Latency histograms with a high dynamic range (after HdrHistogram by Gil Tene, hdrhistogram.org).
//!
//! Values below 2048 have a count each. Each further power of two has 1024 counts, so that a value is known to less than
//! a thousandth of itself. Recording is a shift and an addition; only counts between the least and the greatest
//! value are ever looked at.

use std::ops::RangeInclusive;

use crate::quantity::Span;

/// log2 of the counts that each power of two has: three significant digits.
const STEPS_SHIFT: u32 = 10;

/// Latencies of one class of operation, kept to three significant digits of a
/// nanosecond; the least, the greatest and the mean are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// How often each value was counted, of nanoseconds, by [`place_of`]; as long as the greatest so far needs.
    counts: Vec<u64>,
    count: u64,
    sum_ps: u128,
    min: Span,
    max: Span,
}

/// Where the values are counted that are the same as `nanoseconds` to the precision kept.
#[inline]
fn place_of(nanoseconds: u64) -> usize {
    let magnitude = 63 - (nanoseconds | 1).leading_zeros();
    let coarser = magnitude.saturating_sub(STEPS_SHIFT);
    ((u64::from(coarser) << STEPS_SHIFT) + (nanoseconds >> coarser)) as usize
}

/// The least and the greatest value, in nanoseconds, that are counted at `place`.
fn values_at(place: usize) -> RangeInclusive<u64> {
    let coarser = (place >> STEPS_SHIFT).saturating_sub(1);
    let steps = (place - (coarser << STEPS_SHIFT)) as u64;
    let least = steps << coarser;
    least..=least + ((1 << coarser) - 1)
}

fn nanoseconds(latency: Span) -> u64 {
    latency.as_ps() / 1000
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
            counts: Vec::new(),
            count: 0,
            sum_ps: 0,
            min: Span::from_ps(u64::MAX),
            max: Span::ZERO,
        }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Span) {
        let place = place_of(nanoseconds(latency));
        if place >= self.counts.len() {
            self.reach(place);
        }
        self.counts[place] += 1;
        self.count += 1;
        self.sum_ps += u128::from(latency.as_ps());
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
    }

    /// Makes room for all values of the power of two that is counted at `place`.
    #[cold]
    fn reach(&mut self, place: usize) {
        let counts = (place + 1).next_multiple_of(1 << STEPS_SHIFT);
        if counts > self.counts.len() {
            self.counts.resize(counts, 0);
        }
    }

    /// Where anything was counted; only of a histogram that is not empty.
    fn places(&self) -> RangeInclusive<usize> {
        place_of(nanoseconds(self.min))..=place_of(nanoseconds(self.max))
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact mean; zero when empty.
    pub fn mean(&self) -> Span {
        match self.count {
            0 => Span::ZERO,
            count => Span::from_ps((self.sum_ps / u128::from(count)) as u64),
        }
    }

    /// The exact least; zero when empty.
    pub fn min(&self) -> Span {
        if self.count == 0 {
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
        if self.count == 0 {
            return Span::ZERO;
        }
        let wanted = (quantile.min(1.0) * self.count as f64).ceil() as u64;
        let mut counted = 0;
        let mut places = self.places();
        let reached = places.find(|place| {
            counted += self.counts[*place];
            counted >= wanted.max(1)
        });
        let values = values_at(reached.unwrap_or(*self.places().end()));
        let bucket = if quantile == 0.0 {
            *values.start()
        } else {
            *values.end()
        };
        Span::from_ns(bucket).min(self.max).max(self.min)
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        let places = other.places();
        self.reach(*places.end());
        let more = &other.counts[places.clone()];
        for (count, more) in self.counts[places].iter_mut().zip(more) {
            *count += more;
        }
        self.note(other.count, other.sum_ps, other.min, other.max);
    }

    /// Takes out all that was counted, which leaves the histogram empty, with its memory kept for what comes.
    pub fn take(&mut self) -> Recorded {
        let mut values = Vec::new();
        if self.count > 0 {
            let places = self.places();
            let first = *places.start();
            for (place, count) in self.counts[places].iter_mut().enumerate() {
                if *count > 0 {
                    values.push(((first + place) as u32, std::mem::take(count)));
                }
            }
        }
        let recorded = Recorded {
            values,
            count: self.count,
            sum_ps: self.sum_ps,
            min: self.min,
            max: self.max,
        };
        (self.count, self.sum_ps) = (0, 0);
        (self.min, self.max) = (Span::from_ps(u64::MAX), Span::ZERO);
        recorded
    }

    /// Adds what was taken out of a histogram.
    pub fn add(&mut self, recorded: &Recorded) {
        if let Some((last, _)) = recorded.values.last() {
            self.reach(*last as usize);
        }
        for (place, count) in &recorded.values {
            self.counts[*place as usize] += count;
        }
        self.note(recorded.count, recorded.sum_ps, recorded.min, recorded.max);
    }

    /// So many more were counted.
    fn note(&mut self, count: u64, sum_ps: u128, min: Span, max: Span) {
        self.count += count;
        self.sum_ps += sum_ps;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    /// The sum of all latencies.
    pub fn sum(&self) -> Span {
        Span::from_ps(u64::try_from(self.sum_ps).unwrap_or(u64::MAX))
    }
}

/// What a histogram counted, packed: many of these, one an interval, take little memory.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Where what was counted, in order, and how often.
    values: Vec<(u32, u64)>,
    count: u64,
    sum_ps: u128,
    min: Span,
    max: Span,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the crate that first did this.
        #[test]
        fn quantiles_are_those_of_hdrhistogram(
            latencies in prop::collection::vec((0u32..64, any::<u64>()), 1..300),
            quantile in 0.0..=1.0,
        ) {
            let mut histogram = Histogram::new();
            let mut oracle = hdrhistogram::Histogram::<u64>::new(3).unwrap();
            for (shift, latency) in latencies {
                let latency = Span::from_ps(latency >> shift);
                histogram.record(latency);
                oracle.record(latency.as_ps() / 1000).unwrap();
            }
            for quantile in [quantile, 0.0, 0.5, 0.99, 1.0] {
                let bucket = Span::from_ns(oracle.value_at_quantile(quantile));
                let expected = bucket.min(histogram.max()).max(histogram.min());
                prop_assert_eq!(histogram.quantile(quantile), expected);
            }
            prop_assert_eq!(histogram.count(), oracle.len());
        }
    }

    #[test]
    fn every_place_has_its_values() {
        let mut next = 0;
        for place in 0..20 << STEPS_SHIFT {
            let values = values_at(place);
            assert_eq!(*values.start(), next);
            assert_eq!([place_of(next), place_of(*values.end())], [place; 2]);
            next = values.end() + 1;
        }
    }

    #[test]
    fn what_is_taken_out_and_added_again_is_the_same() {
        let mut random = crate::Random::named(1, "latencies");
        let mut latency = || {
            let magnitude = 10 + random.below(40);
            Span::from_ps(random.below(1 << magnitude))
        };
        let (mut whole, mut parts, mut part) = <(Histogram, Histogram, Histogram)>::default();
        for _ in 0..20 {
            for _ in 0..500 {
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
