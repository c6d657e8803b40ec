//! How many requests of a workload were outstanding on average in each interval: their time from arrival to completion,
//! spread over the intervals in which it lies.

use sim::{Span, Time};

/// Arrivals and completions, interval by interval. A request counts when it completes, and then in the interval in
/// which it arrived, too: what a request waited before it was sent is known no sooner.
#[derive(Default)]
pub(super) struct Outstanding {
    intervals: Vec<Crossings>,
}

/// Who came and went in one interval.
#[derive(Default)]
struct Crossings {
    begin: Time,
    arrived: u64,
    /// From the beginning of the interval to each arrival in it, in picoseconds, summed.
    arrived_after_ps: u128,
    completed: u64,
    /// The same to each completion.
    completed_after_ps: u128,
}

impl Outstanding {
    /// The first interval, or the next one, begins.
    pub(super) fn begin(&mut self, at: Time) {
        self.intervals.push(Crossings {
            begin: at,
            ..Crossings::default()
        });
    }

    /// A request that arrived at `arrival` has completed at `end`, in the present interval.
    #[inline]
    pub(super) fn record(&mut self, arrival: Time, end: Time) {
        let Some(present) = self.intervals.last_mut() else {
            return;
        };
        present.completed += 1;
        present.completed_after_ps += u128::from(end.since(present.begin).as_ps());
        if arrival >= present.begin {
            present.arrived += 1;
            present.arrived_after_ps += u128::from(arrival.since(present.begin).as_ps());
        } else {
            self.arrived_earlier(arrival);
        }
    }

    fn arrived_earlier(&mut self, arrival: Time) {
        let later = self
            .intervals
            .partition_point(|interval| interval.begin <= arrival);
        let interval = &mut self.intervals[later.saturating_sub(1)];
        interval.arrived += 1;
        interval.arrived_after_ps += u128::from(arrival.since(interval.begin).as_ps());
    }

    /// Makes one interval of so many, of which there is a multiple and the present one, which has just begun.
    pub(super) fn merge(&mut self, factor: usize) {
        let intervals = std::mem::take(&mut self.intervals);
        for (number, interval) in intervals.into_iter().enumerate() {
            match self.intervals.last_mut() {
                Some(merged) if number % factor > 0 => merged.absorb(&interval),
                _ => self.intervals.push(interval),
            }
        }
    }

    /// How many were outstanding on average, interval by interval; `ends` are the ends of the intervals, in order. What
    /// begins at or after the last end is of its interval.
    pub(super) fn means(&self, ends: &[Time]) -> Vec<f64> {
        let mut before: u64 = 0;
        let mut means = Vec::with_capacity(ends.len());
        for (interval, end) in self.intervals.iter().zip(ends) {
            let length = end.since(interval.begin);
            // Those from before, and those that came, as if they stayed to the end, less what those that went did not.
            let whole = u128::from(length.as_ps());
            let stayed = (u128::from(before) + u128::from(interval.arrived)) * whole
                + interval.completed_after_ps;
            let not_there = u128::from(interval.completed) * whole + interval.arrived_after_ps;
            let ps = stayed.saturating_sub(not_there);
            means.push(match length > Span::ZERO {
                true => ps as f64 / whole as f64,
                false => 0.0,
            });
            before = (before + interval.arrived).saturating_sub(interval.completed);
        }
        means
    }
}

impl Crossings {
    /// Takes in a later interval.
    fn absorb(&mut self, later: &Crossings) {
        let shift = u128::from(later.begin.since(self.begin).as_ps());
        self.arrived += later.arrived;
        self.arrived_after_ps += later.arrived_after_ps + u128::from(later.arrived) * shift;
        self.completed += later.completed;
        self.completed_after_ps += later.completed_after_ps + u128::from(later.completed) * shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_outstanding_wherever_it_waits() {
        let at = Time::from_ps;
        // Fifty requests, and intervals of 100, some of which are merged while requests are outstanding.
        let requests: Vec<(u64, u64)> = (0..50)
            .map(|number| (number * 13, number * 13 + (number * 37) % 290))
            .collect();
        for factor in [1, 2, 4] {
            let mut outstanding = Outstanding::default();
            outstanding.begin(at(0));
            let mut by_end = requests.clone();
            by_end.sort_by_key(|(_, end)| *end);
            let mut bounds = vec![0];
            for (arrival, end) in by_end {
                while bounds[bounds.len() - 1] + 100 <= end {
                    let next = bounds[bounds.len() - 1] + 100;
                    outstanding.begin(at(next));
                    bounds.push(next);
                    if bounds.len() == 5 {
                        outstanding.merge(factor);
                        bounds = bounds.into_iter().step_by(factor).collect();
                    }
                }
                outstanding.record(at(arrival), at(end));
            }
            bounds.push(1000);
            let ends: Vec<Time> = bounds[1..].iter().map(|end| at(*end)).collect();
            let means = outstanding.means(&ends);
            for (bounds, mean) in bounds.windows(2).zip(means) {
                let overlap = |(arrival, end): &(u64, u64)| {
                    (*end)
                        .min(bounds[1])
                        .saturating_sub((*arrival).max(bounds[0]))
                };
                let sum: u64 = requests.iter().map(overlap).sum();
                let truth = sum as f64 / (bounds[1] - bounds[0]) as f64;
                assert!((mean - truth).abs() < 1e-9, "{bounds:?}: {mean}, {truth}");
            }
        }
    }
}
