//! How long the parts of a drive work for an expression, about, of vectors of a page in every plane: what arrangements
//! are compared by while many are tried.

use nvme::Expression;
use sim::{Energy, Span};

use crate::bits::bound::bound_of_stripe;
use crate::bits::engine::Engine;
use crate::bits::plan::{Limits, Plan, Weights, plan};
use crate::bits::rows::Operand;
use crate::cost::CostModel;

/// Work for an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// How long dies, channels and accelerator work until the result is there, whatever becomes of it.
    pub(super) span: Span,
    /// Senses for each page.
    pub(super) senses: u64,
    /// Pages that cross the channel for each page.
    pub(super) page_transfers: u64,
}

/// The works of a drive.
#[derive(Clone, Debug)]
pub(super) struct Works {
    model: CostModel,
}

impl Works {
    /// Those of a drive of this model.
    pub(super) fn of(model: &CostModel) -> Works {
        Works {
            model: model.clone(),
        }
    }

    /// That of the fastest plan that is tried: of the fewest senses, and of the fewest pages.
    pub(super) fn of_expression<V: nvme::Operand>(
        &self,
        expression: &Expression<V>,
        limits: &Limits,
        find: &impl Fn(V) -> Operand,
    ) -> Work {
        let of = |weights| {
            let limits = Limits { weights, ..*limits };
            self.of_plan(&plan(expression, Engine::FlashCosmos, &limits, find))
        };
        let (fewest, spent) = of(Weights::SENSES_FIRST);
        if fewest.page_transfers < 2 {
            return fewest;
        }
        let alone = of(Weights::PAGES_FIRST);
        std::cmp::min_by_key((fewest, spent), alone, |(work, spent)| (work.span, *spent)).0
    }

    fn of_plan(&self, plan: &Plan) -> (Work, Energy) {
        let bound = bound_of_stripe(plan, &self.model);
        let work = Work {
            span: bound.about(),
            senses: plan.senses() as u64,
            page_transfers: plan.page_transfers() as u64,
        };
        (work, bound.about_energy(&self.model))
    }
}
