//! Where the bits of the flash are kept: the extension point and its choice.
//!
//! A store keeps the data of programmed pages; [`Image`](StorageConfig::Image) also keeps what the array knows
//! of its blocks and pages. Page states, spare bytes and erase counts live in
//! [`super::array`] whatever the store is.

mod memory;
mod none;

use super::geometry::{Geometry, PageAddress};
use std::ops::Range;

/// Where the bits of a drive are to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Nowhere: timing only. Spare bytes and page states are still kept.
    None,
    /// In memory, sparse.
    Memory,
}

/// A failure of the storage of bits.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {}

/// Where the data of programmed pages is.
pub(crate) trait BitStore {
    /// Whether data is kept at all; if not, latches need no room either.
    fn holds_data(&self) -> bool;

    /// Keeps the words of a page that is about to be programmed.
    fn write(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError>;

    /// The words `range` of a page that was written: where they are kept if that is
    /// memory, else read into `scratch`, which is as long as the range.
    fn words<'a>(
        &'a self,
        page: PageAddress,
        range: Range<usize>,
        scratch: &'a mut [u64],
    ) -> Result<&'a [u64], StorageError>;

    /// Forgets the pages of a block.
    fn erase(&mut self, block: super::geometry::BlockId) -> Result<(), StorageError>;
}

impl Storage {
    /// The store, ready for pages of `geometry`.
    pub(crate) fn open(self, geometry: &Geometry) -> Result<Box<dyn BitStore>, StorageError> {
        Ok(match self {
            Storage::None => Box::new(none::NoStore),
            Storage::Memory => Box::new(memory::MemoryStore::new(geometry)),
        })
    }
}
