//! All groups of a drive: the table that writes, deletions, lookups and recovery share.

use std::collections::BTreeMap;

use media::nand::{BlockId, Geometry, PageAddress};
use nvme::VectorId;

use super::group::{Group, Layer, Stored};
use super::layout::{Layout, StringAddress};
use super::spare::VectorSpare;
use super::temporary::Temporaries;
use super::{BITS_MAX, BlockSource, Home, RowSetId, VectorPlacement};
use crate::bits::error::BitsError;

/// A layer reserved for a vector, or for the record that it is deleted.
///
/// Its pages are to be programmed in the order of reservation within the group, for pages of a
/// block are programmed in ascending order. Then it is committed, or abandoned if a page failed.
#[must_use = "a reserved layer is to be committed or abandoned"]
#[derive(Debug, PartialEq, Eq)]
pub struct PendingWrite {
    /// The vector.
    pub vector: VectorId,
    /// Where it goes.
    pub placement: VectorPlacement,
    /// Pages to program: chunks 0 to `chunks - 1`. One, without data, for a deletion.
    pub chunks: u64,
    version: u64,
    deleted: bool,
}

/// Blocks to be erased together, then reported by [`Groups::erased`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reclaim {
    /// The row set they were.
    pub row_set: RowSetId,
    /// The blocks.
    pub blocks: Vec<BlockId>,
}

/// How a vector is deleted durably.
#[must_use = "a deletion takes effect only when carried out"]
#[derive(Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Program the record into the page of chunk 0, then commit.
    Record(PendingWrite),
    /// It was the last of its group: erase these row sets one after another in this order.
    Group(Vec<Reclaim>),
}

/// The groups of a drive. Volatile: [`super::rebuild`] makes it anew from the records of the pages.
#[derive(Clone, Debug)]
pub struct Groups {
    layout: Layout,
    pub(super) groups: BTreeMap<u32, Group>,
    pub(super) next_version: u64,
    pub(super) temporary: Temporaries,
}

impl Groups {
    /// No groups, on a drive of this geometry.
    pub fn new(geometry: Geometry) -> Groups {
        Groups {
            layout: Layout::new(geometry),
            groups: BTreeMap::new(),
            next_version: 1,
            temporary: Temporaries::default(),
        }
    }

    /// How chunks are spread over the whole drive.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How chunks are spread in the strings of a row set; over the whole drive if there is no such
    /// row set's group.
    pub fn layout_of(&self, row_set: RowSetId) -> &Layout {
        let group = self.groups.get(&row_set.group);
        match self.temporary.get(row_set) {
            Some(strings) => &strings.layout,
            None => group.map_or(&self.layout, |group| &group.layout),
        }
    }

    /// The home of a group.
    pub fn home(&self, group: u32) -> Option<Home> {
        Some(self.groups.get(&group)?.layout.home())
    }

    /// As [`Groups::place_at`], spread over all dies.
    ///
    /// # Errors
    /// As [`Groups::place_at`].
    pub fn place(
        &mut self,
        source: &mut dyn BlockSource,
        vector: VectorId,
        bits: u64,
        inverse: bool,
    ) -> Result<PendingWrite, BitsError> {
        self.place_at(source, Home::ALL, vector, bits, inverse)
    }

    /// Reserves a layer for `vector` in its group, which lies on the dies of `home`; what the vector
    /// was before stays in place until [`Groups::commit`].
    ///
    /// # Errors [`BitsError::LengthUnsupported`], [`BitsError::LengthMismatch`] with the group's
    /// other vectors, [`BitsError::NoSuchHome`], [`BitsError::HomeMismatch`],
    /// [`BitsError::OutOfBlocks`], [`BitsError::GroupExhausted`]; nothing is changed then.
    pub fn place_at(
        &mut self,
        source: &mut dyn BlockSource,
        home: Home,
        vector: VectorId,
        bits: u64,
        inverse: bool,
    ) -> Result<PendingWrite, BitsError> {
        let chunks = self.layout.chunks(bits);
        if bits == 0 || bits > BITS_MAX || chunks > u64::from(u32::MAX) {
            return Err(BitsError::LengthUnsupported(bits));
        }
        let layout = self.layout.at(home).ok_or(BitsError::NoSuchHome {
            home,
            dies: self.layout.geometry().dies(),
        })?;
        if layout.blocks(chunks) > layout.geometry().blocks() as usize {
            return Err(BitsError::OutOfBlocks {
                group: vector.group,
                plane: 0,
            });
        }
        let known = self
            .groups
            .get(&vector.group)
            .filter(|group| !group.is_vacant());
        if let Some(group) = known.filter(|group| group.bits != bits) {
            let expected = group.bits;
            return Err(BitsError::LengthMismatch {
                vector,
                expected,
                found: bits,
            });
        }
        if let Some(group) = known.filter(|group| group.layout != layout) {
            return Err(BitsError::HomeMismatch {
                group: vector.group,
                expected: group.layout.home(),
                found: layout.home(),
            });
        }
        self.reserve(source, layout, vector, bits, inverse, false)
    }

