//! What evaluating and re-placing take and spend, for vectors of a page in every plane: by the cost model, as the parts of
//! the drive have to work for it.

use nvme::Expression;
use sim::{Energy, Span};

use super::PageCost;
use crate::bits::bound::bound_of_stripe;
use crate::bits::engine::Engine;
use crate::bits::plan::{Limits, Plan, Weights, plan};
use crate::bits::rows::Operand;
use crate::cost::CostModel;

/// Prices of a drive.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    model: CostModel,
}

impl Prices {
    /// Those of vectors of a page in every plane.
    pub(super) fn of(model: &CostModel) -> Prices {
        Prices {
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
        let inside = bound_of_stripe(plan, 0, &self.model);
        let counted = bound_of_stripe(plan, 1, &self.model);
        PageCost {
            senses: plan.senses() as u64,
            page_transfers: plan.page_transfers() as u64,
            work: inside.about(),
            time: counted.about(),
            energy: counted.about_energy(&self.model),
        }
    }

    /// What it takes and spends to read a vector and write it elsewhere.
    pub(super) fn of_replacing(&self) -> (Span, Energy) {
        let (model, geometry) = (&self.model, &self.model.nand.geometry);
        let pages = u64::from(geometry.planes());
        let (sense, program) = (model.sense_of_one(), model.program(1));
        let page = model.page_in();
        let sent = model.sent(pages * model.page_bytes());
        let of_channel = page.span * (pages / u64::from(geometry.channels));
        let time = sense.array + sent.span.max(of_channel) * 2 + program.array;
        let of_page = sense.energy + program.energy + page.energy * 2;
        let energy = of_page * pages + sent.energy * 2;
        (time, energy + model.drawn(time))
    }
}
