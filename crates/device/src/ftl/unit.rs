//! The mapping unit: what one entry of the mapping table stands for, a logical page. A physical page has one or more
//! places for them, its *slots*; what is in them need not belong together.

use std::ops::Range;

use media::nand::{Geometry, Ppa};

/// The most units of a physical page: what its record can list.
pub const UNITS_PER_PAGE_MAX: u32 = 16;

/// Where a unit is: a slot of a physical page, all of them numbered one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitAddress(pub u32);

/// Slots of one physical page, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots(u32);

/// How long a logical page is, and what follows from that: bytes, bits, logical pages and places of them are
/// converted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingUnit {
    bytes: u32,
    /// Log2 of its bytes, where these are a power of two.
    shift: Option<u32>,
    /// Log2 of the units of a physical page.
    page_shift: u32,
}

impl MappingUnit {
    /// Units of so many bytes on a drive of this geometry; 0 stands for a physical page. What divides a page into no
    /// such parts ([`MappingUnit::divides`]) stands for a page, too.
    pub fn of(geometry: &Geometry, bytes: u32) -> MappingUnit {
        let per_page = match MappingUnit::divides(geometry, bytes) {
            true if bytes > 0 => geometry.page_bytes / bytes,
            _ => 1,
        };
        let bytes = geometry.page_bytes / per_page;
        MappingUnit {
            bytes,
            shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()),
            page_shift: per_page.trailing_zeros(),
        }
    }

    /// Whether units can have so many bytes: a page, which 0 stands for too, or a half, a quarter, an eighth or a sixteenth
    /// of it.
    pub fn divides(geometry: &Geometry, bytes: u32) -> bool {
        let page = geometry.page_bytes;
        let mut parts = (0..=UNITS_PER_PAGE_MAX.ilog2()).map(|shift| 1 << shift);
        bytes == 0 || parts.any(|parts: u32| page.is_multiple_of(parts) && page / parts == bytes)
    }

    /// The key of the configuration that says how long it is.
    pub fn key(self) -> &'static str {
        match self.is_page() {
            true => "nand.geometry.page_bytes",
            false => "ftl.mapping_unit_bytes",
        }
    }

    /// Units of a physical page.
    #[inline]
    pub fn per_page(self) -> u32 {
        1 << self.page_shift
    }

    /// Whether a unit is a whole physical page.
    #[inline]
    pub fn is_page(self) -> bool {
        self.page_shift == 0
    }

    /// Bytes of a physical page.
    #[inline]
    pub fn page_bytes(self) -> u32 {
        self.bytes << self.page_shift
    }

    /// A slot of a page.
    #[inline]
    pub fn at(self, page: Ppa, slot: u32) -> UnitAddress {
        debug_assert!(slot < self.per_page());
        UnitAddress((page.0 << self.page_shift) | slot)
    }

    /// The page that a unit is in.
    #[inline]
    pub fn page(self, unit: UnitAddress) -> Ppa {
        Ppa(unit.0 >> self.page_shift)
    }

    /// The slot that a unit is in.
    #[inline]
    pub fn slot(self, unit: UnitAddress) -> u32 {
        unit.0 & (self.per_page() - 1)
    }

    /// Where in its page a unit begins, in bytes.
    #[inline]
    pub fn column(self, unit: UnitAddress) -> u32 {
        self.slot(unit) * self.bytes
    }

    /// Where in buffers of a page, filled one after another, a unit of this number begins.
    #[inline]
    pub fn base(self, number: u32) -> u32 {
        (number & (self.per_page() - 1)) * self.bytes
    }

    /// All slots of a page.
    #[inline]
    pub(super) fn all(self) -> Slots {
        Slots::first(self.per_page())
    }

    /// The number that a logical page has among those of the size of a physical page.
    #[inline]
    pub fn page_number(self, lpn: u32) -> u32 {
        lpn >> self.page_shift
    }

    /// Physical pages that so many units take at least.
    pub fn pages_of(self, units: u32) -> u32 {
        units.div_ceil(self.per_page())
    }

    /// Bytes of a unit.
    #[inline]
    pub fn bytes(self) -> u32 {
        self.bytes
    }

    /// Logical blocks of a unit; they divide it.
    pub fn blocks(self, block_bytes: u32) -> u64 {
        u64::from(self.bytes / block_bytes)
    }

    /// The unit that a byte is in, and its place there.
    #[inline]
    pub fn locate(self, byte: u64) -> (u32, u32) {
        match self.shift {
            Some(shift) => ((byte >> shift) as u32, byte as u32 & (self.bytes - 1)),
            None => {
                let bytes = u64::from(self.bytes);
                ((byte / bytes) as u32, (byte % bytes) as u32)
            }
        }
    }

    /// The first byte of a unit.
    #[inline]
    pub fn start(self, unit: u32) -> u64 {
        u64::from(unit) * u64::from(self.bytes)
    }

    /// The units that a range of bytes touches.
    #[inline]
    pub fn touched(self, bytes: &Range<u64>) -> Range<u32> {
        let last = self.locate(bytes.end + u64::from(self.bytes) - 1).0;
        self.locate(bytes.start).0..last
    }

    /// The units that a range of bytes covers entirely.
    pub fn covered(self, bytes: &Range<u64>) -> Range<u32> {
        let start = self.locate(bytes.start + u64::from(self.bytes) - 1).0;
        start..self.locate(bytes.end).0.max(start)
    }

    /// The unit that begins with a byte; none if it is within one.
    pub fn beginning_at(self, byte: u64) -> Option<u32> {
        let (unit, place) = self.locate(byte);
        (place == 0).then_some(unit)
    }

    /// Units that so many bits take.
    pub fn of_bits(self, bits: u64) -> u64 {
        bits.div_ceil(u64::from(self.bytes) * 8)
    }
}

