//! The store in memory: a page holds a frame from its program to the erase of its block; others may hold it, too.

use super::{BitStore, StorageError};
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use sim::memory::{Frame, Frames};
use std::ops::Range;

type Block = Option<Box<[Option<Frame>]>>;

/// Pages in memory, found by two steps of indexing. The table of a plane's blocks is made when
/// the first of them is programmed, so a drive of terabytes opens at once.
pub(super) struct MemoryStore {
    planes: Vec<Box<[Block]>>,
    blocks_per_plane: usize,
    pages_per_block: usize,
    frames: Frames,
}

impl MemoryStore {
    pub(super) fn new(geometry: &Geometry, frames: &Frames) -> MemoryStore {
        MemoryStore {
            planes: vec![Box::default(); geometry.planes() as usize],
            blocks_per_plane: geometry.blocks_per_plane as usize,
            pages_per_block: geometry.pages_per_block_max() as usize,
            frames: frames.clone(),
        }
    }

    /// Where a page that is written goes.
    fn place(&mut self, page: PageAddress) -> &mut Option<Frame> {
        let (plane, block) = self.position(page.block);
        let plane = &mut self.planes[plane];
        if plane.is_empty() {
            *plane = vec![None; self.blocks_per_plane].into();
        }
        let pages = plane[block].get_or_insert_with(|| vec![None; self.pages_per_block].into());
        &mut pages[page.page as usize]
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
        let mut frame = self.frames.take();
        frame.words_mut().copy_from_slice(words);
        *self.place(page) = Some(frame);
        Ok(())
    }

    fn keep(&mut self, page: PageAddress, frame: Frame) -> Result<(), StorageError> {
        *self.place(page) = Some(frame);
        Ok(())
    }

    fn frame(&self, page: PageAddress) -> Option<&Frame> {
        let (plane, block) = self.position(page.block);
        let block = self.planes[plane].get(block)?.as_ref()?;
        block[page.page as usize].as_ref()
    }

    fn read(
        &self,
        page: PageAddress,
        range: Range<usize>,
        into: &mut [u64],
    ) -> Result<(), StorageError> {
        match self.words(page, range) {
            Some(words) => into.copy_from_slice(words),
            None => into.fill(0),
        }
        Ok(())
    }

    fn raise(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError> {
        let (plane, block) = self.position(page.block);
        let block = self.planes[plane].get_mut(block).and_then(Option::as_mut);
        // A page that was programmed without data has no cell left to be raised.
        if let Some(place) = block.and_then(|block| block[page.page as usize].as_mut()) {
            // Others may hold what it was.
            *place = self.frames.take();
            place.words_mut().copy_from_slice(words);
        }
        Ok(())
    }

    fn erase(&mut self, block: BlockId) -> Result<(), StorageError> {
        let (plane, block) = self.position(block);
        let block = self.planes[plane].get_mut(block);
        if let Some(block) = block {
            *block = None;
        }
        Ok(())
    }
}
