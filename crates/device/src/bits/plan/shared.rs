//! Subexpressions that are used several times, each computed once.
//!
//! Where one is taken into the senses of whatever it is part of, it is sensed again for each use.
//! Sealed, it is a page of its own, which the controller combines as often as it likes.

use super::graph::{Graph, Lit, Node};

/// An expression in which subexpressions used several times are sealed.
pub(super) struct Sealed {
    pub(super) graph: Graph,
    pub(super) root: Lit,
    /// What is sealed, by number; earlier ones may appear in later ones.
    pub(super) subexpressions: Vec<Lit>,
}

/// Seals what `root` uses several times; `None` if that is nothing but rows.
pub(super) fn seal(graph: &Graph, root: Lit) -> Option<Sealed> {
    let (order, uses) = graph.used_below(root);
    let mut sealed = Sealed {
        graph: Graph::new(),
        root,
        subexpressions: Vec::new(),
    };
    let mut renamed = vec![Lit::FALSE; uses.len()];
    let new_name = |renamed: &[Lit], lit: Lit| renamed[lit.index() / 2].flipped(lit.is_negated());
    for lit in order {
        let whole = match graph.node(lit) {
            node @ (Node::False | Node::Row(_) | Node::Sealed(_)) => {
                renamed[lit.index() / 2] = sealed.graph.intern(node.clone());
                continue;
            }
            Node::And(factors) => {
                let factors: Vec<Lit> =
                    factors.iter().map(|&lit| new_name(&renamed, lit)).collect();
                sealed.graph.and(factors)
            }
            Node::Xor(children) => {
                let children: Vec<Lit> = children
                    .iter()
                    .map(|&lit| new_name(&renamed, lit))
                    .collect();
                sealed.graph.xor(children)
            }
        };
        renamed[lit.index() / 2] = if uses[lit.index() / 2] > 1 {
            sealed.subexpressions.push(whole);
            sealed
                .graph
                .intern(Node::Sealed(sealed.subexpressions.len() - 1))
        } else {
            whole
        };
    }
    sealed.root = new_name(&renamed, root);
    (!sealed.subexpressions.is_empty()).then_some(sealed)
}
