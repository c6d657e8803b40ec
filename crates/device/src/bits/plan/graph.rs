//! The normal form of an expression: hash-consed AND and XOR nodes with negation on the edges.
//!
//! OR is an AND of negations, negated. Nested ANDs and XORs are flattened, duplicates and
//! complements cancelled, terms absorbed. Leaves are stored rows, so a vector stored inverted
//! appears negated and nothing downstream needs to know of inverse storage.

use std::ops::Not;
use std::rc::Rc;

use nvme::Expression;

use crate::bits::hashing::Table;
use crate::bits::rows::{Operand, Row};

/// Disjunctions that one is compared with when looking for redundant ones: bounds the effort, not
/// the result.
const COMPARED_MAX: usize = 32;

/// A node or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Lit(u32);

impl Lit {
    pub(super) const FALSE: Lit = Lit(0);
    pub(super) const TRUE: Lit = Lit(1);

    pub(super) fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// A small number, different for every literal.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// The node without its negation.
    pub(super) fn positive(self) -> Lit {
        Lit(self.0 & !1)
    }

    /// Negated if `flip`.
    pub(super) fn flipped(self, flip: bool) -> Lit {
        Lit(self.0 ^ u32::from(flip))
    }
}

impl Not for Lit {
    type Output = Lit;
    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// What a literal stands for, negation aside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    False,
    Row(Row),
    And(Rc<[Lit]>),
    /// Of positive literals only.
    Xor(Rc<[Lit]>),
    /// A subexpression, by number, that is computed on its own.
    Sealed(usize),
}

/// The expression and everything the search derives from it.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    // order: looked up by key only, never walked.
    index: Table<Node, Lit>,
}

impl Graph {
    pub(super) fn new() -> Graph {
        let mut graph = Graph {
            nodes: Vec::new(),
            index: Table::default(),
        };
        graph.intern(Node::False);
        graph
    }

    /// Adds `expression`, `find` telling how its operands are stored; gives its literal.
    pub(super) fn build<V: nvme::Operand>(
        &mut self,
        expression: &Expression<V>,
        find: &dyn Fn(V) -> Operand,
    ) -> Lit {
        let all = |graph: &mut Graph, operands: &[Expression<V>]| -> Vec<Lit> {
            let operands = operands.iter();
            operands.map(|operand| graph.build(operand, find)).collect()
        };
        match expression {
            Expression::Vector(vector) => match find(*vector) {
                Operand::Zeroes => Lit::FALSE,
                Operand::Row(row) => self.intern(Node::Row(row)).flipped(row.inverse),
            },
            Expression::Not(inner) => !self.build(inner, find),
            Expression::And(operands) => {
                let operands = all(self, operands);
                self.and(operands)
            }
            Expression::Or(operands) => {
                let operands = all(self, operands);
                self.or(operands)
            }
            Expression::Xor(operands) => {
                let operands = all(self, operands);
                self.xor(operands)
            }
        }
    }

    /// The node of a literal.
    pub(super) fn node(&self, lit: Lit) -> &Node {
        &self.nodes[(lit.0 >> 1) as usize]
    }

    /// The factors if `lit` is a conjunction.
    pub(super) fn factors(&self, lit: Lit) -> Option<Rc<[Lit]>> {
        match self.node(lit) {
            Node::And(children) if !lit.is_negated() => Some(children.clone()),
            _ => None,
        }
    }

    /// The terms, each to be negated, if `lit` is a disjunction.
    pub(super) fn negated_terms(&self, lit: Lit) -> Option<Rc<[Lit]>> {
        self.factors(!lit)
    }

    /// The row if `lit` is one, negated or not.
    pub(super) fn row(&self, lit: Lit) -> Option<Row> {
        match self.node(lit) {
            Node::Row(row) => Some(*row),
            _ => None,
        }
    }

    /// Conjunction, simplified.
    pub(super) fn and(&mut self, operands: impl IntoIterator<Item = Lit>) -> Lit {
        let mut lits = Vec::new();
        for operand in operands {
            match self.factors(operand) {
                Some(factors) => lits.extend_from_slice(&factors),
                None => lits.push(operand),
            }
        }
        lits.sort_unstable();
        lits.dedup();
        lits.retain(|&lit| lit != Lit::TRUE);
        let contradicts = |pair: &[Lit]| pair[0] == !pair[1];
        if lits.first() == Some(&Lit::FALSE) || lits.windows(2).any(contradicts) {
            return Lit::FALSE;
        }
        if let Some(absorbed) = self.absorb(&lits) {
            return self.and(absorbed);
        }
        match lits[..] {
            [] => Lit::TRUE,
            [only] => only,
            _ => self.intern(Node::And(lits.into())),
        }
    }

