//! What evaluating and re-placing take and spend, for vectors of a page in every plane: by the cost model, as the parts of
//! the drive have to work for it.

use media::nand::ProgramMode;
use nvme::Expression;
use sim::{Energy, Span};

use super::PageCost;
use crate::bits::engine::Engine;
use crate::bits::job::sense_cost;
use crate::bits::load::{Extent, Load};
use crate::bits::plan::{Limits, Plan, Weights, plan};
use crate::bits::rows::Operand;
use crate::cost::CostModel;
use crate::energy::of_power;

/// Prices of a drive.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    model: CostModel,
    extent: Extent,
}

impl Prices {
    /// Those of vectors of a page in every plane.
    pub(super) fn of(model: &CostModel) -> Prices {
        let geometry = &model.nand.geometry;
        Prices {
            extent: Extent::of_pages(geometry.planes().into(), geometry),
            model: model.clone(),
        }
    }

    /// What the fastest plan for an expression costs that is tried: of the fewest senses, and of the fewest pages.
    pub(super) fn of_expression<V: nvme::Operand>(
        &self,
        expression: &Expression<V>,
        limits: &Limits,
        find: &impl Fn(V) -> Operand,
    ) -> PageCost {
        let of = |weights| {
            let limits = Limits { weights, ..*limits };
            self.of_plan(&plan(expression, Engine::FlashCosmos, &limits, find))
        };
        let fewest = of(Weights::SENSES_FIRST);
        if fewest.page_transfers < 2 {
            return fewest;
        }
        let alone = of(Weights::PAGES_FIRST);
        std::cmp::min_by_key(fewest, alone, |cost| (cost.work, cost.energy))
    }

    fn of_plan(&self, plan: &Plan) -> PageCost {
        let inside = Load::of_plan(plan, &self.extent, 0, &self.model);
        let counted = Load::of_plan(plan, &self.extent, 1, &self.model);
        let time = counted.about();
        PageCost {
            senses: plan.senses() as u64,
            page_transfers: plan.page_transfers() as u64,
            work: inside.about(),
            time,
            energy: counted.energy + of_power(self.model.active_milliwatts, time),
        }
    }

    /// What it takes and spends to read a vector and write it elsewhere.
    pub(super) fn of_replacing(&self) -> (Span, Energy) {
        let (model, extent) = (&self.model, &self.extent);
        let bytes = model.page_bytes();
        let program = model.nand.longest_program(ProgramMode::Esp);
        let (sensed, sense) = sense_cost(&model.nand);
        let data = model.channel.span_of(bytes) * extent.pages_of_channel;
        let crossed = model.link_span(bytes * extent.chunks).max(data);
        let time = sensed + crossed * 2 + program.span * extent.batches;
        let moved = bytes * u64::from(model.channel.transfer_pj_per_byte)
            + model.link.wire_bytes(bytes) * u64::from(model.link.transfer_pj_per_byte);
        let of_page = sense + program.energy + Energy::from_pj(2 * moved);
        let drawn = of_power(model.active_milliwatts, time);
        (time, of_page * extent.chunks + drawn)
    }
}
