//! The mapping table: where each logical page is, and which of that the controller
//! has at hand.
//!
//! The whole table is in the simulator's memory. With a demand-cached table (DFTL) the
//! entries also live in *mapping pages* on flash, and the cache says which of them the
//! controller could know without reading one.

mod cache;
mod config;
mod demand;
mod pages;
mod write_back;

use media::nand::Ppa;
use sim::memory::{self, zeroed};

use super::lpn::Lpn;
use super::unit::UnitAddress;
use crate::planted::{Bug, is_planted};
use cache::Cache;
pub use config::{MappingConfig, MappingKind};
pub(super) use pages::MappingPages;
pub(super) use write_back::WriteBacks;

/// Most units that an entry can name.
pub(crate) const UNITS_MAX: u32 = (1 << 31) - 2;

/// What the table says of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Nothing was ever written, or nobody needs to remember that it was.
    Unmapped,
    /// Its data is in this slot of a page.
    Data(UnitAddress),
    /// It was deallocated, and this page is the record of it.
    Tombstone(Ppa),
}

const TOMBSTONE: u32 = 1 << 31;

/// The table, four bytes an entry. Zero means unmapped, so a fresh table costs
/// address space but no memory until its entries are written.
pub(super) struct MappingTable {
    entries: Vec<u32>,
    /// The mapping pages, if the table is kept on flash.
    pub(super) pages: Option<MappingPages>,
    /// The entries at hand, if not all of them are.
    cache: Option<Cache>,
}

impl MappingTable {
    /// An empty table; `on_flash` says whether it is kept there.
    pub(super) fn new(
        logical_pages: u32,
        config: &MappingConfig,
        page_bytes: u32,
        on_flash: bool,
    ) -> MappingTable {
        let pages =
            on_flash.then(|| MappingPages::new(logical_pages, page_bytes, config.entry_bytes));
        let cache = (config.kind == MappingKind::Cached)
            .then(|| Cache::new(logical_pages, config.cache_entries));
        MappingTable {
            entries: zeroed(logical_pages as usize),
            pages,
            cache,
        }
    }

    /// Has the processor fetch the entry of a page that will soon be looked for.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        memory::prefetch(&self.entries, lpn.0 as usize);
        if let Some(cache) = &self.cache {
            cache.prefetch(lpn.0);
        }
    }

    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Mapping {
        match self.entries[lpn.0 as usize] {
            0 => Mapping::Unmapped,
            entry if entry & TOMBSTONE != 0 => Mapping::Tombstone(Ppa((entry & !TOMBSTONE) - 1)),
            entry => Mapping::Data(UnitAddress(entry - 1)),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, mapping: Mapping) {
        self.entries[lpn.0 as usize] = match mapping {
            Mapping::Unmapped => 0,
            Mapping::Data(unit) => unit.0 + 1,
            Mapping::Tombstone(page) => (page.0 + 1) | TOMBSTONE,
        };
        if let Some(pages) = &mut self.pages {
            pages.change(lpn);
        }
        if let Some(cache) = &mut self.cache {
            cache.change(lpn.0);
        }
    }

    /// Forgets where everything is, mapping pages included.
    pub(super) fn forget_everything(&mut self) {
        self.entries = zeroed(self.entries.len());
        if let Some(pages) = &mut self.pages {
            pages.forget_places();
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Whether the entry of a page is being fetched.
    fn is_awaited(&self, lpn: Lpn) -> bool {
        let cache = self.cache.as_ref();
        cache.is_some_and(|cache| cache.is_awaited(lpn.0))
    }

    /// Whether every entry of a mapping page is at hand.
    fn is_at_hand(&self, number: u32) -> bool {
        let (Some(pages), Some(cache)) = (&self.pages, &self.cache) else {
            return true;
        };
        let mut range = pages.range(number, self.len());
        range.all(|lpn| cache.contains(lpn))
    }

    /// A mapping page is being written with what its entries are now.
    fn begin_write(&mut self, number: u32) {
        let logical_pages = self.len();
        if let Some(pages) = &mut self.pages {
            pages.begin_write(number);
        }
        if let (Some(pages), Some(cache)) = (&self.pages, &mut self.cache) {
            let range = pages.range(number, logical_pages);
            range.for_each(|lpn| cache.clean(lpn));
        }
    }

    /// The content of a mapping page: its entries as they are now, little-endian.
    fn encode(&self, number: u32, bytes: &mut [u8]) {
        let Some(pages) = &self.pages else { return };
        bytes.fill(0);
        let range = pages.range(number, self.len());
        let entries = &self.entries[range.start as usize..range.end as usize];
        let places = bytes.chunks_exact_mut(pages.entry_bytes() as usize);
        for (place, entry) in places.zip(entries) {
            place[..4].copy_from_slice(&entry.to_le_bytes());
        }
        if is_planted(Bug::WriteBackDropsAnEntry) {
            bytes[..4].fill(0);
        }
    }

    /// Takes the entries of a mapping page from its content.
    pub(super) fn decode(&mut self, number: u32, bytes: &[u8]) {
        let logical_pages = self.len();
        let Some(pages) = &self.pages else { return };
        let range = pages.range(number, logical_pages);
        let entries = &mut self.entries[range.start as usize..range.end as usize];
        let places = bytes.chunks_exact(pages.entry_bytes() as usize);
        for (place, entry) in places.zip(entries) {
            *entry = u32::from_le_bytes([place[0], place[1], place[2], place[3]]);
        }
    }
}
