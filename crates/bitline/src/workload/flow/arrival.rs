//! When the requests of a flow arrive.

use serde::{Deserialize, Serialize};
use sim::{Random, Span, Time};

/// The greatest queue depth: no NVMe queue has more entries.
pub(crate) const DEPTH_MAX: u32 = 65_535;

/// The queue depth of a closed loop, if nothing is said.
pub const CLOSED_DEPTH: u32 = 32;
/// The bound of the requests in flight of an open loop, if nothing is said.
pub const OPEN_DEPTH: u32 = 1024;

/// Rates of an open loop, in requests a second: between them neither a gap nor the
/// clock overflows, and gaps are longer than a picosecond.
const RATE_MIN: f64 = 1e-4;
const RATE_MAX: f64 = 1e11;
/// Longest simulated time of a flow: 64 bits of picoseconds reach to 1.8e7 seconds.
const SECONDS_MAX: f64 = 1e7;

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields, tag = "kind")]
#[non_exhaustive]
pub enum Arrival {
    /// So many are outstanding at any time.
    Closed {
        /// The queue depth; [`CLOSED_DEPTH`] if left out.
        #[serde(default = "closed_depth")]
        depth: u32,
    },
    /// So many users, each of whom thinks for a while when a request is done.
    Thinking {
        /// How many users.
        users: u32,
        /// From a completion to the user's next request, in nanoseconds.
        think_ns: u64,
    },
    /// At random (exponential gaps), so many a second on average, at most
    /// `outstanding_max` at a time: what comes then waits, and that counts.
    Open {
        /// Mean rate.
        requests_per_second: f64,
        /// Bound of the requests in flight; [`OPEN_DEPTH`] if left out.
        #[serde(default = "open_depth")]
        outstanding_max: u32,
    },
    /// As `Open`, at equal gaps.
    Paced {
        /// The rate.
        requests_per_second: f64,
        /// Bound of the requests in flight; [`OPEN_DEPTH`] if left out.
        #[serde(default = "open_depth")]
        outstanding_max: u32,
    },
    /// As `Open`, several at the same instant: the gaps between bursts are
    /// exponential.
    Bursts {
        /// Mean rate of requests, not of bursts.
        requests_per_second: f64,
        /// Requests of a burst.
        burst: u32,
        /// Bound of the requests in flight; [`OPEN_DEPTH`] if left out.
        #[serde(default = "open_depth")]
        outstanding_max: u32,
    },
}

fn closed_depth() -> u32 {
    CLOSED_DEPTH
}

fn open_depth() -> u32 {
    OPEN_DEPTH
}

impl Arrival {
    /// The mean rate of an open loop, a second.
    fn rate(&self) -> Option<f64> {
        match *self {
            Arrival::Closed { .. } | Arrival::Thinking { .. } => None,
            Arrival::Open {
                requests_per_second,
                ..
            }
            | Arrival::Paced {
                requests_per_second,
                ..
            }
            | Arrival::Bursts {
                requests_per_second,
                ..
            } => Some(requests_per_second),
        }
    }

    /// How many requests may be in flight, under the name of its key.
    pub(crate) fn depth(&self) -> (&'static str, u32) {
        match *self {
            Arrival::Closed { depth } => ("depth", depth),
            Arrival::Thinking { users, .. } => ("users", users),
            Arrival::Open {
                outstanding_max, ..
            }
            | Arrival::Paced {
                outstanding_max, ..
            }
            | Arrival::Bursts {
                outstanding_max, ..
            } => ("outstanding_max", outstanding_max),
        }
    }

