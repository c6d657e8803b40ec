//! Operands on different dies: how they come to meet.
//!
//! Vectors with one [`Home`] meet in the latches of a plane; those of different homes meet in the
//! controller or, brought over the channels, in temporary strings. An expression is split (`split.rs`) into
//! the largest parts that one home can evaluate. The *controller plan* has every home evaluate its
//! parts and combines their pages in the controller. A *gather plan* has the pages of all parts of
//! other homes programmed into temporary strings of one home, which then evaluates the rest alone.
//! Of the two the one is taken that is [estimated](estimate) to end first.

pub mod estimate;
mod split;
#[cfg(test)]
mod tests;

use std::fmt::{self, Display, Formatter};

use nvme::{Expression, VectorId};
use sim::Span;

use super::config::Meeting;
use super::engine::Engine;
use super::error::BitsError;
use super::placement::{Groups, Home, Layout, RowSetId, TEMPORARY, VectorPlacement};
use super::plan::{Limits, Plan, Program, Source, Step, plan};
use estimate::{Loads, Rates};
use split::{Operator, Part, split};

/// The row set that stands for the temporary strings until they are lent.
pub const TO_BE_LENT: RowSetId = RowSetId {
    group: TEMPORARY,
    row_set: 0,
};

/// What is carried out for an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Where the work is shared out: a lane for each die of this layout.
    pub layout: Layout,
    /// What gives the result.
    pub plan: Plan,
    /// What is evaluated before; the pages of the `n`-th go to layer `n` of the temporary strings.
    pub brought: Vec<Plan>,
    /// The inverses of these pages are stored.
    pub inverse: bool,
    /// How long it is estimated to take, if there was a choice.
    pub estimate: Option<Span>,
}

/// How an expression can be evaluated, and how it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Routes {
    /// The homes of its operands.
    pub homes: Vec<Home>,
    /// What is carried out.
    pub chosen: Route,
    /// What is not, because it is estimated to take longer or because the configuration says so.
    pub other: Option<Route>,
}

/// What routes are chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice<'a> {
    /// What the planner takes as given.
    pub limits: &'a Limits,
    /// How long things take.
    pub rates: &'a Rates,
    /// How vectors of different homes are to meet.
    pub meeting: Meeting,
    /// Only the number of ones is wanted.
    pub count_only: bool,
}

/// How `expression` is evaluated by `engine` over the vectors of `groups`.
///
/// # Errors
/// As [`plan`]; operands of different homes must be equally long, too.
pub fn route(
    expression: &Expression,
    engine: Engine,
    groups: &Groups,
    choice: &Choice<'_>,
) -> Result<Routes, BitsError> {
    let sites = Sites::of(expression, groups)?;
    let find = |id| groups.find(id);
    let plan_of = |part: &Expression| plan(part, engine, choice.limits, find);
    if sites.layouts.len() == 1 || engine == Engine::InStorage {
        return Ok(Routes {
            chosen: Route {
                layout: sites.layouts[0].clone(),
                plan: plan_of(expression)?,
                brought: Vec::new(),
                inverse: false,
                estimate: None,
            },
            homes: sites.layouts.iter().map(Layout::home).collect(),
            other: None,
        });
    }
    let parts = split(expression, &|id| sites.site(id, groups));
    let mut controller = in_controller(&parts, &sites, engine, &plan_of)?;
    controller.estimate = Some(time_of(&controller, groups, choice));
    let gathered = match engine {
        Engine::FlashCosmos => gather(&parts, &sites, groups, choice)?,
        _ => None,
    };
    let wanted = |gathered: &Route| match choice.meeting {
        Meeting::Controller => false,
        Meeting::Gather => true,
        Meeting::Fastest => gathered.estimate < controller.estimate,
    };
    let (chosen, other) = match gathered {
        Some(gathered) if wanted(&gathered) => (gathered, Some(controller)),
        gathered => (controller, gathered),
    };
    Ok(Routes {
        homes: sites.layouts.iter().map(Layout::home).collect(),
        chosen,
        other,
    })
}

/// The different homes of an expression's operands, as far as its length tells them apart.
struct Sites {
    layouts: Vec<Layout>,
    bits: u64,
    chunks: u64,
}