    fn reserve(
        &mut self,
        source: &mut dyn BlockSource,
        layout: Layout,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        deleted: bool,
    ) -> Result<PendingWrite, BitsError> {
        let new = || Group::new(vector.group, bits, layout.clone());
        let group = self.groups.entry(vector.group).or_insert_with(new);
        if group.bits != bits || group.layout != layout {
            // Strings laid out for the former length or home hold no vector any more; they await
            // erasure.
            group.close(self.layout.geometry().cells_per_string as usize);
            (group.bits, group.layout) = (bits, layout);
        }
        let reserved = group.reserve(source, vector.vector);
        if group.row_sets.is_empty() {
            self.groups.remove(&vector.group);
        }
        let (row_set, layer) = reserved?;
        let version = self.next_version;
        self.next_version += 1;
        let row_set = RowSetId {
            group: vector.group,
            row_set,
        };
        let chunks = if deleted { 1 } else { self.layout.chunks(bits) };
        let placement = VectorPlacement {
            row_set,
            layer,
            inverse,
            bits,
        };
        Ok(PendingWrite {
            vector,
            placement,
            chunks,
            version,
            deleted,
        })
    }

    /// The record for the page of `chunk` of a reserved layer.
    ///
    /// # Panics
    /// If the write has no such chunk.
    pub fn record(&self, write: &PendingWrite, chunk: u64) -> VectorSpare {
        assert!(chunk < write.chunks, "chunk {chunk} of {}", write.chunks);
        VectorSpare {
            group: write.vector.group,
            vector: write.vector.vector,
            chunk: chunk as u32,
            row_set: write.placement.row_set.row_set,
            bits: write.placement.bits,
            version: write.version,
            dies: self.layout_of(write.placement.row_set).home().dies,
            inverse: write.placement.inverse,
            deleted: write.deleted,
        }
    }

    /// Makes a write whose pages are all programmed the current version, unless a later one already
    /// is.
    pub fn commit(&mut self, write: PendingWrite) {
        let VectorId { group, vector } = write.vector;
        let RowSetId { row_set, .. } = write.placement.row_set;
        let Some(group) = self.groups.get_mut(&group) else {
            return;
        };
        let overtaken = group
            .vectors
            .get(&vector)
            .is_some_and(|stored| stored.version > write.version);
        if overtaken {
            return group.set_layer(row_set, write.placement.layer, Layer::Dead(vector));
        }
        group.supersede(vector);
        let layer = write.placement.layer;
        if write.deleted {
            group.set_layer(row_set, layer, Layer::Tombstone(vector));
        } else {
            group.set_layer(row_set, layer, Layer::Live(vector));
            let VectorPlacement { inverse, .. } = write.placement;
            group.vectors.insert(
                vector,
                Stored {
                    row_set,
                    layer,
                    inverse,
                    version: write.version,
                },
            );
        }
    }

    /// Gives up a write; its layer stays unused until its strings are erased.
    pub fn abandon(&mut self, write: PendingWrite) {
        let VectorPlacement { row_set, layer, .. } = write.placement;
        if let Some(group) = self.groups.get_mut(&write.vector.group) {
            group.set_layer(row_set.row_set, layer, Layer::Dead(write.vector.vector));
        }
    }

    /// Begins the deletion of a vector.
    ///
    /// # Errors [`BitsError::UnknownVector`]; [`BitsError::OutOfBlocks`] if the record needs a
    /// layer and there is none (deleting the whole group needs none).
    pub fn delete(
        &mut self,
        source: &mut dyn BlockSource,
        vector: VectorId,
    ) -> Result<Deletion, BitsError> {
        let found = self.find(vector).ok_or(BitsError::UnknownVector(vector))?;
        if self.groups[&vector.group].holds_only(vector.vector) {
            return self.delete_group(vector.group).map(Deletion::Group);
        }
        let layout = self.groups[&vector.group].layout.clone();
        self.reserve(source, layout, vector, found.bits, found.inverse, true)
            .map(Deletion::Record)
    }

    /// Forgets every vector of a group; its blocks are to be erased row set after row set, in this
    /// order, so that a power cut cannot bring back a version that another had replaced. No write
    /// to the group may be under way.
    ///
    /// # Errors
    /// [`BitsError::UnknownGroup`].
    pub fn delete_group(&mut self, id: u32) -> Result<Vec<Reclaim>, BitsError> {
        let group = self
            .groups
            .get_mut(&id)
            .filter(|group| !group.vectors.is_empty());
        let group = group.ok_or(BitsError::UnknownGroup(id))?;
        let vectors: Vec<u32> = group.vectors.keys().copied().collect();
        vectors
            .into_iter()
            .for_each(|vector| group.supersede(vector));
        Ok(self.reclaim_group(id))
    }

