//! How the mapping table is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of the mapping table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MappingConfig {
    /// Where its entries are.
    pub kind: MappingKind,
    /// Entries that are at hand at most, if the table is cached.
    pub cache_entries: u32,
    /// Bytes of an entry in a mapping page.
    pub entry_bytes: u32,
    /// Bytes that leave the flash when an entry is fetched: a part of its mapping page.
    pub fetch_bytes: u32,
}

/// Where the entries of the mapping table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MappingKind {
    /// All of them are at hand, at no cost.
    Ideal,
    /// In mapping pages on flash; those used lately are at hand (DFTL, ASPLOS 2009).
    Cached,
}

/// A key out of its range.
pub(in crate::ftl) struct Wrong {
    pub(in crate::ftl) key: &'static str,
    pub(in crate::ftl) value: u32,
    pub(in crate::ftl) allowed: String,
}

impl MappingConfig {
    pub(in crate::ftl) fn check(&self, page_bytes: u32) -> Result<(), Wrong> {
        // An entry names a page with four bytes.
        let checks = [
            ("cache_entries", self.cache_entries, 1..=u32::MAX - 1),
            ("entry_bytes", self.entry_bytes, 4..=page_bytes),
            ("fetch_bytes", self.fetch_bytes, 1..=page_bytes),
        ];
        for (key, value, range) in checks {
            if !range.contains(&value) {
                let allowed = format!("{} to {}", range.start(), range.end());
                return Err(Wrong {
                    key,
                    value,
                    allowed,
                });
            }
        }
        Ok(())
    }

    /// Bytes of the entries that are at hand at most, of so many logical pages.
    pub(crate) fn bytes_at_hand(&self, logical_pages: u32) -> u64 {
        let entries = match self.kind {
            MappingKind::Ideal => logical_pages,
            MappingKind::Cached => self.cache_entries.min(logical_pages),
        };
        u64::from(entries) * u64::from(self.entry_bytes)
    }

    /// Mapping pages that the entries of `logical_pages` take.
    pub(in crate::ftl) fn pages(&self, logical_pages: u64, page_bytes: u32) -> u64 {
        logical_pages.div_ceil(u64::from(page_bytes / self.entry_bytes))
    }
}
