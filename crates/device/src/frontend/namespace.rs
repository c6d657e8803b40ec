//! Namespaces: each its own range of logical pages, in its own LBA format.

use std::cell::Cell;
use std::ops::Range;

use nvme::command::BlockRange;
use nvme::{Lba, NamespaceId, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sim::Tenant;

use crate::ftl::{Lpn, MappingUnit};
use crate::tenants;

/// Logical pages that are deallocated at once at most, so that no event keeps the simulator long.
pub(super) const PAGES_AT_ONCE: u32 = 1 << 20;

/// Most namespaces of a drive.
pub const NAMESPACES_MAX: usize = 1024;

/// A namespace that the drive is made with. One of `share` and `blocks` says how large it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Part of the drive's capacity, more than 0 and at most 1; whole flash pages of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Size in logical blocks of `block_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
    /// Size of a logical block until the namespace is formatted otherwise, in bytes.
    pub block_bytes: u32,
}

/// Namespaces that do not fit the drive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NamespaceError {
    /// Too many.
    #[error("frontend.namespaces lists {0}; it must be at most {NAMESPACES_MAX}")]
    Count(usize),
    /// A block size that is no format, or does not divide a page.
    #[error(
        "frontend.namespaces: block_bytes = {given} in number {number} cannot be; it must be 512, 1024, 2048 or 4096 and divide {key} = {unit_bytes}"
    )]
    BlockBytes {
        /// Which namespace, from 1.
        number: usize,
        /// What was given.
        given: u32,
        /// The key that says how long a logical page is.
        key: &'static str,
        /// Bytes of it.
        unit_bytes: u32,
    },
    /// Not exactly one size.
    #[error(
        "frontend.namespaces: number {0} needs either share, more than 0 and at most 1, or blocks, at least 1"
    )]
    Size(usize),
    /// More than there is.
    #[error("frontend.namespaces take {wanted} logical pages; the drive has {there}")]
    Capacity {
        /// Pages that they take together.
        wanted: u64,
        /// Pages that there are.
        there: u32,
    },
}

/// A namespace.
pub(super) struct Namespace {
    pub(super) id: NamespaceId,
    first_page: u32,
    pages: u32,
    capacity_bytes: u64,
    /// Bytes of a block, log2.
    block_shift: Cell<u32>,
    /// Size in blocks.
    blocks: Cell<u64>,
    /// Whether nothing stands in the way of a direct read.
    pub(super) plain: Cell<bool>,
    /// What is left of a format under way, percent; 0 if there is none.
    pub(super) format_left: Cell<u8>,
    /// A format began and did not end.
    pub(super) failed: Cell<bool>,
    /// Commands under way that found nothing in their way.
    admitted: Cell<u32>,
}

/// A command under way in a namespace.
pub(super) struct Admitted<'a>(&'a Cell<u32>);

impl Admitted<'_> {
    /// Counts one more.
    #[inline]
    pub(super) fn count(under_way: &Cell<u32>) -> Admitted<'_> {
        under_way.set(under_way.get() + 1);
        Admitted(under_way)
    }
}

impl Drop for Admitted<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Namespace {
    fn new(
        number: usize,
        first_page: u32,
        pages: u32,
        capacity_bytes: u64,
        block_bytes: u32,
    ) -> Namespace {
        let namespace = Namespace {
            id: NamespaceId::new(number as u32 + 1),
            first_page,
            pages,
            capacity_bytes,
            block_shift: Cell::new(0),
            blocks: Cell::new(0),
            plain: Cell::new(true),
            format_left: Cell::new(0),
            failed: Cell::new(false),
            admitted: Cell::new(0),
        };
        namespace.set_block_bytes(block_bytes);
        namespace
    }

    /// Whether commands may use it.
    pub(super) fn is_ready(&self) -> bool {
        self.format_left.get() == 0 && !self.failed.get()
    }

    /// Counts a command, until what this gives is dropped.
    #[inline]
    pub(super) fn admit(&self) -> Admitted<'_> {
        Admitted::count(&self.admitted)
    }

    /// Whether commands that were admitted are under way.
    pub(super) fn is_in_use(&self) -> bool {
        self.admitted.get() > 0
    }

    /// Gives it another format; `block_bytes` is a power of two.
    pub(super) fn set_block_bytes(&self, block_bytes: u32) {
        self.block_shift.set(block_bytes.trailing_zeros());
        self.blocks
            .set(self.capacity_bytes >> self.block_shift.get());
    }

    #[inline]
    pub(super) fn block_bytes(&self) -> u32 {
        1 << self.block_shift.get()
    }

    /// Size in blocks.
    #[inline]
    pub(super) fn blocks(&self) -> u64 {
        self.blocks.get()
    }

    /// Size in bytes.
    pub(super) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Its logical pages.
    pub(super) fn pages(&self) -> Range<u32> {
        self.first_page..self.first_page + self.pages
    }

    /// Where `blocks` begin and end in the namespace, in bytes. A command that waits goes on with these:
    /// a format may give the blocks another size meanwhile.
    ///
    /// # Errors
    /// LBA Out of Range.
    #[inline]
    pub(super) fn byte_range(&self, blocks: &BlockRange) -> Result<Range<u64>, Status> {
        match blocks.end() {
            Some(end) if end.get() <= self.blocks.get() => {
                let shift = self.block_shift.get();
                Ok(blocks.start.get() << shift..end.get() << shift)
            }
            _ => Err(Status::LBA_OUT_OF_RANGE),
        }
    }

    /// The logical page that a block begins.
    ///
    /// # Errors
    /// LBA Out of Range; Invalid Field if it is not the first of a logical page.
    pub(super) fn page_of(&self, lba: Lba, unit: MappingUnit) -> Result<Lpn, Status> {
        if lba.get() >= self.blocks.get() {
            return Err(Status::LBA_OUT_OF_RANGE);
        }
        let start = lba.get() << self.block_shift.get();
        let page = unit.beginning_at(start).ok_or(Status::INVALID_FIELD)?;
        Ok(self.lpn(page))
    }

    /// The logical page that a block begins, and with it a chunk, as many of them as a flash page holds.
    ///
    /// # Errors
    /// As [`Namespace::page_of`]; Invalid Field too if a chunk does not begin there.
    pub(super) fn chunk_of(&self, lba: Lba, unit: MappingUnit) -> Result<Lpn, Status> {
        let first = self.page_of(lba, unit)?;
        let whole = (first.0 - self.first_page).is_multiple_of(unit.per_page());
        whole.then_some(first).ok_or(Status::INVALID_FIELD)
    }

    /// The logical page with which an operand of so many bits begins.
    ///
    /// # Errors
    /// As [`Namespace::chunk_of`]; LBA Out of Range also if it ends outside of the namespace.
    pub(super) fn operand(&self, lba: Lba, bits: u64, unit: MappingUnit) -> Result<Lpn, Status> {
        let first = self.chunk_of(lba, unit)?;
        let start = lba.get() << self.block_shift.get();
        match start.checked_add(bits.div_ceil(8)) {
            Some(end) if end <= self.capacity_bytes => Ok(first),
            _ => Err(Status::LBA_OUT_OF_RANGE),
        }
    }

    /// A page of the namespace among those of the drive.
    #[inline]
    pub(super) fn lpn(&self, page: u32) -> Lpn {
        Lpn(self.first_page + page)
    }

    /// Pages of the namespace among those of the drive.
    pub(super) fn lpns(&self, pages: Range<u32>) -> Range<u32> {
        self.first_page + pages.start..self.first_page + pages.end
    }
}

