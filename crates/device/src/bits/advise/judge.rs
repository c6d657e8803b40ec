//! How good an arrangement is: the planner is asked, once for each expression and each way in which its
//! own vectors can lie.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use nvme::VectorId;

use super::arrangement::{Arrangement, Positions};
use super::work::{Work, Works};
use super::{Asked, Strings};
use crate::bits::rows::{Operand, Row, RowSetId};

/// Operands that an expression counts as at least, where those are counted that the planner is asked about.
const OPERANDS_MIN: usize = 4;
/// And how often it may be looked up what it said.
const LOOKUPS_MAX: usize = 5_000_000;

/// How good an arrangement is; less is better. First how long the parts of the drive work, then the senses, then the pages
/// that cross the channel, all times the frequency; then strings, as each takes blocks of its own; then inversions,
/// so that there is none without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Weight {
    work: u128,
    senses: u128,
    page_transfers: u128,
    strings: usize,
    inversions: usize,
}

/// Asks the planner, and remembers.
pub(super) struct Judge<'a> {
    asked: &'a [Asked],
    vectors: &'a [VectorId],
    /// By expression: its vectors, as places in the list.
    operands: Vec<Vec<usize>>,
    strings: &'a Strings,
    works: &'a Works,
    known: Vec<BTreeMap<Positions, Work>>,
    planned_operands: usize,
    operands_max: usize,
    lookups: usize,
    patience: &'a Patience<'a>,
}

/// Who asks for advice, and may want none any more.
pub(super) struct Patience<'a> {
    watch: &'a dyn Fn() -> ControlFlow<()>,
    pub(super) is_over: Cell<bool>,
}

impl<'a> Patience<'a> {
    pub(super) fn new(watch: &'a dyn Fn() -> ControlFlow<()>) -> Patience<'a> {
        Patience {
            watch,
            is_over: Cell::new(false),
        }
    }

    /// Whether nobody waits any more; what is made of it then is of no use.
    pub(super) fn is_over(&self) -> bool {
        if !self.is_over.get() && (self.watch)().is_break() {
            self.is_over.set(true);
        }
        self.is_over.get()
    }
}

impl<'a> Judge<'a> {
    /// A judge that asks the planner about expressions of `operands_max` operands altogether, and a little more.
    pub(super) fn new(
        asked: &'a [Asked],
        vectors: &'a [VectorId],
        strings: &'a Strings,
        works: &'a Works,
        (operands_max, patience): (usize, &'a Patience<'a>),
    ) -> Judge<'a> {
        let place = |id: &VectorId| vectors.iter().position(|known| known == id);
        let operands = asked
            .iter()
            .map(|asked| {
                asked
                    .expression
                    .vectors()
                    .iter()
                    .filter_map(place)
                    .collect()
            })
            .collect();
        Judge {
            asked,
            vectors,
            operands,
            strings,
            works,
            known: vec![BTreeMap::new(); asked.len()],
            planned_operands: 0,
            operands_max,
            lookups: 0,
            patience,
        }
    }

    /// Whether so much was asked that this is to be the last arrangement.
    pub(super) fn is_budget_spent(&self) -> bool {
        let is_spent = self.planned_operands >= self.operands_max || self.lookups >= LOOKUPS_MAX;
        is_spent || self.patience.is_over()
    }

    /// The vectors of each expression.
    pub(super) fn operands(&self) -> &[Vec<usize>] {
        &self.operands
    }

    /// How good an arrangement is.
    pub(super) fn weigh(&mut self, arrangement: &Arrangement) -> Weight {
        let strings = self.string_of(arrangement);
        let mut weight = Weight {
            work: 0,
            senses: 0,
            page_transfers: 0,
            strings: strings.iter().max().map_or(0, |most| most + 1),
            inversions: arrangement
                .inverse
                .iter()
                .filter(|inverse| **inverse)
                .count(),
        };
        for expression in 0..self.asked.len() {
            let cost = self.work(expression, arrangement, &strings);
            let frequency = u128::from(self.asked[expression].frequency);
            weight.work += frequency * u128::from(cost.span.as_ps());
            weight.senses += frequency * u128::from(cost.senses);
            weight.page_transfers += frequency * u128::from(cost.page_transfers);
        }
        weight
    }

    /// By expression, its vectors in this order, and how they lie.
    pub(super) fn positions(
        &self,
        arrangement: &Arrangement,
        order: &[usize],
    ) -> Vec<(Vec<VectorId>, Positions)> {
        let strings = self.string_of(arrangement);
        let of = |operands: &Vec<usize>| {
            let is_operand = |vector: &usize| operands.contains(vector);
            let operands: Vec<usize> = order.iter().copied().filter(is_operand).collect();
            let names = operands.iter().map(|&vector| self.vectors[vector]);
            let positions = arrangement.positions(&operands, &strings);
            (names.collect(), positions)
        };
        self.operands.iter().map(of).collect()
    }

    /// By vector, the number of its string: a group fills one after another.
    fn string_of(&self, arrangement: &Arrangement) -> Vec<usize> {
        let cells = self.strings.cells_per_string as usize;
        let mut strings = vec![0; arrangement.group.len()];
        let mut next = 0;
        for group in arrangement.groups() {
            for string in group.chunks(cells) {
                string.iter().for_each(|&vector| strings[vector] = next);
                next += 1;
            }
        }
        strings
    }

    fn work(&mut self, expression: usize, arrangement: &Arrangement, strings: &[usize]) -> Work {
        self.lookups += 1;
        let positions = arrangement.positions(&self.operands[expression], strings);
        if let Some(known) = self.known[expression].get(&positions) {
            return *known;
        }
        if self.patience.is_over() {
            return Work::default();
        }
        let work = self.planned(expression, &positions);
        self.known[expression].insert(positions, work);
        work
    }

    fn planned(&mut self, expression: usize, positions: &Positions) -> Work {
        self.planned_operands += self.operands[expression].len().max(OPERANDS_MIN);
        let mut layers: BTreeMap<u32, u32> = BTreeMap::new();
        let mut places: BTreeMap<VectorId, Operand> = BTreeMap::new();
        for (&vector, &(string, inverse)) in self.operands[expression].iter().zip(positions) {
            let next = layers.entry(string).or_default();
            let row = Row {
                row_set: RowSetId(string),
                layer: *next,
                inverse,
            };
            places.insert(self.vectors[vector], Operand::Row(row));
            *next += 1;
        }
        let asked = &self.asked[expression].expression;
        let limits = &self.strings.limits;
        self.works
            .of_expression(asked, limits, &|id: VectorId| places[&id])
    }
}
