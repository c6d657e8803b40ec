//! Chains: what the cache latch can accumulate from left to right.

use std::rc::Rc;

use super::{Search, Sum, senses_of};
use crate::bits::plan::forms::{Form, Product};
use crate::bits::plan::graph::{Lit, Node};
use crate::bits::plan::tree::{Chain, Join, Kind, Link, links};

impl Search {
    /// Products accumulated in the cache latch that leave `lit` there.
    pub(super) fn chain(&mut self, lit: Lit) -> Option<Chain> {
        if let Some(known) = self.chains.get(lit) {
            return known.clone();
        }
        self.steps += 1;
        if let Some(Kind::Chain(chain)) = self.exact(lit).map(|tree| tree.kind.clone()) {
            self.chains.insert(lit, Some(chain.clone()));
            return Some(chain);
        }
        let joined =
            |sum: &Sum, join| -> Chain { sum.iter().flat_map(|p| links(p, join)).collect() };
        let mut chain = self.sum(lit).map(|sum| joined(&sum, Join::Or));
        let mut consider = |candidate: Option<Chain>| {
            if let Some(candidate) = candidate
                && chain
                    .as_ref()
                    .is_none_or(|chain| candidate.len() < chain.len())
            {
                chain = Some(candidate);
            }
        };
        consider(self.parity(lit).map(|parity| joined(&parity, Join::Xor)));
        consider(self.continued(lit));
        if self.reach.xor {
            consider(self.continued(!lit).and_then(|chain| complemented(&chain)));
        }
        self.chains.insert(lit, chain.clone());
        chain
    }

    /// A chain that goes on from that of the one operand which cannot join another.
    fn continued(&mut self, lit: Lit) -> Option<Chain> {
        if let Some(factors) = self.graph.factors(lit) {
            return self.continued_and(&factors);
        }
        if let Some(negated) = self.graph.negated_terms(lit) {
            let (products, _, left) = self.gather_sum(&negated);
            let &[start] = &left[..] else { return None };
            let start = self.chain(start)?;
            return Some(extended(&start, Join::Or, products));
        }
        let Node::Xor(children) = self.graph.node(lit) else {
            return None;
        };
        if !self.reach.xor {
            return None;
        }
        let (listed, odd): (Vec<Lit>, Vec<Lit>) = children
            .clone()
            .iter()
            .partition(|&&child| self.has_parity(child));
        let &[start] = &odd[..] else { return None };
        let ends = [false, true].into_iter().filter_map(|flip| {
            let start = self.chain(start.flipped(flip))?;
            let rest = self.polarized(&listed, lit.is_negated() ^ flip)?;
            Some(extended(&start, Join::Xor, rest))
        });
        ends.min_by_key(|end| end.len())
    }

    /// A chain whose end excludes what makes one of the factors zero.
    fn continued_and(&mut self, factors: &[Lit]) -> Option<Chain> {
        if !self.reach.xor {
            return None;
        }
        // Rows are left to the product that the chain may begin with.
        let (rows, others): (Vec<Lit>, Vec<Lit>) = factors
            .iter()
            .partition(|&&factor| self.graph.row(factor).is_some());
        let (excluded, _, left) = self.gather_sum(&others);
        let first = match left[..] {
            // What takes the most senses to exclude.
            [] => others.iter().copied().max_by_key(|&other| {
                let sum = self.sum(!other);
                sum.map_or(0, |sum| senses_of(&sum))
            }),
            [negated] => Some(!negated),
            _ => return None,
        };
        let from_others = first.and_then(|first| self.excluding_from(first, factors));
        if rows.is_empty() || !left.is_empty() {
            return from_others;
        }
        let (product, _, rest) = self.graph.gather_product(&rows, self.reach);
        let (rest, _, none) = self.gather_sum(&rest);
        debug_assert!(none.is_empty(), "the negation of a row is one sense");
        let start: Chain = links(&product, Join::Or).collect();
        let excluded = excluded.into_iter().chain(rest).collect();
        let from_rows = Some(extended(&start, Join::AndNot, excluded));
        [from_rows, from_others]
            .into_iter()
            .flatten()
            .min_by_key(|chain| chain.len())
    }

    /// A chain that begins with that of `first`, one of the factors, and excludes the others.
    fn excluding_from(&mut self, first: Lit, factors: &[Lit]) -> Option<Chain> {
        let start = self.chain(first)?;
        let others = factors.iter().copied().filter(|&factor| factor != first);
        let (excluded, _, left) = self.gather_sum(&others.collect::<Vec<_>>());
        left.is_empty()
            .then(|| extended(&start, Join::AndNot, excluded))
    }
}

fn extended(start: &Chain, join: Join, products: Vec<Rc<Product>>) -> Chain {
    let more = products.iter().flat_map(|product| links(product, join));
    start.iter().cloned().chain(more).collect()
}

/// A chain of as many senses that leaves the inverse; `None` if S goes on after it joined C.
///
/// !(lmn) = !l | !m | !n begins it, and what joined by OR is excluded instead.
pub(super) fn complemented(chain: &Chain) -> Option<Chain> {
    let first = chain.iter().position(|link| link.join.is_some())? + 1;
    let (product, rest) = chain.split_at(first);
    let after_join = |pair: &[Link]| pair[0].join.is_some() && pair[1].goes_on;
    if chain.windows(2).any(after_join) {
        return None;
    }
    let start = product.iter().map(|link| Link {
        form: Form {
            inverse: !link.form.inverse,
            ..link.form.clone()
        },
        goes_on: false,
        join: Some(Join::Or),
    });
    let rest = rest.iter().map(|link| Link {
        join: link.join.map(|join| match join {
            Join::Or => Join::AndNot,
            Join::AndNot => Join::Or,
            Join::Xor => Join::Xor,
        }),
        ..link.clone()
    });
    Some(start.chain(rest).collect())
}
