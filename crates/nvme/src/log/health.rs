//! SMART / Health Information (Base 5.1.12.1.3).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bits of the critical warning.
pub mod critical_warning {
    /// The available spare is below its threshold.
    pub const SPARE: u8 = 1 << 0;
    /// A temperature is beyond a threshold.
    pub const TEMPERATURE: u8 = 1 << 1;
    /// The subsystem's reliability is degraded by media errors.
    pub const RELIABILITY: u8 = 1 << 2;
    /// The media is read-only.
    pub const READ_ONLY: u8 = 1 << 3;
    /// The backup of the volatile memory failed.
    pub const BACKUP: u8 = 1 << 4;
}

/// The SMART / Health Information page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct HealthLog {
    /// Bits of [`critical_warning`].
    pub critical_warning: u8,
    /// Composite temperature, kelvin.
    pub temperature: U16,
    /// Spare left, percent.
    pub available_spare: u8,
    /// Below which that is a warning, percent.
    pub spare_threshold: u8,
    /// Life used, percent; may exceed 100, 255 is the most.
    pub percentage_used: u8,
    /// Warnings of endurance groups.
    pub group_warning: u8,
    reserved_7: [u8; 25],
    /// Thousands of 512-byte units read, rounded up.
    pub data_units_read: U128,
    /// Thousands of 512-byte units written, rounded up.
    pub data_units_written: U128,
    /// Commands that read: Read, Compare, Verify, Copy.
    pub host_reads: U128,
    /// Commands that write user data.
    pub host_writes: U128,
    /// Time with commands outstanding, minutes.
    pub busy_minutes: U128,
    /// Power cycles.
    pub power_cycles: U128,
    /// Time powered, hours.
    pub power_on_hours: U128,
    /// Power cuts without a shutdown.
    pub unsafe_shutdowns: U128,
    /// Times that data could not be recovered.
    pub media_errors: U128,
    /// Entries ever made in the Error Information page.
    pub error_entries: U128,
    /// Time above the warning temperature, minutes.
    pub warning_minutes: U32,
    /// Time above the critical temperature, minutes.
    pub critical_minutes: U32,
    /// Temperature sensors, kelvin; 0 is none.
    pub sensors: [U16; 8],
    reserved_216: [u8; 296],
}

const _: () = {
    assert!(size_of::<HealthLog>() == 512);
    assert!(offset_of!(HealthLog, data_units_read) == 32);
    assert!(offset_of!(HealthLog, unsafe_shutdowns) == 144);
    assert!(offset_of!(HealthLog, warning_minutes) == 192);
};

impl HealthLog {
    /// A page of zeroes.
    pub fn zeroed() -> HealthLog {
        HealthLog::new_zeroed()
    }
}
