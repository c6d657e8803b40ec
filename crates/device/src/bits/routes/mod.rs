//! The route of an evaluation: who evaluates it, and where operands on different dies are combined.
//!
//! Vectors whose chunks are in the same planes are combined in their latches; those of different homes in the
//! controller or, brought over the channels, in temporary strings. An expression is split (`split.rs`) into
//! the largest subexpressions that one home can evaluate. The *controller plan* has every home evaluate its
//! subexpressions and combines their pages in the controller. A *gather plan* has the pages of all subexpressions of
//! other homes programmed into temporary strings of one home, which then evaluates the rest alone.
//! Of the two the one is taken that is estimated to end first, by the [cost model](crate::cost). Where no engine is asked
//! for, the same decides between what all engines would do, and mixtures of that (`best.rs`).

mod best;
mod split;
#[cfg(test)]
mod tests;
mod time;
mod ways;

use std::fmt::{self, Display, Formatter};
use std::rc::Rc;

use media::nand::Geometry;
use nvme::Expression;
use sim::Span;

use super::bound::{Shares, bound};
use super::classes::Class;
use super::config::RouteRule;
use super::demand::Plans;
use super::engine::{Engine, Evaluator};
use super::plan::{Limits, Plan, Source};
use super::rows::Leaf;
use crate::cost::CostModel;
use crate::region::Home;
pub use best::Outlook;
pub(in crate::bits) use best::outlook;
use time::{asked, time_of};
use ways::{Brought, Ways, homes, most_promising_first};

/// What is carried out for an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Where the work is shared out: over the dies of this site.
    pub site: usize,
    /// Its dies.
    pub home: Home,
    /// What gives the result.
    pub plan: Plan,
    /// What is evaluated before; the pages of the `n`-th go to layer `n` of the temporary strings.
    pub brought: Vec<Rc<Plan>>,
    /// The inverses of these pages are stored.
    pub inverse: bool,
    /// How long it is estimated to take, if operands of different homes left a choice.
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
    /// Steps that planning took: literals looked at by searches, nodes of diagrams, and senses tried, which take least.
    pub steps: u64,
}

/// What routes are chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice<'a> {
    /// The drive's.
    pub geometry: &'a Geometry,
    /// What the planner takes as given.
    pub limits: &'a Limits,
    /// How long things take.
    pub model: &'a CostModel,
    /// How vectors of different homes are to be combined.
    pub rule: RouteRule,
    /// Only the number of ones is wanted.
    pub count_only: bool,
}

/// How `expression` is evaluated for chunks of several classes, which share the drive: all in the controller,
/// or brought together wherever they can be, or each class as would be best if it were alone.
pub fn routes(
    expression: &Expression<Leaf>,
    by: Evaluator,
    classes: Vec<Class>,
    choice: &Choice<'_>,
) -> Vec<(Class, Routes)> {
    let engine = match by {
        Evaluator::Engine(engine) => engine,
        Evaluator::Best(objective) => return best::best(expression, objective, classes, choice),
    };
    let is_alone = classes.len() == 1;
    let alone = |class: Class| {
        let routes = route_beside(expression, engine, (&class, is_alone), choice);
        (class, routes)
    };
    let mut planned: Vec<(Class, Routes)> = classes.into_iter().map(alone).collect();
    let is_open = planned.iter().any(|(_, routes)| routes.other.is_some());
    if planned.len() > 1 && is_open && choice.rule == RouteRule::Fastest {
        choose_together(&mut planned, choice);
    }
    planned
}

/// Chooses the routes of all classes by what all of them take together.
fn choose_together(planned: &mut [(Class, Routes)], choice: &Choice<'_>) {
    let of_each = |gathers: &dyn Fn(&Routes) -> bool| -> Vec<bool> {
        planned.iter().map(|(_, routes)| gathers(routes)).collect()
    };
    let ways = [
        of_each(&|routes| routes.gathers_or(false)),
        of_each(&|routes| routes.gathers_or(true)),
        of_each(&|routes| routes.chosen.gathers()),
    ];
    let times = ways.each_ref().map(|way| {
        let classes = planned.iter().zip(way);
        let routes = classes.map(|((class, routes), gathers)| (class, routes.way(*gathers)));
        time_of(&routes.collect::<Vec<_>>(), choice)
    });
    let best = (0..ways.len()).min_by_key(|&way| times[way]).unwrap_or(0);
    let [stayed, gathered, _] = times;
    for (at, (_, routes)) in planned.iter_mut().enumerate() {
        routes.choose(ways[best][at]);
        routes.chosen.estimate = Some(times[best]);
        if let Some(other) = &mut routes.other {
            other.estimate = Some(if other.gathers() { gathered } else { stayed });
        }
    }
}

/// How `expression` is evaluated by `engine` for the chunks of a class.
pub fn route(
    expression: &Expression<Leaf>,
    engine: Engine,
    class: &Class,
    choice: &Choice<'_>,
) -> Routes {
    route_beside(expression, engine, (class, true), choice)
}

