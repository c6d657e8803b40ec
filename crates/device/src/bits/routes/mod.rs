//! The route of an evaluation whose operands are on different dies: where they are combined.
//!
//! Vectors whose chunks are in the same planes are combined in their latches; those of different homes in the
//! controller or, brought over the channels, in temporary strings. An expression is split (`split.rs`) into
//! the largest subexpressions that one home can evaluate. The *controller plan* has every home evaluate its
//! subexpressions and combines their pages in the controller. A *gather plan* has the pages of all subexpressions of
//! other homes programmed into temporary strings of one home, which then evaluates the rest alone.
//! Of the two the one is taken that is estimated to end first, by the [cost model](crate::cost).

mod split;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};

use media::nand::Geometry;
use nvme::Expression;
use sim::Span;

use super::classes::Class;
use super::config::RouteRule;
use super::engine::Engine;
use super::job::{Plans, Question, job};
use super::plan::{Computation, Limits, Plan, Source, plan};
use super::rows::{LENT, Leaf, Operand, Row};
use crate::cost::{CostModel, IdleDrive, of_at_most};
use crate::region::Home;
use split::{Operator, Subexpression, split};

/// Stripes of chunks that are lived through to choose between routes.
const STRIPES_TRIED: u64 = 4;

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

/// How `expression` is evaluated by `engine` for chunks of several classes, which share the drive: all in the controller,
/// or brought together wherever they can be, or each class as would be best if it were alone.
pub fn routes(
    expression: &Expression<Leaf>,
    engine: Engine,
    classes: Vec<Class>,
    choice: &Choice<'_>,
) -> Vec<(Class, Routes)> {
    let alone = |class: Class| {
        let routes = route(expression, engine, &class, choice);
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
    let times = ways.each_ref().map(|way| time_of_all(planned, way, choice));
    let best = (0..ways.len()).min_by_key(|&way| times[way]).unwrap_or(0);
    for (at, (_, routes)) in planned.iter_mut().enumerate() {
        routes.choose(ways[best][at]);
        let gathers = usize::from(routes.chosen.gathers());
        routes.chosen.estimate = Some(times[best]);
        if let Some(other) = &mut routes.other {
            other.estimate = Some(times[1 - gathers]);
        }
    }
}

/// How long all classes take together, those gathering that `gather` says.
fn time_of_all(planned: &[(Class, Routes)], gather: &[bool], choice: &Choice<'_>) -> Span {
    let chunks = planned.iter().map(|(class, _)| class.len() as u64).sum();
    let first = planned.iter().map(|(class, _)| class.chunk(0)).min();
    time_of_chunks(chunks, choice, |end| {
        let classes = planned.iter().zip(gather);
        let begun = classes.map(|((class, routes), gather)| {
            let route = routes.way(*gather);
            (class.until(first.unwrap_or(0) + end), route)
        });
        begun.filter(|(class, _)| !class.is_empty()).collect()
    })
}

/// How long `chunks` chunks take, where `first` gives the classes of so many of them, and their routes. Of many chunks the
/// first few stripes are lived through.
fn time_of_chunks<'a>(
    chunks: u64,
    choice: &Choice<'_>,
    first: impl Fn(u64) -> Vec<(Class, &'a Route)>,
) -> Span {
    let stripe = u64::from(choice.geometry.planes());
    let lived = |chunks| {
        let question = Question {
            bits: u64::MAX,
            expression_bytes: 0,
            count_only: choice.count_only,
        };
        let classes = first(chunks);
        let plans = classes.iter().map(|(class, route)| (class, route.plans()));
        let job = job(plans, &question, choice.model);
        Ok::<_, Infallible>(IdleDrive::live(job, choice.model))
    };
    let Ok(cost) = of_at_most(chunks, stripe, STRIPES_TRIED, lived);
    cost.time
}

/// How `expression` is evaluated by `engine` for the chunks of a class.
pub fn route(
    expression: &Expression<Leaf>,
    engine: Engine,
    class: &Class,
    choice: &Choice<'_>,
) -> Routes {
    let limits = Limits {
        // Two strings of one block cannot be sensed at once.
        blocks_max: if class.shares_blocks() {
            1
        } else {
            choice.limits.blocks_max
        },
        ..*choice.limits
    };
    // Pages outside of the region are read and corrected, and all combined in the controller.
    let engine = if class.has_pages() {
        Engine::InStorage
    } else {
        engine
    };
    let choice = &Choice {
        limits: &limits,
        ..*choice
    };
    let sites = Sites::of(class, choice);
    let plan_of = |asked: &Expression<Leaf>| plan(asked, engine, &limits, sites.find());
    if sites.homes.len() == 1 || engine == Engine::InStorage {
        return Routes {
            chosen: sites.route(0, plan_of(expression)),
            homes: sites.homes,
            other: None,
        };
    }
    let site = |leaf| sites.site(leaf);
    let whole = split(expression, &site);
    let mut controller = in_controller(&whole, &sites, engine, &plan_of);
    controller.estimate = Some(sites.time_of(&controller));
    let gathered = match engine {
        Engine::FlashCosmos => gather(&whole, &sites),
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
        homes: sites.homes,
        chosen,
        other,
    }
}

/// The planes of a class in which operands are, as homes, and what each has to do.
struct Sites<'a> {
    class: &'a Class,
    choice: &'a Choice<'a>,
    homes: Vec<Home>,
}

