//! The best route, whoever's it is.
//!
//! Candidates are what each engine would do, and multi-wordline plans that weigh senses against pages over the channel and
//! operands of the accelerator as these cost here. What has no less to do in any part of the drive than another is left
//! out; the others are lived through on an idle drive, those first that promise most, unless what a part has to do
//! shows already that they cannot be better. So no engine alone is faster than what is chosen, as far as the cost model is
//! right.

use nvme::Expression;
use sim::{Energy, Span};

use super::time::{asked, cost_of, time_of};
use super::ways::{homes, ways};
use super::{Choice, Route, Routes};
use crate::bits::classes::Class;
use crate::bits::config::RouteRule;
use crate::bits::engine::{Engine, Objective};
use crate::bits::job::{Detail, Question};
use crate::bits::load::{Extent, Load, Shares};
use crate::bits::plan::{Limits, Weights};
use crate::bits::rows::Leaf;
use crate::cost::CostModel;
use crate::energy::of_power;

/// Fetches of pages that are lived through for one candidate; where there are more, what the parts have to do tells almost
/// exactly how long they take.
const FETCHES_LIVED: u64 = 1500;
/// More work for the dies by such a part of it is clearly more.
const CLEARLY: u64 = 10;
/// Classes for which ways are tried together: data that is torn into more is planned class by class.
const CLASSES_TOGETHER: usize = 4;

/// What is compared: time or energy, then the other.
type Key = (u64, u64);

/// How an engine is asked to plan.
#[derive(Clone, Copy, Debug)]
struct Strategy {
    engine: Engine,
    weights: Weights,
}

/// How `expression` is best evaluated for chunks of several classes.
pub(super) fn best(
    expression: &Expression<Leaf>,
    objective: Objective,
    classes: Vec<Class>,
    choice: &Choice<'_>,
) -> Vec<(Class, Routes)> {
    let together = classes.len() > 1 && classes.len() <= CLASSES_TOGETHER;
    let mut planned: Vec<Candidates> = classes
        .into_iter()
        .map(|class| Candidates::of(expression, class, objective, choice))
        .collect();
    let alone: Vec<usize> = planned.iter_mut().map(|of| of.choose(choice)).collect();
    let chosen = match together {
        true => choose_together(&planned, alone, objective, choice),
        false => alone,
    };
    let routes = planned.into_iter().zip(chosen);
    routes
        .map(|(of, chosen)| of.routes(chosen, choice))
        .collect()
}

/// The candidates of a class.
struct Candidates {
    class: Class,
    objective: Objective,
    routes: Vec<Route>,
    loads: Vec<Load>,
    /// By strategy, the candidate in the controller.
    of_strategy: Vec<usize>,
}

impl Candidates {
    fn of(
        expression: &Expression<Leaf>,
        class: Class,
        objective: Objective,
        choice: &Choice<'_>,
    ) -> Candidates {
        let shares = Shares::of(&class, choice.geometry);
        let operands = expression.vectors().len();
        let mut candidates = Candidates {
            objective,
            routes: Vec::new(),
            loads: Vec::new(),
            of_strategy: Vec::new(),
            class,
        };
        for strategy in strategies(objective, shares.extent(choice.geometry), choice) {
            let limits = Limits {
                weights: strategy.weights,
                ..*choice.limits
            };
            let choice = &Choice {
                limits: &limits,
                ..*choice
            };
            let ways = ways(expression, strategy.engine, &candidates.class, choice);
            let first = candidates.add(ways, &shares, choice);
            candidates.of_strategy.push(first);
            if candidates.is_settled(operands) {
                break;
            }
        }
        candidates
    }

    /// Adds ways; gives the place of the first.
    fn add(&mut self, ways: Vec<Route>, shares: &Shares, choice: &Choice<'_>) -> usize {
        let mut places = ways.into_iter().map(|way| {
            let alike = |known: &Route| {
                (known.site, &known.plan.computations, &known.plan.root)
                    == (way.site, &way.plan.computations, &way.plan.root)
                    && known.brought == way.brought
            };
            let known = self.routes.iter().position(alike);
            known.unwrap_or_else(|| {
                let load = Load::of(
                    &self.class,
                    shares,
                    way.plans(),
                    choice.count_only,
                    choice.model,
                );
                self.loads.push(load);
                self.routes.push(way);
                self.routes.len() - 1
            })
        });
        let first = places.next();
        places.for_each(drop);
        first.expect("the controller can combine everything")
    }

    /// Whether nothing can be better than the first: one page, of far fewer senses than there are operands.
    fn is_settled(&self, operands: usize) -> bool {
        let plan = &self.routes[0].plan;
        let is_alone = self.class.sites() == 1 && plan.root.operand_pages() == 0;
        is_alone && plan.senses() * 4 <= operands * 3
    }

