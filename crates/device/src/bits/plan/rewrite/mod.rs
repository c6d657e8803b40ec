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

/// A graph in which other forms of `root` are, too, and these.
pub(super) fn rewritten(graph: &Graph, root: Lit, reach: Reach) -> Option<(Graph, Vec<Lit>)> {
    let mut diagrams = Diagrams::new(STEPS_MAX);
    let function = diagrams.build(graph, root, ROWS_MAX)?;
    let mut wider = graph.clone();
    let mut forms = Vec::new();
    for values in Values::ALL {
        let mut lists = Lists {
            diagrams: &mut diagrams,
            graph: &mut wider,
            reach,
        };
        let written = lists.written(function, values);
        if let Some(form) = written.filter(|form| *form != root && !forms.contains(form)) {
            forms.push(form);
        }
    }
    Some((wider, forms))
}
