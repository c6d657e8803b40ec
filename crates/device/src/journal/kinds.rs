//! The kinds of facts, all in one place so that no two parts of the firmware take the same number. Flash has the numbers: they stay.

use super::FactKind;

impl FactKind {
    /// Counts of health and power.
    pub const HEALTH: FactKind = FactKind(1);
    /// How far a sanitize operation is.
    pub const SANITIZING: FactKind = FactKind(2);
    /// Saved features.
    pub const FEATURES: FactKind = FactKind(3);
    /// Formats of namespaces.
    pub const FORMATS: FactKind = FactKind(4);
    /// Ranges of uncorrectable sectors.
    pub const MARKS: FactKind = FactKind(5);
    /// What the cache has lost.
    pub const CACHE: FactKind = FactKind(6);
    /// Data regions with their search regions.
    pub const SEARCH_TABLES: FactKind = FactKind(7);
    /// Blocks of rows of names.
    pub const SEARCH_ROWS: FactKind = FactKind(8);
    /// Entries whose names flash does not hold yet.
    pub const SEARCH_LOGS: FactKind = FactKind(9);
    /// Entries that are being deleted.
    pub const SEARCH_DELETIONS: FactKind = FactKind(10);
    /// Entries that are not there.
    pub const SEARCH_GONE: FactKind = FactKind(11);
    /// Who has committed.
    pub const TRANSACTIONS: FactKind = FactKind(12);
    /// How far collections have come.
    pub const COLLECTIONS: FactKind = FactKind(33);
    /// Programs kept through power cycles.
    pub const PROGRAMS: FactKind = FactKind(32);
}
