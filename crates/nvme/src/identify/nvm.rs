//! What Identify Controller tells of the NVM command set (NVM 4.1.5.4).

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identify::{IDENTIFY_BYTES, MAX_DATASET_RANGES};

const _: () = assert!(size_of::<IdentifyNvmController>() == IDENTIFY_BYTES);

/// The Identify Controller page of the NVM command set, CNS 06h (NVM 4.1.5.4).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IdentifyNvmController {
    /// VSL: the most of a Verify, log2 of memory pages; 0 is no limit.
    pub verify_limit: u8,
    /// WZSL: the most of a Write Zeroes, likewise.
    pub write_zeroes_limit: u8,
    /// WUSL: the most of a Write Uncorrectable, likewise.
    pub write_uncorrectable_limit: u8,
    /// DMRL: the most ranges of a Dataset Management; 0 is no limit.
    pub dataset_ranges_limit: u8,
    /// DMRSL: the most blocks of a range; 0 is no limit.
    pub dataset_range_blocks_limit: U32,
    /// DMSL: the most blocks of all ranges; 0 is no limit.
    pub dataset_blocks_limit: U64,
    reserved_16: [u8; 4080],
}

impl IdentifyNvmController {
    /// The page of a drive that sets no limits but those of the commands themselves.
    pub fn unlimited() -> IdentifyNvmController {
        let mut page = IdentifyNvmController::new_zeroed();
        page.dataset_ranges_limit = (MAX_DATASET_RANGES - 1) as u8;
        page
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn fields_lie_at_the_standards_offsets() {
        assert_eq!(offset_of!(IdentifyNvmController, dataset_blocks_limit), 8);
        assert_eq!(
            IdentifyNvmController::unlimited().as_bytes()[3],
            255,
            "DMRL"
        );
    }
}
