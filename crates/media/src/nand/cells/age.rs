//! What a drive has been through besides its own erases, and when its pages were programmed.

use serde::Serialize;

/// Time, temperature and cycles that a drive is made older by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ageing {
    /// Hours that pass.
    pub hours: f64,
    /// At this temperature, in degrees Celsius.
    pub celsius: f64,
    /// Program and erase cycles that every block has been through when they begin.
    pub cycles: u32,
}

impl Ageing {
    /// So many hours at a temperature in degrees Celsius.
    pub const fn new(hours: f64, celsius: f64) -> Ageing {
        Ageing {
            hours,
            celsius,
            cycles: 0,
        }
    }

    /// After so many program and erase cycles of every block.
    #[must_use]
    pub const fn after_cycles(mut self, cycles: u32) -> Ageing {
        self.cycles = cycles;
        self
    }
}

/// How old a drive is, beyond what was done to it in simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DriveAge {
    /// Hours passed.
    pub hours: f64,
    /// What they amount to at the reference temperature of retention, in hours.
    pub effective_hours: f64,
    /// Cycles of every block besides its erases.
    pub cycles: u32,
    /// The temperature of the last hours, in degrees Celsius; none if there were none.
    pub celsius: Option<f64>,
}

/// When a page was programmed, and how: the age of the drive in effective hours, and above that the
/// length of an ESP program in steps of 5 % of an SLC program, 0 as configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Birth(pub(crate) u32);

impl Birth {
    /// The hours that there is room for: some 1,900 years.
    const HOURS_MAX: u32 = (1 << 24) - 1;
    /// Percent of an SLC program in a step.
    const STEP: u32 = 5;

    /// Now, with a program of so many percent.
    pub(crate) fn new(age: &DriveAge, effort_percent: u32) -> Birth {
        let hours = (age.effective_hours as u32).min(Birth::HOURS_MAX);
        Birth(hours | (effort_percent / Birth::STEP).min(0xFF) << 24)
    }

    /// Effective hours from then until the drive is as old as `age`.
    pub(crate) fn hours_until(self, age: &DriveAge) -> f64 {
        (age.effective_hours - f64::from(self.0 & Birth::HOURS_MAX)).max(0.0)
    }

    /// Length of the program in SLC programs, if it was not as configured.
    pub(crate) fn effort(self) -> Option<f64> {
        let percent = (self.0 >> 24) * Birth::STEP;
        (percent > 0).then(|| f64::from(percent) / 100.0)
    }
}
