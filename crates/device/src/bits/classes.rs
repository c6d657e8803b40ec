//! Where the operands of an expression lie: chunk by chunk through the mapping, chunks whose operands lie alike together.
//!
//! Chunks of one class differ only in which blocks and strings their rows are in, so that one plan serves all of them.
//! Rows written in order under one handle make one class; what collection moved or failing flash tore apart makes more.

use std::collections::BTreeMap;
use std::ops::Range;

use arrayvec::ArrayVec;
use media::nand::{BlockId, DieId, Geometry, PLANES_PER_DIE_MAX, PlaneId};

use super::plan::Computation;
use super::reads::Reads;
use super::rows::{LENT, Operand, Row, RowSetId};
use crate::cost::PageRead;
use crate::ftl::{Lpn, Stored};
use crate::region::{DieBatch, Home, Layout, StringAddress};

/// Where one operand is in a chunk, as far as a plan needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Zeroes,
    /// Not in the region: it is read, corrected and not sensed with others.
    Elsewhere {
        /// Its number among such operands.
        number: u32,
    },
    Row {
        /// Number of its string among those of the chunk, by first use.
        set: u32,
        layer: u32,
        inverse: bool,
    },
}

/// Strings of one number, over the chunks of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Set {
    /// Number of their plane among those of the chunk, by first use: rows of one site are combined in the latches.
    site: u32,
    /// The first set whose block is the same; another string of it cannot be sensed at once.
    twin: u32,
}

/// What chunks of one class have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    places: Vec<Place>,
    sets: Vec<Set>,
}

/// Chunks whose operands lie alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    signature: Signature,
    /// The chunks, ascending.
    chunks: Vec<u32>,
    /// By place among the chunks, then by set.
    strings: Vec<StringAddress>,
    /// By place: the plane of an operand outside of the region, where there is no set.
    planes: Vec<PlaneId>,
    /// By place, then by operand outside of the region.
    reads: Reads,
    /// The first logical page of each operand.
    first: Vec<Lpn>,
    /// Logical pages of a chunk.
    per_chunk: u32,
}

/// Places of chunks in a class that a multi-plane command can reach, and the die.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DieShare {
    /// The die.
    pub die: DieId,
    /// Places in different planes of it, ascending; batch after batch.
    pub batches: Vec<DieBatch>,
}

/// Chunks of a batch, by their number in it, that one die senses at once: each is in another plane of it.
#[derive(Clone, Debug)]
pub struct OfDie {
    /// The die.
    pub die: DieId,
    /// The chunks.
    pub numbers: ArrayVec<usize, PLANES_PER_DIE_MAX>,
}

/// The chunks of a batch by the dies that sense them, `plane` telling the plane of a place.
pub fn by_die(
    geometry: &Geometry,
    batch: &DieBatch,
    plane: impl Fn(u64) -> PlaneId,
) -> ArrayVec<OfDie, PLANES_PER_DIE_MAX> {
    let planes: ArrayVec<PlaneId, PLANES_PER_DIE_MAX> =
        batch.iter().map(|&place| plane(place)).collect();
    let mut dies: ArrayVec<OfDie, PLANES_PER_DIE_MAX> = ArrayVec::new();
    for (number, &plane) in planes.iter().enumerate() {
        let die = geometry.die_of_plane(plane);
        let has_plane = |known: &OfDie| known.numbers.iter().any(|&other| planes[other] == plane);
        let joins = |known: &&mut OfDie| known.die == die && !has_plane(known);
        match dies.iter_mut().find(joins) {
            Some(known) => known.numbers.push(number),
            None => dies.push(OfDie {
                die,
                numbers: ArrayVec::from_iter([number]),
            }),
        }
    }
    dies
}

/// What is found out about one chunk.
#[derive(Default)]
struct Chunk {
    signature: Signature,
    /// By set.
    strings: Vec<StringAddress>,
    /// By operand outside of the region.
    reads: Reads,
    /// Those of one operand.
    of_operand: Vec<PageRead>,
}

