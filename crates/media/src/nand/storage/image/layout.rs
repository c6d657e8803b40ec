//! Where things lie in an image file.
//!
//! ```text
//! 0        header, 4 KiB: magic, versions, geometry, length and checksum of the text, checksum
//! 4096     text of the caller, 64 KiB
//! 69632    two seals, 4 KiB each
//! 77824    the number of the last change, 4 KiB
//! 81920    first copy of the records: age of the drive, blocks, pages, long spare bytes
//! ...      data of each page
//! ...      second copy of the records
//! ...      the seals again
//! ...      header and text again
//! ```
//! Each part begins at a multiple of 4 KiB; integers are little-endian. All-zero records are those of
//! blocks and pages never used, so a new image is mostly a hole. A record never straddles a sector of 512
//! bytes, and the copies are as far apart as the file is long.

use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use crate::nand::mode::BITS_PER_CELL_USUAL;

pub(super) const MAGIC: [u8; 8] = *b"BITLINE\0";
/// The version of the format that this program writes and reads.
pub(super) const VERSION: u32 = 2;
pub(super) const HEADER_BYTES: usize = 4096;
/// Bytes of the caller's text in an image, at most.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// Header and text.
pub(super) const HEAD_BYTES: u64 = (HEADER_BYTES + TEXT_BYTES_MAX) as u64;
/// Seals that are kept, so that the newer may be torn.
pub(super) const SEALS: u64 = 2;
const SEAL_ROOM: u64 = 4096;
/// Where the number of the last change is.
pub(super) const LAST_AT: u64 = HEAD_BYTES + SEALS * SEAL_ROOM;
const RECORDS_AT: u64 = LAST_AT + 4096;
pub(super) const AGE_RECORD_BYTES: usize = 128;
pub(super) const BLOCK_RECORD_BYTES: usize = 64;
pub(super) const PAGE_RECORD_BYTES: usize = 128;
/// Spare bytes that a page's record has room for; what is longer lies elsewhere.
pub(super) const SPARE_INLINE: usize = 80;

/// One of the two copies of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replica {
    First,
    Second,
}

/// Both, in the order in which they are written.
pub(super) const REPLICAS: [Replica; 2] = [Replica::First, Replica::Second];

/// Where a page's record and data are: where they were written when it was programmed, or, of a page of one bit a cell whose
/// cells were raised since ([`super::raise`]), where a denser block had further pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub(super) u8);

/// Where the parts of an image of some geometry begin.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pages_per_block: u64,
    wordlines_per_block: u32,
    page_bytes: u64,
    long_bytes: u64,
    /// Within a copy of the records.
    pages_at: u64,
    longs_at: u64,
    /// Where the second copy is, seen from the first.
    second: u64,
    data_at: u64,
    /// Where the second copy of the seals is.
    seals_at: u64,
    /// Where header and text are again.
    pub(super) tail_at: u64,
    pub(super) file_bytes: u64,
}

impl Layout {
    pub(super) fn of(geometry: &Geometry) -> Layout {
        let align = |at: u64| at.next_multiple_of(4096);
        let blocks = u64::from(geometry.blocks());
        let pages_per_block = u64::from(geometry.pages_per_block_max());
        let pages = blocks * pages_per_block;
        let long_bytes = u64::from(geometry.spare_bytes).saturating_sub(SPARE_INLINE as u64);
        let pages_at = align(4096 + blocks * BLOCK_RECORD_BYTES as u64);
        let longs_at = align(pages_at + pages * PAGE_RECORD_BYTES as u64);
        let records_bytes = align(longs_at + pages * long_bytes);
        let data_at = RECORDS_AT + records_bytes;
        let page_bytes = u64::from(geometry.page_bytes);
        let seconds_at = align(data_at + pages * page_bytes);
        let seals_at = seconds_at + records_bytes;
        let tail_at = seals_at + SEALS * SEAL_ROOM;
        Layout {
            pages_per_block,
            wordlines_per_block: geometry.wordlines_per_block(),
            page_bytes,
            long_bytes,
            pages_at,
            longs_at,
            second: seconds_at - RECORDS_AT,
            data_at,
            seals_at,
            tail_at,
            file_bytes: tail_at + HEAD_BYTES,
        }
    }

