//! The mapping unit: what one entry of the mapping table stands for, a logical page. A physical page holds one or more of
//! them; today one.

use std::ops::Range;

use media::nand::Geometry;

/// How long a logical page is, and what follows from that: bytes, bits and logical pages are converted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingUnit {
    bytes: u32,
    /// Log2 of its bytes, where these are a power of two.
    shift: Option<u32>,
}

impl MappingUnit {
    /// The unit of a drive of this geometry: a physical page.
    pub fn of(geometry: &Geometry) -> MappingUnit {
        MappingUnit::new(geometry.page_bytes)
    }

    /// Units of so many bytes.
    pub fn new(bytes: u32) -> MappingUnit {
        MappingUnit {
            bytes,
            shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()),
        }
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

    /// Units that so many bytes take.
    pub fn of_bytes(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_bytes_touch_and_cover_units() {
        for bytes in [4096u64, 3 * 512] {
            let unit = MappingUnit::new(bytes as u32);
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
