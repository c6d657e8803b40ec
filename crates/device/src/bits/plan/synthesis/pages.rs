//! From sets of senses to pages and the controller's formula over them.

use std::cell::OnceCell;
use std::rc::Rc;

use arrayvec::ArrayVec;

use super::formula::{Formula, Partial};
use super::sequences::{INPUTS, INPUTS_MAX, Mode, Sequence, all_cells};
use super::smallest::Smallest;
use super::{Sense, SenseSet};
use crate::bits::plan::forms::Form;
use crate::bits::plan::tree::{Chain, Cost, Link, Tree, and, array, constant, not, xor};

/// Functions of both of two inputs that differ by more than an inversion, which is as cheap.
const PAIRS: [u16; 5] = [0b1000, 0b0100, 0b0010, 0b0001, 0b0110];

/// Which inputs a page is sensed from, and the function of all inputs that it is.
#[derive(Clone, Debug)]
struct Page {
    inputs: ArrayVec<usize, INPUTS_MAX>,
    table: u16,
}

/// Pages and the controller's formula over them.
struct Shared<'a> {
    set: &'a SenseSet,
    pages: Vec<Page>,
    formula: Formula,
}

/// Sets of as many senses as are needed, and what the latches can do.
pub(super) struct Candidates<'a> {
    senses: &'a [Sense],
    sets: &'a [SenseSet],
    sequences: &'a [Vec<Sequence>; INPUTS_MAX],
    smallest: &'a OnceCell<Box<Smallest>>,
}

impl<'a> Candidates<'a> {
    /// All sets of the smallest size, at least one.
    pub(super) fn new(
        senses: &'a [Sense],
        sets: &'a [SenseSet],
        sequences: &'a [Vec<Sequence>; INPUTS_MAX],
        smallest: &'a OnceCell<Box<Smallest>>,
    ) -> Candidates<'a> {
        Candidates {
            senses,
            sets,
            sequences,
            smallest,
        }
    }

    /// The plan of the fewest pages; then of the fewest operands for the controller, blocks and moves
    /// between latches.
    pub(super) fn cheapest(&self) -> Rc<Tree> {
        if let Some(chain) = self.one_page() {
            return array(chain);
        }
        let inputs = self.sets[0].senses.len();
        for pages in 2..=inputs {
            let shared = self.sets.iter().flat_map(|set| self.shared(set, pages));
            let cost = |shared: &Shared<'_>| (shared.operands(), shared.set.blocks);
            if let Some(cheapest) = shared.min_by_key(cost) {
                return self.tree(&cheapest);
            }
        }
        unreachable!("a page for each sense always does")
    }

    /// The cheapest sequence that computes all.
    fn one_page(&self) -> Option<Chain> {
        let inputs = self.sets[0].senses.len();
        let orders = orders(inputs);
        let mut least = (usize::MAX, u32::MAX);
        let mut best: Option<(&SenseSet, &[usize], &Sequence)> = None;
        for set in self.sets {
            for order in &orders {
                let partial = reordered(set.partial, order);
                let found = self.sequences[inputs - 1]
                    .iter()
                    .take_while(|sequence| (set.blocks, sequence.moves) < least)
                    .find(|sequence| partial.admits(sequence.table));
                if let Some(sequence) = found {
                    least = (set.blocks, sequence.moves);
                    best = Some((set, order, sequence));
                }
            }
        }
        let (set, order, sequence) = best?;
        let senses = order.iter().map(|&input| set.senses[input]);
        Some(self.chain(&senses.collect::<Vec<_>>(), sequence))
    }

    /// Ways to share the senses of a set out between `count` pages, two to four.
    fn shared<'b>(&'b self, set: &'b SenseSet, count: usize) -> impl Iterator<Item = Shared<'b>> {
        let inputs = set.senses.len();
        let splits: Vec<Vec<Page>> = match inputs - count {
            0 => vec![(0..inputs).map(single).collect()],
            1 => with_one_pair(inputs),
            _ => two_pairs(),
        };
        splits.into_iter().filter_map(move |pages| {
            let tables: Vec<u16> = pages.iter().map(|page| page.table).collect();
            let partial = set.partial.over(inputs, &tables)?;
            let formula = Formula::of(
                partial,
                pages.len(),
                self.smallest.get_or_init(|| Box::new(Smallest::new())),
            );
            Some(Shared {
                set,
                pages,
                formula,
            })
        })
    }

    fn tree(&self, shared: &Shared<'_>) -> Rc<Tree> {
        let pages = shared.pages.iter().enumerate().map(|(at, page)| {
            let (inverted, plain) = shared.formula.uses(at);
            let flip = inverted > plain;
            (flip, array(self.page_chain(shared.set, page, flip)))
        });
        let pages: Vec<(bool, Rc<Tree>)> = pages.collect();
        let tree = tree_of(&shared.formula, &pages);
        Rc::new(Tree {
            cost: Cost {
                senses: shared.set.senses.len() as u64,
                transfers: pages.len() as u64,
                combined: shared.operands() as u64,
            },
            kind: tree.kind.clone(),
        })
    }

    /// The sequence of the fewest moves for a page, or for its inverse.
    fn page_chain(&self, set: &SenseSet, page: &Page, flip: bool) -> Chain {
        let inputs = page.inputs.len();
        let orders = orders(inputs);
        let found = orders.iter().flat_map(|order| {
            let operands: Vec<u16> = order.iter().map(|&at| INPUTS[page.inputs[at]]).collect();
            let partial = Partial {
                care: u16::MAX,
                value: if flip { !page.table } else { page.table },
            };
            let wanted = partial.over(INPUTS_MAX, &operands);
            let wanted = wanted.expect("a page is a function of its inputs");
            let sequences = self.sequences[inputs - 1].iter();
            sequences
                .filter(move |sequence| wanted.admits(sequence.table))
                .map(move |sequence| (order, sequence))
        });
        let (order, sequence) = found
            .min_by_key(|(_, sequence)| sequence.moves)
            .expect("functions of two senses and their inverses are all one page");
        let senses = order.iter().map(|&at| set.senses[page.inputs[at]]);
        self.chain(&senses.collect::<Vec<_>>(), sequence)
    }

    /// `sequence` with these senses as its inputs.
    fn chain(&self, senses: &[usize], sequence: &Sequence) -> Chain {
        let links = senses.iter().zip(&sequence.sensings).map(|(&at, sensing)| {
            let form = Form {
                inverse: sensing.mode == Mode::Inverse,
                slots: self.senses[at].slots.clone(),
            };
            Link {
                form,
                goes_on: sensing.mode == Mode::GoesOn,
                join: sensing.join,
            }
        });
        links.collect()
    }
}

