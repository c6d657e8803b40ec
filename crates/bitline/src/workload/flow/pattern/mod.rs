//! Where the requests of a flow go: a file for each pattern. A pattern chooses among
//! places, which are as far apart as the flow's alignment says.

mod hot_cold;
mod random;
mod sequential;
mod zipf;

use serde::{Deserialize, Serialize};
use sim::Random;

/// Where requests go. In a configuration, the name alone will do for a pattern that
/// has no keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields, tag = "kind")]
#[non_exhaustive]
pub enum Pattern {
    /// Uniformly.
    Random,
    /// One after another, round and round.
    Sequential,
    /// So much of the traffic uniformly to the beginning of the range, the rest
    /// uniformly behind it. 80 % to 20 % is `range_percent = 20`,
    /// `traffic_percent = 80`.
    HotCold {
        /// Share of the range that is hot, in per cent.
        range_percent: f64,
        /// Share of the requests that go there, in per cent.
        traffic_percent: f64,
    },
    /// The place of rank *k* with a probability that falls as *k* to the power of
    /// `-theta`; ranks are scattered over the range.
    Zipf {
        /// The exponent, above 0 and up to 10.
        theta: f64,
    },
}

impl Pattern {
    /// Says what is wrong with it, by its key.
    pub(super) fn check(&self) -> Result<(), String> {
        match *self {
            Pattern::Random | Pattern::Sequential => Ok(()),
            Pattern::HotCold {
                range_percent,
                traffic_percent,
            } => hot_cold::check(range_percent, traffic_percent),
            Pattern::Zipf { theta } => zipf::check(theta),
        }
    }

    /// Chooses among `places`, which are at least one.
    pub(super) fn choose(&self, places: u64, random: Random) -> Places {
        match *self {
            Pattern::Random => Places::Random(random::Uniform::new(places, random)),
            Pattern::Sequential => Places::Sequential(sequential::Sequence::default()),
            Pattern::HotCold {
                range_percent,
                traffic_percent,
            } => Places::HotCold(hot_cold::HotCold::new(
                places,
                range_percent,
                traffic_percent,
                random,
            )),
            Pattern::Zipf { theta } => Places::Zipf(zipf::Zipf::new(places, theta, random)),
        }
    }
}

/// A pattern at work.
pub(super) enum Places {
    Random(random::Uniform),
    Sequential(sequential::Sequence),
    HotCold(hot_cold::HotCold),
    Zipf(zipf::Zipf),
}

impl Places {
    /// The place of the next request, which takes `length` places of the `places`
    /// that there are.
    #[inline]
    pub(super) fn next(&mut self, length: u64, places: u64) -> u64 {
        match self {
            Places::Random(uniform) => uniform.next(),
            Places::Sequential(sequence) => sequence.next(length, places),
            Places::HotCold(hot_cold) => hot_cold.next(),
            Places::Zipf(zipf) => zipf.next(),
        }
    }
}