/// The classes of the chunks, of so many logical pages each, of operands that begin with these; `stored` tells where the
/// chunk is that begins with a page, and adds the reads that it takes outside of the region. All blocks of the region among
/// them are reported to `pin`.
pub fn classes(
    stored: impl Fn(Lpn, &mut Vec<PageRead>) -> Stored,
    geometry: &Geometry,
    (first, per_chunk): (&[Lpn], u32),
    chunks: Range<u32>,
    mut pin: impl FnMut(BlockId),
) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut known: BTreeMap<Signature, usize> = BTreeMap::new();
    let mut last: Option<usize> = None;
    let mut found = Chunk::default();
    let planes = geometry.planes();
    for chunk in chunks {
        let mut outside = PlaneId(chunk % planes);
        let lpns = first.iter().map(|lpn| Lpn(lpn.0 + chunk * per_chunk));
        found.describe(geometry, lpns, &stored, &mut outside);
        found.strings.iter().for_each(|string| pin(string.block));
        let number = match last {
            Some(last) if classes[last].signature == found.signature => last,
            _ => *known.entry(found.signature.clone()).or_insert_with(|| {
                classes.push(Class {
                    signature: found.signature.clone(),
                    chunks: Vec::new(),
                    strings: Vec::new(),
                    planes: Vec::new(),
                    reads: Reads::default(),
                    first: first.to_vec(),
                    per_chunk,
                });
                classes.len() - 1
            }),
        };
        last = Some(number);
        let class = &mut classes[number];
        class.chunks.push(chunk);
        class.strings.extend_from_slice(&found.strings);
        class.reads.append(&found.reads);
        if class.signature.sets.is_empty() {
            class.planes.push(outside);
        }
    }
    classes
}

impl Chunk {
    /// Says how the operands of one chunk lie that begin with these pages, and in which strings; `outside` becomes the plane
    /// of one that is in no string, if there is any.
    fn describe(
        &mut self,
        geometry: &Geometry,
        lpns: impl Iterator<Item = Lpn>,
        stored: impl Fn(Lpn, &mut Vec<PageRead>) -> Stored,
        outside: &mut PlaneId,
    ) {
        let Chunk {
            signature,
            strings,
            reads,
            of_operand,
        } = self;
        signature.places.clear();
        signature.sets.clear();
        strings.clear();
        reads.clear();
        let per_block = geometry.strings_per_block;
        // Operands that follow one another mostly share a string.
        let mut last = 0;
        for lpn in lpns {
            let place = match stored(lpn, of_operand) {
                Stored::Zeroes => Place::Zeroes,
                Stored::Elsewhere(page) => {
                    *outside = page.map_or(*outside, |page| geometry.plane_of_block(page.block));
                    reads.push(of_operand.drain(..));
                    let number = reads.pages() as u32 - 1;
                    Place::Elsewhere { number }
                }
                Stored::Placed { page, inverse } => {
                    let string = StringAddress {
                        block: page.block,
                        string: page.page % per_block,
                    };
                    if strings.get(last) != Some(&string) {
                        let known = strings.iter().position(|known| *known == string);
                        last = known.unwrap_or_else(|| {
                            let set = set_of(geometry, strings, &signature.sets, string);
                            signature.sets.push(set);
                            strings.push(string);
                            strings.len() - 1
                        });
                    }
                    Place::Row {
                        set: last as u32,
                        layer: page.page / per_block,
                        inverse,
                    }
                }
            };
            signature.places.push(place);
        }
    }
}

fn set_of(
    geometry: &Geometry,
    strings: &[StringAddress],
    sets: &[Set],
    string: StringAddress,
) -> Set {
    let plane = geometry.plane_of_block(string.block);
    let of_plane = |known: &StringAddress| geometry.plane_of_block(known.block) == plane;
    let new_site = || sets.iter().map(|set| set.site + 1).max().unwrap_or(0);
    let neighbour = strings.iter().position(of_plane);
    let twin = strings.iter().position(|known| known.block == string.block);
    Set {
        site: neighbour.map_or_else(new_site, |at| sets[at].site),
        twin: twin.unwrap_or(strings.len()) as u32,
    }
}

impl Class {
    /// How operand number `operand` is stored.
    pub fn operand(&self, operand: u32) -> Operand {
        match self.signature.places[operand as usize] {
            Place::Zeroes => Operand::Zeroes,
            Place::Elsewhere { .. } => Operand::Row(Row {
                row_set: RowSetId::page(operand),
                layer: 0,
                inverse: false,
            }),
            Place::Row {
                set,
                layer,
                inverse,
            } => Operand::Row(Row {
                row_set: RowSetId(set),
                layer,
                inverse,
            }),
        }
    }

