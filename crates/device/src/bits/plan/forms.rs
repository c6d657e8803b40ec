//! What single senses and chains of senses in the sensing latch can express.

use std::collections::BTreeMap;

use media::nand::{CELLS_PER_STRING_MAX, WordlineBitmap};

use super::Slot;
use super::graph::{Graph, Lit, Node};
use crate::bits::rows::RowSetId;

/// What the latches and the wordline drivers of an engine can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Blocks one sense may select.
    pub(super) blocks_max: usize,
    /// Wordlines one block of a sense may select.
    pub(super) wordlines_max: usize,
    /// Whether C ^= S exists.
    pub(super) xor: bool,
}

impl Reach {
    /// One wordline a sense, AND in the sensing latch, OR in the cache latch (Flash-Cosmos 3.1).
    pub(super) const PARABIT: Reach = Reach {
        blocks_max: 1,
        wordlines_max: 1,
        xor: false,
    };

    pub(super) fn flash_cosmos(blocks_max: usize) -> Reach {
        Reach {
            blocks_max,
            wordlines_max: CELLS_PER_STRING_MAX as usize,
            xor: true,
        }
    }
}

/// One sense, without latch flags: OR over slots, inverted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) inverse: bool,
    pub(super) slots: Vec<Slot>,
}

/// Senses ANDed in the sensing latch; only the first may be inverse.
pub(super) type Product = Vec<Form>;

impl Graph {
    /// `lit` as the AND of wordlines of one string.
    pub(super) fn cube(&self, lit: Lit, reach: Reach) -> Option<Slot> {
        if lit.is_negated() {
            return None;
        }
        match self.node(lit) {
            Node::Row(row) => Some(Slot {
                row_set: row.row_set,
                wordlines: WordlineBitmap::single(row.layer),
            }),
            Node::And(factors) if factors.len() <= reach.wordlines_max => {
                let mut wordlines = WordlineBitmap::EMPTY;
                let row_set = self.row(factors[0])?.row_set;
                for &factor in factors.iter() {
                    let row = self
                        .row(factor)
                        .filter(|row| row.row_set == row_set && !factor.is_negated())?;
                    wordlines.insert(row.layer);
                }
                Some(Slot { row_set, wordlines })
            }
            _ => None,
        }
    }

    /// `lit` as the OR of cubes in different row sets: what one sense sees before any inversion.
    fn plain_slots(&self, lit: Lit, reach: Reach) -> Option<Vec<Slot>> {
        if let Some(slot) = self.cube(lit, reach) {
            return Some(vec![slot]);
        }
        let negated = self.negated_terms(lit)?;
        if negated.len() > reach.blocks_max {
            return None;
        }
        let mut slots: Vec<Slot> = Vec::with_capacity(negated.len());
        for &term in negated.iter() {
            let slot = self.cube(!term, reach)?;
            if slots.iter().any(|other| other.row_set == slot.row_set) {
                return None;
            }
            slots.push(slot);
        }
        slots.sort_by_key(|slot| slot.row_set);
        Some(slots)
    }

    /// `lit` as one sense.
    pub(super) fn form(&self, lit: Lit, reach: Reach) -> Option<Form> {
        let plain = |slots| Form {
            inverse: false,
            slots,
        };
        let inverse = |slots| Form {
            inverse: true,
            slots,
        };
        self.plain_slots(lit, reach)
            .map(plain)
            .or_else(|| self.plain_slots(!lit, reach).map(inverse))
    }

    /// `lit` as senses ANDed in the sensing latch.
    pub(super) fn product(&self, lit: Lit, reach: Reach) -> Option<Product> {
        if let Some(form) = self.form(lit, reach) {
            return Some(vec![form]);
        }
        let factors = self.factors(lit)?;
        let (product, _, rest) = self.gather_product(&factors, reach);
        rest.is_empty().then_some(product)
    }

    /// Gathers as many factors as one product can hold; returns it, the factors taken and those
    /// left.
    ///
    /// Plain rows of one row set share a sense; the one inverse sense takes a clause of each of up
    /// to `blocks_max` row sets, since !(ab + cd) = (!a + !b)(!c + !d).
    pub(super) fn gather_product(
        &self,
        factors: &[Lit],
        reach: Reach,
    ) -> (Product, Vec<Lit>, Vec<Lit>) {
        let mut plain: BTreeMap<RowSetId, Vec<WordlineBitmap>> = BTreeMap::new();
        let mut inverse: Vec<Slot> = Vec::new();
        let mut sums: Product = Vec::new();
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for &factor in factors {
            if let Some(row) = self.row(factor).filter(|_| !factor.is_negated()) {
                merge_layer(plain.entry(row.row_set).or_default(), row.layer, reach);
            } else if let Some(slot) = self.cube(!factor, reach) {
                let clash = inverse.iter().any(|other| other.row_set == slot.row_set);
                if clash || inverse.len() == reach.blocks_max {
                    left.push(factor);
                    continue;
                }
                inverse.push(slot);
            } else if let Some(slots) = self.plain_slots(factor, reach) {
                sums.push(Form {
                    inverse: false,
                    slots,
                });
            } else {
                left.push(factor);
                continue;
            }
            taken.push(factor);
        }
        inverse.sort_by_key(|slot| slot.row_set);
        let mut product: Product = Vec::new();
        if !inverse.is_empty() {
            product.push(Form {
                inverse: true,
                slots: inverse,
            });
        }
        for (row_set, senses) in plain {
            let form = |wordlines| Form {
                inverse: false,
                slots: vec![Slot { row_set, wordlines }],
            };
            product.extend(senses.into_iter().map(form));
        }
        product.append(&mut sums);
        (product, taken, left)
    }
}

/// Adds `layer` to the last sense of a row set, or to a new one if that is full.
pub(super) fn merge_layer(senses: &mut Vec<WordlineBitmap>, layer: u32, reach: Reach) {
    match senses.last_mut() {
        Some(wordlines) if (wordlines.count() as usize) < reach.wordlines_max => {
            wordlines.insert(layer)
        }
        _ => senses.push(WordlineBitmap::single(layer)),
    }
}

/// Packs cubes to be ORed into the fewest senses: no sense selects a row set twice.
///
/// With `n` cubes, at most `m` of them in one row set, that is max(m, ceil(n / blocks_max)): dealt
/// out in order of row set, no two cubes of one row set are in a sense.
pub(super) fn pack(mut cubes: Vec<Slot>, reach: Reach) -> Vec<Form> {
    cubes.sort_by_key(|cube| cube.row_set);
    let crowded = cubes
        .chunk_by(|a, b| a.row_set == b.row_set)
        .map(<[Slot]>::len)
        .max()
        .unwrap_or(0);
    let senses = crowded.max(cubes.len().div_ceil(reach.blocks_max));
    let mut forms = vec![
        Form {
            inverse: false,
            slots: Vec::new()
        };
        senses
    ];
    for (i, cube) in cubes.into_iter().enumerate() {
        forms[i % senses].slots.push(cube);
    }
    forms
}
