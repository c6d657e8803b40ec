//! What the configuration says of transactions.

use media::OutOfRange;
use media::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Span;

use crate::ftl::{self, Durable, MappingUnit, VersionLimits};
use crate::memory::Claim;

use super::reads::RANGE_BYTES;

/// What transactions are called.
pub(super) const NAME: &str = "tx";
/// After so many doublings a run waits no longer before its next attempt.
const RETRY_DOUBLINGS_MAX: u32 = 9;
/// Bytes of a page of facts that hold none, at most.
const FRAME_BYTES: u64 = 64;

/// Transactions over files (TxISC): how much may be under way at once, and what makes a commit outlive the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TxConfig {
    /// Bytes of the drive's DRAM for entries of pages that transactions have written, or still see as they were: 24 each. Who
    /// wants more waits until another transaction ends; what the host changes is never held up, but takes the room of
    /// the transaction that began first.
    pub delta_bytes: u64,
    /// Bytes of the drive's DRAM for pages of which transactions have written a part.
    pub buffer_bytes: u64,
    /// Ranges of pages that a serializable transaction remembers to have read, 4 bytes of the drive's DRAM each. One that reads
    /// more remembers larger ones, of which every page counts as read.
    pub read_ranges: u32,
    /// Transactions that are open at once; others wait until one ends.
    pub transactions_max: u32,
    /// Transactions that were rolled back and have pages on flash still. Before there are more, the blocks of the oldest are
    /// emptied.
    pub undone_max: u32,
    /// What a run that met a conflict waits before it is begun anew, in microseconds; twice as long before each further attempt,
    /// up to 512 times as long.
    pub retry_us: u64,
    /// Whether a capacitor saves who has committed when the power goes; otherwise each commit waits for the journal.
    pub capacitor: bool,
}

impl TxConfig {
    /// Bytes of the drive's DRAM.
    pub(crate) fn dram_bytes(&self) -> u64 {
        let ranges = u64::from(self.transactions_max) * u64::from(self.read_ranges);
        self.delta_bytes + self.buffer_bytes + ranges * RANGE_BYTES
    }

    /// How long a run waits before it is begun anew after so many attempts, of which there was one.
    pub(super) fn retry_wait(&self, attempts: u32) -> Span {
        Span::from_us(self.retry_us) * (1 << attempts.saturating_sub(1).min(RETRY_DOUBLINGS_MAX))
    }

    /// What versions may take.
    pub(super) fn limits(&self) -> VersionLimits {
        VersionLimits {
            entries: self.delta_bytes / ftl::ENTRY_BYTES,
            undone: self.undone_max,
        }
    }

    /// What makes a commit outlive the power.
    pub(super) fn durable(&self) -> Durable {
        match self.capacitor {
            true => Durable::Capacitor,
            false => Durable::Journal,
        }
    }

    /// Pages of which a transaction may have written a part, at least one.
    pub(super) fn partial_pages(&self, unit: MappingUnit) -> usize {
        let each = self.buffer_bytes / u64::from(self.transactions_max) / u64::from(unit.bytes());
        (each as usize).max(1)
    }

    /// What may have to be saved, if there is a capacitor: who has not committed.
    pub(crate) fn claim(&self, geometry: &Geometry) -> Option<Claim> {
        let page = u64::from(geometry.page_bytes);
        let facts = page.saturating_sub(FRAME_BYTES).max(1);
        let transactions = self.undone_max.saturating_add(self.transactions_max);
        let pages = ftl::state_bytes(transactions).div_ceil(facts) + 1;
        self.capacitor.then(|| Claim {
            part: NAME,
            keys: &["tx.undone_max", "tx.transactions_max"],
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
        })
    }

    /// # Errors
    /// No room for anything, or more transactions than there may be.
    pub fn validate(&self, unit: MappingUnit) -> Result<(), OutOfRange> {
        OutOfRange::check("delta_bytes", self.delta_bytes, ftl::ENTRY_BYTES, 1 << 40)?;
        OutOfRange::check("read_ranges", self.read_ranges, 1, 1 << 20)?;
        OutOfRange::check("transactions_max", self.transactions_max, 1, 1 << 16)?;
        OutOfRange::check("undone_max", self.undone_max, 1, 1 << 20)?;
        OutOfRange::check("retry_us", self.retry_us, 0, 1_000_000)?;
        let least = u64::from(self.transactions_max) * u64::from(unit.bytes());
        OutOfRange::check("buffer_bytes", self.buffer_bytes, least, 1 << 40)
    }
}
