//! What evaluating takes and spends, of vectors of a page in every plane: as the drive would carry it out, lived through on
//! an idle one, or as the host would if that is faster.

use std::collections::BTreeMap;
use std::ops::Range;

use media::nand::Geometry;
use nvme::{Expression, VectorId};
use sim::{Energy, Span};

use super::PageCost;
use super::arrangement::Positions;
use crate::bits::classes::{Class, classes};
use crate::bits::config::RouteRule;
use crate::bits::demand::{Detail, Question, demand};
use crate::bits::engine::{Engine, Evaluator, Objective};
use crate::bits::plan::{Limits, Weights};
use crate::bits::routes::{Choice, Routes, routes};
use crate::bits::rows::Leaf;
use crate::cost::{Cost, CostModel, Demand, IdleDrive, PageRead, Price};
use crate::ftl::{Lpn, Stored};
use crate::region::Layout;

/// The host, as far as advice depends on it.
pub trait Outside {
    /// What counting the ones of an expression over vectors of a page in every plane takes and spends if the host reads these
    /// and computes; none if it takes no less than `than`.
    fn counted(&self, expression: &Expression, than: Span) -> Option<(Span, Energy)>;

    /// What the host spends on a vector that it receives.
    fn received(&self) -> Energy;
}

/// What an evaluation is: the expression as bytes, over numbered operands, and how these lie.
type Asked = (Vec<u8>, Positions);

/// Evaluations on an idle drive, each lived through once.
pub(super) struct Lived<'a> {
    stripes: Stripes,
    limits: Limits,
    outside: &'a dyn Outside,
    known: BTreeMap<Asked, PageCost>,
}

impl<'a> Lived<'a> {
    /// On a drive of this model, where no expression has more than `operands`.
    pub(super) fn on(
        model: &CostModel,
        limits: Limits,
        operands: usize,
        outside: &'a dyn Outside,
    ) -> Lived<'a> {
        Lived {
            stripes: Stripes::new(model, operands),
            limits,
            outside,
            known: BTreeMap::new(),
        }
    }

    /// What counting the ones of an expression costs whose vectors, in the order of their addresses, lie so.
    pub(super) fn cost(
        &mut self,
        expression: &Expression,
        (names, positions): (Vec<VectorId>, Positions),
    ) -> PageCost {
        let number = |name: VectorId| {
            let at = names.iter().position(|known| *known == name);
            Leaf::Stored(at.expect("every vector is named") as u32)
        };
        let numbered = expression.map(number);
        // What has no code is in no command; it is told what it would cost all the same.
        let code = numbered.encode().unwrap_or_default();
        let question = Question {
            bits: self.stripes.model.stripe_bits(),
            expression_bytes: code.len() as u64,
            count_only: true,
        };
        let asked = (code, positions);
        if let Some(known) = self.known.get(&asked).filter(|_| !asked.0.is_empty()) {
            return *known;
        }
        let (planned, cost) = self
            .stripes
            .lived(&numbered, &asked.1, &question, &self.limits);
        let inside = PageCost {
            senses: of_all(&planned, |routes| routes.chosen.plan.senses()),
            page_transfers: of_all(&planned, |routes| routes.chosen.plan.page_transfers()),
            time: cost.time,
            energy: cost.total_energy(),
        };
        let outside = self.outside.counted(expression, inside.time);
        let cost = match outside.filter(|(time, _)| *time < inside.time) {
            // Each vector is read by itself.
            Some((time, energy)) => PageCost {
                senses: names.len() as u64,
                page_transfers: names.len() as u64,
                time,
                energy,
            },
            None => inside,
        };
        self.known.insert(asked, cost);
        cost
    }

    /// Of what drive.
    pub(super) fn model(&self) -> &CostModel {
        &self.stripes.model
    }

    /// What reading a vector to the host takes and spends.
    pub(super) fn of_reading(&self) -> Price {
        let model = &self.stripes.model;
        let cost = IdleDrive::live(demand_of_vector(model, 0, model.stripe_bits()), model);
        Price {
            span: cost.time,
            energy: cost.total_energy() + self.outside.received(),
        }
    }
}