/// All namespaces, by identifier.
pub(super) struct Namespaces(Vec<Namespace>);

impl Namespaces {
    /// Lays the namespaces of `configs`, checked before, over `logical_pages`; one of blocks of
    /// `block_bytes` over all of them if there are none.
    pub(super) fn new(
        configs: &[NamespaceConfig],
        block_bytes: u32,
        logical_pages: u32,
        unit: MappingUnit,
    ) -> Namespaces {
        if configs.is_empty() {
            let bytes = unit.start(logical_pages);
            let only = Namespace::new(0, 0, logical_pages, bytes, block_bytes);
            return Namespaces(vec![only]);
        }
        let mut first_page = 0;
        let namespaces = configs.iter().enumerate().map(|(number, config)| {
            let (pages, bytes) = config.size(logical_pages, unit);
            let first = first_page;
            first_page += pages as u32;
            Namespace::new(number, first, pages as u32, bytes, config.block_bytes)
        });
        Namespaces(namespaces.collect())
    }

    /// The tenant that the namespace of an identifier is, of those of blocks and of `more` behind them; the drive itself if there
    /// is none.
    #[inline]
    pub(super) fn tenant_of(&self, id: NamespaceId, more: usize) -> Tenant {
        let number = id.get().wrapping_sub(1) as usize;
        if number < self.0.len() + more {
            tenants::namespace(number)
        } else {
            tenants::DRIVE
        }
    }

    /// The namespace of an identifier.
    ///
    /// # Errors
    /// Invalid Namespace or Format.
    #[inline]
    pub(super) fn get(&self, id: NamespaceId) -> Result<&Namespace, Status> {
        let index = (id.get() as usize).wrapping_sub(1);
        self.0.get(index).ok_or(Status::INVALID_NAMESPACE_OR_FORMAT)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Namespace> {
        self.0.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl NamespaceConfig {
    /// Its pages and bytes on a drive of so many pages.
    fn size(&self, logical_pages: u32, unit: MappingUnit) -> (u64, u64) {
        match (self.blocks, self.share) {
            (Some(blocks), _) => {
                let bytes = blocks.saturating_mul(u64::from(self.block_bytes));
                // The next one begins with a flash page.
                let pages = bytes.div_ceil(u64::from(unit.page_bytes()));
                (pages.saturating_mul(unit.per_page().into()), bytes)
            }
            (None, share) => {
                // Whole flash pages.
                let whole = f64::from(unit.pages_of(logical_pages)) * share.unwrap_or(1.0);
                let pages = (whole as u64).max(1) * u64::from(unit.per_page());
                (pages, pages * u64::from(unit.bytes()))
            }
        }
    }
}

/// Checks that the namespaces of `configs` can be laid over `logical_pages`.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn check_namespaces(
    configs: &[NamespaceConfig],
    logical_pages: u32,
    unit: MappingUnit,
) -> Result<(), NamespaceError> {
    if configs.len() > NAMESPACES_MAX {
        return Err(NamespaceError::Count(configs.len()));
    }
    let mut wanted = 0u64;
    for (number, config) in (1..).zip(configs) {
        let formats = nvme::identify::format_index(config.block_bytes);
        if formats.is_none() || !unit.bytes().is_multiple_of(config.block_bytes) {
            return Err(NamespaceError::BlockBytes {
                number,
                given: config.block_bytes,
                key: unit.key(),
                unit_bytes: unit.bytes(),
            });
        }
        let sized = match (config.share, config.blocks) {
            (Some(share), None) => share > 0.0 && share <= 1.0,
            (None, Some(blocks)) => blocks > 0,
            _ => false,
        };
        if !sized {
            return Err(NamespaceError::Size(number));
        }
        wanted = wanted.saturating_add(config.size(logical_pages, unit).0);
    }
    if wanted > u64::from(logical_pages) {
        return Err(NamespaceError::Capacity {
            wanted,
            there: logical_pages,
        });
    }
    Ok(())
}
