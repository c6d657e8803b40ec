//! Chains of senses in the latches, and trees of chains combined by the controller.

use std::rc::Rc;

use super::forms::{Form, Product};

/// How what the sensing latch holds joins the cache latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// C |= S.
    Or,
    /// C ^= S.
    Xor,
    /// C &= !S, which is C |= S and then C ^= S.
    AndNot,
}

/// One sense of a chain and what becomes of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) form: Form,
    /// S goes on: it becomes S & sensed, where otherwise it begins anew.
    pub(super) goes_on: bool,
    /// What follows; nothing while S is still to be accumulated.
    pub(super) join: Option<Join>,
}

/// Senses whose results gather in the cache latch, which is clear before the first.
pub(super) type Chain = Rc<[Link]>;

/// The links of a product that joins as a whole.
pub(super) fn links(product: &Product, join: Join) -> impl Iterator<Item = Link> {
    product.iter().enumerate().map(move |(at, form)| Link {
        form: form.clone(),
        goes_on: at > 0,
        join: (at + 1 == product.len()).then_some(join),
    })
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) senses: u64,
    pub(super) transfers: u64,
    /// Operand pages of the controller: decides between plans that are otherwise alike.
    pub(super) combined: u64,
}

/// A page in the controller: of a chain, or combined from others.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) cost: Cost,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Constant(bool),
    Chain(Chain),
    Not(Rc<Tree>),
    And(Vec<Rc<Tree>>),
    Xor(Vec<Rc<Tree>>),
}

pub(super) fn constant(value: bool) -> Rc<Tree> {
    Rc::new(Tree {
        cost: Cost::default(),
        kind: Kind::Constant(value),
    })
}

pub(super) fn array(chain: Chain) -> Rc<Tree> {
    let cost = Cost {
        senses: chain.len() as u64,
        transfers: 1,
        combined: 0,
    };
    Rc::new(Tree {
        cost,
        kind: Kind::Chain(chain),
    })
}

pub(super) fn not(inner: Rc<Tree>) -> Rc<Tree> {
    match &inner.kind {
        Kind::Not(twice) => twice.clone(),
        _ => {
            let cost = Cost {
                combined: inner.cost.combined + 1,
                ..inner.cost
            };
            Rc::new(Tree {
                cost,
                kind: Kind::Not(inner),
            })
        }
    }
}

pub(super) fn and(operands: impl IntoIterator<Item = Rc<Tree>>) -> Rc<Tree> {
    let mut flat = Vec::new();
    for operand in operands {
        match &operand.kind {
            Kind::And(inner) => flat.extend_from_slice(inner),
            _ => flat.push(operand),
        }
    }
    if let [only] = &flat[..] {
        return only.clone();
    }
    Rc::new(Tree {
        cost: combined(&flat),
        kind: Kind::And(flat),
    })
}

pub(super) fn xor(operands: impl IntoIterator<Item = Rc<Tree>>) -> Rc<Tree> {
    let mut flat = Vec::new();
    for operand in operands {
        match &operand.kind {
            Kind::Xor(inner) => flat.extend_from_slice(inner),
            _ => flat.push(operand),
        }
    }
    if let [only] = &flat[..] {
        return only.clone();
    }
    Rc::new(Tree {
        cost: combined(&flat),
        kind: Kind::Xor(flat),
    })
}

fn combined(operands: &[Rc<Tree>]) -> Cost {
    let start = Cost {
        combined: operands.len() as u64,
        ..Cost::default()
    };
    operands.iter().fold(start, |sum, operand| Cost {
        senses: sum.senses + operand.cost.senses,
        transfers: sum.transfers + operand.cost.transfers,
        combined: sum.combined + operand.cost.combined,
    })
}
