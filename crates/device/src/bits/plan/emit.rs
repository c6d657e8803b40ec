//! From the tree that the search found to the commands of the planes and the controller's
//! combination.

use std::collections::HashMap;

use media::nand::Iscm;

use super::tree::{Chain, Join, Kind, Tree};
use super::{Computation, Sense, Source, Step};
use crate::bits::rows::RowSetId;

/// The computations of `tree`, each once however often its page is used, and the root over them.
pub(super) fn emit(tree: &Tree) -> (Vec<Computation>, Source) {
    let mut emitter = Emitter::default();
    let root = emitter.source(tree, false);
    (emitter.computations, root)
}

/// The same for chains of the same computation, and seldom for others: how many senses, and of the
/// first slot the row set and the last wordline.
type Likeness = Option<(usize, RowSetId, Option<u32>)>;

#[derive(Default)]
struct Emitter {
    computations: Vec<Computation>,
    // order: looked up by key only, never walked.
    alike: HashMap<Likeness, Vec<usize>>,
}

impl Emitter {
    /// `tree`, or its negation; an AND of mostly negations becomes an OR.
    fn source(&mut self, tree: &Tree, negated: bool) -> Source {
        match &tree.kind {
            Kind::Constant(value) => Source::Constant(value ^ negated),
            Kind::Chain(chain) => inverted(Source::Array(self.computation(chain)), negated),
            Kind::Not(inner) => self.source(inner, !negated),
            Kind::And(operands) => {
                let negations = operands
                    .iter()
                    .filter(|operand| matches!(operand.kind, Kind::Not(_)))
                    .count();
                let as_or = 2 * negations > operands.len();
                let operands = operands
                    .iter()
                    .map(|operand| self.source(operand, as_or))
                    .collect();
                let combined = if as_or {
                    Source::Or(operands)
                } else {
                    Source::And(operands)
                };
                inverted(combined, negated ^ as_or)
            }
            Kind::Xor(operands) => {
                let mut negated = negated;
                let mut sources = Vec::with_capacity(operands.len());
                for operand in operands {
                    let flip = matches!(operand.kind, Kind::Not(_));
                    negated ^= flip;
                    sources.push(self.source(operand, flip));
                }
                inverted(Source::Xor(sources), negated)
            }
        }
    }

    fn computation(&mut self, chain: &Chain) -> usize {
        let computation = Computation {
            steps: steps(chain),
        };
        let alike = self.alike.entry(likeness(chain)).or_default();
        let known = alike
            .iter()
            .copied()
            .find(|&at| self.computations[at] == computation);
        known.unwrap_or_else(|| {
            alike.push(self.computations.len());
            self.computations.push(computation);
            self.computations.len() - 1
        })
    }
}

fn likeness(chain: &Chain) -> Likeness {
    let slot = chain.first()?.form.slots.first()?;
    Some((chain.len(), slot.row_set, slot.wordlines.last()))
}

fn inverted(source: Source, invert: bool) -> Source {
    if invert {
        Source::Not(Box::new(source))
    } else {
        source
    }
}

/// The first sense clears C; what first joins it is transferred, whatever the join. Later an XOR is a
/// command of its own, and so is what makes an OR an AND with the inverse.
fn steps(chain: &Chain) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut clear = true;
    for (place, link) in chain.iter().enumerate() {
        let transfer = match link.join {
            None => false,
            Some(Join::Xor) => clear,
            Some(Join::Or | Join::AndNot) => true,
        };
        let iscm = Iscm {
            inverse: link.form.inverse,
            init_s: !link.goes_on,
            init_c: place == 0,
            transfer,
        };
        steps.push(Step::Sense(Sense {
            iscm,
            slots: link.form.slots.iter().copied().collect(),
        }));
        if matches!(link.join, Some(Join::Xor | Join::AndNot)) && !clear {
            steps.push(Step::Xor);
        }
        clear &= link.join.is_none();
    }
    steps
}
