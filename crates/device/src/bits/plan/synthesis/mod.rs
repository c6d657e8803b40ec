//! Expressions of few atoms: the fewest senses there can be, then the fewest pages.
//!
//! Whatever the latches and the controller make of senses is a function of what was sensed. So no
//! plan has fewer senses than the smallest set of senses of which the expression is a function; and
//! as every sense can be read out and the controller compute any function, that many suffice. With
//! few atoms all small sets are tried. The latches then save pages: the sequences of [`sequences`] say
//! what they can leave in C.
//!
//! Where two senses suffice, one page does. With three, one page or three: two pages are one of two
//! senses and one of one, whose AND, OR or XOR the latches do as well. With four, two pages are of
//! two senses each, for the same reason.

mod atoms;
mod formula;
mod pages;
mod sequences;
mod smallest;

use std::rc::Rc;

use arrayvec::ArrayVec;

use super::Slot;
use super::forms::Reach;
use super::graph::{Graph, Lit};
use super::tree::{Tree, constant};
pub(super) use atoms::ATOMS_MAX;
use atoms::{ATOMS, Function, all_points};
use formula::Partial;
use pages::Candidates;
use sequences::INPUTS_MAX;

/// What was found for functions of atoms, and what the latches can do.
pub(super) struct Synthesis {
    reach: Reach,
    known: Vec<(Function, Option<Rc<Tree>>)>,
    steps: u64,
}

/// One sense, not inverted.
#[derive(Clone, Debug)]
struct Sense {
    slots: Vec<Slot>,
    /// What it gives.
    table: u64,
    /// The atoms it selects.
    atoms: u32,
}

/// Senses that an expression is a function of.
#[derive(Clone, Debug)]
struct SenseSet {
    senses: ArrayVec<usize, INPUTS_MAX>,
    /// The function.
    partial: Partial,
    /// Blocks that the senses select: their power.
    blocks: usize,
}

impl Synthesis {
    /// Nothing known yet.
    pub(super) fn new(reach: Reach) -> Synthesis {
        Synthesis {
            reach,
            known: Vec::new(),
            steps: 0,
        }
    }

    /// Senses that were tried in sets so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The cheapest way to have `lit` in the controller; `None` if `lit` has more than `atoms_max`
    /// atoms, or needs more senses of them than are tried. Looks at no more than `nodes` nodes of the
    /// graph, and subtracts those it looked at.
    pub(super) fn tree(
        &mut self,
        graph: &Graph,
        lit: Lit,
        atoms_max: usize,
        nodes: &mut usize,
    ) -> Option<Rc<Tree>> {
        let function = Function::of(graph, lit, nodes)?;
        if function.atoms.len() > atoms_max {
            return None;
        }
        if let Some((_, known)) = self.known.iter().find(|(other, _)| *other == function) {
            return known.clone();
        }
        let tree = self.find(&function);
        self.known.push((function, tree.clone()));
        tree
    }

    /// How many functions of more than three atoms were looked at.
    pub(super) fn large(&self) -> usize {
        let known = self.known.iter();
        known
            .filter(|(function, _)| function.atoms.len() > 3)
            .count()
    }

    fn find(&mut self, function: &Function) -> Option<Rc<Tree>> {
        if function.atoms.is_empty() {
            return Some(constant(function.table != 0));
        }
        let senses = senses_of(function, self.reach);
        let most = match function.atoms.len() {
            0..=4 => function.atoms.len(),
            // More would be tried for longer than the planning of anything else takes.
            5 => 4,
            _ => 3,
        };
        for count in 1..=most {
            let sets = sets_of(function, &senses, count, &mut self.steps);
            if !sets.is_empty() {
                let candidates = Candidates::new(&senses, &sets);
                return Some(candidates.cheapest());
            }
        }
        None
    }
}

