//! Identify Namespace (NVM 4.1.5.1).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identify::IDENTIFY_BYTES;

/// NSFEAT bit 0: blocks are allocated as they are written.
const THIN_PROVISIONING: u8 = 1 << 0;
/// NSFEAT bit 4: the preferred granularities are told.
const PREFERENCES_TOLD: u8 = 1 << 4;
/// DLFEAT bits 2:0 = 001b: deallocated blocks read as zeroes.
const DEALLOCATED_READS_ZEROES: u8 = 1;
/// DLFEAT bit 3: Write Zeroes can deallocate.
const WRITE_ZEROES_DEALLOCATES: u8 = 1 << 3;
/// FPI bit 7: the progress of a format is told.
const PROGRESS_TOLD: u8 = 1 << 7;

/// The Identify Namespace page. Fields this drive has no use for are reserved here and zero.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IdentifyNamespace {
    /// NSZE: size, logical blocks.
    pub size: U64,
    /// NCAP: blocks that may be allocated at once.
    pub capacity: U64,
    /// NUSE: blocks allocated.
    pub utilization: U64,
    /// NSFEAT: features.
    pub features: u8,
    /// NLBAF: LBA formats, less one.
    pub format_count: u8,
    /// FLBAS: the format in use, index in bits 3:0 and 6:5.
    pub format: u8,
    /// MC: metadata capabilities.
    pub metadata: u8,
    /// DPC: protection capabilities.
    pub protection_capabilities: u8,
    /// DPS: protection in use.
    pub protection: u8,
    /// NMIC: multi-path and sharing.
    pub sharing: u8,
    /// RESCAP: reservations.
    pub reservations: u8,
    /// FPI: format progress.
    pub format_progress: u8,
    /// DLFEAT: what deallocated blocks read as.
    pub deallocate_features: u8,
    /// NAWUN: atomic write, less one block.
    pub atomic_write: U16,
    /// NAWUPF: the same through a power loss.
    pub atomic_write_power_fail: U16,
    /// NACWU: atomic compare and write.
    pub atomic_compare_write: U16,
    /// NABSN: atomic boundary size.
    pub atomic_boundary: U16,
    /// NABO: atomic boundary offset.
    pub atomic_boundary_offset: U16,
    /// NABSPF: atomic boundary size through a power loss.
    pub atomic_boundary_power_fail: U16,
    /// NOIOB: optimal I/O boundary, blocks.
    pub optimal_boundary: U16,
    /// NVMCAP: capacity in bytes, a 128-bit number.
    pub capacity_bytes: [U64; 2],
    /// NPWG: preferred write granularity, less one block.
    pub write_granularity: U16,
    /// NPWA: preferred write alignment, less one block.
    pub write_alignment: U16,
    /// NPDG: preferred deallocate granularity, less one block.
    pub deallocate_granularity: U16,
    /// NPDA: preferred deallocate alignment, less one block.
    pub deallocate_alignment: U16,
    /// NOWS: optimal write size, less one block.
    pub optimal_write: U16,
    /// MSSRL: the most blocks of one source range of a Copy.
    pub copy_range_blocks: U16,
    /// MCL: the most blocks of one Copy.
    pub copy_blocks: U32,
    /// MSRC: the most source ranges of one Copy, less one.
    pub copy_ranges: u8,
    reserved_81: [u8; 11],
    /// ANAGRPID: asymmetric access group.
    pub access_group: U32,
    reserved_96: [u8; 3],
    /// NSATTR: attributes, write protection.
    pub attributes: u8,
    /// NVMSETID.
    pub nvm_set: U16,
    /// ENDGID.
    pub endurance_group: U16,
    /// NGUID: globally unique identifier, most significant byte first.
    pub nguid: [u8; 16],
    /// EUI64: extended unique identifier, most significant byte first.
    pub eui64: [u8; 8],
    /// LBAF0 to LBAF63.
    pub formats: [LbaFormat; 64],
    /// Vendor specific.
    pub vendor: [u8; 3712],
}

