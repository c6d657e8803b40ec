//! The search for the cheapest plan: what the latches accumulate and what the controller combines.
//!
//! Forms nest: a *product* is accumulated in S; a *sum* is a list of products whose OR is wanted, a
//! *parity* one whose XOR is wanted; a *chain* accumulates products in C by OR, XOR and AND with the
//! inverse from left to right; a *tree* combines the pages of chains in the controller. Every
//! expression has a tree. Each form is found bottom-up and remembered per literal. Subexpressions of few atoms
//! are not searched for but looked up in what [`super::synthesis`] finds, which cannot be beaten.

mod chains;

use std::collections::BTreeMap;
use std::rc::Rc;

use media::nand::WordlineBitmap;

use self::chains::complemented;
use super::emit::emit;
use super::forms::{Form, Product, Reach, merge_layer, pack};
use super::graph::{Graph, Lit, Node};
use super::synthesis::{ATOMS_MAX, Synthesis};
use super::tree::{Chain, Cost, Tree, and, array, constant, not, xor};
use super::{Computation, Slot, Source, Weights};
use crate::bits::rows::RowSetId;

/// Nodes of the graph that looking for subexpressions of few atoms may visit in one planning, and for
/// one of them: bounds the effort for large expressions.
const VISITS_MAX: usize = 4096;
const VISITS_FOR_ONE: usize = 512;

/// Atoms that subexpressions of a larger expression may have to be looked up, and how many may have as
/// many.
const SUBEXPRESSION_ATOMS: usize = 4;
const LARGE_MAX: usize = 4;

/// Products that distribution over a sum may create in one planning; more would not be cheaper
/// anyway.
const SPREAD_MAX: usize = 32;

type Sum = Rc<[Rc<Product>]>;

/// A search for plans of one expression within a reach, by one weights after another: only what is cheapest depends on
/// these.
pub(super) struct Search {
    graph: Graph,
    root: Lit,
    sealed: Vec<Lit>,
    reach: Reach,
    weights: Weights,
    spread_left: usize,
    synthesis: Synthesis,
    visits_left: usize,
    steps: u64,
    exact: Memo<Option<Rc<Tree>>>,
    sums: Memo<Option<Sum>>,
    parities: Memo<Option<Sum>>,
    chains: Memo<Option<Chain>>,
    trees: Memo<Rc<Tree>>,
}

/// What is known so far, by literal.
struct Memo<T>(Vec<Option<T>>);

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo(Vec::new())
    }
}

impl<T> Memo<T> {
    fn get(&self, lit: Lit) -> Option<&T> {
        self.0.get(lit.index())?.as_ref()
    }

    fn insert(&mut self, lit: Lit, value: T) {
        let at = lit.index();
        if at >= self.0.len() {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at] = Some(value);
    }
}

impl Search {
    /// Nothing known yet of `root`; `sealed` are the subexpressions that are sealed in the graph.
    pub(super) fn new(graph: Graph, root: Lit, sealed: Vec<Lit>, reach: Reach) -> Search {
        Search {
            graph,
            root,
            sealed,
            reach,
            weights: Weights::SENSES_FIRST,
            spread_left: SPREAD_MAX,
            synthesis: Synthesis::new(reach),
            visits_left: VISITS_MAX,
            steps: 0,
            exact: Memo::default(),
            sums: Memo::default(),
            parities: Memo::default(),
            chains: Memo::default(),
            trees: Memo::default(),
        }
    }

    /// The plan that is cheapest by `weights`: array computations and what the controller makes of their pages.
    pub(super) fn plan(&mut self, weights: Weights) -> (Vec<Computation>, Source) {
        if weights != self.weights {
            self.weights = weights;
            self.trees = Memo::default();
            // What was not looked at for other weights may be, as if these had not been asked for.
            self.spread_left = SPREAD_MAX;
            self.visits_left = VISITS_MAX;
        }
        emit(&self.tree(self.root))
    }

    /// Literals for which a sum, a parity, a chain, a tree or a function of few atoms was looked for so far, and senses tried for
    /// the latter.
    pub(super) fn steps(&self) -> u64 {
        self.steps + self.synthesis.steps()
    }