impl<'a> Sites<'a> {
    fn of(class: &'a Class, choice: &'a Choice<'a>) -> Sites<'a> {
        let sites = 0..class.sites();
        Sites {
            homes: sites
                .clone()
                .map(|site| class.home(choice.geometry, site))
                .collect(),
            class,
            choice,
        }
    }

    /// How an operand is stored.
    fn find(&self) -> impl Fn(Leaf) -> Operand {
        |leaf| match leaf {
            Leaf::Stored(number) => self.class.operand(number),
            Leaf::Brought(_) => unreachable!("only a gather plan names what it brings"),
        }
    }

    fn site(&self, leaf: Leaf) -> usize {
        match leaf {
            Leaf::Stored(number) => self.class.site(number),
            Leaf::Brought(_) => 0,
        }
    }

    /// A route of one plan, shared out over the dies of a site.
    fn route(&self, site: usize, plan: Plan) -> Route {
        Route {
            site,
            home: self.homes[site],
            plan,
            brought: Vec::new(),
            inverse: false,
            estimate: None,
        }
    }

    /// How long a route takes on an idle drive that does nothing else.
    fn time_of(&self, route: &Route) -> Span {
        let chunks = self.class.len() as u64;
        time_of_chunks(chunks, self.choice, |count| {
            vec![(self.class.prefix(count as usize), route)]
        })
    }
}

/// Every home evaluates its subexpressions, the controller combines them.
fn in_controller(
    whole: &Subexpression,
    sites: &Sites<'_>,
    engine: Engine,
    plan_of: &impl Fn(&Expression<Leaf>) -> Plan,
) -> Route {
    let mut computations = Vec::new();
    let root = combined(whole, &mut computations, plan_of);
    let plan = Plan {
        engine,
        computations,
        root,
    };
    sites.route(0, plan)
}

fn combined(
    operand: &Subexpression,
    computations: &mut Vec<Computation>,
    plan_of: &impl Fn(&Expression<Leaf>) -> Plan,
) -> Source {
    match operand {
        Subexpression::One { expression, .. } => append(plan_of(expression), computations),
        Subexpression::Many { operator, operands } => {
            let operands = operands
                .iter()
                .map(|operand| combined(operand, computations, plan_of));
            let operands = operands.collect();
            match operator {
                Operator::And => Source::And(operands),
                Operator::Or => Source::Or(operands),
                Operator::Xor => Source::Xor(operands),
            }
        }
    }
}

/// Adds the computations of `plan` that are not there yet; gives its root over them.
fn append(plan: Plan, computations: &mut Vec<Computation>) -> Source {
    let places: Vec<usize> = plan
        .computations
        .into_iter()
        .map(|computation| {
            let known = computations.iter().position(|known| *known == computation);
            known.unwrap_or_else(|| {
                computations.push(computation);
                computations.len() - 1
            })
        })
        .collect();
    renumbered(&plan.root, &|computation| places[computation])
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

/// The fastest of the gather plans, one for each home that could be brought to.
fn gather(whole: &Subexpression, sites: &Sites<'_>) -> Option<Route> {
    let mut best: Option<Route> = None;
    for site in 0..sites.homes.len() {
        if let Some(mut route) = gather_at(site, whole, sites) {
            route.estimate = Some(sites.time_of(&route));
            if best
                .as_ref()
                .is_none_or(|best| route.estimate < best.estimate)
            {
                best = Some(route);
            }
        }
    }
    best
}

/// Brings all subexpressions of other homes to `site`; `None` if a string has not so many layers.
fn gather_at(site: usize, whole: &Subexpression, sites: &Sites<'_>) -> Option<Route> {
    let (rest, foreign) = whole.brought_to(site);
    if foreign.len() > sites.choice.geometry.cells_per_string as usize {
        return None;
    }
    let (engine, limits, find) = (Engine::FlashCosmos, sites.choice.limits, sites.find());
    let plan_with = |inverse: bool| {
        plan(&rest, engine, limits, |leaf| match leaf {
            Leaf::Stored(_) => find(leaf),
            Leaf::Brought(layer) => Operand::Row(Row {
                row_set: LENT,
                layer,
                inverse,
            }),
        })
    };
    let (plain, inverted) = (plan_with(false), plan_with(true));
    let weigh = |plan: &Plan| (plan.senses(), plan.page_transfers());
    let inverse = weigh(&inverted) < weigh(&plain);
    let brought = foreign
        .iter()
        .map(|operand| plan(operand, engine, limits, &find));
    Some(Route {
        brought: brought.collect(),
        inverse,
        ..sites.route(site, if inverse { inverted } else { plain })
    })
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

    /// Commands of the array for each chunk.
    pub fn steps(&self) -> u64 {
        let plans = self.brought.iter().chain([&self.plan]);
        let computations = plans.flat_map(|plan| &plan.computations);
        computations
            .map(|computation| computation.steps.len() as u64)
            .sum()
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
