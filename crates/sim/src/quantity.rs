//! Quantities with types: instants, durations and energies of simulated time.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An instant of simulated time, in picoseconds since the simulation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A duration of simulated time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// An amount of energy, in picojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Energy(u64);

impl Time {
    /// The instant at which every simulation begins.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `picoseconds` after the beginning.
    pub const fn from_ps(picoseconds: u64) -> Time {
        Time(picoseconds)
    }

    /// Picoseconds since the beginning.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the beginning.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds since the beginning.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span from `earlier` to this instant; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// So much later; nothing if that is beyond the end of time.
    pub const fn checked_add(self, span: Span) -> Option<Time> {
        match self.0.checked_add(span.0) {
            Some(time) => Some(Time(time)),
            None => None,
        }
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole picoseconds.
    pub const fn from_ps(picoseconds: u64) -> Span {
        Span(picoseconds)
    }

    /// A span of whole nanoseconds.
    pub const fn from_ns(nanoseconds: u64) -> Span {
        Span(nanoseconds * 1_000)
    }

    /// A span of whole microseconds.
    pub const fn from_us(microseconds: u64) -> Span {
        Span(microseconds * 1_000_000)
    }

    /// The span of `bytes` at `bytes_per_second`, rounded up to a picosecond.
    ///
    /// # Panics
    /// If `bytes_per_second` is zero.
    pub const fn of_transfer(bytes: u64, bytes_per_second: u64) -> Span {
        const SECOND: u64 = 1_000_000_000_000;
        // Wide division costs many times the narrow one, and this is asked for every message.
        if bytes < u64::MAX / SECOND {
            return Span((bytes * SECOND).div_ceil(bytes_per_second));
        }
        Span((bytes as u128 * SECOND as u128).div_ceil(bytes_per_second as u128) as u64)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, what is left over cut off.
    pub const fn whole_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Nanoseconds.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// What is left after `other`; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Energy {
    /// No energy at all.
    pub const ZERO: Energy = Energy(0);

    /// An energy of whole picojoules.
    pub const fn from_pj(picojoules: u64) -> Energy {
        Energy(picojoules)
    }

    /// An energy of whole nanojoules.
    pub const fn from_nj(nanojoules: u64) -> Energy {
        Energy(nanojoules * 1_000)
    }

    /// Picojoules.
    pub const fn as_pj(self) -> u64 {
        self.0
    }

    /// Joules.
    pub fn as_joules(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// This energy times `factor`, rounded to a picojoule.
    pub fn scaled(self, factor: f64) -> Energy {
        Energy((self.0 as f64 * factor).round() as u64)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}

macro_rules! amounts {
    ($($amount:ident),*) => {$(
        impl Add for $amount {
            type Output = $amount;
            fn add(self, other: $amount) -> $amount {
                $amount(self.0 + other.0)
            }
        }
        impl AddAssign for $amount {
            fn add_assign(&mut self, other: $amount) {
                self.0 += other.0;
            }
        }
        impl Sub for $amount {
            type Output = $amount;
            fn sub(self, other: $amount) -> $amount {
                $amount(self.0 - other.0)
            }
        }
        impl SubAssign for $amount {
            fn sub_assign(&mut self, other: $amount) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $amount {
            type Output = $amount;
            fn mul(self, times: u64) -> $amount {
                $amount(self.0 * times)
            }
        }
        impl Div<u64> for $amount {
            type Output = $amount;
            fn div(self, divisor: u64) -> $amount {
                $amount(self.0 / divisor)
            }
        }
        impl Sum for $amount {
            fn sum<I: Iterator<Item = $amount>>(amounts: I) -> $amount {
                amounts.fold($amount(0), $amount::add)
            }
        }
    )*};
}

amounts!(Span, Energy);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &["ps", "ns", "us", "ms", "s"])
    }
}

impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &["pJ", "nJ", "uJ", "mJ", "J"])
    }
}

/// Writes `value` in the largest unit (each a thousand of the one before) that leaves
/// it at least one: to the asked precision, or else exactly.
fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[&str]) -> fmt::Result {
    let last = units.len() - 1;
    let unit = (0..last)
        .find(|unit| value < 1000u64.pow(*unit as u32 + 1))
        .unwrap_or(last);
    let size = 1000u64.pow(unit as u32);
    if let Some(digits) = f.precision() {
        return write!(f, "{:.digits$} {}", value as f64 / size as f64, units[unit]);
    }
    let (whole, rest) = (value / size, value % size);
    if rest == 0 {
        return write!(f, "{whole} {}", units[unit]);
    }
    let decimals = format!("{rest:0width$}", width = 3 * unit);
    write!(
        f,
        "{whole}.{} {}",
        decimals.trim_end_matches('0'),
        units[unit]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_round_up_to_a_picosecond() {
        assert_eq!(Span::of_transfer(4096, 1_200_000_000).as_ps(), 3_413_334);
        assert_eq!(Span::of_transfer(0, 7), Span::ZERO);
        assert_eq!(
            Span::of_transfer(1 << 40, 1 << 40),
            Span::from_us(1_000_000)
        );
    }

    #[test]
    fn quantities_print_with_units() {
        assert_eq!(Span::from_ns(22_500).to_string(), "22.5 us");
        assert_eq!(Time::from_ps(784_626_001).to_string(), "784.626001 us");
        assert_eq!(
            Time::from_ps(1_000_000_000_050).to_string(),
            "1.00000000005 s"
        );
        assert_eq!(Span::from_ps(999).to_string(), "999 ps");
        assert_eq!(format!("{:.1}", Energy::from_pj(20_500_000)), "20.5 uJ");
    }
}