    /// The candidate that is best if the class is alone.
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        let mut open: Vec<usize> = (0..self.routes.len())
            .filter(|&at| !self.is_beaten(at))
            .collect();
        let gathering = |at: &usize| self.routes[*at].gathers();
        match choice.rule {
            RouteRule::Fastest => {}
            RouteRule::Controller => open.retain(|at| !gathering(at)),
            RouteRule::Gather if (0..self.routes.len()).any(|at| gathering(&at)) => {
                open = (0..self.routes.len()).filter(gathering).collect();
            }
            RouteRule::Gather => {}
        }
        open.sort_by_key(|&at| self.least(at, choice.model));
        if let [only] = open[..] {
            return only;
        }
        let mut best: Option<(Key, usize)> = None;
        for at in open {
            if best.is_some_and(|(key, _)| self.least(at, choice.model) >= key) {
                continue;
            }
            let key = self.lived(at, choice);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, at));
            }
        }
        best.map_or(0, |(_, at)| at)
    }

    /// Whether no part has less to do for a candidate than for another, and the dies have clearly more: where they have as
    /// much, or operands are on several, who waits for whom may still decide. Of two alike on one site the first counts.
    fn is_beaten(&self, at: usize) -> bool {
        let load = &self.loads[at];
        let beats = |other: usize| {
            let less = &self.loads[other];
            let clearly = less.die < load.die && less.die + less.die / CLEARLY <= load.die;
            let alike = less == load && other < at;
            other != at
                && less.is_within(load)
                && self.class.sites() == 1
                && (alike || clearly)
                && !self.routes[other].gathers()
        };
        (0..self.routes.len()).any(beats)
    }

    fn least(&self, at: usize, model: &CostModel) -> Key {
        let load = &self.loads[at];
        key(self.objective, load.least(), load.least_energy(model))
    }

    fn lived(&self, at: usize, choice: &Choice<'_>) -> Key {
        lived(&[self], &[at], self.objective, choice)
    }

    fn routes(mut self, chosen: usize, choice: &Choice<'_>) -> (Class, Routes) {
        let homes = homes(&self.class, choice);
        if homes.len() == 1 {
            let chosen = self.routes.swap_remove(chosen);
            let routes = Routes {
                homes,
                chosen,
                other: None,
            };
            return (self.class, routes);
        }
        let gathers = self.routes[chosen].gathers();
        let others = (0..self.routes.len()).filter(|&at| self.routes[at].gathers() != gathers);
        let other = others.min_by_key(|&at| self.loads[at].about());
        let taken = |at: usize| {
            let mut route = self.routes[at].clone();
            let is_short = self.loads[at].fetches <= FETCHES_LIVED;
            route.estimate = Some(match is_short {
                true => time_of(&[(&self.class, &route)], choice),
                false => self.loads[at].about(),
            });
            route
        };
        let routes = Routes {
            homes,
            chosen: taken(chosen),
            other: other.map(taken),
        };
        (self.class, routes)
    }
}