impl Slots {
    pub(super) const NONE: Slots = Slots(0);

    /// The first so many.
    #[inline]
    pub(super) fn first(count: u32) -> Slots {
        Slots((1 << count) - 1)
    }

    /// These and one more.
    #[inline]
    pub(super) fn and(self, slot: u32) -> Slots {
        Slots(self.0 | 1 << slot)
    }

    /// Those of them from a slot on.
    #[inline]
    pub(super) fn from(self, slot: u32) -> Slots {
        Slots(self.0 & !Slots::first(slot).0)
    }

    /// The lowest of them, at most so many.
    pub(super) fn lowest(self, count: u32) -> Slots {
        self.iter()
            .take(count as usize)
            .fold(Slots::NONE, Slots::and)
    }

    /// These without others.
    pub(super) fn without(self, others: Slots) -> Slots {
        Slots(self.0 & !others.0)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The slots of a word of flags from a bit on.
    #[inline]
    pub(super) fn from_word(word: u64, bit: u32, all: Slots) -> Slots {
        Slots((word >> bit) as u32 & all.0)
    }

    /// Their flags in a word, from a bit on.
    #[inline]
    pub(super) fn in_word(self, bit: u32) -> u64 {
        u64::from(self.0) << bit
    }

    /// Each of them, ascending.
    #[inline]
    pub(super) fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let slot = (rest != 0).then(|| rest.trailing_zeros());
            rest &= rest.wrapping_sub(1);
            slot
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A drive of one plane.
    pub(in crate::ftl) fn geometry(page_bytes: u32) -> Geometry {
        Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 8,
            strings_per_block: 1,
            cells_per_string: 4,
            page_bytes,
            spare_bytes: 64,
            bits_per_cell_max: 3,
        }
    }

    #[test]
    fn units_are_slots_of_pages() {
        let unit = MappingUnit::of(&geometry(16384), 4096);
        assert_eq!((unit.bytes(), unit.per_page()), (4096, 4));
        let third = unit.at(Ppa(7), 2);
        assert_eq!(third, UnitAddress(30));
        assert_eq!((unit.page(third), unit.slot(third)), (Ppa(7), 2));
        assert_eq!((unit.column(third), unit.pages_of(9)), (8192, 3));
        assert_eq!(unit.all().iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        let page = MappingUnit::of(&geometry(18432), 0);
        assert_eq!((page.bytes(), page.per_page()), (18432, 1));
        assert_eq!(page.at(Ppa(7), 0), UnitAddress(7));
    }

    #[test]
    fn parts_of_a_page_are_halves_of_halves() {
        let fits = |page, bytes| MappingUnit::divides(&geometry(page), bytes);
        assert!(
            [0, 1024, 2048, 4096, 8192, 16384]
                .iter()
                .all(|bytes| fits(16384, *bytes))
        );
        assert!([512, 3000, 32768].iter().all(|bytes| !fits(16384, *bytes)));
        assert!(fits(18432, 9216) && !fits(18432, 6144));
    }

    #[test]
    fn ranges_of_bytes_touch_and_cover_units() {
        for bytes in [4096u64, 3 * 512] {
            let unit = MappingUnit::of(&geometry(4 * bytes as u32), bytes as u32);
            for start in 0..3 * bytes / 256 {
                for end in start..4 * bytes / 256 {
                    let range = start * 256..end * 256;
                    // By counting up, byte 256 by byte 256.
                    let touches = |page: u64| {
                        range.start < (page + 1) * bytes && page * bytes < range.end && start < end
                    };
                    let covers =
                        |page: u64| range.start <= page * bytes && (page + 1) * bytes <= range.end;
                    let touched: Vec<u32> = (0..9)
                        .filter(|page| touches(*page))
                        .map(|p| p as u32)
                        .collect();
                    let covered: Vec<u32> = (0..9)
                        .filter(|page| covers(*page))
                        .map(|p| p as u32)
                        .collect();
                    if start < end {
                        assert_eq!(unit.touched(&range).collect::<Vec<_>>(), touched);
                    }
                    assert_eq!(unit.covered(&range).collect::<Vec<_>>(), covered);
                    assert_eq!(u64::from(unit.locate(range.start).0), range.start / bytes);
                    assert_eq!(u64::from(unit.locate(range.start).1), range.start % bytes);
                }
            }
            assert_eq!(unit.beginning_at(bytes * 3), Some(3));
            assert_eq!(unit.beginning_at(bytes * 3 + 1), None);
            assert_eq!(
                (unit.of_bits(bytes * 8), unit.of_bits(bytes * 8 + 1)),
                (1, 2)
            );
            assert_eq!(unit.start(5), 5 * bytes);
        }
    }
}