    /// Blocks that hold nothing worth keeping, to be erased row set after row set in this order.
    pub fn reclaim(&mut self) -> Vec<Reclaim> {
        let ids: Vec<u32> = self.groups.keys().copied().collect();
        ids.into_iter()
            .flat_map(|id| self.reclaim_group(id))
            .collect()
    }

    /// Groups that [`Groups::reclaim_group`] would give blocks of, ascending.
    pub fn reclaimable(&self) -> Vec<u32> {
        let some = |id: &u32| !self.reclaimable_of(*id).is_empty();
        self.groups.keys().copied().filter(some).collect()
    }

    fn reclaimable_of(&self, id: u32) -> Vec<u32> {
        let cells = self.layout.geometry().cells_per_string as usize;
        match self.groups.get(&id) {
            None => Vec::new(),
            Some(group) if group.is_vacant() => group.abolish(),
            Some(group) => group.reclaimable(cells),
        }
    }

    /// As [`Groups::reclaim`], of one group.
    pub fn reclaim_group(&mut self, id: u32) -> Vec<Reclaim> {
        let reclaimable = self.reclaimable_of(id);
        let Some(group) = self.groups.get_mut(&id) else {
            return Vec::new();
        };
        let hand_out = |number: u32| {
            let row_set = group.row_sets.get_mut(&number)?;
            row_set.erasing = true;
            let blocks = row_set.blocks.iter().flatten().copied().collect();
            Some(Reclaim {
                row_set: RowSetId {
                    group: id,
                    row_set: number,
                },
                blocks,
            })
        };
        reclaimable.into_iter().filter_map(hand_out).collect()
    }

    /// Reports that the blocks of a row set, handed out for erasing, are erased (or retired as
    /// bad).
    pub fn erased(&mut self, row_set: RowSetId) {
        if let Some(group) = self.groups.get_mut(&row_set.group) {
            group.row_sets.remove(&row_set.row_set);
            if group.row_sets.is_empty() {
                self.groups.remove(&row_set.group);
            }
        }
    }

    /// Forgets all groups.
    pub fn forget_everything(&mut self) {
        self.groups.clear();
    }

    /// Where the current version of a vector is.
    pub fn find(&self, vector: VectorId) -> Option<VectorPlacement> {
        self.groups.get(&vector.group)?.placement(vector.vector)
    }

    /// All vectors, ascending by group and vector.
    pub fn vectors(&self) -> impl Iterator<Item = (VectorId, VectorPlacement)> + '_ {
        self.groups.iter().flat_map(|(&id, group)| {
            let place = move |&vector: &u32| {
                let placement = group.placement(vector)?;
                Some((VectorId { group: id, vector }, placement))
            };
            group.vectors.keys().filter_map(place)
        })
    }

    /// All blocks that groups occupy, those being erased included.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let row_sets = self
            .groups
            .values()
            .flat_map(|group| group.row_sets.values());
        row_sets.flat_map(|row_set| row_set.blocks.iter().flatten().copied())
    }

    /// The string of a row set that holds a chunk.
    pub fn string(&self, row_set: RowSetId, chunk: u64) -> Option<StringAddress> {
        let (layout, blocks) = match self.temporary.get(row_set) {
            Some(strings) => (&strings.layout, &strings.blocks),
            None => {
                let group = self.groups.get(&row_set.group)?;
                (&group.layout, &group.row_sets.get(&row_set.row_set)?.blocks)
            }
        };
        let block = (*blocks.get(layout.block_index(chunk))?)?;
        Some(StringAddress {
            block,
            string: layout.string(chunk),
        })
    }

    /// The page that holds a chunk of a vector.
    pub fn page(&self, placement: &VectorPlacement, chunk: u64) -> Option<PageAddress> {
        let string = self.string(placement.row_set, chunk)?;
        let layout = self.layout_of(placement.row_set);
        Some(layout.page(string.block, chunk, placement.layer))
    }

    /// The pages of a vector of `chunks` chunks, chunk by chunk; `None` where the strings have lost
    /// their block.
    pub fn pages(
        &self,
        placement: &VectorPlacement,
        chunks: u64,
    ) -> impl Iterator<Item = Option<PageAddress>> + '_ {
        let RowSetId { group, row_set } = placement.row_set;
        let group = self.groups.get(&group);
        let row_set = group.and_then(|group| group.row_sets.get(&row_set));
        let blocks = row_set.map_or(&[][..], |row_set| &row_set.blocks);
        let layout = group.map_or(&self.layout, |group| &group.layout);
        let layer = placement.layer;
        (0..chunks).map(move |chunk| {
            let block = (*blocks.get(layout.block_index(chunk))?)?;
            Some(layout.page(block, chunk, layer))
        })
    }
}
