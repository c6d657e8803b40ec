//! Expressions written anew, for the search to find plans that their form hides.
//!
//! The search sees the operators that an expression has. What structured expressions mean (a comparison of numbers, a range, a
//! threshold, a multiplexer, a sum's bit) is seen by the function instead: as a decision diagram (`diagrams.rs`), which is
//! written as lists that suit the latches (`lists.rs`). Plans for all forms are compared; none is taken on trust.

mod diagrams;
mod lists;

use super::forms::Reach;
use super::graph::{Graph, Lit};
use diagrams::Diagrams;
use lists::{Lists, Values};

/// Steps over diagrams for one expression: bounds the effort.
const STEPS_MAX: usize = 50_000;
/// Rows of expressions that are looked at.
const ROWS_MAX: usize = 64;

/// Other forms of an expression.
pub(super) struct Rewritten {
    /// A graph in which they are, too.
    pub(super) graph: Graph,
    /// The forms.
    pub(super) forms: Vec<Lit>,
    /// Steps that it took to find them.
    pub(super) steps: u64,
}

/// Other forms of `root`.
pub(super) fn rewritten(graph: &Graph, root: Lit, reach: Reach) -> Rewritten {
    let mut diagrams = Diagrams::new(STEPS_MAX);
    let mut rewritten = Rewritten {
        graph: graph.clone(),
        forms: Vec::new(),
        steps: 0,
    };
    if let Some(function) = diagrams.build(graph, root, ROWS_MAX) {
        for values in Values::ALL {
            let mut lists = Lists {
                diagrams: &mut diagrams,
                graph: &mut rewritten.graph,
                reach,
            };
            let written = lists.written(function, values);
            let is_new = |form: &Lit| *form != root && !rewritten.forms.contains(form);
            rewritten.forms.extend(written.filter(is_new));
        }
    }
    rewritten.steps = (STEPS_MAX - diagrams.left()) as u64;
    rewritten
}
