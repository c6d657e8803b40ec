//! Sanitize Status (Base 5.1.12.1.33).

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Values of the state in SSTAT bits 2:0.
pub mod sanitize_state {
    /// The drive was never sanitized.
    pub const NEVER: u16 = 0;
    /// The last sanitize operation succeeded.
    pub const COMPLETED: u16 = 1;
    /// One is under way.
    pub const IN_PROGRESS: u16 = 2;
    /// The last one failed.
    pub const FAILED: u16 = 3;
    /// Bit 8: nothing was written since the last one, or ever.
    pub const GLOBAL_DATA_ERASED: u16 = 1 << 8;
}

/// The Sanitize Status page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SanitizeLog {
    /// SPROG: progress, in parts of 65536; all ones when none is under way.
    pub progress: U16,
    /// SSTAT: see [`sanitize_state`].
    pub state: U16,
    /// SCDW10: CDW10 of the command that started it.
    pub command: U32,
    /// Estimated seconds of overwrite, block erase, crypto erase, then the same
    /// without deallocation; all ones is not told.
    pub estimates: [U32; 6],
    reserved: [u8; 480],
}

const _: () = assert!(size_of::<SanitizeLog>() == 512);

impl SanitizeLog {
    /// The page of this state and progress.
    pub fn new(state: u16, progress: u16, command: u32) -> SanitizeLog {
        let mut page = SanitizeLog::new_zeroed();
        page.progress.set(progress);
        page.state.set(state);
        page.command.set(command);
        page.estimates = [U32::new(u32::MAX); 6];
        page
    }

    /// Whether an operation is under way.
    pub fn is_in_progress(&self) -> bool {
        self.state.get() & 7 == sanitize_state::IN_PROGRESS
    }
}
