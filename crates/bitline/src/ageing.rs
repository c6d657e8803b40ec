//! Drives that grow older without being used.

use media::nand::{Ageing, DriveAge};

use crate::drive::Drive;
use crate::error::Error;

/// Hours of a thousand years: the most that a drive grows older by at once.
const HOURS_MAX: f64 = 8_766_000.0;
/// Cycles that it grows older by at once, at most.
const CYCLES_MAX: u32 = 10_000_000;
/// Temperatures that it can be kept at, in degrees Celsius.
const CELSIUS: std::ops::RangeInclusive<f64> = -50.0..=150.0;

impl Drive {
    /// Makes the drive older at once: time passes at a temperature, and every block has been through
    /// so many more cycles. It takes no simulated time; data stays where it is and may lose bits. An
    /// image remembers it.
    ///
    /// # Errors
    /// [`Error::Ageing`] for what cannot be; what the image reports; [`Error::Remote`].
    pub fn grow_older(&mut self, ageing: &Ageing) -> Result<DriveAge, Error> {
        let Ageing {
            hours,
            celsius,
            cycles,
            ..
        } = *ageing;
        check(
            "hours",
            hours,
            (0.0..=HOURS_MAX).contains(&hours),
            "0 to 8766000 (1,000 years)",
        )?;
        check(
            "temperature",
            celsius,
            CELSIUS.contains(&celsius),
            "-50 to 150 degrees Celsius",
        )?;
        let few = cycles <= CYCLES_MAX;
        check("cycles", f64::from(cycles), few, "0 to 10000000")?;
        self.flash("to be made older")?
            .borrow_mut()
            .grow_older(ageing)?;
        self.age()
    }

    /// How old the drive is, beyond what was done to it in simulated time.
    ///
    /// # Errors
    /// [`Error::Remote`].
    pub fn age(&self) -> Result<DriveAge, Error> {
        Ok(*self.flash("its age")?.borrow().age())
    }
}

fn check(key: &'static str, value: f64, valid: bool, allowed: &'static str) -> Result<(), Error> {
    match valid {
        true => Ok(()),
        false => Err(Error::Ageing {
            key,
            value,
            allowed,
        }),
    }
}