    /// Says what is wrong with it, for a flow of `requests` that ends after `stop_ns`
    /// (zero: never).
    pub(in crate::workload) fn check(&self, requests: u64, stop_ns: u64) -> Result<(), String> {
        if stop_ns as f64 > SECONDS_MAX * 1e9 {
            return Err(format!(
                "stop_ns = {stop_ns} must be at most {}",
                SECONDS_MAX * 1e9
            ));
        }
        let (key, depth) = self.depth();
        if !(1..=DEPTH_MAX).contains(&depth) {
            return Err(format!("{key} = {depth} must be 1 to {DEPTH_MAX}"));
        }
        if let Arrival::Bursts { burst: 0, .. } = self {
            return Err("burst = 0 must be at least 1".into());
        }
        if let Arrival::Thinking { think_ns, .. } = *self
            && think_ns as f64 > SECONDS_MAX * 1e9
        {
            return Err(format!(
                "think_ns = {think_ns} must be at most {}",
                SECONDS_MAX * 1e9
            ));
        }
        let Some(rate) = self.rate() else {
            return Ok(());
        };
        if !(RATE_MIN..=RATE_MAX).contains(&rate) {
            return Err(format!(
                "requests_per_second = {rate} must be {RATE_MIN} to {RATE_MAX}"
            ));
        }
        if stop_ns == 0 && requests as f64 / rate > SECONDS_MAX {
            return Err(format!(
                "{requests} requests at {rate} a second take longer than the {SECONDS_MAX} s that the \
                 clock is good for"
            ));
        }
        Ok(())
    }

    /// The gaps of an open loop; none in a closed one.
    fn gaps(&self, random: Random) -> Option<Gaps> {
        let picoseconds = 1e12 / self.rate()?;
        let (law, burst) = match *self {
            Arrival::Paced { .. } => (Law::Constant, 1),
            Arrival::Bursts { burst, .. } => (Law::Exponential, burst),
            _ => (Law::Exponential, 1),
        };
        Some(Gaps {
            law,
            mean_ps: picoseconds * f64::from(burst),
            burst,
            left: 0,
            at: Time::ZERO,
            number: 0,
            begin: Time::ZERO,
            random,
        })
    }
}

/// How gaps are distributed.
enum Law {
    Exponential,
    Constant,
}

/// When the requests of a workload arrive, until there were so many or its time is over.
pub(in crate::workload) struct Arrivals {
    left: u64,
    stop: Option<Span>,
    end: Time,
    /// Of an open loop; in a closed one requests arrive when they are asked for.
    gaps: Option<Gaps>,
}

impl Arrivals {
    /// So many `requests`, none later than `stop_ns` after the beginning (zero: no such end).
    pub(in crate::workload) fn new(
        arrival: &Arrival,
        requests: u64,
        stop_ns: u64,
        random: Random,
    ) -> Arrivals {
        Arrivals {
            left: requests,
            stop: (stop_ns > 0).then(|| Span::from_ns(stop_ns)),
            end: Time::MAX,
            gaps: arrival.gaps(random),
        }
    }

    /// The workload begins at `now`.
    pub(in crate::workload) fn begin(&mut self, now: Time) {
        if let Some(gaps) = &mut self.gaps {
            gaps.begin(now);
        }
        if let Some(stop) = self.stop {
            self.end = now + stop;
        }
    }

    /// When the next request arrives, asked for at `now`; none when there are no more.
    #[inline]
    pub(in crate::workload) fn next(&mut self, now: Time) -> Option<Time> {
        let arrives = match &mut self.gaps {
            Some(gaps) => gaps.next(),
            None => now,
        };
        if self.left == 0 || arrives > self.end {
            return None;
        }
        self.left -= 1;
        Some(arrives)
    }
}

/// The instants at which the requests of an open loop arrive.
struct Gaps {
    law: Law,
    /// Mean gap between bursts.
    mean_ps: f64,
    burst: u32,
    /// Requests of the present burst that are still to come.
    left: u32,
    at: Time,
    begin: Time,
    /// Bursts so far.
    number: u64,
    random: Random,
}

impl Gaps {
    /// The flow begins at `begin`.
    fn begin(&mut self, begin: Time) {
        (self.at, self.begin) = (begin, begin);
    }

    /// When the next request arrives.
    fn next(&mut self) -> Time {
        if self.left > 0 {
            self.left -= 1;
            return self.at;
        }
        self.left = self.burst - 1;
        self.number += 1;
        match self.law {
            Law::Exponential => {
                self.at += Span::from_ps(self.random.exponential(self.mean_ps) as u64);
            }
            // Not a sum of rounded gaps: the rate is kept however long it runs.
            Law::Constant => {
                self.at =
                    self.begin + Span::from_ps((self.mean_ps * self.number as f64).round() as u64);
            }
        }
        self.at
    }
}
