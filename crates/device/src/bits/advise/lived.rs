//! What evaluating takes and spends, of vectors of one length: as the drive would carry it out, lived through on an idle one,
//! or as the host would if that is faster.

use std::collections::BTreeMap;
use std::convert::Infallible;
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
use crate::cost::{Cost, CostModel, Demand, IdleDrive, PageRead, Price, of_at_most};
use crate::ftl::{Lpn, Stored};
use crate::region::Layout;

/// Stripes of long vectors that are lived through; what is longer goes on as it began.
const STRIPES_LIVED: u64 = 8;

/// The host, as far as advice depends on it.
pub trait Outside {
    /// What counting the ones of an expression over vectors of `bits` bits takes and spends if the host reads these and
    /// computes; none if it takes no less than `than`.
    fn counted(&self, expression: &Expression, bits: u64, than: Span) -> Option<(Span, Energy)>;

    /// What the host spends on a vector of `bits` bits that it receives.
    fn received(&self, bits: u64) -> Energy;

    /// In how many runs of logical pages some vectors lie, which are deallocated each by itself.
    fn runs(&self, vectors: &[VectorId]) -> u64;
}

/// What an evaluation is: the expression as bytes, over numbered operands, and how these lie.
type Asked = (Vec<u8>, Positions);

/// Evaluations on an idle drive, each lived through once.
pub(super) struct Lived<'a> {
    model: &'a CostModel,
    /// Length of each vector.
    bits: u64,
    limits: Limits,
    outside: &'a dyn Outside,
    known: BTreeMap<Asked, PageCost>,
}

impl<'a> Lived<'a> {
    /// On a drive of this model, of vectors of `bits` bits.
    pub(super) fn on(
        model: &'a CostModel,
        bits: u64,
        limits: Limits,
        outside: &'a dyn Outside,
    ) -> Lived<'a> {
        Lived {
            model,
            bits,
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
        let asked = (code, positions);
        if let Some(known) = self.known.get(&asked).filter(|_| !asked.0.is_empty()) {
            return *known;
        }
        let inside = self.inside(&numbered, &asked);
        let outside = self.outside.counted(expression, self.bits, inside.time);
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

    /// What it costs if the drive evaluates it.
    fn inside(&self, numbered: &Expression<Leaf>, (code, positions): &Asked) -> PageCost {
        let stripe = self.model.stripe_bits();
        let planned = |bits: u64| {
            let question = Question {
                bits,
                expression_bytes: code.len() as u64,
                count_only: true,
            };
            let chunks = 0..bits.div_ceil(self.model.page_bytes() * 8) as u32;
            let rows = Rows::new(self.model, positions, chunks.end);
            let choice = rows.choice(&self.limits, true);
            let by = Evaluator::Best(Objective::Time);
            let planned = routes(numbered, by, rows.classes(positions, chunks), &choice);
            let plans = planned
                .iter()
                .map(|(class, routes)| (class, routes.chosen.plans()));
            let demand = demand(plans, &question, &rows.model, Detail::Commands);
            (planned, demand)
        };
        let cost = lived(self.bits, self.model, |bits| planned(bits).1);
        let (planned, _) = planned(self.bits.min(stripe));
        PageCost {
            senses: of_all(&planned, |routes| routes.chosen.plan.senses()),
            page_transfers: of_all(&planned, |routes| routes.chosen.plan.page_transfers()),
            time: cost.time,
            energy: cost.total_energy(),
        }
    }

    /// Of what drive.
    pub(super) fn model(&self) -> &CostModel {
        self.model
    }

    /// Of vectors of this length.
    pub(super) fn bits(&self) -> u64 {
        self.bits
    }

    /// What reading a vector to the host takes and spends.
    pub(super) fn of_reading(&self) -> Price {
        let cost = lived(self.bits, self.model, |bits| {
            demand_of_vector(self.model, 0, bits)
        });
        Price {
            span: cost.time,
            energy: cost.total_energy() + self.outside.received(self.bits),
        }
    }
}

/// What a demand takes and spends that is told for so many bits, of many stripes a part.
fn lived(bits: u64, model: &CostModel, demand: impl Fn(u64) -> Demand) -> Cost {
    let lived = |bits| Ok::<_, Infallible>(IdleDrive::live(demand(bits), model));
    let Ok(cost) = of_at_most(bits, model.stripe_bits(), STRIPES_LIVED, lived);
    cost
}

/// What reading `bits` bits of a vector, from the page `first` on, has the drive do.
pub fn demand_of_vector(model: &CostModel, first: u64, bits: u64) -> Demand {
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
    let positions = [(0, false)];
    let rows = Rows::new(model, &positions, chunks.end);
    let choice = rows.choice(&limits, false);
    let classes = rows.classes(&positions, chunks);
    let planned = routes(&vector, Engine::FlashCosmos.into(), classes, &choice);
    let plans = planned
        .iter()
        .map(|(class, routes)| (class, routes.chosen.plans()));
    demand(plans, &question, model, Detail::Commands)
}

/// Where the rows of an expression lie: each string in blocks of its own.
struct Rows {
    /// Of a drive with blocks for all of them.
    model: CostModel,
    layout: Layout,
    /// Chunks of each, at least.
    chunks: u32,
    /// Blocks of a plane that a string has.
    blocks: u32,
}

impl Rows {
    /// Those of operands in such positions, of so many chunks.
    fn new(model: &CostModel, positions: &[(u32, bool)], chunks: u32) -> Rows {
        let mut model = model.clone();
        let geometry = &mut model.nand.geometry;
        let blocks = chunks.div_ceil(geometry.planes() * geometry.strings_per_block);
        let strings = positions.iter().map(|(string, _)| string + 1).max();
        let needed = strings.unwrap_or(0) * blocks;
        geometry.blocks_per_plane = geometry.blocks_per_plane.max(needed);
        let layout = Layout::new(geometry.clone());
        Rows {
            model,
            layout,
            chunks,
            blocks,
        }
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

    /// Where the chunks of operands lie.
    fn classes(&self, positions: &[(u32, bool)], chunks: Range<u32>) -> Vec<Class> {
        let geometry = self.geometry();
        let layer = |operand: usize| {
            let string = positions[operand].0;
            let before = positions[..operand].iter();
            before.filter(|other| other.0 == string).count() as u32
        };
        let layers: Vec<u32> = (0..positions.len()).map(layer).collect();
        let stored = |lpn: Lpn, _: &mut Vec<PageRead>| {
            let (operand, chunk) = ((lpn.0 / self.chunks) as usize, lpn.0 % self.chunks);
            let &(string, inverse) = &positions[operand];
            let plane = self.layout.plane(chunk.into());
            let number = self.layout.block_index(chunk.into()) as u32 / geometry.planes();
            let block = geometry.block_of_plane(plane, string * self.blocks + number);
            let page = self.layout.page(block, chunk.into(), layers[operand]);
            Stored::Placed { page, inverse }
        };
        let first: Vec<Lpn> = (0..positions.len() as u32)
            .map(|operand| Lpn(operand * self.chunks))
            .collect();
        classes(stored, geometry, (&first, 1), chunks, |_| {})
    }
}

fn of_all(planned: &[(Class, Routes)], of: impl Fn(&Routes) -> usize) -> u64 {
    planned.iter().map(|(_, routes)| of(routes) as u64).sum()
}
