//! Functions of rows as decision diagrams: equal functions are one node, whatever they were written as.
//!
//! A diagram tells of a function what its expression hides: what is constant, where it does not depend on a row, which ANDs
//! of rows decide it. The rows are in the order in which the expression names them, which keeps numbers that are
//! compared or added bit by bit small. What becomes too large is given up.

use std::collections::BTreeSet;

use crate::bits::hashing::{Known, Table};
use crate::bits::plan::graph::{Graph, Lit, Node};

/// A node of a diagram: a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Bdd(u32);

impl Bdd {
    pub(super) const FALSE: Bdd = Bdd(0);
    pub(super) const TRUE: Bdd = Bdd(1);

    pub(super) fn is_constant(self) -> bool {
        self.0 < 2
    }
}

/// A row decides between two functions of later rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Decision {
    row: u32,
    low: Bdd,
    high: Bdd,
}

/// A row, or its inverse: the number of the row, and whether it is to be one.
pub(super) type Literal = (u32, bool);

/// Diagrams over the rows below a literal.
pub(super) struct Diagrams {
    nodes: Vec<Decision>,
    // order: looked up by key only, never walked.
    unique: Table<Decision, Bdd>,
    // order: looked up by key only, never walked.
    known: Table<(Bdd, Bdd, Bdd), Bdd>,
    /// Steps that may be taken yet.
    left: usize,
    /// By number.
    pub(super) rows: Vec<Lit>,
}

impl Diagrams {
    /// No diagrams; `steps` bounds the effort of all that is asked of them.
    pub(super) fn new(steps: usize) -> Diagrams {
        let constant = Decision {
            row: u32::MAX,
            low: Bdd::FALSE,
            high: Bdd::FALSE,
        };
        Diagrams {
            nodes: vec![constant; 2],
            unique: Table::default(),
            known: Table::default(),
            left: steps,
            rows: Vec::new(),
        }
    }

    /// Steps that may be taken yet.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The diagram of `root`; `None` where it has more than `rows_max` rows, or takes too many steps.
    pub(super) fn build(&mut self, graph: &Graph, root: Lit, rows_max: usize) -> Option<Bdd> {
        let (order, _) = graph.used_below(root);
        // Rows are numbered as the expression names them.
        let is_row = |lit: &Lit| matches!(graph.node(*lit), Node::Row(_));
        self.rows = order.iter().copied().filter(is_row).collect();
        if self.rows.len() > rows_max {
            return None;
        }
        let mut numbers = Table::default();
        for (number, row) in self.rows.iter().enumerate() {
            numbers.insert(*row, number as u32);
        }
        // By node.
        let mut built: Table<usize, Bdd> = Table::default();
        for lit in order {
            let operand = |diagrams: &mut Diagrams, lit: Lit| {
                let built = built.get(&(lit.index() / 2)).copied()?;
                diagrams.flipped(built, lit.is_negated())
            };
            let diagram = match graph.node(lit) {
                Node::False => Bdd::FALSE,
                Node::Row(_) => self.literal((numbers[&lit], true)),
                Node::Sealed(_) => return None,
                Node::And(factors) => {
                    let mut all = Bdd::TRUE;
                    for &factor in factors.iter().rev() {
                        let factor = operand(self, factor)?;
                        all = self.and(all, factor)?;
                    }
                    all
                }
                Node::Xor(children) => {
                    let mut odd = Bdd::FALSE;
                    for &child in children.iter().rev() {
                        let child = operand(self, child)?;
                        let inverse = self.not(child)?;
                        odd = self.ite(odd, inverse, child)?;
                    }
                    odd
                }
            };
            built.insert(lit.index() / 2, diagram);
        }
        let whole = *built.get(&(root.index() / 2))?;
        self.flipped(whole, root.is_negated())
    }

    fn flipped(&mut self, function: Bdd, flip: bool) -> Option<Bdd> {
        if flip {
            self.not(function)
        } else {
            Some(function)
        }
    }

    fn node(&mut self, decision: Decision) -> Bdd {
        if decision.low == decision.high {
            return decision.low;
        }
        let next = Bdd(self.nodes.len() as u32);
        let node = *self.unique.entry(decision).or_insert(next);
        if node == next {
            self.nodes.push(decision);
        }
        node
    }

    /// The function that is one literal.
    fn literal(&mut self, (row, value): Literal) -> Bdd {
        let (low, high) = match value {
            true => (Bdd::FALSE, Bdd::TRUE),
            false => (Bdd::TRUE, Bdd::FALSE),
        };
        self.node(Decision { row, low, high })
    }

    /// The row that decides first.
    pub(super) fn row(&self, function: Bdd) -> u32 {
        self.nodes[function.0 as usize].row
    }

    fn cofactors(&self, function: Bdd, row: u32) -> (Bdd, Bdd) {
        let decision = self.nodes[function.0 as usize];
        match decision.row == row {
            true => (decision.low, decision.high),
            false => (function, function),
        }
    }

    /// Where the first row is zero, and where it is one.
    pub(super) fn branches(&self, function: Bdd) -> (Bdd, Bdd) {
        let decision = self.nodes[function.0 as usize];
        (decision.low, decision.high)
    }

