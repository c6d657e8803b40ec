//! From chunks of vectors to planes, strings and blocks of a row set.

use std::ops::Range;

use arrayvec::ArrayVec;
use media::nand::{BlockId, Geometry, PLANES_PER_DIE_MAX, PageAddress, PlaneId};

/// A string of a block: what one slot of a sense selects wordlines of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringAddress {
    /// The block.
    pub block: BlockId,
    /// The string within it.
    pub string: u32,
}

/// Chunks in different planes of one die.
pub type DieBatch = ArrayVec<u64, PLANES_PER_DIE_MAX>;

/// How chunks are spread over a drive of some geometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    geometry: Geometry,
}

impl Layout {
    /// The layout on a valid geometry.
    pub fn new(geometry: Geometry) -> Layout {
        Layout { geometry }
    }

    /// The geometry it is on.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Bits of one chunk: those of a page.
    pub fn page_bits(&self) -> u64 {
        u64::from(self.geometry.page_bytes) * 8
    }

    /// Chunks of a vector of `bits`.
    pub fn chunks(&self, bits: u64) -> u64 {
        bits.div_ceil(self.page_bits())
    }

    /// The plane of a chunk: consecutive chunks are on different channels first, then on different
    /// dies of a channel, then in different planes of a die.
    pub fn plane(&self, chunk: u64) -> PlaneId {
        let Geometry {
            channels,
            planes_per_die,
            ..
        } = self.geometry;
        let dies_per_channel = self.geometry.dies_per_channel();
        let place = self.place_in_stripe(chunk);
        let die = place % channels * dies_per_channel + place / channels % dies_per_channel;
        let plane = place / (channels * dies_per_channel);
        PlaneId(die * planes_per_die + plane)
    }

    /// The chunks of a vector, those together that a multi-plane command can reach: one stripe of
    /// one die. Consecutive batches are on different channels.
    pub fn die_batches(&self, chunks: u64) -> impl Iterator<Item = DieBatch> + use<> {
        let dies = u64::from(self.geometry.dies());
        let planes_per_die = u64::from(self.geometry.planes_per_die);
        let batches = chunks.div_ceil(self.planes()) * dies;
        (0..batches).filter_map(move |batch| {
            let first = batch / dies * dies * planes_per_die + batch % dies;
            let chunks: DieBatch = (0..planes_per_die)
                .map(|plane| first + plane * dies)
                .filter(|&chunk| chunk < chunks)
                .collect();
            (!chunks.is_empty()).then_some(chunks)
        })
    }

    /// The batches of [`Layout::die_batches`] that one die holds of `chunks`, ascending: lane 0 to the
    /// number of dies, consecutive lanes on different channels.
    pub fn lane(&self, lane: u32, chunks: Range<u64>) -> impl Iterator<Item = DieBatch> + use<> {
        let (lane, dies) = (u64::from(lane), u64::from(self.geometry.dies()));
        let (planes, planes_per_die) = (self.planes(), u64::from(self.geometry.planes_per_die));
        let stripes = chunks.start / planes..chunks.end.div_ceil(planes);
        stripes.filter_map(move |stripe| {
            let first = stripe * planes + lane;
            let batch: DieBatch = (0..planes_per_die)
                .map(|plane| first + plane * dies)
                .filter(|chunk| chunks.contains(chunk))
                .collect();
            (!batch.is_empty()).then_some(batch)
        })
    }

    /// Lanes that hold something of `chunks`, that of the first of them first.
    pub fn lanes(&self, chunks: Range<u64>) -> impl Iterator<Item = u32> + use<> {
        let dies = u64::from(self.geometry.dies());
        let end = chunks.end.min(chunks.start + dies);
        (chunks.start..end).map(move |chunk| (chunk % dies) as u32)
    }

    /// The string within its block that holds a chunk.
    pub fn string(&self, chunk: u64) -> u32 {
        (self.stripe(chunk) % u64::from(self.geometry.strings_per_block)) as u32
    }

    /// The page of a chunk's block that is at `layer`.
    pub fn page(&self, block: BlockId, chunk: u64, layer: u32) -> PageAddress {
        let page = layer * self.geometry.strings_per_block + self.string(chunk);
        PageAddress { block, page }
    }

    /// The layer a page is at.
    pub fn layer(&self, page: u32) -> u32 {
        page / self.geometry.strings_per_block
    }

    /// Number, within a row set, of the block that holds a chunk.
    pub(super) fn block_index(&self, chunk: u64) -> usize {
        let row = self.stripe(chunk) / u64::from(self.geometry.strings_per_block);
        (row * self.planes() + u64::from(self.place_in_stripe(chunk))) as usize
    }

    /// Blocks of a row set for vectors of `chunks` chunks.
    pub(super) fn blocks(&self, chunks: u64) -> usize {
        let row = self.planes() * u64::from(self.geometry.strings_per_block);
        (chunks / row * self.planes() + (chunks % row).min(self.planes())) as usize
    }

