//! Entries of the mapping table, gathered before they are written. The logical pages of a plane
//! lie far apart in the table: written plane by plane, every entry would miss the processor's
//! caches, which is most of the time of setting up a large drive.

use sim::memory::zeroed;

use super::super::lpn::Lpn;
use super::super::mapping::{Mapping, MappingTable};
use super::super::{MappingUnit, UnitAddress};

/// Entries of four bytes in a cache line: so many planes are gathered at a time.
pub(super) const PLACES: u32 = 16;

/// Entries of up to [`PLACES`] neighbouring places in the order of planes. Each place has flash pages' worth of logical
/// pages, a row each.
pub(super) struct GatheredEntries {
    /// The first of the places.
    first: u32,
    /// Places of the drive: how far rows of one place are apart.
    stride: u32,
    unit: MappingUnit,
    /// Logical pages of a place.
    rows: usize,
    /// By place, then by row and slot; zero is no entry, else the unit and one.
    entries: Vec<u32>,
}

impl GatheredEntries {
    /// Nothing gathered yet, on a drive of `stride` places.
    pub(super) fn new(stride: u32, unit: MappingUnit, logical_pages: u32) -> GatheredEntries {
        let pages = unit.pages_of(logical_pages);
        let rows = (pages.div_ceil(stride) * unit.per_page()) as usize;
        GatheredEntries {
            first: 0,
            stride,
            unit,
            rows,
            entries: zeroed(rows * PLACES.min(stride) as usize),
        }
    }

    /// Where a logical page is, whose place is among those gathered.
    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, at: UnitAddress) {
        let page = self.unit.page_number(lpn.0);
        let place = (page % self.stride - self.first) as usize;
        let row = page / self.stride * self.unit.per_page() + self.unit.slot(UnitAddress(lpn.0));
        self.entries[place * self.rows + row as usize] = at.0 + 1;
    }

    /// Writes what was gathered into the table, and goes on to the next places.
    pub(super) fn write(&mut self, table: &mut MappingTable) {
        let places = PLACES.min(self.stride - self.first);
        for row in 0..self.rows {
            for place in 0..places {
                let entry = &mut self.entries[place as usize * self.rows + row];
                if *entry != 0 {
                    let (per_page, row) = (self.unit.per_page(), row as u32);
                    let page = row / per_page * self.stride + self.first + place;
                    let lpn = Lpn(page * per_page + row % per_page);
                    table.set(lpn, Mapping::Data(UnitAddress(*entry - 1)));
                    *entry = 0;
                }
            }
        }
        self.first += places;
    }
}