    /// How many operands there are.
    pub fn operands(&self) -> u32 {
        self.signature.places.len() as u32
    }

    /// The site of an operand; any for one that needs none.
    pub fn site(&self, operand: u32) -> usize {
        match self.signature.places[operand as usize] {
            Place::Row { set, .. } => self.site_of(RowSetId(set)),
            Place::Zeroes | Place::Elsewhere { .. } => 0,
        }
    }

    /// The site of a row set.
    pub fn site_of(&self, row_set: RowSetId) -> usize {
        let set = self.signature.sets.get(row_set.0 as usize);
        set.map_or(0, |set| set.site as usize)
    }

    /// The site whose dies are asked for the pages of a computation by those of a site, where what is lent lies.
    pub fn site_asked(&self, computation: &Computation, site: usize) -> usize {
        match computation.first_row_set() {
            Some(row_set) if row_set != LENT && row_set.operand().is_none() => {
                self.site_of(row_set)
            }
            _ => site,
        }
    }

    /// Whether a computation senses other dies than those of a site, or none: it reads pages. What is lent lies at the
    /// site.
    pub fn is_elsewhere(&self, computation: &Computation, site: usize) -> bool {
        match computation.first_row_set() {
            None | Some(LENT) => false,
            Some(row_set) => row_set.operand().is_some() || self.site_of(row_set) != site,
        }
    }

    /// How many sites there are, one at least.
    pub fn sites(&self) -> usize {
        let sites = self.signature.sets.iter().map(|set| set.site as usize + 1);
        sites.max().unwrap_or(1)
    }

    /// Whether some operand is not in the region.
    pub fn has_pages(&self) -> bool {
        self.pages() > 0
    }

    /// How many operands are not in the region.
    fn pages(&self) -> usize {
        self.reads.pages() / self.len().max(1)
    }

    /// Whether different strings of one block hold operands: they cannot be sensed at once.
    pub fn shares_blocks(&self) -> bool {
        let sets = (0..).zip(&self.signature.sets);
        sets.into_iter().any(|(number, set)| set.twin != number)
    }

    /// How many chunks it has.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// How many strings its chunks have, and reads of flash they take, all together.
    pub fn strings_and_reads(&self) -> usize {
        self.strings.len() + self.reads.len()
    }

    /// Whether it has none; a class has some.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The chunk at a place.
    pub fn chunk(&self, place: u64) -> u64 {
        self.chunks[place as usize].into()
    }

    /// The first logical page of an operand in the chunk at a place.
    pub fn lpn(&self, operand: u32, place: u64) -> Lpn {
        Lpn(self.first[operand as usize].0 + self.chunks[place as usize] * self.per_chunk)
    }

    /// The reads of flash that an operand takes in the chunk at a place; none if it is in the region, holds nothing or is in
    /// the data cache.
    pub fn reads(&self, operand: u32, place: u64) -> &[PageRead] {
        let pages = self.pages();
        match self.signature.places[operand as usize] {
            Place::Elsewhere { number } => self.reads.of(place as usize * pages + number as usize),
            Place::Zeroes | Place::Row { .. } => &[],
        }
    }

    /// The string of a row set in the chunk at a place.
    pub fn string(&self, row_set: RowSetId, place: u64) -> StringAddress {
        let sets = self.signature.sets.len();
        self.strings[place as usize * sets + row_set.0 as usize]
    }

    /// The plane of a site in the chunk at a place.
    pub fn plane(&self, geometry: &Geometry, site: usize, place: u64) -> PlaneId {
        let sets = &self.signature.sets;
        match sets.iter().position(|set| set.site as usize == site) {
            Some(set) => geometry.plane_of_block(self.string(RowSetId(set as u32), place).block),
            None => self.planes[place as usize],
        }
    }

