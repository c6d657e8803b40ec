//! From an expression and the placement of its operands to what every plane does.
//!
//! A [`Plan`] is the same for all chunks of a class ([`super::classes`]): what differs from chunk to chunk is only
//! which blocks the row sets mean there. The plan holds array
//! computations, each a sequence of steps over a plane's sensing latch S and cache latch C that leaves
//! one page in C, and a root that says how the controller combines those pages. A computation that
//! computes everything by itself has the root `Array(0)`: one page leaves the plane.

mod contents;
mod display;
mod emit;
mod forms;
mod graph;
mod planner;
mod read;
mod rewrite;
mod search;
mod shared;
mod synthesis;
#[cfg(test)]
mod tests;
mod tree;

use arrayvec::ArrayVec;
use media::nand::{Iscm, MWS_BLOCKS_MAX, WordlineBitmap};
use nvme::Expression;

use super::engine::Engine;
use super::rows::{Operand, RowSetId};
pub use contents::{Contents, Held, OPERANDS_SHOWN, contents};
pub use planner::Planner;

/// One block's share of a sense: the AND over wordlines of one string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The row set; with the chunk it names the block and the string.
    pub row_set: RowSetId,
    /// The wordlines selected, at least one.
    pub wordlines: WordlineBitmap,
}

/// One MWS command (Flash-Cosmos 6.2): v = OR over slots (AND over wordlines); S becomes !v if
/// inverse, else S & v; the flags also say which latches are initialized first and whether C |= S
/// follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sense {
    /// What happens to the latches.
    pub iscm: Iscm,
    /// The blocks selected, each another row set.
    pub slots: ArrayVec<Slot, MWS_BLOCKS_MAX>,
}

/// One command to a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Multi-wordline sensing.
    Sense(Sense),
    /// C ^= S.
    Xor,
}

/// Steps that leave one page of result in the cache latch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Computation {
    /// In order of execution.
    pub steps: Vec<Step>,
}

impl Computation {
    /// The row set that the first sense selects: it tells the home of the whole computation.
    pub(super) fn first_row_set(&self) -> Option<RowSetId> {
        self.steps.iter().find_map(|step| match step {
            Step::Sense(sense) => Some(sense.slots.first()?.row_set),
            Step::Xor => None,
        })
    }

    /// The operand whose pages it reads, where these lie outside of the region.
    pub(super) fn page_operand(&self) -> Option<u32> {
        self.first_row_set()?.operand()
    }

    /// Number of senses among the steps.
    pub fn senses(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| matches!(step, Step::Sense(_)))
            .count()
    }
}

/// Where the controller takes a page from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// All zeros or all ones, without touching the array.
    Constant(bool),
    /// The page that the computation of this index leaves in the cache latch.
    Array(usize),
    /// Inverted by the controller.
    Not(Box<Source>),
    /// AND by the controller.
    And(Vec<Source>),
    /// OR by the controller.
    Or(Vec<Source>),
    /// XOR by the controller.
    Xor(Vec<Source>),
}

impl Source {
    /// Operand pages the controller's logic takes in to compute this (an inversion takes one).
    pub fn operand_pages(&self) -> u64 {
        match self {
            Source::Constant(_) | Source::Array(_) => 0,
            Source::Not(inner) => 1 + inner.operand_pages(),
            Source::And(operands) | Source::Or(operands) | Source::Xor(operands) => {
                operands.len() as u64 + operands.iter().map(Source::operand_pages).sum::<u64>()
            }
        }
    }
}

/// What the planner takes as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Blocks one sense may select, 1 to [`MWS_BLOCKS_MAX`] (power limit, Flash-Cosmos 5.2).
    pub blocks_max: usize,
    /// What a plan is to be cheap in.
    pub weights: Weights,
}

/// Relative costs by which plans are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of one sense.
    pub sense: u64,
    /// Of one page crossing the channel.
    pub page_transfer: u64,
    /// Of one operand page that the controller takes in.
    pub operand: u64,
}

impl Weights {
    /// The fewest senses; among those the fewest page transfers.
    pub const SENSES_FIRST: Weights = Weights {
        sense: 1 << 32,
        page_transfer: 1,
        operand: 0,
    };
    /// The fewest pages, which the array computes alone if it can; among those the fewest senses.
    pub const PAGES_FIRST: Weights = Weights {
        sense: 1,
        page_transfer: 1 << 32,
        operand: 1 << 16,
    };

    fn of(&self, (computations, root): &(Vec<Computation>, Source)) -> u64 {
        let senses: usize = computations.iter().map(Computation::senses).sum();
        senses as u64 * self.sense
            + computations.len() as u64 * self.page_transfer
            + root.operand_pages() * self.operand
    }
}

/// How an expression is evaluated, for every chunk alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The engine it is for.
    pub engine: Engine,
    /// What the planes do; each computation runs once a chunk and its page is read out once.
    pub computations: Vec<Computation>,
    /// What the controller makes of the pages.
    pub root: Source,
}

impl Plan {
    /// Senses per chunk.
    pub fn senses(&self) -> usize {
        self.computations.iter().map(Computation::senses).sum()
    }

    /// Pages that leave the planes per chunk.
    pub fn page_transfers(&self) -> usize {
        self.computations.len()
    }

    /// Bytes the controller's logic takes in per chunk, for pages of `page_bytes`; zero where the
    /// array does it all.
    pub fn controller_bytes_per_page(&self, page_bytes: u64) -> u64 {
        self.root.operand_pages() * page_bytes
    }
}

/// Plans `expression` for `engine`, `find` telling how each vector is stored.
///
/// # Panics
/// If `limits.blocks_max` is not within 1 to [`MWS_BLOCKS_MAX`].
pub fn plan<V: nvme::Operand>(
    expression: &Expression<V>,
    engine: Engine,
    limits: &Limits,
    find: impl Fn(V) -> Operand,
) -> Plan {
    let mut planner = Planner::new(expression, limits.blocks_max, find);
    Plan::clone(planner.plan(engine, limits.weights))
}
