//! The plan that reads every operand once and combines all of them in the controller.

use std::rc::Rc;

use media::nand::WordlineBitmap;

use super::emit::emit;
use super::forms::Form;
use super::graph::{Graph, Lit, Node};
use super::tree::{Join, Tree, and, array, constant, links, not, xor};
use super::{Computation, Slot, Source};

/// Plans `root` by reading every operand once and combining all of them in the controller.
pub(super) fn read_all(graph: &Graph, root: Lit) -> (Vec<Computation>, Source) {
    emit(&read_tree(graph, root))
}

fn read_tree(graph: &Graph, lit: Lit) -> Rc<Tree> {
    if lit == Lit::TRUE {
        return constant(true);
    }
    if lit.is_negated() {
        return not(read_tree(graph, !lit));
    }
    match graph.node(lit) {
        Node::False => constant(false),
        Node::Row(row) => {
            // Read so that the vector itself arrives, as any reader of it would.
            let slots = vec![Slot {
                row_set: row.row_set,
                wordlines: WordlineBitmap::single(row.layer),
            }];
            let form = Form {
                inverse: row.inverse,
                slots,
            };
            let read = array(links(&vec![form], Join::Or).collect());
            if row.inverse { not(read) } else { read }
        }
        Node::Sealed(_) => unreachable!("only the search seals anything, and seals all alike"),
        Node::And(factors) => and(factors.iter().map(|&factor| read_tree(graph, factor))),
        Node::Xor(children) => xor(children.iter().map(|&child| read_tree(graph, child))),
    }
}
