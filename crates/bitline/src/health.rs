//! What the drive's SMART / health page says, in plain numbers.

use nvme::log::{HealthLog, critical_warning};
use serde::Serialize;

use crate::drive::{Drive, InsideHost};
use crate::error::Error;

/// The SMART / health page (NVMe Base 2.1, 5.1.12.1.3). Counts go over all lives of the drive;
/// those since the last orderly shutdown are lost with a power cut, but for the power cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Health {
    /// Warnings in force, by name.
    pub critical_warnings: Vec<&'static str>,
    /// Composite temperature, in kelvin.
    pub temperature_kelvin: u16,
    /// Spare blocks left, in percent.
    pub available_spare_percent: u8,
    /// Below which that is a warning, in percent.
    pub spare_threshold_percent: u8,
    /// Life used, in percent of the rated erases.
    pub percentage_used: u8,
    /// Thousands of 512-byte units that the host read, rounded up.
    pub data_units_read: u64,
    /// Thousands of 512-byte units that the host wrote, rounded up.
    pub data_units_written: u64,
    /// Commands that read.
    pub host_reads: u64,
    /// Commands that wrote.
    pub host_writes: u64,
    /// Times that power came.
    pub power_cycles: u64,
    /// Times that it went without a shutdown.
    pub unsafe_shutdowns: u64,
    /// Hours with power, simulated.
    pub power_on_hours: u64,
    /// Commands that failed because data was lost or could not be written.
    pub media_errors: u64,
    /// Commands that failed for any reason.
    pub error_entries: u64,
}

impl Health {
    fn of(page: &HealthLog) -> Health {
        const NAMES: [(u8, &str); 5] = [
            (critical_warning::SPARE, "spare"),
            (critical_warning::TEMPERATURE, "temperature"),
            (critical_warning::RELIABILITY, "reliability"),
            (critical_warning::READ_ONLY, "read_only"),
            (critical_warning::BACKUP, "backup"),
        ];
        let set = NAMES
            .iter()
            .filter(|(bit, _)| page.critical_warning & bit != 0);
        // The drive counts in 64 bits.
        let number = |field: zerocopy::little_endian::U128| field.get() as u64;
        Health {
            critical_warnings: set.map(|(_, name)| *name).collect(),
            temperature_kelvin: page.temperature.get(),
            available_spare_percent: page.available_spare,
            spare_threshold_percent: page.spare_threshold,
            percentage_used: page.percentage_used,
            data_units_read: number(page.data_units_read),
            data_units_written: number(page.data_units_written),
            host_reads: number(page.host_reads),
            host_writes: number(page.host_writes),
            power_cycles: number(page.power_cycles),
            unsafe_shutdowns: number(page.unsafe_shutdowns),
            power_on_hours: number(page.power_on_hours),
            media_errors: number(page.media_errors),
            error_entries: number(page.error_entries),
        }
    }
}

impl Drive {
    /// The drive's health, as its SMART page tells it.
    ///
    /// # Errors
    /// What the drive reports, or [`Error::NoPower`].
    pub fn health(&mut self) -> Result<Health, Error> {
        let page = self.run(|host| async move { host.admin().health().await })??;
        Ok(Health::of(&page))
    }
}
