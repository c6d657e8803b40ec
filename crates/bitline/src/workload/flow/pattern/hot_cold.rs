//! Much of the traffic to a small part of the range.

use sim::Random;

pub(super) fn check(range_percent: f64, traffic_percent: f64) -> Result<(), String> {
    for (key, percent) in [
        ("range_percent", range_percent),
        ("traffic_percent", traffic_percent),
    ] {
        if !(0.0..=100.0).contains(&percent) {
            return Err(format!("pattern: {key} = {percent} must be 0 to 100"));
        }
    }
    Ok(())
}

pub(in crate::workload::flow) struct HotCold {
    /// Places below this are hot.
    hot: u64,
    places: u64,
    /// The share of 2^64 below which a request goes there.
    threshold: u64,
    random: Random,
}

impl HotCold {
    /// Neither part of the range is empty, unless there is one place only.
    pub(super) fn new(
        places: u64,
        range_percent: f64,
        traffic_percent: f64,
        random: Random,
    ) -> HotCold {
        let hot = (places as f64 * range_percent / 100.0).round() as u64;
        let hot = hot.clamp(1, places.saturating_sub(1).max(1));
        HotCold {
            hot,
            places,
            threshold: match traffic_percent {
                _ if hot == places => u64::MAX,
                percent => (percent / 100.0 * 2f64.powi(64)) as u64,
            },
            random,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        // The greatest threshold stands for always.
        if self.random.bits() < self.threshold || self.threshold == u64::MAX {
            self.random.below(self.hot)
        } else {
            self.hot + self.random.below(self.places - self.hot)
        }
    }
}
