//! Expressions written anew as decision lists, which is what the cache latch does: it takes in products by OR and by AND with
//! the inverse, from left to right, and what comes last decides.
//!
//! From the last on, ANDs of rows are taken on which the function has one value, the cheapest to sense and the largest
//! first; where one has decided, the others need not care. A number is less than another if the first slice
//! that differs says so: a list of two entries a slice. With entries of one value only a list is a sum of products. Rows
//! whose inversion inverts the function are taken out before: their XOR joins at the end.

use std::collections::HashMap;

use super::diagrams::{Bdd, Diagrams, Literal};
use crate::bits::plan::forms::Reach;
use crate::bits::plan::graph::{Graph, Lit};

/// Entries of a list: longer ones are not what was looked for.
const ENTRIES_MAX: usize = 128;
/// What a path through a diagram counts for a row that is to be one, and for one that is to be zero: of zeros of one string
/// only one is in a product.
const ONE: u32 = 4;
const ZERO: u32 = 5;

/// Which values the entries of a list have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Both,
    Only(bool),
}

impl Values {
    pub(super) const ALL: [Values; 3] = [Values::Both, Values::Only(true), Values::Only(false)];

    fn has(self, value: bool) -> bool {
        self == Values::Both || self == Values::Only(value)
    }
}

/// An AND of rows that decides.
struct Entry {
    cube: Vec<Literal>,
    value: bool,
}

/// How many senses a cube takes, then how many literals.
type Price = (usize, usize);

/// Writes functions as lists.
pub(super) struct Lists<'a> {
    pub(super) diagrams: &'a mut Diagrams,
    pub(super) graph: &'a mut Graph,
    pub(super) reach: Reach,
}

impl Lists<'_> {
    /// `function` as a list with entries of these values; `None` where there is none that is short.
    pub(super) fn written(&mut self, function: Bdd, values: Values) -> Option<Lit> {
        let mut rest = function;
        let mut parity = Vec::new();
        while let Some((row, without)) = self.odd_row(rest)? {
            parity.push(self.diagrams.rows[row as usize]);
            rest = without;
        }
        let list = self.list(rest, values)?;
        parity.push(list);
        Some(self.graph.xor(parity))
    }

    /// A row that the function is the XOR of, and what else it is the XOR of.
    fn odd_row(&mut self, function: Bdd) -> Option<Option<(u32, Bdd)>> {
        for row in self.diagrams.support(function) {
            if !self.may_be_odd(function, row) {
                continue;
            }
            let zero = self.diagrams.restricted(function, (row, false))?;
            let one = self.diagrams.restricted(function, (row, true))?;
            if self.diagrams.not(zero)? == one {
                return Some(Some((row, zero)));
            }
        }
        Some(None)
    }

    /// Whether the inversion of a row inverts the function in some places.
    fn may_be_odd(&self, function: Bdd, row: u32) -> bool {
        const PLACES: u32 = 4;
        (0..PLACES).all(|place| {
            // As good as any: bits of multiples of an odd number.
            let point = |at: u32| (at + 1).wrapping_mul(0x9E37_79B9) >> (8 + place * 5) & 1 == 1;
            let value = |inverted| self.diagrams.value(function, point, inverted);
            value(row) != value(u32::MAX)
        })
    }

    fn list(&mut self, function: Bdd, values: Values) -> Option<Lit> {
        // Where it is one, and where it is zero, as far as nothing has decided.
        let (mut ones, mut zeros) = (function, self.diagrams.not(function)?);
        let mut entries: Vec<Entry> = Vec::new();
        let last = loop {
            if ones == Bdd::FALSE || zeros == Bdd::FALSE {
                break zeros == Bdd::FALSE;
            }
            if entries.len() == ENTRIES_MAX {
                return None;
            }
            let mut best: Option<(Price, Entry)> = None;
            for (value, on, off) in [(true, ones, zeros), (false, zeros, ones)] {
                if !values.has(value) {
                    continue;
                }
                let cube = self.cube(on, off)?;
                let Some(price) = self.price(&cube) else {
                    continue;
                };
                if best.as_ref().is_none_or(|(least, _)| price < *least) {
                    best = Some((price, Entry { cube, value }));
                }
            }
            let (_, entry) = best?;
            let decided = self.diagrams.cube(&entry.cube)?;
            match entry.value {
                true => ones = self.diagrams.without(ones, decided)?,
                false => zeros = self.diagrams.without(zeros, decided)?,
            }
            entries.push(entry);
        };
        let mut list = Lit::TRUE.flipped(!last);
        for entry in entries.iter().rev() {
            let rows = &self.diagrams.rows;
            let literals = entry.cube.iter();
            let literals = literals.map(|&(row, value)| rows[row as usize].flipped(!value));
            let cube = self.graph.and(literals);
            list = match entry.value {
                true => self.graph.or([list, cube]),
                false => self.graph.and([list, !cube]),
            };
        }
        Some(list)
    }

    /// A large cube that meets `on` and not `off`.
    fn cube(&mut self, on: Bdd, off: Bdd) -> Option<Vec<Literal>> {
        let mut cube = self.diagrams.path(on, (ZERO, ONE))?;
        // Zeros go first, as long as what is left decides.
        for value in [false, true] {
            for at in (0..cube.len()).rev() {
                if cube[at].1 != value {
                    continue;
                }
                let literal = cube.remove(at);
                if self.diagrams.meets(off, &cube)? {
                    cube.insert(at, literal);
                }
            }
        }
        Some(cube)
    }

    /// What sensing a cube costs; `None` if the sensing latch cannot hold it.
    fn price(&self, cube: &[Literal]) -> Option<Price> {
        // order: what is in it is added up.
        let mut of_strings: HashMap<_, (usize, usize)> = HashMap::new();
        for &(row, value) in cube {
            let row = self.graph.row(self.diagrams.rows[row as usize])?;
            let (ones, zeros) = of_strings.entry(row.row_set).or_default();
            *(if value { ones } else { zeros }) += 1;
        }
        // order: added up.
        let (mut senses, mut inverted) = (0, 0);
        for (ones, zeros) in of_strings.into_values() {
            senses += ones.div_ceil(self.reach.wordlines_max);
            if zeros > 1 {
                return None;
            }
            inverted += zeros;
        }
        if inverted > self.reach.blocks_max {
            return None;
        }
        Some((senses + usize::from(inverted > 0), cube.len()))
    }
}
