//! Where names and values lie: a name on a bitline, its bits one below the other; values in logical pages, row after row.
//!
//! A *row* is as many entries as a flash page has bits, and all that its names take lies in one plane. A bit of a name is a
//! pair of cells: the first is low for a 1, the second for a 0, both for a don't care. The last pair of a string says in
//! the first slice of a name whether the entry is there; so a string holds a bit less than it has pairs (the native name
//! size, ANVIL 4.3), and longer names are cut into *slices*, one a string: the strings of a block first, then further blocks.

use std::ops::Range;

use media::nand::{BlockId, DieId, Geometry, PageAddress, PlaneId};

use crate::ftl::{Lpn, MappingUnit};

/// Where the bits of names lie in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameLayout {
    /// Bits of a name in a string.
    native: u32,
    strings: u32,
}

/// A string of a block of names, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SliceAt {
    /// Which block of the names of a row.
    pub(super) block: usize,
    /// Which string of it.
    pub(super) string: u32,
}

impl NameLayout {
    pub(super) fn new(geometry: &Geometry) -> NameLayout {
        NameLayout {
            native: (geometry.cells_per_string / 2).saturating_sub(1),
            strings: geometry.strings_per_block,
        }
    }

    /// Whether a string has room for a bit and the one that says whether the entry is there.
    pub(super) fn is_possible(&self) -> bool {
        self.native > 0
    }

    /// Slices of names of so many bits.
    pub(super) fn slices(&self, bits: u32) -> u32 {
        bits.div_ceil(self.native)
    }

    /// Blocks that the names of a row take.
    pub(super) fn blocks(&self, bits: u32) -> usize {
        self.slices(bits).div_ceil(self.strings) as usize
    }

    pub(super) fn slice(&self, slice: u32) -> SliceAt {
        SliceAt {
            block: (slice / self.strings) as usize,
            string: slice % self.strings,
        }
    }

    /// Slices in a block of the names of a row.
    pub(super) fn slices_of(&self, bits: u32, block: usize) -> Range<u32> {
        let first = block as u32 * self.strings;
        first..(first + self.strings).min(self.slices(bits))
    }

    /// The slice that a bit is in, and its pair there.
    pub(super) fn pair_of(&self, bit: u32) -> (u32, u32) {
        (bit / self.native, bit % self.native)
    }

    /// The bits of a slice.
    pub(super) fn bits_of(&self, bits: u32, slice: u32) -> Range<u32> {
        slice * self.native..((slice + 1) * self.native).min(bits)
    }

    /// The layer of the first cell of the pair that says whether an entry is there.
    pub(super) fn valid_layer(&self) -> u32 {
        2 * self.native
    }

    /// The page of a slice at a layer.
    pub(super) fn page(
        &self,
        geometry: &Geometry,
        blocks: &[BlockId],
        slice: u32,
        layer: u32,
    ) -> PageAddress {
        let at = self.slice(slice);
        PageAddress {
            block: blocks[at.block],
            page: geometry.page_at(at.string, layer),
        }
    }
}

/// Where rows go in turn: to different channels first, for their match vectors cross these, then to different dies of a
/// channel, then to different planes of a die.
pub(super) fn plane_of_turn(geometry: &Geometry, turn: u32) -> PlaneId {
    let (dies, channels) = (geometry.dies(), geometry.channels);
    let number = turn % dies;
    let die = DieId(number % channels * geometry.dies_per_channel() + number / channels);
    geometry.plane_of_die(die, turn / dies % geometry.planes_per_die)
}

/// Where the values of a data region lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueLayout {
    /// The first logical page.
    pub(super) first: Lpn,
    /// Bytes of a value.
    pub(super) value_bytes: u32,
    /// Entries of a row.
    pub(super) row_names: u32,
    unit_bytes: u32,
}

/// Where a value begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueAt {
    pub(super) lpn: Lpn,
    pub(super) column: u32,
}

impl ValueLayout {
    pub(super) fn new(
        first: Lpn,
        value_bytes: u32,
        row_names: u32,
        unit: MappingUnit,
    ) -> ValueLayout {
        ValueLayout {
            first,
            value_bytes,
            row_names,
            unit_bytes: unit.bytes(),
        }
    }

    /// Values in a logical page; 0 if one takes several.
    pub(super) fn per_page(&self) -> u32 {
        self.unit_bytes / self.value_bytes
    }

    /// Bytes of a logical page.
    pub(super) fn page_bytes(&self) -> u32 {
        self.unit_bytes
    }