    /// By place: the plane of a site, and how many chunks before have the same.
    pub fn numbers_in_plane(
        &self,
        geometry: &Geometry,
        site: usize,
    ) -> impl Iterator<Item = (PlaneId, u32)> {
        let mut next = vec![0; geometry.planes() as usize];
        (0..self.len() as u64).map(move |place| {
            let plane = self.plane(geometry, site, place);
            let next: &mut u32 = &mut next[plane.0 as usize];
            *next += 1;
            (plane, *next - 1)
        })
    }

    /// The chunks by the dies of a site, in the order of first use; the planes of a batch ascend.
    pub fn shares(&self, geometry: &Geometry, site: usize) -> Vec<DieShare> {
        let mut number_of = vec![None; geometry.dies() as usize];
        let mut shares: Vec<(DieShare, Option<PlaneId>)> = Vec::new();
        for place in 0..self.len() as u64 {
            let plane = self.plane(geometry, site, place);
            let die = geometry.die_of_plane(plane);
            let number = *number_of[die.0 as usize].get_or_insert_with(|| {
                let batches = Vec::new();
                shares.push((DieShare { die, batches }, None));
                shares.len() - 1
            });
            let (share, last) = &mut shares[number];
            match share.batches.last_mut().filter(|_| *last < Some(plane)) {
                Some(batch) => batch.push(place),
                None => share.batches.push(DieBatch::from_iter([place])),
            }
            *last = Some(plane);
        }
        shares.into_iter().map(|(share, _)| share).collect()
    }

    /// The first chunks of it.
    pub fn prefix(&self, chunks: usize) -> Class {
        let (chunks, sets) = (chunks.min(self.len()), self.signature.sets.len());
        let pages = self.pages();
        Class {
            reads: self.reads.prefix(chunks * pages),
            signature: self.signature.clone(),
            chunks: self.chunks[..chunks].to_vec(),
            strings: self.strings[..chunks * sets].to_vec(),
            planes: self.planes[..if sets == 0 { chunks } else { 0 }].to_vec(),
            first: self.first.clone(),
            per_chunk: self.per_chunk,
        }
    }

    /// The chunks of it below a number, counted from the first of all classes.
    pub fn until(&self, end: u64) -> Class {
        let below = self.chunks.partition_point(|chunk| u64::from(*chunk) < end);
        self.prefix(below)
    }

    /// The class that its first chunk would be of, had all operands been written that long: `layouts` tell by set how
    /// chunks are spread over dies. What is outside of the region goes on in the planes that follow.
    pub fn continued(&self, layouts: &[Layout], geometry: &Geometry, chunks: Range<u64>) -> Class {
        let sets = &self.signature.sets;
        let string = |chunk: u64, set: usize| {
            // In one block with another set if the first chunk's strings are.
            let block = sets[set].twin;
            let plane = layouts[set].plane(chunk);
            StringAddress {
                block: geometry.block_of_plane(plane, block % geometry.blocks_per_plane),
                string: set as u32 % geometry.strings_per_block,
            }
        };
        let planes = u64::from(geometry.planes());
        let outside = chunks.clone().filter(|_| sets.is_empty());
        let reads = self.reads.continued(self.pages(), geometry, chunks.clone());
        Class {
            reads,
            signature: self.signature.clone(),
            strings: chunks
                .clone()
                .flat_map(|chunk| (0..sets.len()).map(move |set| (chunk, set)))
                .map(|(chunk, set)| string(chunk, set))
                .collect(),
            planes: outside
                .map(|chunk| PlaneId((chunk % planes) as u32))
                .collect(),
            chunks: chunks.map(|chunk| chunk as u32).collect(),
            first: self.first.clone(),
            per_chunk: self.per_chunk,
        }
    }

    /// A block of each set, in its first chunk.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let strings = self.strings[..self.signature.sets.len()].iter();
        strings.map(|string| string.block)
    }

    /// The dies of a site, in words of a home: the die of the first chunk, and how many there are.
    pub fn home(&self, geometry: &Geometry, site: usize) -> Home {
        let shares = self.shares(geometry, site);
        let first = shares.first().map_or(0, |share| {
            let per_channel = geometry.dies_per_channel();
            share.die.0 % per_channel * geometry.channels + share.die.0 / per_channel
        });
        let all = shares.len() as u32 == geometry.dies();
        Home {
            first: first as u16,
            dies: if all { 0 } else { shares.len() as u16 },
        }
    }
}