/// The same where other classes may share the drive: then what ends sooner by itself does not rule out what does not.
fn route_beside(
    expression: &Expression<Leaf>,
    engine: Engine,
    (class, is_alone): (&Class, bool),
    choice: &Choice<'_>,
) -> Routes {
    let mut ways = Ways::new(expression, class, choice);
    let weights = choice.limits.weights;
    let mut controller = ways.in_controller(engine, weights);
    let homes = homes(class, choice);
    if homes.len() > 1 && engine != Engine::InStorage && !class.has_pages() {
        controller.estimate = Some(time_of(&[(class, &controller)], choice));
    }
    let gathered = match engine {
        Engine::FlashCosmos => {
            let sooner = controller.estimate.filter(|_| is_alone);
            fastest_gathered(&mut ways, sooner, class, choice)
        }
        _ => None,
    };
    let wanted = |gathered: &Route| match choice.rule {
        RouteRule::Controller => false,
        RouteRule::Gather => true,
        RouteRule::Fastest => gathered.estimate < controller.estimate,
    };
    let (chosen, other) = match gathered {
        Some(gathered) if wanted(&gathered) => (gathered, Some(controller)),
        gathered => (controller, gathered),
    };
    Routes {
        homes,
        chosen,
        other,
        steps: ways.steps(),
    }
}

/// The way that ends first of those that bring all pages to one home. Of ways that cannot end sooner than `controller` at
/// most one is planned, to tell of.
fn fastest_gathered(
    ways: &mut Ways<'_>,
    controller: Option<Span>,
    class: &Class,
    choice: &Choice<'_>,
) -> Option<Route> {
    let (weights, shares) = (choice.limits.weights, Shares::of(class, choice.geometry));
    let brought = ways.brought(weights).into_iter().map(|way| {
        let alone = [(class, &shares, way.plans())];
        let least = bound(alone.into_iter(), &asked(choice), choice.model).least();
        Brought {
            weights,
            least,
            way,
        }
    });
    let known = controller.filter(|_| choice.rule != RouteRule::Gather);
    let mut fastest: Option<(Span, Route)> = None;
    most_promising_first(brought.collect(), known, |brought, _| {
        let way = ways.gathered(brought.way, weights);
        let time = time_of(&[(class, &way)], choice);
        if fastest.as_ref().is_none_or(|(known, _)| time < *known) {
            fastest = Some((time, way));
        }
        Some(time)
    });
    fastest.map(|(time, way)| Route {
        estimate: Some(time),
        ..way
    })
}

/// `source` with other numbers of computations.
pub(super) fn renumbered(source: &Source, number: &impl Fn(usize) -> usize) -> Source {
    let all = |operands: &[Source]| {
        operands
            .iter()
            .map(|operand| renumbered(operand, number))
            .collect()
    };
    match source {
        Source::Constant(value) => Source::Constant(*value),
        Source::Array(computation) => Source::Array(number(*computation)),
        Source::Not(inner) => Source::Not(Box::new(renumbered(inner, number))),
        Source::And(operands) => Source::And(all(operands)),
        Source::Or(operands) => Source::Or(all(operands)),
        Source::Xor(operands) => Source::Xor(all(operands)),
    }
}

impl Routes {
    /// The route that gathers, or does not; the only one if there is one only.
    fn way(&self, gathers: bool) -> &Route {
        let other = self.other.as_ref();
        let other = other.filter(|_| self.chosen.gathers() != gathers);
        other.unwrap_or(&self.chosen)
    }

    /// Whether the route gathers that is taken where those are wanted that do, or do not.
    fn gathers_or(&self, gathers: bool) -> bool {
        self.way(gathers).gathers()
    }

    /// Takes the route that gathers, or does not.
    fn choose(&mut self, gathers: bool) {
        if let Some(other) = &mut self.other
            && other.gathers() == gathers
        {
            std::mem::swap(&mut self.chosen, other);
        }
    }
}

impl Route {
    /// Its plans.
    pub(super) fn plans(&self) -> Plans<'_> {
        Plans {
            site: self.site,
            brought: &self.brought,
            plan: &self.plan,
        }
    }

    fn all_plans(&self) -> impl Iterator<Item = &Plan> {
        let brought = self.brought.iter().map(|plan| &**plan);
        brought.chain([&self.plan])
    }

    /// Commands of the array for each chunk.
    pub fn steps(&self) -> u64 {
        let computations = self.all_plans().flat_map(|plan| &plan.computations);
        computations
            .map(|computation| computation.steps.len() as u64)
            .sum()
    }

    /// Pages of the array for each chunk.
    pub fn pages(&self) -> u64 {
        let pages = self.all_plans().map(Plan::page_transfers);
        pages.map(|pages| pages as u64).sum()
    }

    /// Whether pages are brought to temporary strings.
    pub fn gathers(&self) -> bool {
        !self.brought.is_empty()
    }

    fn name(&self) -> String {
        if self.gathers() {
            format!("gather plan on {}", in_words(self.home))
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
        for (layer, plan) in self.chosen.brought.iter().enumerate() {
            let inverse = if self.chosen.inverse {
                ", inverted"
            } else {
                ""
            };
            writeln!(f, "brought to temporary[{layer}]{inverse}")?;
            write!(f, "{plan}")?;
        }
        self.chosen.plan.fmt(f)
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