    /// The cheapest way there is to have `lit` in the controller, where its atoms are few.
    fn exact(&mut self, lit: Lit) -> Option<Rc<Tree>> {
        // An engine without XOR combines less in its latches than is assumed there.
        if !self.reach.xor {
            return None;
        }
        if let Some(known) = self.exact.get(lit) {
            return known.clone();
        }
        let allowed = self.visits_left.min(VISITS_FOR_ONE);
        let mut left = allowed;
        let most = match lit.positive() == self.root.positive() {
            true => ATOMS_MAX,
            false => SUBEXPRESSION_ATOMS - usize::from(self.synthesis.large() >= LARGE_MAX),
        };
        let exact = self.synthesis.tree(&self.graph, lit, most, &mut left);
        self.visits_left -= allowed - left;
        self.steps += (allowed - left) as u64;
        self.exact.insert(lit, exact.clone());
        exact
    }

    /// Products whose OR is `lit`.
    fn sum(&mut self, lit: Lit) -> Option<Sum> {
        if let Some(known) = self.sums.get(lit) {
            return known.clone();
        }
        self.steps += 1;
        let sum = self.find_sum(lit);
        self.sums.insert(lit, sum.clone());
        sum
    }

    fn find_sum(&mut self, lit: Lit) -> Option<Sum> {
        if let Some(product) = self.graph.product(lit, self.reach) {
            return Some([Rc::new(product)].into());
        }
        if let Some(negated) = self.graph.negated_terms(lit) {
            let (products, _, left) = self.gather_sum(&negated);
            return left.is_empty().then(|| products.into());
        }
        let factors = self.graph.factors(lit)?;
        let spread = |search: &Search, factor| search.graph.negated_terms(factor).is_some();
        let (at, terms) = self.spread_over(&factors, spread)?;
        let mut operands = Vec::with_capacity(terms.len());
        for term in terms {
            operands.push(self.replaced(&factors, at, !term));
        }
        let spread = self.graph.or(operands);
        self.sum(spread)
    }

    /// Products whose OR is the OR of the negations of `negated`; also the terms taken and those
    /// left.
    fn gather_sum(&mut self, negated: &[Lit]) -> (Vec<Rc<Product>>, Vec<Lit>, Vec<Lit>) {
        let mut cubes: Vec<Slot> = Vec::new();
        let mut clauses: BTreeMap<RowSetId, Vec<WordlineBitmap>> = BTreeMap::new();
        let mut products: Vec<Rc<Product>> = Vec::new();
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for term in negated.iter().map(|&lit| !lit) {
            if let Some(cube) = self.graph.cube(term, self.reach) {
                cubes.push(cube);
            } else if let Some(row) = self.graph.row(term) {
                merge_layer(
                    clauses.entry(row.row_set).or_default(),
                    row.layer,
                    self.reach,
                );
            } else if let Some(sum) = self.sum(term) {
                products.extend(sum.iter().cloned());
            } else {
                left.push(term);
                continue;
            }
            taken.push(term);
        }
        for (row_set, senses) in clauses {
            products.extend(senses.into_iter().map(|wordlines| {
                Rc::new(vec![Form {
                    inverse: true,
                    slots: vec![Slot { row_set, wordlines }],
                }])
            }));
        }
        products.extend(
            pack(cubes, self.reach)
                .into_iter()
                .map(|form| Rc::new(vec![form])),
        );
        (products, taken, left)
    }

    /// Products whose XOR is `lit`.
    fn parity(&mut self, lit: Lit) -> Option<Sum> {
        if let Some(known) = self.parities.get(lit) {
            return known.clone();
        }
        self.steps += 1;
        let parity = self.find_parity(lit);
        self.parities.insert(lit, parity.clone());
        parity
    }

    fn find_parity(&mut self, lit: Lit) -> Option<Sum> {
        if let Some(product) = self.graph.product(lit, self.reach) {
            return Some([Rc::new(product)].into());
        }
        if !self.reach.xor {
            return None;
        }
        if let Node::Xor(children) = self.graph.node(lit) {
            let children = children.clone();
            return self.polarized(&children, lit.is_negated()).map(Sum::from);
        }
        let factors = self.graph.factors(lit)?;
        let spread = |search: &Search, factor| matches!(search.graph.node(factor), Node::Xor(_));
        let (at, children) = self.spread_over(&factors, spread)?;
        let mut negated = factors[at].is_negated();
        let mut operands = Vec::with_capacity(children.len());
        for child in children {
            // A negated parity is that of its children with one of them negated.
            operands.push(self.replaced(&factors, at, child.flipped(std::mem::take(&mut negated))));
        }
        let spread = self.graph.xor(operands);
        self.parity(spread)
    }

