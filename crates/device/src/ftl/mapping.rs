//! The mapping table: where each logical page is.

use media::nand::Ppa;

/// Most physical pages that an entry can name.
pub(crate) const PAGES_MAX: u32 = (1 << 31) - 2;

/// A logical page number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lpn(pub u32);

/// What the table says of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Nothing was ever written, or nobody needs to remember that it was.
    Unmapped,
    /// Its data is in this page.
    Data(Ppa),
    /// It was deallocated, and this page is the record of it.
    Tombstone(Ppa),
}

const TOMBSTONE: u32 = 1 << 31;

/// The table, four bytes an entry. Zero means unmapped, so a fresh table costs
/// address space but no memory until its entries are written.
pub(super) struct MappingTable(Vec<u32>);

impl MappingTable {
    pub(super) fn new(logical_pages: u32) -> MappingTable {
        MappingTable(vec![0; logical_pages as usize])
    }

    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Mapping {
        match self.0[lpn.0 as usize] {
            0 => Mapping::Unmapped,
            entry if entry & TOMBSTONE != 0 => Mapping::Tombstone(Ppa((entry & !TOMBSTONE) - 1)),
            entry => Mapping::Data(Ppa(entry - 1)),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, mapping: Mapping) {
        self.0[lpn.0 as usize] = match mapping {
            Mapping::Unmapped => 0,
            Mapping::Data(page) => page.0 + 1,
            Mapping::Tombstone(page) => (page.0 + 1) | TOMBSTONE,
        };
    }

    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }
}