/// Chooses for all classes by what they take together: each as if it were alone, or all as one strategy says.
fn choose_together(
    planned: &[Candidates],
    alone: Vec<usize>,
    objective: Objective,
    choice: &Choice<'_>,
) -> Vec<usize> {
    let strategies = planned
        .iter()
        .map(|of| of.of_strategy.len())
        .max()
        .unwrap_or(0);
    let uniform = (0..strategies).map(|strategy| {
        let of_class = planned.iter();
        let way = |of: &Candidates| {
            let last = of.of_strategy.len() - 1;
            of.of_strategy[strategy.min(last)]
        };
        of_class.map(way).collect::<Vec<usize>>()
    });
    let mut ways = vec![alone];
    for way in uniform {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    if choice.rule != RouteRule::Fastest || ways.len() == 1 {
        return ways.swap_remove(0);
    }
    let classes: Vec<&Candidates> = planned.iter().collect();
    let best = ways
        .into_iter()
        .min_by_key(|way| lived(&classes, way, objective, choice));
    best.expect("there is one at least")
}

/// What classes take and spend together, each by one of its candidates.
fn lived(
    classes: &[&Candidates],
    ways: &[usize],
    objective: Objective,
    choice: &Choice<'_>,
) -> Key {
    let of = classes.iter().zip(ways);
    let parts: Vec<Part<'_>> = of
        .map(|(of, &way)| (&of.class, &of.routes[way], of.loads[way]))
        .collect();
    let (time, energy) = together(&parts, &asked(choice), choice);
    key(objective, time, energy)
}

/// A class, its route, and what that has the parts of the drive do.
type Part<'a> = (&'a Class, &'a Route, Load);

/// What classes take and spend together. It is lived through, of long vectors the first stripes, unless that would be too
/// much.
fn together(parts: &[Part<'_>], question: &Question, choice: &Choice<'_>) -> (Span, Energy) {
    let fetches: u64 = parts.iter().map(|(_, _, load)| load.fetches).sum();
    let chunks: u64 = parts.iter().map(|(class, ..)| class.len() as u64).sum();
    let planes = u64::from(choice.geometry.planes());
    let lived = |stripes: u64| fetches * (stripes * planes).min(chunks) / chunks.max(1);
    let routes: Vec<(&Class, &Route)> = parts.iter().map(|part| (part.0, part.1)).collect();
    let steps: u64 = routes.iter().map(|(_, route)| route.steps()).sum();
    let pages: u64 = routes.iter().map(|(_, route)| route.pages()).sum();
    for stripes in [4, 2] {
        if lived(stripes) <= FETCHES_LIVED {
            let detail = match lived(stripes) * steps <= FETCHES_LIVED * pages {
                true => Detail::Commands,
                false => Detail::Pages,
            };
            let cost = cost_of(&routes, question, choice, (stripes, detail));
            return (cost.time, cost.total_energy());
        }
    }
    let time = parts.iter().map(|(_, _, load)| load.about()).max();
    let time = time.unwrap_or_default();
    let spent = parts.iter().map(|(_, _, load)| load.energy);
    let spent = spent.fold(Energy::ZERO, |sum, energy| sum + energy);
    (time, spent + of_power(choice.model.active_milliwatts, time))
}

/// What is to be expected of an evaluation inside the drive, without regard to what else it does.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// About how long it takes.
    pub time: Span,
    /// About what it spends.
    pub energy: Energy,
    /// How long the dies and channels take at least to read each operand once.
    pub reading: Span,
}

/// What is to be expected of the routes that were chosen.
pub(in crate::bits) fn outlook(
    expression: &Expression<Leaf>,
    planned: &[(Class, Routes)],
    question: &Question,
    choice: &Choice<'_>,
) -> Outlook {
    let shares: Vec<Shares> = planned
        .iter()
        .map(|(class, _)| Shares::of(class, choice.geometry))
        .collect();
    let load = |at: usize, route: &Route| {
        let class = &planned[at].0;
        Load::of(
            class,
            &shares[at],
            route.plans(),
            choice.count_only,
            choice.model,
        )
    };
    let parts = planned.iter().enumerate();
    let parts: Vec<Part<'_>> = parts
        .map(|(at, (class, routes))| (class, &routes.chosen, load(at, &routes.chosen)))
        .collect();
    let reading = (0..planned.len()).map(|at| {
        let read = ways(expression, Engine::InStorage, &planned[at].0, choice).swap_remove(0);
        let load = load(at, &read);
        load.die.max(load.channel)
    });
    let reading = reading.max().unwrap_or_default();
    let (time, energy) = together(&parts, question, choice);
    Outlook {
        time,
        energy,
        reading,
    }
}

fn key(objective: Objective, time: Span, energy: Energy) -> Key {
    match objective {
        Objective::Time => (time.as_ps(), energy.as_pj()),
        Objective::Energy => (energy.as_pj(), time.as_ps()),
    }
}

/// How plans are asked for, the fewest senses first.
fn strategies(objective: Objective, extent: Extent, choice: &Choice<'_>) -> Vec<Strategy> {
    let cosmos = |weights| Strategy {
        engine: Engine::FlashCosmos,
        weights,
    };
    let plain = |engine| Strategy {
        engine,
        weights: Weights::SENSES_FIRST,
    };
    let mut strategies = vec![plain(Engine::FlashCosmos)];
    let mut add = |weights: Weights| {
        let known = strategies
            .iter()
            .any(|strategy| strategy.weights == weights);
        if !known {
            strategies.push(cosmos(weights));
        }
    };
    add(Prices::of(choice.model).by_time(&extent, extent.pages_of_die));
    add(Prices::of(choice.model).by_time(&extent, extent.pages_of_channel));
    add(Weights::PAGES_FIRST);
    if objective == Objective::Energy {
        add(Prices::of(choice.model).by_energy());
    }
    strategies.extend([plain(Engine::ParaBit), plain(Engine::InStorage)]);
    strategies
}

/// What one of each takes and spends.
struct Prices {
    sense: (Span, Energy),
    page: (Span, Energy),
    operand: (Span, Energy),
}

impl Prices {
    fn of(model: &CostModel) -> Prices {
        let bytes = model.page_bytes();
        let moved = Energy::from_pj(bytes * u64::from(model.channel.transfer_pj_per_byte));
        Prices {
            sense: crate::bits::job::sense_cost(&model.nand),
            page: (model.channel.span_of(bytes), moved),
            operand: model.accelerator.of(bytes),
        }
    }

    fn by_time(&self, extent: &Extent, pages: u64) -> Weights {
        Weights {
            sense: (self.sense.0 * extent.batches).as_ps(),
            page_transfer: (self.page.0 * pages).as_ps(),
            operand: (self.operand.0 * extent.chunks).as_ps(),
        }
    }

    fn by_energy(&self) -> Weights {
        Weights {
            sense: self.sense.1.as_pj(),
            page_transfer: self.page.1.as_pj(),
            operand: self.operand.1.as_pj(),
        }
    }
}
