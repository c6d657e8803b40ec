//! What the DRAM is made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Span;

use crate::OutOfRange;

/// The drive's DRAM: channels of ranks of banks of rows. Times in nanoseconds as data sheets state
/// them; one clock for all channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// How the time of an access follows from the numbers below. Set in `[compatibility]`.
    #[serde(skip)]
    pub timing: DramTiming,
    /// Bytes of all of it.
    pub capacity_bytes: u64,
    /// Channels, each with a data bus of its own.
    pub channels: u32,
    /// Ranks of a channel: they share its bus.
    pub ranks: u32,
    /// Banks of a rank, each with a row buffer.
    pub banks: u32,
    /// Bytes of a row, over all chips of a rank.
    pub row_bytes: u32,
    /// Where consecutive rows of an address range lie.
    pub interleave: Interleave,
    /// What becomes of a row after an access.
    pub row_policy: RowPolicy,
    /// Clock of the data bus, in megahertz; it moves data twice in a cycle.
    pub clock_megahertz: u32,
    /// Bytes moved each time, that is twice in a cycle: the width of the bus.
    pub transfer_bytes: u32,
    /// Transfers of a burst, the least that a column command moves.
    pub burst_transfers: u32,
    /// From the activation of a row to the column command (tRCD).
    pub t_rcd_ns: u32,
    /// From the column command to its first data (tCL).
    pub t_cl_ns: u32,
    /// Closing a row before another of its bank can be opened (tRP).
    pub t_rp_ns: u32,
    /// From the activation of a row to its closing, at least (tRAS).
    pub t_ras_ns: u32,
    /// Between refreshes of a rank (tREFI); 0 for memory that needs none.
    pub t_refi_ns: u32,
    /// What a refresh takes, during which the rank does nothing else (tRFC).
    pub t_rfc_ns: u32,
    /// Energy of opening a row and closing it again, in picojoules.
    pub activate_pj: u64,
    /// Energy of reading one byte out, in picojoules.
    pub read_pj_per_byte: u64,
    /// Energy of writing one byte, in picojoules.
    pub write_pj_per_byte: u64,
    /// Energy of one refresh of a rank, in picojoules.
    pub refresh_pj: u64,
}

/// How the time of an access is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DramTiming {
    /// From the rows that it opens in their banks, and the bus.
    #[default]
    Banks,
    /// As MQSim computes it, to compare with it: one access at a time, whatever its address; of one
    /// of several rows it counts every other whole row, and what is left over as good as not at all.
    Mqsim,
}

/// Where consecutive rows of an address range lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// In one channel after another, then in one bank after another.
    Banks,
    /// In one channel after another; a bank is filled before the next is begun.
    Rows,
}

/// What becomes of a row after an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowPolicy {
    /// It stays open: whoever wants it next is spared the activation, whoever wants another row of
    /// its bank waits for its closing.
    Open,
    /// It is closed at once.
    Closed,
}

/// The longest time that a key may state, in nanoseconds: a millisecond.
const LONGEST_NS: u64 = 1_000_000;

impl DramConfig {
    /// Checks that there can be such a memory.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("channels", self.channels, 1, 64)?;
        OutOfRange::check("ranks", self.ranks, 1, 64)?;
        OutOfRange::check("banks", self.banks, 1, 256)?;
        OutOfRange::check("row_bytes", self.row_bytes, 64, 1 << 20)?;
        OutOfRange::check("clock_megahertz", self.clock_megahertz, 1, 100_000)?;
        OutOfRange::check("transfer_bytes", self.transfer_bytes, 1, 1024)?;
        OutOfRange::check("burst_transfers", self.burst_transfers, 1, 256)?;
        OutOfRange::check("t_rcd_ns", self.t_rcd_ns, 0, LONGEST_NS)?;
        OutOfRange::check("t_cl_ns", self.t_cl_ns, 0, LONGEST_NS)?;
        OutOfRange::check("t_rp_ns", self.t_rp_ns, 0, LONGEST_NS)?;
        OutOfRange::check("t_ras_ns", self.t_ras_ns, 0, LONGEST_NS)?;
        OutOfRange::check("t_refi_ns", self.t_refi_ns, 0, 1_000 * LONGEST_NS)?;
        // A rank that refreshes all the time serves nobody.
        let most = match self.t_refi_ns {
            0 => LONGEST_NS,
            interval => u64::from(interval) / 2,
        };
        OutOfRange::check("t_rfc_ns", self.t_rfc_ns, 0, most)?;
        self.check_sizes()
    }

    /// Rows are whole bursts, and all banks of one size.
    fn check_sizes(&self) -> Result<(), OutOfRange> {
        let burst = self.burst_bytes();
        if !u64::from(self.row_bytes).is_multiple_of(burst) {
            return Err(OutOfRange {
                key: "row_bytes",
                value: u64::from(self.row_bytes),
                allowed: format!("a multiple of {burst}, the bytes of a burst"),
            });
        }
        let stripe = u64::from(self.row_bytes) * u64::from(self.banks_in_all());
        if self.capacity_bytes == 0 || !self.capacity_bytes.is_multiple_of(stripe) {
            return Err(OutOfRange {
                key: "capacity_bytes",
                value: self.capacity_bytes,
                allowed: format!("a multiple of {stripe}, a row of each bank"),
            });
        }
        Ok(())
    }

    /// Banks of all ranks of all channels.
    pub fn banks_in_all(&self) -> u32 {
        self.channels * self.ranks * self.banks
    }

    /// Rows of a bank.
    pub fn rows_per_bank(&self) -> u64 {
        self.capacity_bytes / u64::from(self.row_bytes) / u64::from(self.banks_in_all())
    }

    /// The least that a column command moves, in bytes.
    pub fn burst_bytes(&self) -> u64 {
        u64::from(self.transfer_bytes) * u64::from(self.burst_transfers)
    }

    /// How long `bytes` occupy the data bus: two transfers in a clock cycle.
    pub fn span_of_data(&self, bytes: u64) -> Span {
        let cycles = bytes.div_ceil(2 * u64::from(self.transfer_bytes));
        Span::from_ps(cycles * 1_000_000 / u64::from(self.clock_megahertz))
    }

    /// From an activation to the first data.
    pub fn opening(&self) -> Span {
        Span::from_ns(u64::from(self.t_rcd_ns) + u64::from(self.t_cl_ns))
    }

    /// From closing a row to the next activation of its bank.
    pub fn closing(&self) -> Span {
        Span::from_ns(u64::from(self.t_rp_ns))
    }
}
