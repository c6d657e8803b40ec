//! How the data cache is configured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sectors::{SECTOR_BYTES, Sectors};
use crate::ftl::MappingUnit;

/// Configuration of the data cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// What is cached.
    pub mode: CacheMode,
    /// Bytes of page slots, each of a logical page.
    pub capacity_bytes: u64,
    /// When written data goes to flash.
    pub write_back: WriteBack,
    /// Whether a capacitor keeps written data through a power cut: it then powers a dump to
    /// blocks that are kept free for it. Without one the cache is volatile.
    pub capacitor: bool,
    /// Writes wait while so many pages' worth of data is on its way from the cache to flash.
    pub back_pressure_pages: u32,
}

/// What the cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Nothing: there is no cache.
    Off,
    /// What was read from flash; writes complete when they are on flash.
    Read,
    /// What was written, until it is on flash; reads find it there.
    Write,
    /// Both.
    ReadWrite,
}

impl CacheMode {
    /// Whether there is a cache at all.
    pub fn is_on(self) -> bool {
        self != CacheMode::Off
    }

    /// Whether writes complete from the cache.
    pub fn caches_writes(self) -> bool {
        matches!(self, CacheMode::Write | CacheMode::ReadWrite)
    }

    /// Whether data read from flash is kept, and written data once it is on flash.
    pub fn caches_reads(self) -> bool {
        matches!(self, CacheMode::Read | CacheMode::ReadWrite)
    }
}

/// When written data goes to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBack {
    /// At once.
    Eager,
    /// When its slot is needed, or the host flushes.
    Lazy,
    /// Pages written for the first time at once, others lazily. What was written is forgotten
    /// every second. As MQSim does.
    HotCold,
}

/// A configuration of the data cache that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CacheConfigError {
    /// Not a whole page, or more than the numbers of slots can name.
    #[error(
        "cache.capacity_bytes = {given} is out of range; it must be {page_bytes} (a page) to {most}"
    )]
    Capacity {
        /// What was given.
        given: u64,
        /// A page.
        page_bytes: u32,
        /// The most.
        most: u64,
    },
    /// Writes could never go on.
    #[error("cache.back_pressure_pages = {0} is out of range; it must be 1 to 1000000")]
    BackPressure(u32),
    /// A slot's map of sectors has 64 bits.
    #[error(
        "{key} = {unit_bytes} cannot be cached; with a cache it must be a multiple of 512, at most 32768"
    )]
    Page {
        /// The key that says how long a logical page is.
        key: &'static str,
        /// Bytes of it.
        unit_bytes: u32,
    },
}

impl CacheConfig {
    /// Checks everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self, unit: MappingUnit) -> Result<(), CacheConfigError> {
        let (page_bytes, unit_bytes) = (unit.page_bytes(), unit.bytes());
        let most = u64::from(unit_bytes) << 30;
        if !(u64::from(page_bytes)..=most).contains(&self.capacity_bytes) {
            return Err(CacheConfigError::Capacity {
                given: self.capacity_bytes,
                page_bytes,
                most,
            });
        }
        if !(1..=1_000_000).contains(&self.back_pressure_pages) {
            return Err(CacheConfigError::BackPressure(self.back_pressure_pages));
        }
        let sectors =
            unit_bytes.is_multiple_of(SECTOR_BYTES) && unit_bytes / SECTOR_BYTES <= Sectors::MOST;
        if self.mode.is_on() && !sectors {
            return Err(CacheConfigError::Page {
                key: unit.key(),
                unit_bytes,
            });
        }
        Ok(())
    }

    /// Bytes of the page slots, if there are any.
    pub fn slot_bytes(&self, unit: MappingUnit) -> u64 {
        if self.mode.is_on() {
            u64::from(self.capacity_slots(unit)) * u64::from(unit.bytes())
        } else {
            0
        }
    }

    /// Slots that may hold what flash misses: all, and those evicted whose data is on its way there.
    pub(super) fn unsaved_slots_max(&self, unit: MappingUnit) -> u32 {
        self.unsaved_pages_max(unit) * unit.per_page()
    }

    /// The same in pages of flash.
    pub(super) fn unsaved_pages_max(&self, unit: MappingUnit) -> u32 {
        unit.pages_of(self.capacity_slots(unit)) + self.back_pressure_pages
    }

    /// Page slots.
    pub(super) fn capacity_slots(&self, unit: MappingUnit) -> u32 {
        (self.capacity_bytes / u64::from(unit.bytes())) as u32
    }
}
