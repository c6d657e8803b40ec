//! Strings lent to one evaluation: pages that were brought from other dies meet there with those of
//! vectors. Nothing of them outlives the evaluation, or a power cut.

use std::collections::BTreeMap;
use std::ops::Range;

use media::nand::{BlockId, PageAddress};

use super::layout::Layout;
use super::spare::{ROW_SET_MAX, VectorSpare};
use super::{BlockSource, Groups, RowSetId, TEMPORARY};
use crate::bits::error::BitsError;

/// The strings of one row set, lent.
#[derive(Clone, Debug)]
pub(super) struct Lent {
    pub(super) layout: Layout,
    pub(super) blocks: Vec<Option<BlockId>>,
}

/// All that are lent, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Temporaries {
    lent: BTreeMap<u32, Lent>,
    next: u32,
}

impl Temporaries {
    pub(super) fn get(&self, row_set: RowSetId) -> Option<&Lent> {
        match row_set.group {
            TEMPORARY => self.lent.get(&row_set.row_set),
            _ => None,
        }
    }
}

impl Groups {
    /// Lends a row set for these chunks of vectors, laid out by `layout`; it is to be given back by
    /// [`Groups::take_back`].
    ///
    /// # Errors
    /// [`BitsError::OutOfBlocks`] of the group [`TEMPORARY`] if a plane has no block to spare.
    pub fn lend(
        &mut self,
        source: &mut dyn BlockSource,
        layout: &Layout,
        chunks: Range<u64>,
    ) -> Result<RowSetId, BitsError> {
        let mut blocks = vec![None; layout.blocks(chunks.end)];
        for chunk in chunks {
            let block = &mut blocks[layout.block_index(chunk)];
            if block.is_none() {
                *block = source.allocate_block(layout.plane(chunk));
            }
            if block.is_none() {
                let lent = blocks.into_iter().flatten();
                lent.for_each(|block| source.release_block(block));
                return Err(BitsError::OutOfBlocks {
                    group: TEMPORARY,
                    plane: layout.plane(chunk).0,
                });
            }
        }
        // Numbers come round only after far more evaluations than can be under way.
        let row_set = self.temporary.next;
        self.temporary.next = (row_set + 1) % (ROW_SET_MAX + 1);
        let layout = layout.clone();
        self.temporary.lent.insert(row_set, Lent { layout, blocks });
        Ok(RowSetId {
            group: TEMPORARY,
            row_set,
        })
    }

    /// Takes back a row set that was lent: its blocks, which are to be erased.
    pub fn take_back(&mut self, row_set: RowSetId) -> Vec<BlockId> {
        let lent = self.temporary.lent.remove(&row_set.row_set);
        let blocks = lent.map(|lent| lent.blocks).unwrap_or_default();
        blocks.into_iter().flatten().collect()
    }

    /// Row sets lent at present.
    pub fn lent(&self) -> usize {
        self.temporary.lent.len()
    }

    /// The page of a lent row set that holds a chunk at `layer`, and its record, which recovery knows
    /// for one of nobody's.
    pub fn temporary_page(
        &self,
        row_set: RowSetId,
        layer: u32,
        chunk: u64,
        bits: u64,
    ) -> Option<(PageAddress, VectorSpare)> {
        let lent = self.temporary.get(row_set)?;
        let string = self.string(row_set, chunk)?;
        let record = VectorSpare {
            group: TEMPORARY,
            vector: layer,
            chunk: chunk as u32,
            row_set: row_set.row_set,
            bits,
            version: 0,
            dies: lent.layout.home().dies,
            inverse: false,
            deleted: false,
        };
        Some((lent.layout.page(string.block, chunk, layer), record))
    }
}