impl Sites {
    fn of(expression: &Expression, groups: &Groups) -> Result<Sites, BitsError> {
        let mut sites = Sites {
            layouts: Vec::new(),
            bits: 0,
            chunks: 0,
        };
        for vector in expression.vectors() {
            let placement = groups
                .find(vector)
                .ok_or(BitsError::UnknownVector(vector))?;
            if sites.layouts.is_empty() {
                sites.bits = placement.bits;
                sites.chunks = groups.layout().chunks(placement.bits);
            } else if placement.bits != sites.bits {
                return Err(BitsError::LengthMismatch {
                    vector,
                    expected: sites.bits,
                    found: placement.bits,
                });
            }
            let layout = groups.layout_of(placement.row_set);
            if !sites
                .layouts
                .iter()
                .any(|known| known.meets(layout, sites.chunks))
            {
                sites.layouts.push(layout.clone());
            }
        }
        Ok(sites)
    }

    /// The place of a vector's home in the list.
    fn site(&self, vector: VectorId, groups: &Groups) -> usize {
        let placement = groups.find(vector);
        let layout = placement.map(|placement| groups.layout_of(placement.row_set));
        let meets = |known: &Layout| layout.is_some_and(|layout| known.meets(layout, self.chunks));
        let site = self.layouts.iter().position(meets);
        site.expect("every operand's home was listed")
    }
}

/// Every home evaluates its parts, the controller combines them.
fn in_controller(
    parts: &Part,
    sites: &Sites,
    engine: Engine,
    plan_of: &impl Fn(&Expression) -> Result<Plan, BitsError>,
) -> Result<Route, BitsError> {
    let mut programs = Vec::new();
    let root = combined(parts, &mut programs, plan_of)?;
    Ok(Route {
        layout: sites.layouts[0].clone(),
        plan: Plan {
            engine,
            bits: sites.bits,
            programs,
            root,
        },
        brought: Vec::new(),
        inverse: false,
        estimate: None,
    })
}

fn combined(
    part: &Part,
    programs: &mut Vec<Program>,
    plan_of: &impl Fn(&Expression) -> Result<Plan, BitsError>,
) -> Result<Source, BitsError> {
    match part {
        Part::One { expression, .. } => {
            let plan = plan_of(expression)?;
            Ok(append(plan, programs))
        }
        Part::Many { operator, parts } => {
            let parts = parts.iter().map(|part| combined(part, programs, plan_of));
            let parts = parts.collect::<Result<_, _>>()?;
            Ok(match operator {
                Operator::And => Source::And(parts),
                Operator::Or => Source::Or(parts),
                Operator::Xor => Source::Xor(parts),
            })
        }
    }
}

/// Adds the programs of `plan` that are not there yet; gives its root over them.
fn append(plan: Plan, programs: &mut Vec<Program>) -> Source {
    let places: Vec<usize> = plan
        .programs
        .into_iter()
        .map(|program| {
            let known = programs.iter().position(|known| *known == program);
            known.unwrap_or_else(|| {
                programs.push(program);
                programs.len() - 1
            })
        })
        .collect();
    renumbered(&plan.root, &|program| places[program])
}

/// `source` with other numbers of programs.
pub(super) fn renumbered(source: &Source, number: &impl Fn(usize) -> usize) -> Source {
    let all = |parts: &[Source]| parts.iter().map(|part| renumbered(part, number)).collect();
    match source {
        Source::Constant(value) => Source::Constant(*value),
        Source::Array(program) => Source::Array(number(*program)),
        Source::Not(inner) => Source::Not(Box::new(renumbered(inner, number))),
        Source::And(parts) => Source::And(all(parts)),
        Source::Or(parts) => Source::Or(all(parts)),
        Source::Xor(parts) => Source::Xor(all(parts)),
    }
}

/// The fastest of the gather plans, one for each home that could be brought to.
fn gather(
    parts: &Part,
    sites: &Sites,
    groups: &Groups,
    choice: &Choice<'_>,
) -> Result<Option<Route>, BitsError> {
    let mut best: Option<Route> = None;
    for site in 0..sites.layouts.len() {
        if let Some(mut route) = gather_at(site, parts, sites, groups, choice)? {
            route.estimate = Some(time_of(&route, groups, choice));
            if best
                .as_ref()
                .is_none_or(|best| route.estimate < best.estimate)
            {
                best = Some(route);
            }
        }
    }
    Ok(best)
}

