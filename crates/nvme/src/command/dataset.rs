//! The ranges that a Dataset Management command names (NVM 3.3.3).

use std::mem::size_of;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identifier::Lba;
use crate::identify::MAX_DATASET_RANGES;
use crate::status::Status;

/// One range of a Dataset Management command, as its 16 bytes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct DatasetRange {
    /// Access hints, which a drive may disregard.
    pub context_attributes: U32,
    /// Logical blocks in the range.
    pub block_count: U32,
    /// First logical block.
    pub start: U64,
}

const _: () = assert!(size_of::<DatasetRange>() == 16);

impl DatasetRange {
    /// Bytes of a range.
    pub const BYTES: usize = 16;

    /// `block_count` logical blocks from `start`, without hints.
    pub fn new(start: Lba, block_count: u32) -> DatasetRange {
        DatasetRange {
            context_attributes: U32::ZERO,
            block_count: block_count.into(),
            start: start.get().into(),
        }
    }

    /// First logical block.
    pub fn first(&self) -> Lba {
        Lba::new(self.start.get())
    }

    /// The ranges a command's data holds, without copying them.
    ///
    /// # Errors
    /// Invalid Field if `bytes` is not a whole number of 1 to 256 ranges.
    pub fn parse(bytes: &[u8]) -> Result<&[DatasetRange], Status> {
        let ranges = <[DatasetRange]>::ref_from_bytes(bytes).map_err(|_| Status::INVALID_FIELD)?;
        if ranges.is_empty() || ranges.len() > MAX_DATASET_RANGES {
            return Err(Status::INVALID_FIELD);
        }
        Ok(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ranges_at_the_standards_offsets() {
        let mut bytes = [0u8; 32];
        bytes[..16].copy_from_slice(&[4, 3, 2, 1, 8, 7, 6, 5, 16, 15, 14, 13, 12, 11, 10, 9]);
        let ranges = DatasetRange::parse(&bytes).expect("two whole ranges");
        assert_eq!(ranges.len(), 2);
        assert_eq!(ranges[0].context_attributes.get(), 0x0102_0304);
        assert_eq!(ranges[0].block_count.get(), 0x0506_0708);
        assert_eq!(ranges[0].first().get(), 0x090A_0B0C_0D0E_0F10);
        assert_eq!(ranges[1], DatasetRange::default());
    }

    #[test]
    fn refuses_other_lengths() {
        assert!(DatasetRange::parse(&[]).is_err());
        assert!(DatasetRange::parse(&[0; 15]).is_err());
        assert!(DatasetRange::parse(&[0; 24]).is_err());
        assert!(DatasetRange::parse(&[0; 4096]).is_ok());
        assert!(DatasetRange::parse(&[0; 4112]).is_err());
    }
}
