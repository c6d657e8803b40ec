//! What the configuration says of transactions.

use media::OutOfRange;
use media::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ftl::{self, Durable, MappingUnit, VersionLimits};
use crate::memory::Claim;

/// What transactions are called.
pub(super) const NAME: &str = "tx";
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
    /// Transactions that are open at once; others wait until one ends.
    pub transactions_max: u32,
    /// Transactions that were rolled back and have pages on flash still. Before there are more, the blocks of the oldest are
    /// emptied.
    pub undone_max: u32,
    /// Whether a capacitor saves who has committed when the power goes; otherwise each commit waits for the journal.
    pub capacitor: bool,
}

impl TxConfig {
    /// Bytes of the drive's DRAM.
    pub(crate) fn dram_bytes(&self) -> u64 {
        self.delta_bytes + self.buffer_bytes
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
        OutOfRange::check("transactions_max", self.transactions_max, 1, 1 << 16)?;
        OutOfRange::check("undone_max", self.undone_max, 1, 1 << 20)?;
        let least = u64::from(self.transactions_max) * u64::from(unit.bytes());
        OutOfRange::check("buffer_bytes", self.buffer_bytes, least, 1 << 40)
    }
}
