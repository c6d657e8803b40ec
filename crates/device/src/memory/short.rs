//! Buffers of one size that is less than a page.

use sim::memory::Slabs;

/// Those that nobody has, and where others come from.
pub(super) struct Short {
    /// Their numbers among all buffers.
    pub(super) free: Vec<u32>,
    pub(super) memory: Slabs,
}

impl Short {
    /// None yet, of so many bytes.
    pub(super) fn of(bytes: u32) -> Short {
        Short {
            free: Vec::new(),
            memory: Slabs::of(bytes as usize),
        }
    }
}