    /// Products whose XOR is the XOR of `children`, negated if asked.
    ///
    /// Where a child is to be had in both polarities, both are one sense, so any such child can
    /// make up for an odd number of negations.
    fn polarized(&mut self, children: &[Lit], negated: bool) -> Option<Vec<Rc<Product>>> {
        let mut chosen = Vec::with_capacity(children.len());
        let mut owed = negated;
        for &child in children {
            let parity = self.parity(child);
            owed ^= parity.is_none();
            chosen.push(parity.or_else(|| self.parity(!child))?);
        }
        if owed {
            let (at, other) = children.iter().enumerate().find_map(|(at, &child)| {
                let other = self.parity(child).and_then(|_| self.parity(!child))?;
                Some((at, other))
            })?;
            chosen[at] = other;
        }
        Some(
            chosen
                .iter()
                .flat_map(|products| products.iter().cloned())
                .collect(),
        )
    }

    /// The factor to distribute over and its children, if the budget allows; of several the
    /// smallest.
    fn spread_over(
        &mut self,
        factors: &[Lit],
        candidate: impl Fn(&Search, Lit) -> bool,
    ) -> Option<(usize, Vec<Lit>)> {
        let (_, _, left) = self.graph.gather_product(factors, self.reach);
        let mut best: Option<(usize, Vec<Lit>)> = None;
        for lit in left.into_iter().filter(|&lit| candidate(self, lit)) {
            let (Node::And(children) | Node::Xor(children)) = self.graph.node(lit) else {
                continue;
            };
            if best
                .as_ref()
                .is_none_or(|(_, fewest)| children.len() < fewest.len())
            {
                let at = factors.iter().position(|&factor| factor == lit)?;
                best = Some((at, children.to_vec()));
            }
        }
        let (at, children) = best?;
        self.spread_left = self.spread_left.checked_sub(children.len())?;
        Some((at, children))
    }

