//! What routes take together on an idle drive, as the cost model says.

use std::convert::Infallible;

use sim::Span;

use super::{Choice, Route};
use crate::bits::classes::Class;
use crate::bits::demand::{Detail, Question, demand};
use crate::cost::{Cost, IdleDrive, of_at_most};

/// Stripes of chunks that are lived through to choose between routes.
const STRIPES_TRIED: u64 = 4;

/// A result as long as its chunks.
const WHOLE: u64 = u64::MAX;

/// How long classes take together, each by its route.
pub(super) fn time_of(routes: &[(&Class, &Route)], choice: &Choice<'_>) -> Span {
    let question = asked(choice);
    cost_of(routes, &question, choice, (STRIPES_TRIED, Detail::Commands)).time
}

/// An evaluation of all chunks, whose expression is there already.
pub(super) fn asked(choice: &Choice<'_>) -> Question {
    Question {
        bits: WHOLE,
        expression_bytes: 0,
        count_only: choice.count_only,
    }
}

/// What classes take together, each by its route. Of many chunks the first `stripes` stripes, an even number, are lived
/// through.
pub(super) fn cost_of(
    routes: &[(&Class, &Route)],
    question: &Question,
    choice: &Choice<'_>,
    (stripes, detail): (u64, Detail),
) -> Cost {
    let chunks = routes.iter().map(|(class, _)| class.len() as u64).sum();
    let first = routes.iter().map(|(class, _)| class.chunk(0)).min();
    let stripe = u64::from(choice.geometry.planes());
    let lived = |chunks| {
        let begun = begun(routes, first.unwrap_or(0), chunks);
        let plans = begun.iter().map(|(class, route)| (class, route.plans()));
        let demand = demand(plans, question, choice.model, detail);
        Ok::<_, Infallible>(IdleDrive::live(demand, choice.model))
    };
    let Ok(cost) = of_at_most(chunks, stripe, stripes, lived);
    cost
}

/// So many chunks of classes, from chunk `first` on.
fn begun<'a>(routes: &[(&Class, &'a Route)], first: u64, chunks: u64) -> Vec<(Class, &'a Route)> {
    if let [(class, route)] = routes {
        return vec![(class.prefix(chunks as usize), route)];
    }
    let begun = routes.iter();
    let begun = begun.map(|(class, route)| (class.until(first + chunks), *route));
    begun.filter(|(class, _)| !class.is_empty()).collect()
}
