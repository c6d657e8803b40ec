//! What the configuration says of name-value lookup.

use media::OutOfRange;
use media::nand::{Geometry, ProgramMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recover::SAVED_TOGETHER_PAGES;
use crate::memory::Claim;

/// What name-value lookup is called.
pub(super) const NAME: &str = "search";
/// Bytes of a page of facts that hold none, at most.
const FRAME_BYTES: u64 = 64;

/// Name-value lookup (ANVIL): how names are kept, and what saves movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchConfig {
    /// Bytes of the drive's DRAM for names that wait for a row to be full; a command with more is refused. Where a capacitor
    /// saves them, a name counts at least 4 bytes, and a row 21.
    pub buffer_bytes: u64,
    /// Bytes of the drive's DRAM for the link table, which says where names and values are: 40 for each search region, 4 for
    /// each row and 4 for each block of names. What has no room in it is refused; a drive that powers up with less than is in
    /// use keeps all that is there, and refuses only what is new.
    pub link_table_bytes: u64,
    /// Whether a capacitor saves these names when the power goes; otherwise the journal keeps them as they come.
    pub capacitor: bool,
    /// Whether names are programmed with margin (ESP, ANVIL 5.1), or as any page with one bit a cell.
    pub esp: bool,
    /// Whether the read voltage of lookups is raised so far that no name is missed (false-negative voltage tuning, ANVIL 5.1).
    pub voltage_tuning: bool,
    /// Whether the second cells of pairs are programmed from what the page register holds, where nothing but 0 and 1 is
    /// stored (write inversion, ANVIL 5.2).
    pub write_inversion: bool,
    /// Whether channel controllers drop the bursts of a match vector in which nothing matches (early termination, ANVIL 5.2).
    pub early_termination: bool,
    /// Whether a page with several values that were found one after another is read once (ANVIL 5.2).
    pub duplicate_suppression: bool,
}

impl SearchConfig {
    /// How names are programmed.
    pub(super) fn mode(&self) -> ProgramMode {
        match self.esp {
            true => ProgramMode::Esp,
            false => ProgramMode::Slc,
        }
    }

    /// Bytes of facts of deletions under way that the capacitor saves; those beyond are in the journal.
    pub(super) fn intents_bytes(&self) -> u64 {
        self.buffer_bytes / 8
    }

    /// What may have to be saved, if there is a capacitor: all names that wait, each with what tells where it belongs, which
    /// together are at most twice what they count (`room.rs`), and deletions under way.
    pub(crate) fn claim(&self, geometry: &Geometry) -> Option<Claim> {
        let facts = u64::from(geometry.page_bytes)
            .saturating_sub(FRAME_BYTES)
            .max(1);
        let pages = (2 * self.buffer_bytes + self.intents_bytes()).div_ceil(facts);
        // Of the last page of what comes into force together there may be hardly anything.
        let together = pages.div_ceil(SAVED_TOGETHER_PAGES.into());
        self.capacitor.then(|| Claim {
            part: NAME,
            keys: &["search.buffer_bytes"],
            pages: u32::try_from(pages + together + 2).unwrap_or(u32::MAX),
        })
    }

    /// # Errors
    /// No room for names, or for where they are.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("buffer_bytes", self.buffer_bytes, 1 << 12, 1 << 40)?;
        OutOfRange::check("link_table_bytes", self.link_table_bytes, 64, 1 << 40)
    }
}
