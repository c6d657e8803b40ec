//! From chunks of rows to planes, strings and columns of blocks.

use std::ops::Range;

use arrayvec::ArrayVec;
use media::nand::{BlockId, Geometry, PLANES_PER_DIE_MAX, PageAddress, PlaneId};
use nvme::command::Home;

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

/// How chunks are spread over the dies of a home, on a drive of some geometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    geometry: Geometry,
    /// The die of chunk 0, dies counted channels first.
    first: u32,
    /// Dies used, that one and those after it.
    dies: u32,
}

impl Layout {
    /// The layout over all dies of a valid geometry.
    pub fn new(geometry: Geometry) -> Layout {
        Layout {
            first: 0,
            dies: geometry.dies(),
            geometry,
        }
    }

    /// The layout on the same geometry over the dies of `home`; `None` if there are no such dies.
    pub fn at(&self, home: Home) -> Option<Layout> {
        let all = self.geometry.dies();
        let dies = match home.dies {
            0 => all,
            some => u32::from(some),
        };
        (dies <= all && u32::from(home.first) < all).then(|| Layout {
            geometry: self.geometry.clone(),
            first: home.first.into(),
            dies,
        })
    }

    /// The home, written in one way only: all dies of the drive are zero dies.
    pub fn home(&self) -> Home {
        let all = self.dies == self.geometry.dies();
        Home {
            first: self.first as u16,
            dies: if all { 0 } else { self.dies as u16 },
        }
    }

    /// Dies over which it spreads chunks.
    pub fn dies(&self) -> u32 {
        self.dies
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
        let place = self.place_in_stripe(chunk);
        let number = (self.first + place % self.dies) % self.geometry.dies();
        let die = number % channels * self.geometry.dies_per_channel() + number / channels;
        PlaneId(die * planes_per_die + place / self.dies)
    }

    /// The chunks of a vector, those together that a multi-plane command can reach: one stripe of
    /// one die. Consecutive batches are on different channels.
    pub fn die_batches(&self, chunks: u64) -> impl Iterator<Item = DieBatch> + use<> {
        let dies = u64::from(self.dies);
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

    /// The batches of [`Layout::die_batches`] that one die holds of `chunks`, ascending: dies are numbered from the
    /// first of the home, consecutive numbers on different channels.
    pub fn batches_of(
        &self,
        number: u32,
        chunks: Range<u64>,
    ) -> impl Iterator<Item = DieBatch> + use<> {
        let (number, dies) = (u64::from(number), u64::from(self.dies));
        let (planes, planes_per_die) = (self.planes(), u64::from(self.geometry.planes_per_die));
        let stripes = chunks.start / planes..chunks.end.div_ceil(planes);
        stripes.filter_map(move |stripe| {
            let first = stripe * planes + number;
            let batch: DieBatch = (0..planes_per_die)
                .map(|plane| first + plane * dies)
                .filter(|chunk| chunks.contains(chunk))
                .collect();
            (!batch.is_empty()).then_some(batch)
        })
    }

    /// Dies that hold something of `chunks`, by number, that of the first of them first.
    pub fn die_numbers(&self, chunks: Range<u64>) -> impl Iterator<Item = u32> + use<> {
        let dies = u64::from(self.dies);
        let end = chunks.end.min(chunks.start + dies);
        (chunks.start..end).map(move |chunk| (chunk % dies) as u32)
    }

    /// Chunks of the largest batch of so many chunks.
    pub fn pages_of_batch(&self, chunks: u64) -> u64 {
        let planes_per_die = u64::from(self.geometry.planes_per_die);
        chunks.div_ceil(u64::from(self.dies)).min(planes_per_die)
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

    /// Number of the column that holds a chunk.
    pub fn block_index(&self, chunk: u64) -> usize {
        let row = self.stripe(chunk) / u64::from(self.geometry.strings_per_block);
        (row * self.planes() + u64::from(self.place_in_stripe(chunk))) as usize
    }

    /// Columns of rows of `chunks` chunks.
    pub fn blocks(&self, chunks: u64) -> usize {
        let row = self.planes() * u64::from(self.geometry.strings_per_block);
        (chunks / row * self.planes() + (chunks % row).min(self.planes())) as usize
    }

    /// The plane of column number `index`.
    pub fn plane_of_block_index(&self, index: usize) -> PlaneId {
        self.plane(index as u64 % self.planes())
    }

    fn planes(&self) -> u64 {
        u64::from(self.dies) * u64::from(self.geometry.planes_per_die)
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
    use crate::region::tests::small;

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
        homes().for_each(|layout| batches_cover(&layout));
    }

    fn batches_cover(layout: &Layout) {
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

    /// Every home of the small drive, which has four dies.
    fn homes() -> impl Iterator<Item = Layout> {
        let homes = (0..4).flat_map(|first| (0..=4).map(move |dies| Home { first, dies }));
        homes.map(|home| Layout::new(small()).at(home).expect("there are such dies"))
    }

    #[test]
    fn a_home_uses_its_dies_and_no_others() {
        for layout in homes() {
            let (first, dies) = (layout.first, layout.dies);
            let geometry = small();
            for chunk in 0..40 {
                // By counting up, instead of by a formula: channel, then chip, then plane.
                let number = (first + chunk % dies) % 4;
                let place = geometry.plane_place(layout.plane(chunk.into()));
                let expected = (number % 2, number / 2, chunk / dies % 2);
                assert_eq!((place.channel, place.chip, place.plane), expected);
            }
            assert_eq!(Layout::new(small()).at(layout.home()), Some(layout));
        }
        let no_home = |first, dies| Layout::new(small()).at(Home { first, dies });
        assert_eq!((no_home(4, 0), no_home(0, 5)), (None, None));
    }

    #[test]
    fn every_chunk_has_its_own_string() {
        homes().for_each(|layout| strings_are_apart(&layout));
    }

    fn strings_are_apart(layout: &Layout) {
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
    fn dies_hold_the_batches_of_all() {
        homes().for_each(|layout| dies_hold_the_batches(&layout));
    }

    fn dies_hold_the_batches(layout: &Layout) {
        for chunks in [1, 3, 7, 8, 9, 19, 40] {
            let mut batches: Vec<_> = layout.die_batches(chunks).collect();
            let of_dies = layout
                .die_numbers(0..chunks)
                .flat_map(|number| layout.batches_of(number, 0..chunks));
            let mut held: Vec<_> = of_dies.collect();
            for (number, start) in (0..layout.dies).flat_map(|l| (0..chunks).map(move |s| (l, s))) {
                let batches = layout.batches_of(number, start..chunks);
                let pages = batches.map(|batch| batch.len() as u64);
                assert!(pages.max() <= Some(layout.pages_of_batch(chunks)));
            }
            for batch in &held {
                let die = |&chunk: &u64| layout.geometry().die_of_plane(layout.plane(chunk));
                assert!(batch.iter().all(|chunk| die(chunk) == die(&batch[0])));
            }
            batches.sort();
            held.sort();
            assert_eq!(batches, held, "{chunks} chunks");
            let past = (0..layout.dies)
                .filter(|number| layout.die_numbers(0..chunks).all(|other| other != *number));
            assert!(
                past.into_iter()
                    .all(|number| layout.batches_of(number, 0..chunks).next().is_none())
            );
        }
    }

    #[test]
    fn the_dies_of_pieces_hold_the_whole() {
        let layout = Layout::new(small());
        let of = |chunks: Range<u64>| {
            let batches = layout
                .die_numbers(chunks.clone())
                .flat_map(|number| layout.batches_of(number, chunks.clone()));
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