    /// The factors after `x & (x | y) = x`, with `x` one literal or several, and `x & (!x | y) = x
    /// & y`; `None` if neither applies.
    fn absorb(&mut self, lits: &[Lit]) -> Option<Vec<Lit>> {
        let holds = |lit: Lit| lits.binary_search(&lit).is_ok();
        let mut changed = false;
        let mut kept = Vec::new();
        for &lit in lits {
            let Some(negated) = self.negated_terms(lit) else {
                kept.push(lit);
                continue;
            };
            if negated.iter().any(|&term| holds(!term)) || self.is_implied(lit, &negated, lits) {
                changed = true;
            } else if negated.iter().any(|&term| holds(term)) {
                changed = true;
                let left: Vec<Lit> = negated
                    .iter()
                    .copied()
                    .filter(|&term| !holds(term))
                    .collect();
                kept.push(!self.and(left));
            } else {
                kept.push(lit);
            }
        }
        changed.then_some(kept)
    }

    /// Whether another disjunction among `lits` has only terms that `lit` has too.
    fn is_implied(&self, lit: Lit, negated: &[Lit], lits: &[Lit]) -> bool {
        let has = |term: &Lit| negated.binary_search(term).is_ok();
        let others = lits
            .iter()
            .filter(|&&other| other != lit && other.is_negated());
        let mut others = others
            .take(COMPARED_MAX)
            .filter_map(|&other| self.negated_terms(other));
        others.any(|other| other.len() < negated.len() && other.iter().all(has))
    }

    /// Disjunction, simplified.
    pub(super) fn or(&mut self, operands: impl IntoIterator<Item = Lit>) -> Lit {
        !self.and(operands.into_iter().map(Lit::not))
    }

    /// Exclusive or, simplified.
    pub(super) fn xor(&mut self, operands: impl IntoIterator<Item = Lit>) -> Lit {
        let mut negated = false;
        let mut lits = Vec::new();
        for operand in operands {
            negated ^= operand.is_negated();
            match self.node(operand) {
                Node::Xor(children) => lits.extend_from_slice(children),
                _ => lits.push(operand.positive()),
            }
        }
        lits.sort_unstable();
        let mut odd: Vec<Lit> = Vec::with_capacity(lits.len());
        for lit in lits {
            if odd.last() == Some(&lit) {
                odd.pop();
            } else if lit != Lit::FALSE {
                odd.push(lit);
            }
        }
        let lit = match odd[..] {
            [] => Lit::FALSE,
            [only] => only,
            _ => self.intern(Node::Xor(odd.into())),
        };
        lit.flipped(negated)
    }

    /// Number of rows, if nothing below `root` is used twice: then the result depends on each of
    /// them.
    pub(super) fn rows_if_read_once(&self, root: Lit) -> Option<usize> {
        let mut seen = vec![false; self.nodes.len()];
        let mut open = vec![root];
        let mut rows = 0;
        while let Some(lit) = open.pop() {
            if std::mem::replace(&mut seen[(lit.0 >> 1) as usize], true) {
                return None;
            }
            match self.node(lit) {
                Node::False | Node::Sealed(_) => {}
                Node::Row(_) => rows += 1,
                Node::And(children) | Node::Xor(children) => open.extend_from_slice(children),
            }
        }
        Some(rows)
    }

    /// The positive literals of all nodes below `root`, operands before what they are operands of, and
    /// for every node how many others have it as an operand.
    pub(super) fn used_below(&self, root: Lit) -> (Vec<Lit>, Vec<usize>) {
        let mut uses = vec![0; self.nodes.len()];
        let mut seen = vec![false; self.nodes.len()];
        let mut open = vec![root.positive()];
        while let Some(lit) = open.pop() {
            if std::mem::replace(&mut seen[lit.index() / 2], true) {
                continue;
            }
            if let Node::And(children) | Node::Xor(children) = self.node(lit) {
                for &child in children.iter() {
                    uses[child.index() / 2] += 1;
                    open.push(child.positive());
                }
            }
        }
        // A node is interned after its operands.
        let nodes = (0..self.nodes.len()).filter(|&node| seen[node]);
        let order = nodes.map(|node| Lit((node as u32) << 1)).collect();
        (order, uses)
    }

    pub(super) fn intern(&mut self, node: Node) -> Lit {
        if let Some(&lit) = self.index.get(&node) {
            return lit;
        }
        let lit = Lit((self.nodes.len() as u32) << 1);
        self.nodes.push(node.clone());
        self.index.insert(node, lit);
        lit
    }
}