/// Brings all parts of other homes to `site`; `None` if a string has not so many layers.
fn gather_at(
    site: usize,
    parts: &Part,
    sites: &Sites,
    groups: &Groups,
    choice: &Choice<'_>,
) -> Result<Option<Route>, BitsError> {
    let (rest, foreign) = parts.brought_to(site);
    if foreign.len() > groups.layout().geometry().cells_per_string as usize {
        return Ok(None);
    }
    let engine = Engine::FlashCosmos;
    let plan_with = |inverse: bool| {
        plan(&rest, engine, choice.limits, |id: VectorId| {
            if id.group != TEMPORARY {
                return groups.find(id);
            }
            Some(VectorPlacement {
                row_set: TO_BE_LENT,
                layer: id.vector,
                inverse,
                bits: sites.bits,
            })
        })
    };
    let (plain, inverted) = (plan_with(false)?, plan_with(true)?);
    let weigh = |plan: &Plan| (plan.senses(), plan.page_transfers());
    let inverse = weigh(&inverted) < weigh(&plain);
    let brought = foreign
        .iter()
        .map(|part| plan(part, engine, choice.limits, |id| groups.find(id)))
        .collect::<Result<_, _>>()?;
    Ok(Some(Route {
        layout: sites.layouts[site].clone(),
        plan: if inverse { inverted } else { plain },
        brought,
        inverse,
        estimate: None,
    }))
}

/// How long a route takes on an idle drive.
fn time_of(route: &Route, groups: &Groups, choice: &Choice<'_>) -> Span {
    let chunks = route.layout.chunks(route.plan.bits);
    let layout_of = |program: &Program| match program.first_row_set() {
        Some(TO_BE_LENT) | None => route.layout.clone(),
        Some(row_set) => groups.layout_of(row_set).clone(),
    };
    let mut time = Span::ZERO;
    for plan in &route.brought {
        let mut loads = Loads::new(groups.layout(), choice.rates);
        loads.evaluate(plan, chunks, layout_of);
        loads.program(&route.layout, chunks);
        time += loads.time();
    }
    let mut loads = Loads::new(groups.layout(), choice.rates);
    loads.evaluate(&route.plan, chunks, layout_of);
    if choice.count_only {
        loads.take_in(1, chunks);
    } else {
        loads.send(chunks);
    }
    time + loads.time()
}

impl Route {
    /// The route with the strings that were lent for it.
    pub fn lent(mut self, row_set: RowSetId) -> Route {
        for step in self.plan.programs.iter_mut().flat_map(|p| &mut p.steps) {
            if let Step::Sense(sense) = step {
                for slot in &mut sense.slots {
                    if slot.row_set == TO_BE_LENT {
                        slot.row_set = row_set;
                    }
                }
            }
        }
        self
    }

    /// Whether pages are brought to temporary strings.
    pub fn gathers(&self) -> bool {
        !self.brought.is_empty()
    }

    fn name(&self) -> String {
        if self.gathers() {
            format!("gather plan on {}", in_words(self.layout.home()))
        } else {
            "controller plan".into()
        }
    }
}

impl Display for Routes {
    /// If there was a choice, both ways and their estimated times; then the plans carried out.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(time) = self.chosen.estimate {
            let homes: Vec<String> = self.homes.iter().map(|home| in_words(*home)).collect();
            writeln!(f, "operands on {}", homes.join("; "))?;
            let name = self.chosen.name();
            writeln!(f, "  {name}: about {:.1} us, chosen", time.as_us())?;
            if let Some(other) = &self.other {
                let time = other.estimate.unwrap_or(Span::ZERO);
                writeln!(f, "  {}: about {:.1} us", other.name(), time.as_us())?;
            }
        }
        let temporary = format!("{TEMPORARY}.{}[", TO_BE_LENT.row_set);
        for (layer, plan) in self.chosen.brought.iter().enumerate() {
            let inverse = if self.chosen.inverse {
                ", inverted"
            } else {
                ""
            };
            writeln!(f, "brought to temporary[{layer}]{inverse}")?;
            write!(f, "{plan}")?;
        }
        let plan = self.chosen.plan.to_string();
        f.write_str(&plan.replace(&temporary, "temporary["))
    }
}

fn in_words(home: Home) -> String {
    let Home { first, dies } = home;
    match dies {
        0 if first == 0 => "all dies".into(),
        0 => format!("all dies from {first} on"),
        1 => format!("die {first}"),
        _ => format!("{dies} dies from {first} on"),
    }
}