    /// Logical pages from the values of one row to those of the next.
    pub(super) fn row_pages(&self) -> u64 {
        let names = u64::from(self.row_names);
        match self.per_page() {
            0 => names * u64::from(self.value_bytes.div_ceil(self.unit_bytes)),
            per_page => names.div_ceil(per_page.into()),
        }
    }

    /// Where the value of an entry begins.
    pub(super) fn value(&self, entry: u32) -> ValueAt {
        let (row, index) = (entry / self.row_names, entry % self.row_names);
        let (page, place) = match self.per_page() {
            0 => (index * self.value_bytes.div_ceil(self.unit_bytes), 0),
            per_page => (index / per_page, index % per_page),
        };
        ValueAt {
            lpn: Lpn(self.first.0 + row * self.row_pages() as u32 + page),
            column: place * self.value_bytes,
        }
    }

    /// The pieces of logical pages that bytes of an entry's value are: page, first byte and bytes of each.
    pub(super) fn pieces(
        &self,
        entry: u32,
        bytes: Range<u32>,
    ) -> impl Iterator<Item = (Lpn, u32, u32)> {
        let ValueAt { lpn, column } = self.value(entry);
        let unit = u64::from(self.unit_bytes);
        let (start, end) = (
            u64::from(column + bytes.start),
            u64::from(column) + u64::from(bytes.end),
        );
        (start / unit..end.div_ceil(unit)).map(move |page| {
            let (first, last) = (start.max(page * unit), end.min((page + 1) * unit));
            let column = (first - page * unit) as u32;
            (Lpn(lpn.0 + page as u32), column, (last - first) as u32)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(value_bytes: u32, unit_bytes: u32) -> ValueLayout {
        ValueLayout {
            first: Lpn(100),
            value_bytes,
            row_names: 10,
            unit_bytes,
        }
    }

    #[test]
    fn no_value_crosses_a_page_unless_it_is_longer() {
        let short = values(100, 256);
        assert_eq!((short.per_page(), short.row_pages()), (2, 5));
        let at = |lpn, column| ValueAt {
            lpn: Lpn(lpn),
            column,
        };
        assert_eq!(short.value(3), at(101, 100));
        assert_eq!(short.value(10), at(105, 0));
        let long = values(600, 256);
        assert_eq!((long.per_page(), long.row_pages()), (0, 30));
        assert_eq!(long.value(11), at(133, 0));
        let pieces: Vec<_> = long.pieces(11, 200..600).collect();
        let expected = [(133, 200, 56), (134, 0, 256), (135, 0, 88)];
        assert_eq!(
            pieces,
            expected.map(|(lpn, column, bytes)| (Lpn(lpn), column, bytes))
        );
        assert_eq!(
            short.pieces(3, 10..20).collect::<Vec<_>>(),
            [(Lpn(101), 110, 10)]
        );
    }

    #[test]
    fn rows_go_to_all_channels_before_two_are_on_one() {
        let geometry = Geometry {
            channels: 3,
            chips_per_channel: 1,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 8,
            strings_per_block: 1,
            cells_per_string: 4,
            page_bytes: 64,
            spare_bytes: 32,
            bits_per_cell_max: 1,
        };
        let place = |turn| {
            let plane = plane_of_turn(&geometry, turn);
            let die = geometry.die_of_plane(plane);
            (
                geometry.channel_of_die(die).0,
                die.0,
                geometry.plane_in_die(plane),
            )
        };
        let places: Vec<_> = (0..13).map(place).collect();
        let expected = [
            (0, 0, 0),
            (1, 2, 0),
            (2, 4, 0),
            (0, 1, 0),
            (1, 3, 0),
            (2, 5, 0),
            (0, 0, 1),
        ];
        assert_eq!(places[..7], expected);
        assert_eq!(places[12], places[0]);
    }

    #[test]
    fn bits_fill_strings_and_then_blocks() {
        let layout = NameLayout {
            native: 5,
            strings: 2,
        };
        assert_eq!(
            (layout.slices(5), layout.slices(6), layout.slices(21)),
            (1, 2, 5)
        );
        assert_eq!((layout.blocks(10), layout.blocks(11)), (1, 2));
        assert_eq!(layout.pair_of(13), (2, 3));
        assert_eq!(
            layout.slice(3),
            SliceAt {
                block: 1,
                string: 1
            }
        );
        assert_eq!(layout.bits_of(13, 2), 10..13);
        assert_eq!(
            (layout.slices_of(21, 1), layout.slices_of(21, 2)),
            (2..4, 4..5)
        );
    }
}
