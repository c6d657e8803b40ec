//! What becomes of match vectors: what channel controllers pass on, and its way through the drive's DRAM.

use media::core::Work;
use media::dram::Toward;

use super::Search;
use super::waves::Senses;
use crate::schedule::Origin;

/// Bytes of a match vector that a channel controller keeps or drops (ANVIL 5.2), and of the tag of one that it keeps.
const BURST_BYTES: u32 = 64;
const TAG_BYTES: u64 = 4;
/// Bytes of [`Work::Examine`].
const EXAMINED_BYTES: u64 = 64;

/// How often a core does [`Work::Examine`] to look through so many bytes.
pub(super) fn looks(bytes: u64) -> u64 {
    bytes.div_ceil(EXAMINED_BYTES)
}

impl Search {
    /// Bytes that go to the drive's DRAM of the match vector of a row in which these entries match.
    pub(super) fn kept_of(&self, found: impl Iterator<Item = u32>) -> u64 {
        if !self.config.early_termination {
            return u64::from(self.geometry.page_bytes);
        }
        let (mut bursts, mut last) = (0, None);
        for entry in found {
            let burst = Some(entry / (8 * BURST_BYTES));
            if std::mem::replace(&mut last, burst) != burst {
                bursts += 1;
            }
        }
        bursts * (u64::from(BURST_BYTES) + TAG_BYTES)
    }

    /// Counts what senses of so many rows do.
    pub(super) fn count_senses(&self, senses: &Senses, rows: usize) {
        self.count(|counts| {
            let each: usize = senses.iter().map(Vec::len).sum();
            counts.senses += (each * rows) as u64;
            counts.match_vectors += rows as u64;
        });
    }

    /// Match vectors go to the drive's DRAM, or what of them matches, and to a core from there.
    pub(super) async fn take_vectors(&self, bytes: u64, origin: Origin) {
        if bytes > 0 {
            self.count(|counts| counts.match_vector_bytes += bytes);
            self.pass_dram(origin, bytes, Toward::Cells).await;
            self.examine(origin, bytes).await;
        }
    }

    /// A core looks through bytes in the drive's DRAM.
    pub(super) async fn examine(&self, origin: Origin, bytes: u64) {
        if bytes > 0 {
            self.pass_dram(origin, bytes, Toward::Reader).await;
            let often = looks(bytes);
            self.cores
                .work_often(origin, [(Work::Examine, often)])
                .await;
        }
    }

    /// Moves bytes into or out of the part of the DRAM that is for lookups; more than it has room for go to it one part after
    /// the other.
    pub(super) async fn pass_dram(&self, origin: Origin, bytes: u64, toward: Toward) {
        let over = self
            .partition
            .post(&self.dram, origin.requester(), bytes, toward);
        if let Some(over) = over {
            self.sim.sleep_until(over).await;
        }
    }
}