/// What one sense can give: for any atoms, at most `blocks_max` strings of them.
fn senses_of(function: &Function, reach: Reach) -> Vec<Sense> {
    let atoms = &function.atoms;
    let all = 1u32..1 << atoms.len();
    let sense = |chosen: u32| {
        let mut slots: Vec<Slot> = Vec::new();
        let mut tables: Vec<u64> = Vec::new();
        for (at, atom) in atoms.iter().enumerate() {
            if chosen >> at & 1 == 0 {
                continue;
            }
            // Atoms are in order of row sets.
            match slots.last_mut() {
                Some(slot) if slot.row_set == atom.row_set => {
                    let layers = slot.wordlines.iter().chain(atom.wordlines.iter());
                    slot.wordlines = layers.collect();
                    *tables.last_mut()? &= ATOMS[at];
                }
                _ => {
                    slots.push(Slot {
                        row_set: atom.row_set,
                        wordlines: atom.wordlines,
                    });
                    tables.push(ATOMS[at]);
                }
            }
        }
        let table = tables.iter().fold(0, |any, string| any | string) & all_points(atoms.len());
        let fits = slots.len() <= reach.blocks_max
            && slots
                .iter()
                .all(|slot| slot.wordlines.count() as usize <= reach.wordlines_max);
        fits.then_some(Sense {
            slots,
            table,
            atoms: chosen,
        })
    };
    all.filter_map(sense).collect()
}

/// All sets of `count` senses that `function` is a function of.
fn sets_of(function: &Function, senses: &[Sense], count: usize, steps: &mut u64) -> Vec<SenseSet> {
    let mut walk = SetWalk {
        function,
        senses,
        count,
        chosen: ArrayVec::new(),
        found: Vec::new(),
        tried: 0,
    };
    let mut whole = ArrayVec::new();
    whole.push(all_points(function.atoms.len()));
    walk.extend(0, &whole, 0);
    *steps += walk.tried;
    walk.found
}

/// Points that senses chosen so far do not tell apart.
type Cells = ArrayVec<u64, { 1 << INPUTS_MAX }>;

struct SetWalk<'a> {
    function: &'a Function,
    senses: &'a [Sense],
    count: usize,
    chosen: ArrayVec<usize, INPUTS_MAX>,
    found: Vec<SenseSet>,
    /// Senses added to sets, or found to be of no use there.
    tried: u64,
}

impl SetWalk<'_> {
    /// Adds senses from `first` on; cell `i` is where chosen sense `j` gives bit `j` of `i`.
    fn extend(&mut self, first: usize, cells: &Cells, atoms: u32) {
        let last = self.chosen.len() + 1 == self.count;
        self.tried += (self.senses.len() - first) as u64;
        for at in first..self.senses.len() {
            let sense = &self.senses[at];
            let atoms = atoms | sense.atoms;
            if last && (!self.is_all(atoms) || !self.separates(sense.table, cells)) {
                continue;
            }
            let mut finer = Cells::new();
            finer.extend(cells.iter().map(|cell| cell & !sense.table));
            finer.extend(cells.iter().map(|cell| cell & sense.table));
            self.chosen.push(at);
            if last {
                self.found.extend(self.set(&finer));
            } else {
                self.extend(at + 1, &finer, atoms);
            }
            self.chosen.pop();
        }
    }

    /// Every atom decides somewhere, so a set that lacks one cannot do.
    fn is_all(&self, atoms: u32) -> bool {
        atoms + 1 == 1 << self.function.atoms.len()
    }

    /// Whether the function has one value in each cell on either side of a sense.
    fn separates(&self, sense: u64, cells: &Cells) -> bool {
        cells.iter().all(|cell| {
            let ones = cell & self.function.table;
            let zeros = cell & !self.function.table;
            let sensed = cell & sense;
            ones == 0 || zeros == 0 || sensed == ones || sensed == zeros
        })
    }

    /// The chosen senses, if the function has one value in each cell.
    fn set(&self, cells: &Cells) -> Option<SenseSet> {
        let mut partial = Partial { care: 0, value: 0 };
        for (at, cell) in cells.iter().enumerate() {
            let ones = cell & self.function.table;
            if ones != 0 && ones != *cell {
                return None;
            }
            partial.care |= u16::from(*cell != 0) << at;
            partial.value |= u16::from(ones != 0) << at;
        }
        Some(SenseSet {
            senses: self.chosen.clone(),
            partial,
            blocks: self
                .chosen
                .iter()
                .map(|&at| self.senses[at].slots.len())
                .sum(),
        })
    }
}