    fn replaced(&mut self, factors: &[Lit], at: usize, by: Lit) -> Lit {
        let others = factors
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != at)
            .map(|(_, &lit)| lit);
        self.graph.and(others.chain([by]))
    }

    fn has_parity(&mut self, lit: Lit) -> bool {
        self.parity(lit).is_some() || self.parity(!lit).is_some()
    }

    /// The cheapest way to have `lit` in the controller.
    fn tree(&mut self, lit: Lit) -> Rc<Tree> {
        if let Some(known) = self.trees.get(lit) {
            return known.clone();
        }
        self.steps += 1;
        let exact = self.exact(lit);
        // Fewer senses cannot be; fewer pages can, where these weigh as much.
        if let Some(exact) = exact.clone()
            && (self.weights == Weights::SENSES_FIRST || exact.cost.combined == 0)
        {
            self.trees.insert(lit, exact.clone());
            return exact;
        }
        let positive = lit.positive();
        let tree = if lit.is_negated() && self.graph.node(lit) != &Node::False {
            let inverted = not(self.tree(positive));
            let direct = self.chain(lit).map(array);
            self.cheaper(direct, inverted)
        } else {
            self.find_tree(lit)
        };
        let tree = self.cheaper(exact, tree);
        self.trees.insert(lit, tree.clone());
        tree
    }

    fn find_tree(&mut self, lit: Lit) -> Rc<Tree> {
        match self.graph.node(lit).clone() {
            Node::False => constant(lit == Lit::TRUE),
            Node::Row(_) => self.array(lit).expect("a row is a product of one sense"),
            Node::Sealed(number) => {
                // Whatever uses it, it is computed once: that is no cost of any use.
                let kind = self.tree(self.sealed[number]).kind.clone();
                let cost = Cost::default();
                Rc::new(Tree { cost, kind })
            }
            Node::And(factors) => {
                let whole = self.array(lit);
                self.split_and(whole, &factors)
            }
            Node::Xor(children) => {
                let whole = self.array(lit);
                self.split_xor(whole, &children)
            }
        }
    }

    /// `lit` by one chain and one page, inverted by the controller if the latches cannot; `None` if
    /// neither can.
    fn array(&mut self, lit: Lit) -> Option<Rc<Tree>> {
        let direct = self.chain(lit).map(array);
        let inverted = self.chain(!lit).map(|chain| {
            let inverse = self.reach.xor.then(|| complemented(&chain)).flatten();
            inverse.map_or_else(|| not(array(chain)), array)
        });
        match inverted {
            Some(inverted) => Some(self.cheaper(direct, inverted)),
            None => direct,
        }
    }

    /// The cheapest of `best` and of sharing a conjunction out: a product, the negation of a sum,
    /// and what is neither. The product is filled up first, or the sum.
    fn split_and(&mut self, best: Option<Rc<Tree>>, factors: &[Lit]) -> Rc<Tree> {
        let (_, product, rest) = self.graph.gather_product(factors, self.reach);
        let (sum, each) = self.split_off_sum(&rest);
        let product_first = self.conjunction(product, sum, each);
        let best = self.cheaper(best, product_first);
        let (sum, rest) = self.split_off_sum(factors);
        let (_, product, each) = self.graph.gather_product(&rest, self.reach);
        let sum_first = self.conjunction(product, sum, each);
        self.cheaper(Some(best), sum_first)
    }

    /// Those whose negations the array ORs for no more senses than having each in the controller,
    /// and the others.
    fn split_off_sum(&mut self, factors: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
        factors
            .iter()
            .partition(|&&factor| match self.graph.row(factor) {
                Some(_) => true,
                None => {
                    let sum = self.sum(!factor);
                    sum.is_some_and(|sum| senses_of(&sum) <= self.tree(factor).cost.senses)
                }
            })
    }

    fn conjunction(&mut self, product: Vec<Lit>, sum: Vec<Lit>, each: Vec<Lit>) -> Rc<Tree> {
        let mut operands = Vec::new();
        for joint in [product, sum] {
            if !joint.is_empty() {
                let joint = self.graph.and(joint);
                operands.push(
                    self.array(joint)
                        .expect("a product, or the negation of a sum, is one chain"),
                );
            }
        }
        operands.extend(each.into_iter().map(|factor| self.tree(factor)));
        and(operands)
    }

    /// The cheapest of `best` and of sharing an exclusive or out between one chain and what cannot
    /// join it.
    fn split_xor(&mut self, best: Option<Rc<Tree>>, children: &[Lit]) -> Rc<Tree> {
        let (listed, odd): (Vec<Lit>, Vec<Lit>) = children
            .iter()
            .partition(|&&child| self.has_cheap_parity(child));
        let mut best = best;
        // A chain may begin with an operand that is neither sum nor parity, so one such can come
        // along.
        for along in 0..=odd.len().min(1) {
            let joint = self.graph.xor(listed.iter().chain(&odd[..along]).copied());
            let Some(joint) = self.array(joint) else {
                continue;
            };
            let rest = odd[along..].iter().map(|&child| self.tree(child));
            let candidate = xor([joint].into_iter().chain(rest));
            best = Some(self.cheaper(best, candidate));
        }
        best.unwrap_or_else(|| xor(children.iter().map(|&child| self.tree(child))))
    }

    fn has_cheap_parity(&mut self, lit: Lit) -> bool {
        if !self.reach.xor || self.graph.row(lit).is_some() {
            return self.reach.xor;
        }
        let senses = [lit, !lit]
            .into_iter()
            .filter_map(|lit| Some(senses_of(&self.parity(lit)?)))
            .min();
        senses.is_some_and(|senses| senses <= self.tree(lit).cost.senses)
    }

    fn cheaper(&self, known: Option<Rc<Tree>>, other: Rc<Tree>) -> Rc<Tree> {
        let weigh = |tree: &Tree| {
            let Cost {
                senses,
                transfers,
                combined,
            } = tree.cost;
            (
                senses * self.weights.sense
                    + transfers * self.weights.page_transfer
                    + combined * self.weights.operand,
                combined,
            )
        };
        known
            .filter(|known| weigh(known) <= weigh(&other))
            .unwrap_or(other)
    }
}

fn senses_of(products: &Sum) -> u64 {
    products.iter().map(|product| product.len() as u64).sum()
}
