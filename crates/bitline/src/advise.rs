//! Advice on where to put vectors, for the drive of a configuration.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

pub use device::bits::advise::{Advice, Asked, Given, Member, PageCost, Placed, Replacing};
use device::bits::advise::{
    Outside as AdviceOutside, Strings, advise as advise_for, demand_of_vector,
};
use device::bits::demand::Question;
use device::bits::plan::{Limits, Weights};
use device::cost::CostModel;
use nvme::{Expression, VectorId};
use sim::{Energy, Span};

use crate::config::Config;
use crate::error::Error;
use crate::platforms::{Batch, Outside};

/// Proposes groups and inversions for expressions that are asked so and so often, on a drive like
/// `config`'s. Vectors that `given` does not place are, before, in one further group, as they are.
///
/// # Errors
/// [`Error::Expression`]: one that no command can carry.
pub fn advise(
    config: &Config,
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
) -> Result<Advice, Error> {
    advise_watched(config, asked, given, &|| ControlFlow::Continue(()))
}

/// The same, with somebody who may break it off.
///
/// # Errors
/// As [`advise`]; [`Error::Interrupted`].
pub fn advise_watched(
    config: &Config,
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    watch: &dyn Fn() -> ControlFlow<()>,
) -> Result<Advice, Error> {
    for asked in asked {
        asked.expression.encode()?;
    }
    let nand = &config.device.nand;
    let strings = Strings {
        limits: Limits {
            blocks_max: nand.mws.blocks_max as usize,
            weights: Weights::SENSES_FIRST,
        },
        cells_per_string: nand.geometry.cells_per_string,
        ordinary: config.device.ftl.mode,
    };
    let model = config.device.cost_model();
    let host = AdvisedHost {
        outside: Outside::of(config),
        model: &model,
    };
    let advice = advise_for(asked, given, &strings, &model, &host, watch);
    advice.ok_or(Error::Interrupted)
}

/// The host of a drive of this model, whose vectors are a page in every plane.
struct AdvisedHost<'a> {
    outside: Outside,
    model: &'a CostModel,
}

impl AdvisedHost<'_> {
    fn question(&self, count_only: bool) -> Question {
        Question {
            bits: self.model.stripe_bits(),
            expression_bytes: 0,
            count_only,
        }
    }
}

impl AdviceOutside for AdvisedHost<'_> {
    fn counted(&self, expression: &Expression, than: Span) -> Option<(Span, Energy)> {
        let question = self.question(true);
        if self.outside.least(expression, question) >= than {
            return None;
        }
        let demand_of = |_, batch: Batch| Ok(demand_of_vector(self.model, batch.page, batch.bits));
        let told = (self.outside).estimate(expression, question, &demand_of, false);
        let told = told.expect("what vectors have the drive do is known");
        let time = Span::from_ps((told.time_ns * 1000.0).round() as u64);
        Some((time, Energy::from_pj(told.energy_pj))).filter(|(time, _)| *time < than)
    }

    fn received(&self) -> Energy {
        self.outside.received(self.question(false))
    }
}
