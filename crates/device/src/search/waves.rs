//! Waves of senses: how many rows go at a time, which of them dies sense together, and what each sense does to the latches.

use std::collections::BTreeMap;
use std::rc::Rc;

use media::nand::{BlockId, DieId, Iscm, WordlineBitmap};

use super::Search;
use super::table::Row;
use crate::memory::SAVED_PAGES;

/// A search region, a slice of its names, and there which layers are sensed.
pub(super) type SliceSense = (usize, u32, WordlineBitmap);

/// What each group of a question senses.
pub(super) type Senses = Vec<Vec<SliceSense>>;

/// A row in blocks, and those.
pub(super) type Sealed = (Rc<Row>, Rc<[Vec<BlockId>]>);

/// How many rows are sensed at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// In a wave, one in each plane if they lie as they should.
    pub(super) at_once: usize,
    /// Of all waves that are on their way.
    pub(super) room: usize,
    /// Page buffers for so many.
    pub(super) buffers: u32,
}

impl Search {
    /// How many of so many rows, at least one, are sensed at a time.
    pub(super) fn pace(&self, rows: usize) -> Pace {
        // A page for what each senses, and one for the case that it has to stand back.
        let each = 1 + SAVED_PAGES;
        let most = (self.buffers.most_at_once() / each) as usize;
        let planes = self.geometry.planes() as usize;
        let at_once = planes.min(most.div_ceil(2)).min(rows);
        let room = most.min(2 * at_once).min(rows);
        Pace {
            at_once,
            room,
            buffers: room as u32 * each,
        }
    }

    /// Rows as dies sense them together, by their places among all: of each plane of a die one.
    pub(super) fn batches(&self, rows: &[Sealed]) -> Vec<(DieId, Vec<usize>)> {
        let mut by_die: BTreeMap<DieId, Vec<usize>> = BTreeMap::new();
        for (at, (_, blocks)) in rows.iter().enumerate() {
            let die = self.geometry.die_of_block(blocks[0][0]);
            by_die.entry(die).or_default().push(at);
        }
        let mut batches = Vec::new();
        for (die, mut places) in by_die {
            while !places.is_empty() {
                let mut planes = 0u32;
                let batch = places.extract_if(.., |at| {
                    let plane = self.geometry.plane_of_block(rows[*at].1[0][0]);
                    let bit = 1 << self.geometry.plane_in_die(plane);
                    let fresh = planes & bit == 0;
                    planes |= bit;
                    fresh
                });
                batches.push((die, batch.collect()));
            }
        }
        batches
    }
}

/// Senses one after another, with what each does to the latches: those of a group are ANDed, groups ORed.
pub(super) fn flagged(senses: &Senses) -> impl Iterator<Item = (&SliceSense, Iscm)> {
    let groups = senses.iter().enumerate();
    groups.flat_map(|(group, senses)| {
        senses.iter().enumerate().map(move |(number, sense)| {
            let iscm = Iscm {
                inverse: false,
                init_s: number == 0,
                init_c: group == 0 && number == 0,
                transfer: number + 1 == senses.len(),
            };
            (sense, iscm)
        })
    })
}
