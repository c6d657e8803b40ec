//! The store in memory: a page takes a frame when it is programmed, which others can have once it is erased.

mod pool;

use self::pool::{Frame, PagePool};
use super::{BitStore, StorageError};
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use std::ops::Range;

type Block = Option<Box<[Option<Frame>]>>;

/// Pages in memory, found by two steps of indexing. The table of a plane's blocks is made when
/// the first of them is programmed, so a drive of terabytes opens at once.
pub(super) struct MemoryStore {
    planes: Vec<Box<[Block]>>,
    blocks_per_plane: usize,
    pages_per_block: usize,
    pool: PagePool,
}

impl MemoryStore {
    pub(super) fn new(geometry: &Geometry) -> MemoryStore {
        MemoryStore {
            planes: vec![Box::default(); geometry.planes() as usize],
            blocks_per_plane: geometry.blocks_per_plane as usize,
            pages_per_block: geometry.pages_per_block_max() as usize,
            pool: PagePool::of_pages(geometry.page_words()),
        }
    }

    /// The words of a page that was written.
    fn page(&self, page: PageAddress) -> Option<&[u64]> {
        let (plane, block) = self.position(page.block);
        let block = self.planes[plane].get(block)?.as_ref()?;
        let frame = block[page.page as usize]?;
        Some(self.pool.page(frame))
    }

    fn position(&self, block: BlockId) -> (usize, usize) {
        let block = block.0 as usize;
        (block / self.blocks_per_plane, block % self.blocks_per_plane)
    }
}

impl BitStore for MemoryStore {
    fn holds_data(&self) -> bool {
        true
    }

    fn write(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError> {
        let (plane, block) = self.position(page.block);
        let plane = &mut self.planes[plane];
        if plane.is_empty() {
            *plane = vec![None; self.blocks_per_plane].into();
        }
        let pages = plane[block].get_or_insert_with(|| vec![None; self.pages_per_block].into());
        let frame = pages[page.page as usize].get_or_insert_with(|| self.pool.take());
        self.pool.page_mut(*frame).copy_from_slice(words);
        Ok(())
    }

    fn words(&self, page: PageAddress, range: Range<usize>) -> Option<&[u64]> {
        self.page(page).map(|words| &words[range])
    }

    fn read(
        &self,
        page: PageAddress,
        range: Range<usize>,
        into: &mut [u64],
    ) -> Result<(), StorageError> {
        match self.page(page) {
            Some(words) => into.copy_from_slice(&words[range]),
            None => into.fill(0),
        }
        Ok(())
    }

    fn raise(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError> {
        let (plane, block) = self.position(page.block);
        let block = self.planes[plane].get_mut(block).and_then(Option::as_mut);
        // A page that was programmed without data has no cell left to be raised.
        if let Some(frame) = block.and_then(|block| block[page.page as usize]) {
            self.pool.page_mut(frame).copy_from_slice(words);
        }
        Ok(())
    }

    fn erase(&mut self, block: BlockId) -> Result<(), StorageError> {
        let (plane, block) = self.position(block);
        let block = self.planes[plane].get_mut(block);
        if let Some(pages) = block.and_then(Option::take) {
            let frames = pages.into_iter().flatten();
            frames.for_each(|frame| self.pool.give_back(frame));
        }
        Ok(())
    }
}
