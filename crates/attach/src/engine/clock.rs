//! Simulated time beside the wall clock.

use std::time::{Duration, Instant};

use bitline::{Span, Time};

use super::pace::Pace;

/// Which instant of the wall clock an instant of simulated time belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    began_simulated: Time,
    /// Simulated seconds in a second; none if they are not bound to each other.
    factor: Option<f64>,
}

impl Clock {
    /// Both begin now.
    pub(super) fn new(pace: Pace, began: Instant, began_simulated: Time) -> Clock {
        let factor = match pace {
            Pace::None => None,
            Pace::Real(factor) => Some(factor),
        };
        Clock {
            began,
            began_simulated,
            factor,
        }
    }

    /// Since when the wall clock is looked at.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// The simulated time that has come by now; the end of all times if the wall clock does not bind it.
    #[inline]
    pub(super) fn due(&self) -> Time {
        // To look at the watch takes as long as some events.
        match self.factor {
            None => Time::MAX,
            Some(_) => self.due_at(Instant::now()),
        }
    }

    fn due_at(&self, now: Instant) -> Time {
        let Some(factor) = self.factor else {
            return Time::MAX;
        };
        let passed = now.saturating_duration_since(self.began).as_secs_f64();
        // A drive's clock holds 213 days: what is beyond has not come.
        let passed = Span::from_ps((passed * factor * 1e12) as u64);
        match Time::MAX.since(self.began_simulated) > passed {
            true => self.began_simulated + passed,
            false => Time::MAX,
        }
    }

    /// How long it is from `now` on until `simulated` has come.
    pub(super) fn until(&self, simulated: Time, now: Instant) -> Duration {
        self.wall_of(simulated)
            .map_or(Duration::ZERO, |wall| wall.saturating_duration_since(now))
    }

    /// How much later than it should `simulated` comes, if it comes now; none if the wall clock does not bind it.
    #[inline]
    pub(super) fn late_now(&self, simulated: Time) -> Option<Duration> {
        self.factor.map(|_| self.late(simulated, Instant::now()))
    }

    /// How much later than it should `simulated` comes, if it comes at `now`.
    pub(super) fn late(&self, simulated: Time, now: Instant) -> Duration {
        self.wall_of(simulated)
            .map_or(Duration::ZERO, |wall| now.saturating_duration_since(wall))
    }

    /// When `simulated` is to come, if that is bound to the wall clock.
    fn wall_of(&self, simulated: Time) -> Option<Instant> {
        let factor = self.factor?;
        let passed = simulated
            .max(self.began_simulated)
            .since(self.began_simulated);
        let passed = Duration::from_secs_f64(passed.as_ps() as f64 / 1e12 / factor);
        self.began.checked_add(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_belong_to_each_other_both_ways() {
        let (wall, simulated) = (Instant::now(), Time::from_ps(5_000_000));
        for (pace, nanoseconds) in [(1.0, 1000.0), (10.0, 10_000.0), (0.5, 500.0)] {
            let clock = Clock::new(Pace::Real(pace), wall, simulated);
            let now = wall + Duration::from_micros(1);
            let due = clock.due_at(now);
            assert!((due.since(simulated).as_ns() - nanoseconds).abs() < 0.01);
            assert!(clock.until(due, now) <= Duration::from_nanos(1));
            assert!(clock.late(due, now) <= Duration::from_nanos(1));
            let later = now + Duration::from_micros(3);
            assert!(clock.late(due, later) >= Duration::from_nanos(2_999));
            assert!(clock.until(due, wall) >= Duration::from_nanos(999));
        }
    }

    #[test]
    fn without_a_pace_everything_has_come() {
        let now = Instant::now();
        let clock = Clock::new(Pace::None, now, Time::ZERO);
        assert_eq!(clock.due(), Time::MAX);
        assert_eq!(clock.until(Time::MAX, now), Duration::ZERO);
        assert_eq!(clock.late(Time::ZERO, now), Duration::ZERO);
    }
}
