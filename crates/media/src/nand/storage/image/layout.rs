//! Where things lie in an image file, and their records.
//!
//! ```text
//! 0        header, 4 KiB: magic, version, geometry, length and checksum of the text, checksum;
//!          at 2048 and 3072 how old the drive is, twice
//! 4096     text of the caller, 64 KiB
//! 69632    block table: 16 bytes a block
//! ...      page records: 16 bytes a page
//! ...      spare bytes of each page
//! ...      data of each page
//! ```
//! Each part begins at a multiple of 4 KiB; integers are little-endian. All-zero records are those of
//! blocks and pages never used, so a new image is a hole.

use super::checksum::crc32;
use crate::nand::array::PageState;
use crate::nand::cells::{Birth, DriveAge};
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use crate::nand::mode::ProgramMode;

pub(super) const MAGIC: [u8; 8] = *b"BITLINE\0";
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER_BYTES: usize = 4096;
/// Bytes of the caller's text in an image, at most.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
pub(super) const RECORD_BYTES: usize = 16;

/// Where the parts of an image of some geometry begin.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pages_per_block: u64,
    page_bytes: u64,
    spare_bytes: u64,
    records_at: u64,
    spares_at: u64,
    data_at: u64,
    pub(super) file_bytes: u64,
}

/// Where the block table begins.
pub(super) const BLOCKS_AT: u64 = (HEADER_BYTES + TEXT_BYTES_MAX) as u64;

impl Layout {
    pub(super) fn of(geometry: &Geometry) -> Layout {
        let align = |at: u64| at.next_multiple_of(4096);
        let pages = u64::from(geometry.blocks()) * u64::from(geometry.pages_per_block_max());
        let page_bytes = u64::from(geometry.page_bytes);
        let spare_bytes = u64::from(geometry.spare_bytes);
        let record = RECORD_BYTES as u64;
        let records_at = align(BLOCKS_AT + u64::from(geometry.blocks()) * record);
        let spares_at = align(records_at + pages * record);
        let data_at = align(spares_at + pages * spare_bytes);
        Layout {
            pages_per_block: u64::from(geometry.pages_per_block_max()),
            page_bytes,
            spare_bytes,
            records_at,
            spares_at,
            data_at,
            file_bytes: align(data_at + pages * page_bytes),
        }
    }

    pub(super) fn block_at(&self, block: BlockId) -> u64 {
        BLOCKS_AT + u64::from(block.0) * RECORD_BYTES as u64
    }

    fn index(&self, page: PageAddress) -> u64 {
        u64::from(page.block.0) * self.pages_per_block + u64::from(page.page)
    }

    pub(super) fn record_at(&self, page: PageAddress) -> u64 {
        self.records_at + self.index(page) * RECORD_BYTES as u64
    }

    pub(super) fn spare_at(&self, page: PageAddress) -> u64 {
        self.spares_at + self.index(page) * self.spare_bytes
    }

    pub(super) fn data_at(&self, page: PageAddress) -> u64 {
        self.data_at + self.index(page) * self.page_bytes
    }

    pub(super) fn block_data_bytes(&self) -> u64 {
        self.pages_per_block * self.page_bytes
    }
}

/// The geometry as the header keeps it, with the names of the keys.
pub(super) fn geometry_fields(geometry: &Geometry) -> [(&'static str, u32); 9] {
    [
        ("channels", geometry.channels),
        ("chips_per_channel", geometry.chips_per_channel),
        ("dies_per_chip", geometry.dies_per_chip),
        ("planes_per_die", geometry.planes_per_die),
        ("blocks_per_plane", geometry.blocks_per_plane),
        ("strings_per_block", geometry.strings_per_block),
        ("cells_per_string", geometry.cells_per_string),
        ("page_bytes", geometry.page_bytes),
        ("spare_bytes", geometry.spare_bytes),
    ]
}

/// The geometry of the fields in that order.
pub(super) fn geometry_of(fields: [u32; 9]) -> Geometry {
    let [
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane,
        strings_per_block,
        cells_per_string,
        page_bytes,
        spare_bytes,
    ] = fields;
    Geometry {
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane,
        strings_per_block,
        cells_per_string,
        page_bytes,
        spare_bytes,
    }
}

/// The first page of the data and record regions of a block.
pub(super) fn first_page(block: BlockId) -> PageAddress {
    PageAddress { block, page: 0 }
}

/// The table entry of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockEntry {
    pub(super) erase_count: u32,
    pub(super) flags: u8,
}