    /// The plane of block number `index` of a row set.
    pub(super) fn plane_of_block_index(&self, index: usize) -> PlaneId {
        self.plane(index as u64 % self.planes())
    }

    fn planes(&self) -> u64 {
        u64::from(self.geometry.planes())
    }

    fn stripe(&self, chunk: u64) -> u64 {
        chunk / self.planes()
    }

    fn place_in_stripe(&self, chunk: u64) -> u32 {
        (chunk % self.planes()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::placement::tests::small;

    #[test]
    fn a_stripe_visits_channels_then_dies_then_planes() {
        let layout = Layout::new(small());
        let geometry = layout.geometry();
        let places: Vec<_> = (0..9)
            .map(|chunk| geometry.plane_place(layout.plane(chunk)))
            .collect();
        let order: Vec<_> = places
            .iter()
            .map(|p| (p.channel, p.chip, p.plane))
            .collect();
        let expected = [
            (0, 0, 0),
            (1, 0, 0),
            (0, 1, 0),
            (1, 1, 0),
            (0, 0, 1),
            (1, 0, 1),
            (0, 1, 1),
            (1, 1, 1),
            (0, 0, 0),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn batches_cover_every_chunk_once_and_stay_on_a_die() {
        let layout = Layout::new(small());
        for chunks in 0..=40 {
            let batches: Vec<_> = layout.die_batches(chunks).collect();
            let mut covered: Vec<u64> = batches.iter().flatten().copied().collect();
            covered.sort_unstable();
            assert_eq!(covered, (0..chunks).collect::<Vec<_>>());
            for batch in batches {
                let geometry = layout.geometry();
                let planes: Vec<_> = batch.iter().map(|&chunk| layout.plane(chunk)).collect();
                let die = geometry.die_of_plane(planes[0]);
                assert!(
                    planes
                        .iter()
                        .all(|&plane| geometry.die_of_plane(plane) == die)
                );
                assert!(planes.is_sorted_by(|a, b| a < b));
            }
        }
    }

    #[test]
    fn every_chunk_has_its_own_string() {
        let layout = Layout::new(small());
        for chunks in 1..=70 {
            let mut seen = std::collections::BTreeMap::new();
            for chunk in 0..chunks {
                let index = layout.block_index(chunk);
                assert!(index < layout.blocks(chunks));
                assert_eq!(layout.plane_of_block_index(index), layout.plane(chunk));
                assert_eq!(seen.insert((index, layout.string(chunk)), chunk), None);
            }
            let used: std::collections::BTreeSet<_> =
                seen.keys().map(|(index, _)| *index).collect();
            assert_eq!(
                used.len(),
                layout.blocks(chunks),
                "no block without a chunk"
            );
        }
    }

    #[test]
    fn lanes_are_the_batches_by_die() {
        let layout = Layout::new(small());
        for chunks in [1, 3, 7, 8, 9, 19, 40] {
            let mut batches: Vec<_> = layout.die_batches(chunks).collect();
            let of_lanes = layout
                .lanes(0..chunks)
                .flat_map(|lane| layout.lane(lane, 0..chunks));
            let mut lanes: Vec<_> = of_lanes.collect();
            for batch in &lanes {
                let die = |&chunk: &u64| layout.geometry().die_of_plane(layout.plane(chunk));
                assert!(batch.iter().all(|chunk| die(chunk) == die(&batch[0])));
            }
            batches.sort();
            lanes.sort();
            assert_eq!(batches, lanes, "{chunks} chunks");
            let past = (0..layout.geometry().dies())
                .filter(|lane| layout.lanes(0..chunks).all(|other| other != *lane));
            assert!(
                past.into_iter()
                    .all(|lane| layout.lane(lane, 0..chunks).next().is_none())
            );
        }
    }

    #[test]
    fn lanes_of_parts_are_those_of_the_whole() {
        let layout = Layout::new(small());
        let of = |chunks: Range<u64>| {
            let batches = layout
                .lanes(chunks.clone())
                .flat_map(|lane| layout.lane(lane, chunks.clone()));
            let mut found: Vec<u64> = batches.flatten().collect();
            found.sort_unstable();
            found
        };
        for start in 0..20 {
            for end in start..40 {
                assert_eq!(of(start..end), (start..end).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn layers_ascend_with_pages() {
        let layout = Layout::new(small());
        let pages: Vec<u32> = (0..3)
            .flat_map(|layer| [0, 8].map(|chunk| layout.page(BlockId(0), chunk, layer).page))
            .collect();
        assert_eq!(pages, [0, 1, 2, 3, 4, 5]);
        assert!((0..6).all(|page| layout.layer(page) == page / 2));
    }
}
