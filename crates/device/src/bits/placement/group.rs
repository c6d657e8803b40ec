//! One group of vectors: its row sets and what their layers hold.

use std::collections::BTreeMap;

use media::nand::{BlockId, PlaneId};

use super::layout::Layout;
use super::{BlockSource, RowSetId, VectorPlacement};
use crate::bits::error::BitsError;

/// What one layer of a row set holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Nothing readable: skipped, torn or failed.
    Void,
    /// A version of this vector that is being written.
    Pending(u32),
    /// The current version of this vector.
    Live(u32),
    /// The record that this vector is deleted.
    Tombstone(u32),
    /// A version of this vector, or a tombstone of it, that a later one superseded.
    Dead(u32),
}

impl Layer {
    fn vector(self) -> Option<u32> {
        match self {
            Layer::Void => None,
            Layer::Pending(vector)
            | Layer::Live(vector)
            | Layer::Tombstone(vector)
            | Layer::Dead(vector) => Some(vector),
        }
    }
}

/// Strings that hold up to `cells_per_string` vectors.
#[derive(Clone, Debug)]
pub(super) struct RowSet {
    /// By [`Layout::block_index`]; recovery may leave out blocks that held nothing.
    pub(super) blocks: Vec<Option<BlockId>>,
    /// What the layers used so far hold; the next free one is its length.
    pub(super) layers: Vec<Layer>,
    /// Its blocks were handed out for erasing.
    pub(super) erasing: bool,
}

impl RowSet {
    fn in_use(&self) -> bool {
        self.layers
            .iter()
            .any(|layer| matches!(layer, Layer::Live(_) | Layer::Pending(_)))
    }

    fn mentions(&self, vector: u32) -> bool {
        self.layers
            .iter()
            .any(|layer| layer.vector() == Some(vector))
    }
}

/// The current version of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) row_set: u32,
    pub(super) layer: u32,
    pub(super) inverse: bool,
    pub(super) version: u64,
}

/// Vectors of one length that share strings.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) id: u32,
    /// Length of every vector.
    pub(super) bits: u64,
    /// The dies over which every vector is spread.
    pub(super) layout: Layout,
    pub(super) row_sets: BTreeMap<u32, RowSet>,
    pub(super) vectors: BTreeMap<u32, Stored>,
}

impl Group {
    pub(super) fn new(id: u32, bits: u64, layout: Layout) -> Group {
        Group {
            id,
            bits,
            layout,
            row_sets: BTreeMap::new(),
            vectors: BTreeMap::new(),
        }
    }

    pub(super) fn placement(&self, vector: u32) -> Option<VectorPlacement> {
        let stored = self.vectors.get(&vector)?;
        Some(VectorPlacement {
            row_set: RowSetId {
                group: self.id,
                row_set: stored.row_set,
            },
            layer: stored.layer,
            inverse: stored.inverse,
            bits: self.bits,
        })
    }

    /// Whether the group holds no vector and none is being written.
    pub(super) fn is_vacant(&self) -> bool {
        !self
            .row_sets
            .values()
            .any(|row_set| !row_set.erasing && row_set.in_use())
    }

    /// Whether `vector` is the only one stored or being written.
    pub(super) fn holds_only(&self, vector: u32) -> bool {
        let used = |layer: &Layer| match *layer {
            Layer::Pending(_) => true,
            Layer::Live(other) => other != vector,
            _ => false,
        };
        !self
            .row_sets
            .values()
            .any(|row_set| !row_set.erasing && row_set.layers.iter().any(used))
    }

    /// Reserves the next layer for `vector`: its row set and layer.
    pub(super) fn reserve(
        &mut self,
        source: &mut dyn BlockSource,
        vector: u32,
    ) -> Result<(u32, u32), BitsError> {
        let id = self.open_row_set(source)?;
        let row_set = self
            .row_sets
            .get_mut(&id)
            .expect("open_row_set returns one that exists");
        row_set.layers.push(Layer::Pending(vector));
        Ok((id, row_set.layers.len() as u32 - 1))
    }

