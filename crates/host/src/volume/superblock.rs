//! What a volume begins with: how large it is and where its catalogue lies. It is written once, twice over.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::crc32;
use super::error::VolumeError;
use super::extent::{Extent, Run};

/// The version of the layout that this library writes and reads.
const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"BitlineV";
/// Copies of it, a page each.
pub(super) const COPIES: u64 = 2;
/// The most pages of a volume; extents count them with 32 bits.
const PAGES_MAX: u64 = u32::MAX as u64;
/// The least and the most pages of a catalogue area.
const CATALOGUE_PAGES: std::ops::RangeInclusive<u32> = 4..=65_536;
/// The most bytes of a page: what a host asks for in one go stays small.
const PAGE_BYTES_MAX: u64 = 16 << 20;
/// The fewest bytes of a page: a header and some records.
const PAGE_BYTES_MIN: u64 = 512;

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Superblock {
    magic: [u8; 8],
    /// CRC-32 of what follows.
    checksum: U32,
    version: U32,
    first: U64,
    blocks: U64,
    block_bytes: U32,
    page_blocks: U32,
    catalogue_pages: U32,
    reserved: U32,
}

/// Where things lie in a volume. Checked: nothing of it overflows or leaves the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The first logical block.
    pub(super) first: u64,
    /// Logical blocks.
    pub(super) blocks: u64,
    pub(super) block_bytes: u32,
    /// Logical blocks of a page: what the drive writes at once.
    pub(super) page_blocks: u32,
    /// Pages of each of the two catalogue areas.
    pub(super) catalogue_pages: u32,
}

impl Layout {
    /// The same, if a namespace of `namespace_blocks` has room for it and it has room for its parts.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn check(self, namespace_blocks: u64) -> Result<Layout, String> {
        let end = self.first.checked_add(self.blocks);
        if end.is_none_or(|end| end > namespace_blocks) {
            return Err(format!("the namespace has {namespace_blocks} blocks"));
        }
        let page_bytes = u64::from(self.page_blocks) * u64::from(self.block_bytes);
        if !(PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes) {
            return Err(format!(
                "a page of {} blocks of {} bytes: it must have {PAGE_BYTES_MIN} bytes to 16 MiB",
                self.page_blocks, self.block_bytes
            ));
        }
        let page = u64::from(self.page_blocks);
        if !self.first.is_multiple_of(page) || !self.blocks.is_multiple_of(page) {
            return Err(format!(
                "the drive writes {page} blocks at once: begin and end at a multiple"
            ));
        }
        if !CATALOGUE_PAGES.contains(&self.catalogue_pages) {
            return Err(format!(
                "{} catalogue pages: they must be {} to {}",
                self.catalogue_pages,
                CATALOGUE_PAGES.start(),
                CATALOGUE_PAGES.end()
            ));
        }
        let (pages, least) = (self.blocks / page, self.catalogue_in_pages() + 1);
        if !(least..=PAGES_MAX).contains(&pages) {
            return Err(format!(
                "they are {pages} pages; a volume with {} catalogue pages has {least} to {PAGES_MAX}",
                self.catalogue_pages
            ));
        }
        Ok(self)
    }

    /// Pages before the data area: superblocks and both catalogue areas.
    fn catalogue_in_pages(&self) -> u64 {
        COPIES + 2 * u64::from(self.catalogue_pages)
    }

    pub(super) fn page_bytes(&self) -> usize {
        self.page_blocks as usize * self.block_bytes as usize
    }

    /// The first logical block of copy `copy` of the superblock.
    pub(super) fn superblock(&self, copy: u64) -> u64 {
        self.first + copy * u64::from(self.page_blocks)
    }

    /// The first logical block of catalogue area `area`, 0 or 1.
    pub(super) fn area(&self, area: usize) -> u64 {
        let pages = COPIES + area as u64 * u64::from(self.catalogue_pages);
        self.first + pages * u64::from(self.page_blocks)
    }

    /// The first logical block of the data area.
    pub(super) fn data(&self) -> u64 {
        self.first + self.catalogue_in_pages() * u64::from(self.page_blocks)
    }

    /// Pages of the data area.
    pub(super) fn data_pages(&self) -> u32 {
        let pages = self.blocks / u64::from(self.page_blocks) - self.catalogue_in_pages();
        // At most PAGES_MAX, which was checked.
        pages as u32
    }

    /// Pages that `bytes` take.
    pub(super) fn pages_for(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.page_bytes() as u64)
    }

    /// A run of pages of the data area as logical blocks.
    pub(super) fn extent(&self, run: Run) -> Extent {
        let page = u64::from(self.page_blocks);
        Extent {
            first: self.data() + u64::from(run.first) * page,
            blocks: u64::from(run.pages) * page,
        }
    }

    /// The superblock's page.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut superblock = Superblock {
            magic: MAGIC,
            checksum: U32::ZERO,
            version: U32::new(VERSION),
            first: U64::new(self.first),
            blocks: U64::new(self.blocks),
            block_bytes: U32::new(self.block_bytes),
            page_blocks: U32::new(self.page_blocks),
            catalogue_pages: U32::new(self.catalogue_pages),
            reserved: U32::ZERO,
        };
        superblock.checksum.set(crc32(&superblock.as_bytes()[12..]));
        let mut page = superblock.as_bytes().to_vec();
        page.resize(self.page_bytes(), 0);
        page
    }

    /// The layout that the copy of a superblock in `bytes` tells of a volume at block `first`, on a namespace of
    /// `namespace_blocks` blocks of `block_bytes`; `None` if there is none.
    ///
    /// # Errors
    /// Another version; a superblock that is whole and makes no sense here.
    pub(super) fn decode(
        bytes: &[u8],
        first: u64,
        block_bytes: u32,
        namespace_blocks: u64,
    ) -> Result<Option<Layout>, VolumeError> {
        let Ok((superblock, _)) = Superblock::read_from_prefix(bytes) else {
            return Ok(None);
        };
        let checksum = crc32(&superblock.as_bytes()[12..]);
        if superblock.magic != MAGIC || superblock.checksum.get() != checksum {
            return Ok(None);
        }
        if superblock.version.get() != VERSION {
            let found = superblock.version.get();
            let known = VERSION;
            return Err(VolumeError::Version {
                first,
                found,
                known,
            });
        }
        let layout = Layout {
            first: superblock.first.get(),
            blocks: superblock.blocks.get(),
            block_bytes: superblock.block_bytes.get(),
            page_blocks: superblock.page_blocks.get(),
            catalogue_pages: superblock.catalogue_pages.get(),
        };
        let damaged = |reason| VolumeError::Damaged { lba: first, reason };
        if layout.first != first || layout.block_bytes != block_bytes {
            return Err(damaged(format!(
                "its superblock is of a volume at block {} with blocks of {} bytes",
                layout.first, layout.block_bytes
            )));
        }
        layout.check(namespace_blocks).map(Some).map_err(damaged)
    }
}