/// A page was programmed since the last erase: there may be page records.
pub(super) const IN_USE: u8 = 1;
pub(super) const NEEDS_ERASE: u8 = 2;
pub(super) const BAD: u8 = 4;

impl BlockEntry {
    pub(super) fn to_bytes(self, block: BlockId) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&self.erase_count.to_le_bytes());
        bytes[4] = self.flags;
        let check = crc32(&[&block.0.to_le_bytes(), &bytes[..8]]);
        bytes[8..12].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// The entry; `None` if it is damaged.
    pub(super) fn from_bytes(block: BlockId, bytes: &[u8]) -> Option<BlockEntry> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Some(BlockEntry::default());
        }
        let entry = BlockEntry {
            erase_count: word(bytes, 0),
            flags: bytes[4],
        };
        (entry.to_bytes(block) == bytes).then_some(entry)
    }
}

/// How old the drive is: where the two copies of that are, of which the newer counts.
pub(super) const AGES_AT: [u64; 2] = [2048, 3072];
pub(super) const AGE_BYTES: usize = 48;

/// A copy of how old the drive is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AgeEntry {
    /// Rises with each copy written; 0 for one never written.
    pub(super) number: u32,
    pub(super) age: DriveAge,
}

impl AgeEntry {
    pub(super) fn to_bytes(self) -> [u8; AGE_BYTES] {
        let mut bytes = [0; AGE_BYTES];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.age.cycles.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.age.hours.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.age.effective_hours.to_le_bytes());
        // Not a number stands for none.
        let celsius = self.age.celsius.unwrap_or(f64::NAN);
        bytes[24..32].copy_from_slice(&celsius.to_le_bytes());
        let check = crc32(&[&bytes[..AGE_BYTES - 4]]);
        bytes[AGE_BYTES - 4..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// The copy; `None` if it was never written, or not to its end.
    pub(super) fn from_bytes(bytes: &[u8; AGE_BYTES]) -> Option<AgeEntry> {
        let real = |at: usize| f64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let sound = word(bytes, AGE_BYTES - 4) == crc32(&[&bytes[..AGE_BYTES - 4]]);
        (sound && word(bytes, 0) > 0).then(|| AgeEntry {
            number: word(bytes, 0),
            age: DriveAge {
                cycles: word(bytes, 4),
                hours: real(8),
                effective_hours: real(16),
                celsius: Some(real(24)).filter(|celsius| !celsius.is_nan()),
            },
        })
    }
}

/// The record of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageEntry {
    /// The block's erase count plus one when the page was programmed; records of earlier lives of the block are void.
    pub(super) epoch: u32,
    pub(super) state: PageState,
    pub(super) mode: ProgramMode,
    pub(super) spare_bytes: u16,
    /// When and how it was programmed.
    pub(super) birth: Birth,
}

impl PageEntry {
    pub(super) fn to_bytes(self, page: PageAddress, spare: &[u8]) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[4] = self.state as u8;
        bytes[5] = self.mode as u8;
        bytes[6..8].copy_from_slice(&self.spare_bytes.to_le_bytes());
        let birth = self.birth.0.to_le_bytes();
        bytes[12..].copy_from_slice(&birth);
        // A drive that never aged has the same checksums as before drives could.
        let birth = if birth == [0; 4] { &[][..] } else { &birth };
        let address = [page.block.0.to_le_bytes(), page.page.to_le_bytes()];
        let check = crc32(&[address.as_flattened(), &bytes[..8], spare, birth]);
        bytes[8..12].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// The record, its checksum yet to be compared; `None` if no record looks so.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<PageEntry> {
        Some(PageEntry {
            epoch: word(bytes, 0),
            state: match bytes[4] {
                1 => PageState::Programmed,
                2 => PageState::Torn,
                3 => PageState::Failed,
                _ => return None,
            },
            mode: ProgramMode::from_code(bytes[5])?,
            spare_bytes: u16::from_le_bytes([bytes[6], bytes[7]]),
            birth: Birth(word(bytes, 12)),
        })
    }
}

/// The little-endian word at byte `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