    /// `then` where `condition` holds, `otherwise` elsewhere.
    pub(super) fn ite(&mut self, condition: Bdd, then: Bdd, otherwise: Bdd) -> Option<Bdd> {
        if condition == Bdd::TRUE || then == otherwise {
            return Some(then);
        }
        if condition == Bdd::FALSE {
            return Some(otherwise);
        }
        if (then, otherwise) == (Bdd::TRUE, Bdd::FALSE) {
            return Some(condition);
        }
        let key = (condition, then, otherwise);
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        self.left = self.left.checked_sub(1)?;
        let row = [condition, then, otherwise]
            .map(|of| self.row(of))
            .into_iter()
            .min()?;
        let [condition, then, otherwise] =
            [condition, then, otherwise].map(|of| self.cofactors(of, row));
        let low = self.ite(condition.0, then.0, otherwise.0)?;
        let high = self.ite(condition.1, then.1, otherwise.1)?;
        let node = self.node(Decision { row, low, high });
        self.known.insert(key, node);
        Some(node)
    }

    pub(super) fn not(&mut self, function: Bdd) -> Option<Bdd> {
        self.ite(function, Bdd::FALSE, Bdd::TRUE)
    }

    pub(super) fn and(&mut self, a: Bdd, b: Bdd) -> Option<Bdd> {
        self.ite(a, b, Bdd::FALSE)
    }

    /// `a` where `b` does not hold.
    pub(super) fn without(&mut self, a: Bdd, b: Bdd) -> Option<Bdd> {
        self.ite(b, Bdd::FALSE, a)
    }

    /// The AND of literals.
    pub(super) fn cube(&mut self, literals: &[Literal]) -> Option<Bdd> {
        let mut cube = Bdd::TRUE;
        for &literal in literals {
            let literal = self.literal(literal);
            cube = self.and(cube, literal)?;
        }
        Some(cube)
    }
}

impl Diagrams {
    /// The rows that a function depends on, in order.
    pub(super) fn support(&self, function: Bdd) -> Vec<u32> {
        let mut seen = Known::default();
        let mut rows = BTreeSet::new();
        let mut open = vec![function];
        while let Some(node) = open.pop() {
            if !node.is_constant() && seen.insert(node) {
                rows.insert(self.row(node));
                let (low, high) = self.branches(node);
                open.extend([low, high]);
            }
        }
        rows.into_iter().collect()
    }

    /// The value of a function where rows are as `point` says, but one that is inverted.
    pub(super) fn value(&self, function: Bdd, point: impl Fn(u32) -> bool, inverted: u32) -> bool {
        let mut node = function;
        while !node.is_constant() {
            let (row, (low, high)) = (self.row(node), self.branches(node));
            node = if point(row) != (row == inverted) {
                high
            } else {
                low
            };
        }
        node == Bdd::TRUE
    }

    /// A function where a literal holds.
    pub(super) fn restricted(&mut self, function: Bdd, literal: Literal) -> Option<Bdd> {
        self.restricted_node(function, literal, &mut Table::default())
    }

    fn restricted_node(
        &mut self,
        function: Bdd,
        (row, value): Literal,
        known: &mut Table<Bdd, Bdd>,
    ) -> Option<Bdd> {
        let (low, high) = self.branches(function);
        if self.row(function) >= row {
            let decides = self.row(function) == row;
            return Some(if !decides {
                function
            } else if value {
                high
            } else {
                low
            });
        }
        if let Some(known) = known.get(&function) {
            return Some(*known);
        }
        self.left = self.left.checked_sub(1)?;
        let low = self.restricted_node(low, (row, value), known)?;
        let high = self.restricted_node(high, (row, value), known)?;
        let row = self.row(function);
        let node = self.node(Decision { row, low, high });
        known.insert(function, node);
        Some(node)
    }

    /// The literals of the path on which a function is one that counts least, where a row that is to be zero and one that is to
    /// be one count so much.
    pub(super) fn path(&mut self, function: Bdd, weights: (u32, u32)) -> Option<Vec<Literal>> {
        let mut known = Table::default();
        self.distance(function, weights, &mut known)?;
        let mut path = Vec::new();
        let mut node = function;
        while !node.is_constant() {
            let (low, high) = self.branches(node);
            let value = known[&node].1;
            path.push((self.row(node), value));
            node = if value { high } else { low };
        }
        Some(path)
    }

    /// How much the least path counts, and its first step.
    fn distance(
        &mut self,
        function: Bdd,
        weights: (u32, u32),
        known: &mut Table<Bdd, (u32, bool)>,
    ) -> Option<u32> {
        const FAR: u32 = u32::MAX / 2;
        if function.is_constant() {
            return Some(if function == Bdd::TRUE { 0 } else { FAR });
        }
        if let Some((distance, _)) = known.get(&function) {
            return Some(*distance);
        }
        self.left = self.left.checked_sub(1)?;
        let (low, high) = self.branches(function);
        let low = self
            .distance(low, weights, known)?
            .saturating_add(weights.0);
        let high = self
            .distance(high, weights, known)?
            .saturating_add(weights.1);
        let found = (low.min(high), high <= low);
        known.insert(function, found);
        Some(found.0)
    }

    /// Whether a function is one anywhere in a cube, whose literals are in the order of rows.
    pub(super) fn meets(&mut self, function: Bdd, cube: &[Literal]) -> Option<bool> {
        let mut seen = Known::default();
        let mut open = vec![function];
        while let Some(node) = open.pop() {
            if node == Bdd::TRUE {
                return Some(true);
            }
            if node == Bdd::FALSE || !seen.insert(node) {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            let (row, (low, high)) = (self.row(node), self.branches(node));
            match cube.binary_search_by_key(&row, |(row, _)| *row) {
                Ok(at) => open.push(if cube[at].1 { high } else { low }),
                Err(_) => open.extend([low, high]),
            }
        }
        Some(false)
    }
}
