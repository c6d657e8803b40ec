//! Which bank and row a byte lies in.

use crate::dram::{DramConfig, Interleave};

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DramRow {
    /// The channel.
    pub channel: u32,
    /// The rank of the channel.
    pub rank: u32,
    /// The bank of the rank.
    pub bank: u32,
    /// The row of the bank.
    pub row: u64,
}

impl DramConfig {
    /// The row in which the byte at `address` lies.
    pub fn row_of(&self, address: u64) -> DramRow {
        let number = address / u64::from(self.row_bytes);
        let channels = u64::from(self.channels);
        let (channel, within) = (number % channels, number / channels);
        let banks = u64::from(self.ranks) * u64::from(self.banks);
        let (bank, row) = match self.interleave {
            Interleave::Banks => (within % banks, within / banks),
            Interleave::Rows => (within / self.rows_per_bank(), within % self.rows_per_bank()),
        };
        DramRow {
            channel: channel as u32,
            rank: (bank / u64::from(self.banks)) as u32,
            bank: (bank % u64::from(self.banks)) as u32,
            row,
        }
    }
}