impl Shared<'_> {
    /// Operand pages the controller takes in; a page needed both ways is inverted there.
    fn operands(&self) -> usize {
        let inversions = (0..self.pages.len()).map(|page| {
            let (inverted, plain) = self.formula.uses(page);
            inverted.min(plain)
        });
        self.formula.operands() + inversions.sum::<usize>()
    }
}

fn single(input: usize) -> Page {
    Page {
        inputs: [input].into_iter().collect(),
        table: INPUTS[input],
    }
}

fn pair(first: usize, second: usize, of_two: u16) -> Page {
    let mut table = 0;
    for cell in (0..4u16).filter(|cell| of_two >> cell & 1 == 1) {
        let side = |at: usize, bit: u16| if bit == 1 { INPUTS[at] } else { !INPUTS[at] };
        table |= side(first, cell & 1) & side(second, cell >> 1);
    }
    Page {
        inputs: [first, second].into_iter().collect(),
        table,
    }
}

/// One page of two senses, the others of one each.
fn with_one_pair(inputs: usize) -> Vec<Vec<Page>> {
    let mut splits = Vec::new();
    for second in 1..inputs {
        for first in 0..second {
            for of_two in PAIRS {
                let others = (0..inputs).filter(|at| ![first, second].contains(at));
                let pages = [pair(first, second, of_two)].into_iter();
                splits.push(pages.chain(others.map(single)).collect());
            }
        }
    }
    splits
}

/// Two pages of two senses each.
fn two_pairs() -> Vec<Vec<Page>> {
    let mut splits = Vec::new();
    for (with_first, [one, other]) in [(1, [2, 3]), (2, [1, 3]), (3, [1, 2])] {
        for of_first in PAIRS {
            for of_second in PAIRS {
                splits.push(vec![
                    pair(0, with_first, of_first),
                    pair(one, other, of_second),
                ]);
            }
        }
    }
    splits
}

/// All orders of so many inputs.
fn orders(inputs: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..inputs {
        let longer = |order: Vec<usize>| {
            (0..inputs).filter_map(move |input| {
                let mut longer = order.clone();
                longer.push(input);
                (!order.contains(&input)).then_some(longer)
            })
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
}

/// The function with input `order[i]` as its input `i`.
fn reordered(partial: Partial, order: &[usize]) -> Partial {
    let mut reordered = Partial { care: 0, value: 0 };
    for cell in 0..1usize << order.len() {
        let from = order.iter().enumerate();
        let from: usize = from.map(|(at, &input)| (cell >> at & 1) << input).sum();
        reordered.care |= (partial.care >> from & 1) << cell;
        reordered.value |= (partial.value >> from & 1) << cell;
    }
    debug_assert_eq!(reordered.care & !all_cells(order.len()), 0);
    reordered
}

/// The formula over pages, of which some hold their inverse.
fn tree_of(formula: &Formula, pages: &[(bool, Rc<Tree>)]) -> Rc<Tree> {
    let all = |operands: &[Formula]| -> Vec<Rc<Tree>> {
        operands
            .iter()
            .map(|operand| tree_of(operand, pages))
            .collect()
    };
    match formula {
        Formula::Constant(value) => constant(*value),
        Formula::Page { at, inverted } => {
            let (flip, page) = &pages[*at];
            if flip == inverted {
                page.clone()
            } else {
                not(page.clone())
            }
        }
        Formula::And(operands) => and(all(operands)),
        Formula::Or(operands) => not(and(all(operands).into_iter().map(not))),
        Formula::Xor(operands) => xor(all(operands)),
    }
}
