//! Entries of the mapping table, gathered before they are written. The logical pages of a plane
//! lie far apart in the table: written plane by plane, every entry would miss the processor's
//! caches, which is most of the time of setting up a large drive.

use media::nand::Ppa;
use sim::memory::zeroed;

use super::super::lpn::Lpn;
use super::super::mapping::{Mapping, MappingTable};

/// Entries of four bytes in a cache line: so many planes are gathered at a time.
pub(super) const PLACES: u32 = 16;

/// Entries of up to [`PLACES`] neighbouring places in the order of planes.
pub(super) struct GatheredEntries {
    /// The first of the places.
    first: u32,
    /// Places of the drive: how far logical pages of one place are apart.
    stride: u32,
    /// Logical pages of a place.
    rows: usize,
    /// By place, then by row; zero is no entry, else the page and one.
    entries: Vec<u32>,
}

impl GatheredEntries {
    /// Nothing gathered yet, on a drive of `stride` places.
    pub(super) fn new(stride: u32, logical_pages: u32) -> GatheredEntries {
        let rows = logical_pages.div_ceil(stride) as usize;
        GatheredEntries {
            first: 0,
            stride,
            rows,
            entries: zeroed(rows * PLACES.min(stride) as usize),
        }
    }

    /// The page of a logical page, whose place is among those gathered.
    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, page: Ppa) {
        let place = (lpn.0 % self.stride - self.first) as usize;
        self.entries[place * self.rows + (lpn.0 / self.stride) as usize] = page.0 + 1;
    }

    /// Writes what was gathered into the table, and goes on to the next places.
    pub(super) fn write(&mut self, table: &mut MappingTable) {
        let places = PLACES.min(self.stride - self.first);
        for row in 0..self.rows {
            for place in 0..places {
                let entry = &mut self.entries[place as usize * self.rows + row];
                if *entry != 0 {
                    let lpn = Lpn(row as u32 * self.stride + self.first + place);
                    table.set(lpn, Mapping::Data(Ppa(*entry - 1)));
                    *entry = 0;
                }
            }
        }
        self.first += places;
    }
}
