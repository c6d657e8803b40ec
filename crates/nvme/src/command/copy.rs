//! The source ranges that a Copy command names, format 0 (NVM 3.3.2).

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identifier::Lba;

/// One source range of a Copy command, as its 32 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct CopyRange {
    reserved_0: [u8; 8],
    /// SLBA: the first logical block.
    pub start: U64,
    /// NLB: logical blocks, less one.
    pub last: U16,
    reserved_18: [u8; 6],
    /// ELBT: protection information, unused.
    pub protection: U32,
    /// ELBAT and ELBATM: protection information, unused.
    pub protection_tags: [U16; 2],
}

const _: () = assert!(size_of::<CopyRange>() == CopyRange::BYTES);

impl CopyRange {
    /// Bytes of a range.
    pub const BYTES: usize = 32;

    /// `blocks` logical blocks, 1 to 65536, from `start`.
    ///
    /// # Panics
    /// If `blocks` is none of these numbers.
    pub fn new(start: Lba, blocks: u32) -> CopyRange {
        assert!(
            (1..=0x1_0000).contains(&blocks),
            "a range has 1 to 65536 blocks, not {blocks}"
        );
        let mut range = CopyRange::new_zeroed();
        range.start.set(start.get());
        range.last.set((blocks - 1) as u16);
        range
    }

    /// The first logical block.
    pub fn first(&self) -> Lba {
        Lba::new(self.start.get())
    }

    /// Logical blocks, 1 to 65536.
    pub fn blocks(&self) -> u32 {
        u32::from(self.last.get()) + 1
    }

    /// The ranges that a command's data holds.
    pub fn parse(bytes: &[u8]) -> &[CopyRange] {
        let whole = bytes.len() / CopyRange::BYTES * CopyRange::BYTES;
        <[CopyRange]>::ref_from_bytes(&bytes[..whole]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_at_the_standards_offsets() {
        let range = CopyRange::new(Lba::new(0x0102_0304_0506), 0x1_0000);
        let bytes = range.as_bytes();
        assert_eq!(bytes[8..18], [6, 5, 4, 3, 2, 1, 0, 0, 0xFF, 0xFF]);
        assert_eq!(CopyRange::parse(bytes), [range]);
        assert_eq!(range.blocks(), 0x1_0000);
        assert!(CopyRange::parse(&bytes[1..]).is_empty());
    }
}
