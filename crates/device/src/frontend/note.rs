//! What the front end keeps through power cycles, as facts of the journal: most are one number.

use nvme::Status;
use nvme::command::FeatureId;

use super::Controller;
use super::answer::status_of;
use crate::journal::{FactKey, FactKind};

/// Counts of health and power.
const HEALTH: FactKind = FactKind::HEALTH;
/// How far a sanitize operation is.
const SANITIZING: FactKind = FactKind::SANITIZING;
/// Saved features.
const FEATURES: FactKind = FactKind::FEATURES;
/// Formats of namespaces.
const FORMATS: FactKind = FactKind::FORMATS;
/// Ranges of uncorrectable sectors, by slot.
pub(super) const MARKS: FactKind = FactKind::MARKS;

/// Power cycles in bits 63:32, unsafe shutdowns in 31:1, whether the last shutdown was orderly in 0.
pub(super) const POWER: FactKey = HEALTH.key(0);
/// Sectors of 512 bytes that the host read.
pub(super) const SECTORS_READ: FactKey = HEALTH.key(1);
/// Sectors that it wrote.
pub(super) const SECTORS_WRITTEN: FactKey = HEALTH.key(2);
/// Commands that read.
pub(super) const HOST_READS: FactKey = HEALTH.key(3);
/// Commands that wrote.
pub(super) const HOST_WRITES: FactKey = HEALTH.key(4);
/// Media errors in bits 63:32, entries of the error log in 31:0.
pub(super) const ERRORS: FactKey = HEALTH.key(5);
/// Seconds with power.
pub(super) const POWERED_SECONDS: FactKey = HEALTH.key(6);
/// CDW10 of the last Sanitize in bits 63:32, its state in 15:0.
pub(super) const SANITIZE: FactKey = SANITIZING.key(0);

/// A saved feature: its value.
pub(super) fn feature(id: FeatureId, selector: u32) -> FactKey {
    FEATURES.key(selector << 8 | u32::from(id.0))
}

/// The format of a namespace, counted from zero: index in bits 7:0, bit 8 while formatting, bit 9
/// while that erases what was stored.
pub(super) fn format(namespace: usize) -> FactKey {
    FORMATS.key(namespace as u32)
}

/// A range of uncorrectable sectors: the first in bits 63:24, how many in 23:0.
pub(super) fn mark(slot: usize) -> FactKey {
    MARKS.key(slot as u32)
}

/// The number that a fact is; zero of what is no number.
pub(super) fn number(fact: &[u8]) -> u64 {
    fact.first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Controller {
    /// The number that was last kept.
    pub(super) fn kept(&self, key: FactKey) -> Option<u64> {
        self.ftl.fact(key).map(|fact| number(&fact))
    }

    /// Keeps a number; when this returns, it is on flash. One that is kept already costs nothing.
    pub(super) async fn keep(&self, key: FactKey, value: u64) -> Result<(), Status> {
        self.keep_all(&[(key, Some(value))]).await
    }

    /// Keeps numbers, or no longer, all at once.
    pub(super) async fn keep_all(&self, numbers: &[(FactKey, Option<u64>)]) -> Result<(), Status> {
        let changed = numbers
            .iter()
            .filter(|(key, value)| self.kept(*key) != *value);
        let changes: Vec<_> = changed
            .map(|(key, value)| (*key, value.map(|value| value.to_le_bytes().into())))
            .collect();
        if changes.is_empty() {
            return Ok(());
        }
        let kept = self.ftl.put_facts(changes).await;
        kept.map_err(|error| status_of(error, false))
    }
}