/// An LBA format: the size of a logical block and of its metadata.
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
pub struct LbaFormat {
    /// MS: metadata, bytes.
    pub metadata_bytes: U16,
    /// LBADS: block size, log2 bytes.
    pub block_exponent: u8,
    /// RP: relative performance, 0 is best.
    pub performance: u8,
}

const _: () = {
    assert!(size_of::<IdentifyNamespace>() == IDENTIFY_BYTES);
    assert!(size_of::<LbaFormat>() == 4);
    assert!(offset_of!(IdentifyNamespace, nguid) == 104);
    assert!(offset_of!(IdentifyNamespace, formats) == 128);
    assert!(offset_of!(IdentifyNamespace, vendor) == 384);
};

/// Bytes of a logical block in each LBA format, by index.
pub const LBA_FORMAT_BYTES: [u32; 4] = [512, 1024, 2048, 4096];

/// The LBA format of blocks of this many bytes.
pub fn format_index(block_bytes: u32) -> Option<u8> {
    let place = LBA_FORMAT_BYTES
        .iter()
        .position(|bytes| *bytes == block_bytes);
    place.map(|index| index as u8)
}

/// The most that one Copy command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyLimits {
    /// Blocks of a source range.
    pub range_blocks: u16,
    /// Blocks of all source ranges.
    pub blocks: u32,
    /// Source ranges, 1 to 256.
    pub ranges: u16,
}

/// What a drive has to say of a namespace; [`IdentifyNamespace::new`] fills in the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceDescription {
    /// Bytes of a logical block, one of [`LBA_FORMAT_BYTES`].
    pub block_bytes: u32,
    /// The largest block that the namespace can be formatted to, in bytes.
    pub block_bytes_max: u32,
    /// Bytes, whatever the format.
    pub capacity_bytes: u64,
    /// What is left of a Format NVM, percent; 0 if none is under way.
    pub format_left_percent: u8,
    /// Limits of Copy.
    pub copy: CopyLimits,
    /// Size, logical blocks.
    pub blocks: u64,
    /// Blocks allocated.
    pub allocated_blocks: u64,
    /// Blocks the drive writes at once, at least 1: granularity of choice.
    pub preferred_write_blocks: u16,
    /// Blocks of which it knows the place, at least 1: what is aligned to them is written without a read, and deallocated.
    pub unit_blocks: u16,
    /// The globally unique identifier; zero is none.
    pub nguid: [u8; 16],
    /// The extended unique identifier; zero is none.
    pub eui64: [u8; 8],
}

impl IdentifyNamespace {
    /// The page of a thin namespace whose deallocated blocks read as zeroes.
    ///
    /// # Panics
    /// If `block_bytes` is no format's.
    pub fn new(description: &NamespaceDescription) -> IdentifyNamespace {
        let block_bytes = description.block_bytes;
        let format = format_index(block_bytes);
        let mut page = IdentifyNamespace::new_zeroed();
        page.size.set(description.blocks);
        page.capacity.set(description.blocks);
        page.utilization.set(description.allocated_blocks);
        page.features = THIN_PROVISIONING | PREFERENCES_TOLD;
        page.deallocate_features = DEALLOCATED_READS_ZEROES | WRITE_ZEROES_DEALLOCATES;
        page.format_count = LBA_FORMAT_BYTES.len() as u8 - 1;
        page.format =
            format.unwrap_or_else(|| panic!("there are no blocks of {block_bytes} bytes"));
        page.format_progress = PROGRESS_TOLD | description.format_left_percent;
        page.capacity_bytes[0].set(description.capacity_bytes);
        let preferred = description.preferred_write_blocks.saturating_sub(1);
        let unit = description.unit_blocks.saturating_sub(1);
        page.write_granularity.set(preferred);
        page.write_alignment.set(unit);
        page.deallocate_granularity.set(unit);
        page.deallocate_alignment.set(unit);
        page.optimal_write.set(preferred);
        page.nguid = description.nguid;
        page.eui64 = description.eui64;
        page.copy_range_blocks.set(description.copy.range_blocks);
        page.copy_blocks.set(description.copy.blocks);
        page.copy_ranges = (description.copy.ranges - 1) as u8;
        // A format of exponent 0 is not available.
        for (format, bytes) in page.formats.iter_mut().zip(LBA_FORMAT_BYTES) {
            if bytes <= description.block_bytes_max {
                format.block_exponent = bytes.ilog2() as u8;
            }
        }
        page
    }