/// What reading `bits` bits of a vector of a page in every plane, from the page `first` on, has the drive do.
pub fn demand_of_vector(model: &CostModel, first: u64, bits: u64) -> Demand {
    let stripes = Stripes::new(model, 1);
    let limits = Limits {
        blocks_max: 1,
        weights: Weights::SENSES_FIRST,
    };
    let vector: Expression<Leaf> = Expression::Vector(Leaf::Stored(0));
    let question = Question {
        bits,
        expression_bytes: vector.encode().map_or(0, |code| code.len() as u64),
        count_only: false,
    };
    let chunks = first as u32..(first + bits.div_ceil(model.page_bytes() * 8)) as u32;
    let choice = stripes.choice(&limits, false);
    let classes = stripes.classes(&[(0, false)], chunks);
    let planned = routes(&vector, Engine::FlashCosmos.into(), classes, &choice);
    let plans = planned
        .iter()
        .map(|(class, routes)| (class, routes.chosen.plans()));
    demand(plans, &question, model, Detail::Commands)
}

/// Where vectors of a page in every plane lie.
struct Stripes {
    /// Of a drive with blocks for as many strings as an expression may name.
    model: CostModel,
    layout: Layout,
}

impl Stripes {
    fn new(model: &CostModel, operands: usize) -> Stripes {
        let mut model = model.clone();
        let geometry = &mut model.nand.geometry;
        geometry.blocks_per_plane = geometry.blocks_per_plane.max(operands as u32);
        let layout = Layout::new(geometry.clone());
        Stripes { model, layout }
    }

    fn geometry(&self) -> &Geometry {
        &self.model.nand.geometry
    }

    fn choice<'a>(&'a self, limits: &'a Limits, count_only: bool) -> Choice<'a> {
        Choice {
            geometry: self.geometry(),
            limits,
            model: &self.model,
            // They all are on all dies: nothing has to be brought together.
            rule: RouteRule::Fastest,
            count_only,
        }
    }

    /// What evaluating takes, and how it is done.
    fn lived(
        &self,
        expression: &Expression<Leaf>,
        positions: &[(u32, bool)],
        question: &Question,
        limits: &Limits,
    ) -> (Vec<(Class, Routes)>, Cost) {
        let choice = self.choice(limits, question.count_only);
        let classes = self.classes(positions, 0..self.geometry().planes());
        let by = Evaluator::Best(Objective::Time);
        let planned = routes(expression, by, classes, &choice);
        let plans = planned
            .iter()
            .map(|(class, routes)| (class, routes.chosen.plans()));
        let demand = demand(plans, question, &self.model, Detail::Commands);
        let cost = IdleDrive::live(demand, &self.model);
        (planned, cost)
    }

    /// Where the chunks of operands lie: each string in blocks of its own.
    fn classes(&self, positions: &[(u32, bool)], chunks: Range<u32>) -> Vec<Class> {
        let geometry = self.geometry();
        let planes = geometry.planes();
        let layer = |operand: usize| {
            let string = positions[operand].0;
            let before = positions[..operand].iter();
            before.filter(|other| other.0 == string).count() as u32
        };
        let layers: Vec<u32> = (0..positions.len()).map(layer).collect();
        let stored = |lpn: Lpn, _: &mut Vec<PageRead>| {
            let (operand, chunk) = ((lpn.0 / planes) as usize, lpn.0 % planes);
            let &(string, inverse) = &positions[operand];
            let plane = self.layout.plane(chunk.into());
            let block = geometry.block_of_plane(plane, string);
            let page = self.layout.page(block, chunk.into(), layers[operand]);
            Stored::Placed { page, inverse }
        };
        let first: Vec<Lpn> = (0..positions.len() as u32)
            .map(|operand| Lpn(operand * planes))
            .collect();
        classes(stored, geometry, (&first, 1), chunks, |_| {})
    }
}

fn of_all(planned: &[(Class, Routes)], of: impl Fn(&Routes) -> usize) -> u64 {
    planned.iter().map(|(_, routes)| of(routes) as u64).sum()
}