    /// The row set with a free layer and all its blocks, made if need be.
    fn open_row_set(&mut self, source: &mut dyn BlockSource) -> Result<u32, BitsError> {
        let cells = self.layout.geometry().cells_per_string as usize;
        let newest = self.row_sets.last_key_value();
        if let Some((&id, row_set)) = newest
            && !row_set.erasing
            && row_set.layers.len() < cells
        {
            let blocks = self.fill(source, row_set.blocks.clone())?;
            self.row_sets
                .entry(id)
                .and_modify(|row_set| row_set.blocks = blocks);
            return Ok(id);
        }
        let id = newest.map_or(0, |(&id, _)| id + 1);
        if id > super::spare::ROW_SET_MAX {
            return Err(BitsError::GroupExhausted(self.id));
        }
        let blocks = vec![None; self.layout.blocks(self.layout.chunks(self.bits))];
        let blocks = self.fill(source, blocks)?;
        self.row_sets.insert(
            id,
            RowSet {
                blocks,
                layers: Vec::new(),
                erasing: false,
            },
        );
        Ok(id)
    }

    /// Allocates the missing ones of `blocks`; none if one of them cannot be had.
    fn fill(
        &self,
        source: &mut dyn BlockSource,
        blocks: Vec<Option<BlockId>>,
    ) -> Result<Vec<Option<BlockId>>, BitsError> {
        fill(&self.layout, source, blocks).map_err(|plane| BitsError::OutOfBlocks {
            group: self.id,
            plane: plane.0,
        })
    }

    pub(super) fn set_layer(&mut self, row_set: u32, layer: u32, holds: Layer) {
        let row_set = self.row_sets.get_mut(&row_set);
        if let Some(held) = row_set.and_then(|row_set| row_set.layers.get_mut(layer as usize)) {
            *held = holds;
        }
    }

    /// Makes every row set take no more vectors.
    pub(super) fn close(&mut self, cells: usize) {
        for row_set in self.row_sets.values_mut() {
            row_set.layers.resize(cells, Layer::Void);
        }
    }

    /// All row sets that are not being erased yet, ascending.
    pub(super) fn abolish(&self) -> Vec<u32> {
        self.row_sets
            .iter()
            .filter(|(_, row_set)| !row_set.erasing)
            .map(|(&id, _)| id)
            .collect()
    }

    /// Marks what was current of `vector`, if anything, as superseded.
    pub(super) fn supersede(&mut self, vector: u32) {
        let layers = self
            .row_sets
            .values_mut()
            .flat_map(|row_set| &mut row_set.layers);
        for layer in layers {
            if matches!(*layer, Layer::Live(v) | Layer::Tombstone(v) if v == vector) {
                *layer = Layer::Dead(vector);
            }
        }
        self.vectors.remove(&vector);
    }

    /// Row sets whose blocks can be erased without losing or reviving anything, ascending.
    ///
    /// A tombstone is kept for as long as another row set could revive what it deletes.
    pub(super) fn reclaimable(&self, cells: usize) -> Vec<u32> {
        let free = |(&id, row_set): (&u32, &RowSet)| {
            let needed = |layer: &Layer| match *layer {
                Layer::Tombstone(vector) => self
                    .row_sets
                    .iter()
                    .any(|(&o, r)| o != id && r.mentions(vector)),
                _ => false,
            };
            let reclaim = !row_set.erasing
                && row_set.layers.len() >= cells
                && !row_set.in_use()
                && !row_set.layers.iter().any(needed);
            reclaim.then_some(id)
        };
        self.row_sets.iter().filter_map(free).collect()
    }
}

/// Allocates the missing ones of the blocks of a row set; none if a plane, which is then told, has
/// none to spare.
pub(super) fn fill(
    layout: &Layout,
    source: &mut dyn BlockSource,
    mut blocks: Vec<Option<BlockId>>,
) -> Result<Vec<Option<BlockId>>, PlaneId> {
    let mut allocated = Vec::new();
    for (index, block) in blocks
        .iter_mut()
        .enumerate()
        .filter(|(_, block)| block.is_none())
    {
        let plane = layout.plane_of_block_index(index);
        *block = source.allocate_block(plane);
        match *block {
            Some(block) => allocated.push(block),
            None => {
                allocated
                    .into_iter()
                    .for_each(|block| source.release_block(block));
                return Err(plane);
            }
        }
    }
    Ok(blocks)
}
