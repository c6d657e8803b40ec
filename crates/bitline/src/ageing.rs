//! Drives that grow older without being used, and how many bits their cells lose.

use media::nand::cells::{Condition, QUALITY_MAX};
use media::nand::{Ageing, DriveAge, ProgramMode};

use crate::config::Config;
use crate::drive::Drive;
use crate::error::Error;

/// Hours of a thousand years: the most that a drive grows older by at once.
const HOURS_MAX: f64 = 8_766_000.0;
/// Cycles that it grows older by at once, at most.
const CYCLES_MAX: u32 = 10_000_000;
/// Temperatures that it can be kept at, in degrees Celsius.
const CELSIUS: std::ops::RangeInclusive<f64> = -50.0..=150.0;

/// Which block's cells are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockQuality {
    /// The best of some thousands.
    Best,
    /// One as good as most.
    Median,
    /// The worst of some thousands.
    Worst,
    /// The mean of the error rates of all blocks.
    Average,
}

impl Drive {
    /// Makes the drive older at once: time passes at a temperature, and every block has been through
    /// so many more cycles. It takes no simulated time; data stays where it is and may lose bits. An
    /// image remembers it.
    ///
    /// # Errors
    /// [`Error::Ageing`] for what cannot be; what the image reports.
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
        self.nand.borrow_mut().grow_older(ageing)?;
        Ok(self.age())
    }

    /// How old the drive is, beyond what was done to it in simulated time.
    pub fn age(&self) -> DriveAge {
        *self.nand.borrow().age()
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

impl Config {
    /// The raw bit error rate of cells of `mode` under `condition` (whose quality is that of
    /// `block`), over all pages that they hold. Hours are those at the reference temperature.
    pub fn raw_bit_error_rate(
        &self,
        mode: ProgramMode,
        condition: &Condition,
        block: BlockQuality,
    ) -> f64 {
        let cells = &self.device.nand.cells;
        let of = |quality| {
            let condition = condition.of_quality(quality);
            cells.error_rates(mode, &condition, 0.0).mean()
        };
        match block {
            BlockQuality::Best => of(-QUALITY_MAX),
            BlockQuality::Median => of(0.0),
            BlockQuality::Worst => of(QUALITY_MAX),
            BlockQuality::Average => cells.mean_error_rate(mode, condition),
        }
    }
}