    fn records_at(&self, replica: Replica) -> u64 {
        match replica {
            Replica::First => RECORDS_AT,
            Replica::Second => RECORDS_AT + self.second,
        }
    }

    /// Where the seals of each other generation are.
    pub(super) fn seal_at(&self, replica: Replica, generation: u64) -> u64 {
        let slot = generation % SEALS * SEAL_ROOM;
        match replica {
            Replica::First => HEAD_BYTES + slot,
            Replica::Second => self.seals_at + slot,
        }
    }

    pub(super) fn age_at(&self, replica: Replica) -> u64 {
        self.records_at(replica)
    }

    pub(super) fn block_at(&self, replica: Replica, block: BlockId) -> u64 {
        self.records_at(replica) + 4096 + u64::from(block.0) * BLOCK_RECORD_BYTES as u64
    }

    /// The page of a denser block where a page of one bit a cell has its record and its data.
    pub(super) fn in_place(&self, page: PageAddress, place: Place) -> PageAddress {
        PageAddress {
            page: page.page + u32::from(place.0) * self.wordlines_per_block,
            ..page
        }
    }

    fn index(&self, page: PageAddress) -> u64 {
        u64::from(page.block.0) * self.pages_per_block + u64::from(page.page)
    }

    pub(super) fn page_at(&self, replica: Replica, page: PageAddress) -> u64 {
        self.records_at(replica) + self.pages_at + self.index(page) * PAGE_RECORD_BYTES as u64
    }

    /// Where the spare bytes are for which a page's record has no room.
    pub(super) fn long_spare_at(&self, replica: Replica, page: PageAddress) -> u64 {
        self.records_at(replica) + self.longs_at + self.index(page) * self.long_bytes
    }

    pub(super) fn data_at(&self, page: PageAddress) -> u64 {
        self.data_at + self.index(page) * self.page_bytes
    }

    pub(super) fn block_data_bytes(&self) -> u64 {
        self.pages_per_block * self.page_bytes
    }
}

/// Words of the header for the geometry.
pub(super) const GEOMETRY_WORDS: usize = 9;

/// The geometry, with the names of the keys.
pub(super) fn geometry_fields(geometry: &Geometry) -> [(&'static str, u32); GEOMETRY_WORDS + 1] {
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
        ("bits_per_cell_max", geometry.bits_per_cell_max),
    ]
}

/// The geometry as the header keeps it: those fields, but for the last. Spare bytes have 16 bits, and above them is by
/// how many bits a cell may hold more than usual, so that images of other drives are as they always were.
pub(super) fn geometry_words(geometry: &Geometry) -> [u32; GEOMETRY_WORDS] {
    let fields = geometry_fields(geometry);
    let mut words = std::array::from_fn(|index| fields[index].1);
    words[GEOMETRY_WORDS - 1] |= (geometry.bits_per_cell_max - BITS_PER_CELL_USUAL) << 16;
    words
}

/// The geometry of words in that order.
pub(super) fn geometry_of(words: [u32; GEOMETRY_WORDS]) -> Geometry {
    let [
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane,
        strings_per_block,
        cells_per_string,
        page_bytes,
        spare_and_more,
    ] = words;
    Geometry {
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane,
        strings_per_block,
        cells_per_string,
        page_bytes,
        spare_bytes: spare_and_more & 0xFFFF,
        bits_per_cell_max: BITS_PER_CELL_USUAL + (spare_and_more >> 16),
    }
}

/// The first page of a block.
pub(super) fn first_page(block: BlockId) -> PageAddress {
    PageAddress { block, page: 0 }
}
