//! Advice on where to put vectors.

use std::collections::BTreeMap;

use bitline::VectorId;
use bitline::advise::{Advice as Proposed, Asked, Given, PageCost, Placed, advise_watched};
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

/// What is proposed, beside what there is.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Advice(pub(crate) Proposed);

#[pymethods]
impl Advice {
    /// Groups and costs as given.
    fn before(&self) -> (Groups, Costs) {
        plain(&self.0.before)
    }

    /// Groups and costs as proposed.
    fn after(&self) -> (Groups, Costs) {
        plain(&self.0.after)
    }

    /// What placing vectors anew takes.
    fn replacing(&self) -> Again {
        let again = &self.0.replacing;
        (
            again.vectors,
            again.time.as_ps(),
            again.energy.as_pj(),
            again.questions_for_time,
            again.questions_for_energy,
        )
    }
}

/// Proposes groups and inversions for expressions and how often each is asked, over vectors of `bits` bits, or a page in every
/// plane. `given` is where vectors are: vector, group, whether inverted.
#[pyfunction]
#[pyo3(signature = (config, asked, given, bits = None))]
pub(crate) fn advise(
    py: Python<'_>,
    config: &Config,
    asked: Vec<(PyRef<'_, Expression>, u64)>,
    given: Vec<((u32, u32), u32, bool)>,
    bits: Option<u64>,
) -> PyResult<Advice> {
    let asked = asked_of(&asked).map(|asked| match bits {
        Some(bits) => asked.of_bits(bits),
        None => asked,
    });
    let asked: Vec<Asked> = asked.collect();
    let given: BTreeMap<VectorId, Given> = given
        .into_iter()
        .map(|((group, vector), to, inverse)| {
            (VectorId::new(group, vector), Given::new(to, inverse))
        })
        .collect();
    let advice = py.detach(|| advise_watched(&config.0, &asked, &given, &*watch()));
    Ok(Advice(advice.map_err(to_python)?))
}

/// Expressions and how often each is asked.
pub(crate) fn asked_of(asked: &[(PyRef<'_, Expression>, u64)]) -> impl Iterator<Item = Asked> {
    asked
        .iter()
        .map(|(expression, frequency)| Asked::new(expression.0.clone(), *frequency))
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