    /// NPWG as a number of blocks: what the drive prefers to write at once; 1 if it does not say.
    pub fn preferred_write_blocks(&self) -> u32 {
        match self.features & PREFERENCES_TOLD {
            0 => 1,
            _ => u32::from(self.write_granularity.get()) + 1,
        }
    }

    /// NPDG as a number of blocks: what the drive knows the place of, a logical page; 1 if it does not say.
    pub fn unit_blocks(&self) -> u32 {
        match self.features & PREFERENCES_TOLD {
            0 => 1,
            _ => u32::from(self.deallocate_granularity.get()) + 1,
        }
    }

    /// Bytes of a logical block in the format in use; none if the page is malformed.
    pub fn block_bytes(&self) -> Option<u64> {
        let index = self.format & 0xF | (self.format >> 5 & 3) << 4;
        let exponent = self.formats[usize::from(index)].block_exponent;
        1u64.checked_shl(exponent.into()).filter(|_| exponent >= 9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_at_the_standards_offsets() {
        let namespace = IdentifyNamespace::new(&NamespaceDescription {
            block_bytes: 4096,
            block_bytes_max: 4096,
            capacity_bytes: 0x10_2030_4050_6000,
            format_left_percent: 40,
            copy: CopyLimits {
                range_blocks: 0x102,
                blocks: 0x304,
                ranges: 128,
            },
            blocks: 0x0102_0304_0506,
            allocated_blocks: 0x11,
            preferred_write_blocks: 4,
            unit_blocks: 2,
            nguid: *b"0123456789abcdef",
            eui64: *b"ABCDEFGH",
        });
        let page = namespace.as_bytes();
        assert_eq!(page[0..8], [6, 5, 4, 3, 2, 1, 0, 0], "NSZE");
        assert_eq!(page[8..16], page[0..8], "NCAP");
        assert_eq!(page[16..18], [0x11, 0], "NUSE");
        assert_eq!(page[24..27], [0b1_0001, 3, 3], "NSFEAT, NLBAF, FLBAS");
        assert_eq!(page[32], 0x80 + 40, "FPI");
        assert_eq!(page[33], 0b1001, "DLFEAT");
        assert_eq!(page[74..81], [2, 1, 4, 3, 0, 0, 127], "MSSRL, MCL, MSRC");
        assert_eq!(
            page[48..56],
            [0, 0x60, 0x50, 0x40, 0x30, 0x20, 0x10, 0],
            "NVMCAP"
        );
        assert_eq!(page[64..74], [3, 0, 1, 0, 1, 0, 1, 0, 3, 0], "NPWG to NOWS");
        assert_eq!(&page[104..120], b"0123456789abcdef");
        assert_eq!(&page[120..128], b"ABCDEFGH");
        assert_eq!(page[128..132], [0, 0, 9, 0], "LBAF0");
        assert_eq!(page[140..148], [0, 0, 12, 0, 0, 0, 0, 0], "LBAF3");
        assert_eq!(namespace.block_bytes(), Some(4096));
        assert_eq!(namespace.unit_blocks(), 2);
    }

    #[test]
    fn named_fields_lie_at_the_standards_offsets() {
        assert_eq!(offset_of!(IdentifyNamespace, metadata), 27);
        assert_eq!(offset_of!(IdentifyNamespace, sharing), 30);
        assert_eq!(offset_of!(IdentifyNamespace, atomic_write), 34);
        assert_eq!(offset_of!(IdentifyNamespace, optimal_boundary), 46);
        assert_eq!(offset_of!(IdentifyNamespace, access_group), 92);
        assert_eq!(offset_of!(IdentifyNamespace, attributes), 99);
        assert_eq!(offset_of!(IdentifyNamespace, nvm_set), 100);
        assert_eq!(offset_of!(IdentifyNamespace, endurance_group), 102);
    }
}
