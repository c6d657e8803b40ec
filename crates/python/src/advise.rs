//! Advice on where to put vectors.

use std::collections::BTreeMap;

use bitline::VectorId;
use bitline::advise::{Asked, Given, PageCost, Placed, Replacing, advise_watched};
use pyo3::prelude::*;

use crate::config::Config;
use crate::error::{to_python, watch};
use crate::expression::Expression;

/// Groups of vectors: group and number of each, and whether its inverse is stored.
type Groups = Vec<Vec<((u32, u32), bool)>>;
/// Senses and page transfers of each expression, for each page of its vectors; time in picoseconds and energy in picojoules.
type Costs = Vec<(u64, u64, u64, u64)>;
/// Vectors that are written anew, the picoseconds and picojoules of that, and questions after which either is won.
type Again = (u64, u64, u64, Option<u64>, Option<u64>);

/// Proposes groups and inversions for expressions and how often each is asked. `given` is where
/// vectors are: vector, group, whether inverted. Returns groups and costs, as given and as proposed, and what placing vectors
/// anew takes.
#[pyfunction]
#[allow(
    clippy::type_complexity,
    reason = "three tuples, taken apart in Python"
)]
pub(crate) fn advise(
    py: Python<'_>,
    config: &Config,
    asked: Vec<(PyRef<'_, Expression>, u64)>,
    given: Vec<((u32, u32), u32, bool)>,
) -> PyResult<((Groups, Costs), (Groups, Costs), Again)> {
    let asked: Vec<Asked> = asked
        .iter()
        .map(|(expression, frequency)| Asked::new(expression.0.clone(), *frequency))
        .collect();
    let given: BTreeMap<VectorId, Given> = given
        .into_iter()
        .map(|((group, vector), to, inverse)| {
            (VectorId::new(group, vector), Given::new(to, inverse))
        })
        .collect();
    let advice = py.detach(|| advise_watched(&config.0, &asked, &given, &*watch()));
    let advice = advice.map_err(to_python)?;
    let Replacing {
        vectors,
        time,
        energy,
        questions_for_time,
        questions_for_energy,
        ..
    } = advice.replacing;
    let again = (
        vectors,
        time.as_ps(),
        energy.as_pj(),
        questions_for_time,
        questions_for_energy,
    );
    Ok((plain(&advice.before), plain(&advice.after), again))
}

fn plain(placed: &Placed) -> (Groups, Costs) {
    let groups = placed.groups.iter().map(|group| {
        let members = group.iter();
        members
            .map(|member| ((member.vector.group, member.vector.vector), member.inverse))
            .collect()
    });
    let cost = |cost: &PageCost| {
        let (time, energy) = (cost.time.as_ps(), cost.energy.as_pj());
        (cost.senses, cost.page_transfers, time, energy)
    };
    (groups.collect(), placed.costs.iter().map(cost).collect())
}
