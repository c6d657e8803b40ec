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
use super::ways::{Brought, Ways, homes, most_promising_first};
use super::{Choice, Route, Routes};
use crate::bits::bound::{Extent, Shares, bound, bound_of_reading};
use crate::bits::classes::Class;
use crate::bits::config::RouteRule;
use crate::bits::demand::{Detail, Question};
use crate::bits::engine::{Engine, Objective};
use crate::bits::plan::Weights;
use crate::bits::rows::Leaf;
use crate::cost::{Bound, CostModel};

/// Fetches of pages that are lived through for one candidate; where there are more, what the parts have to do tells almost
/// exactly how long they take.
const FETCHES_LIVED: u64 = 1500;
/// More work for the dies by such a part of it is clearly more.
const CLEARLY: u64 = 10;

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
    let mut planned: Vec<Candidates<'_>> = classes
        .iter()
        .map(|class| Candidates::of(expression, class, objective, choice))
        .collect();
    let alone: Vec<usize> = planned.iter_mut().map(|of| of.choose(choice)).collect();
    let chosen = choose_together(&planned, alone, objective, choice);
    let routes = planned.into_iter().zip(chosen);
    let routes: Vec<Routes> = routes
        .map(|(of, chosen)| of.routes(chosen, choice))
        .collect();
    classes.into_iter().zip(routes).collect()
}

/// The candidates of a class.
struct Candidates<'a> {
    class: &'a Class,
    objective: Objective,
    ways: Ways<'a>,
    strategies: Vec<Strategy>,
    routes: Vec<Route>,
    bounds: Vec<Bound>,
    shares: Shares,
    /// By strategy, the candidate in the controller.
    of_strategy: Vec<usize>,
}

impl<'a> Candidates<'a> {
    /// What each strategy has the controller combine.
    fn of(
        expression: &'a Expression<Leaf>,
        class: &'a Class,
        objective: Objective,
        choice: &Choice<'_>,
    ) -> Candidates<'a> {
        let shares = Shares::of(class, choice.geometry);
        let extent = shares.extent(choice.geometry);
        let operands = expression.vectors().len();
        let mut candidates = Candidates {
            objective,
            ways: Ways::new(expression, class, choice),
            strategies: Vec::new(),
            routes: Vec::new(),
            bounds: Vec::new(),
            shares,
            of_strategy: Vec::new(),
            class,
        };
        for strategy in strategies(objective, extent, choice) {
            let Strategy { engine, weights } = strategy;
            let way = candidates.ways.in_controller(engine, weights);
            let at = candidates.add(way, choice);
            candidates.of_strategy.push(at);
            candidates.strategies.push(strategy);
            if candidates.is_settled(operands) {
                break;
            }
        }
        candidates
    }

    /// Adds a way; gives its place.
    fn add(&mut self, way: Route, choice: &Choice<'_>) -> usize {
        let alike = |known: &Route| {
            (known.site, &known.plan.computations, &known.plan.root)
                == (way.site, &way.plan.computations, &way.plan.root)
                && known.brought == way.brought
        };
        let known = self.routes.iter().position(alike);
        known.unwrap_or_else(|| {
            self.bounds.push(self.bound_of(&way, choice));
            self.routes.push(way);
            self.routes.len() - 1
        })
    }

    fn bound_of(&self, way: &Route, choice: &Choice<'_>) -> Bound {
        let alone = [(self.class, &self.shares, way.plans())];
        bound(alone.into_iter(), &asked(choice), choice.model)
    }

    /// What can be brought to one home.
    fn brought(&mut self, choice: &Choice<'_>) -> Vec<Brought<Key>> {
        let mut all = Vec::new();
        let strategies = self.strategies.iter();
        let gathers = |strategy: &&Strategy| strategy.engine == Engine::FlashCosmos;
        let weights = strategies.filter(gathers).map(|strategy| strategy.weights);
        for weights in weights.collect::<Vec<_>>() {
            for way in self.ways.brought(weights) {
                let bound = self.bound_of(&way, choice);
                let least = self.least(&bound, choice.model);
                all.push(Brought {
                    weights,
                    least,
                    way,
                });
            }
        }
        all
    }

    /// Whether nothing can be better than the first: one page, of far fewer senses than there are operands.
    fn is_settled(&self, operands: usize) -> bool {
        let plan = &self.routes[0].plan;
        let is_alone = self.class.sites() == 1 && plan.root.operand_pages() == 0;
        is_alone && plan.senses() * 4 <= operands * 3
    }

    /// The candidate that is best if the class is alone. Of those that bring all pages to one home only what may be better than
    /// all before is planned, or is little enough to be told of.
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        let brought = self.brought(choice);
        let must_gather = choice.rule == RouteRule::Gather && !brought.is_empty();
        let mut open: Vec<usize> = (0..self.routes.len())
            .filter(|&at| !must_gather && !self.is_beaten(at))
            .collect();
        open.sort_by_key(|&at| self.least(&self.bounds[at], choice.model));
        if let ([only], []) = (&open[..], &brought[..]) {
            return *only;
        }
        let mut best = None;
        for at in open {
            self.try_at(at, &mut best, choice);
        }
        let known = match choice.rule {
            RouteRule::Controller => Some(Key::default()),
            RouteRule::Gather | RouteRule::Fastest => best.map(|(key, _)| key),
        };
        most_promising_first(brought, known, |brought, is_open| {
            let way = self.ways.gathered(brought.way, brought.weights);
            let at = self.add(way, choice);
            if is_open {
                self.try_at(at, &mut best, choice);
            }
            best.map(|(key, _)| key)
        });
        best.map_or(0, |(_, at)| at)
    }

    /// Lives a candidate through, unless what the parts have to do shows that it cannot be better than the best.
    fn try_at(&self, at: usize, best: &mut Option<(Key, usize)>, choice: &Choice<'_>) {
        let least = self.least(&self.bounds[at], choice.model);
        if best.is_some_and(|(key, _)| least >= key) {
            return;
        }
        let key = self.lived(at, choice);
        if best.is_none_or(|(least, _)| key < least) {
            *best = Some((key, at));
        }
    }

    /// Whether no part has less to do for a candidate than for another, and the dies have clearly more: where they have as
    /// much, or operands are on several, who waits for whom may still decide. Of two alike on one site the first counts.
    fn is_beaten(&self, at: usize) -> bool {
        let bound = &self.bounds[at];
        let beats = |(other, less): (usize, &Bound)| {
            let alike = less == bound && other < at;
            let clearly = less.die * (CLEARLY + 1) < bound.die * CLEARLY;
            (alike || clearly) && less.is_within(bound)
        };
        self.class.sites() == 1 && self.bounds.iter().enumerate().any(beats)
    }

    fn least(&self, bound: &Bound, model: &CostModel) -> Key {
        key(self.objective, bound.least(), bound.least_energy(model))
    }

    fn lived(&self, at: usize, choice: &Choice<'_>) -> Key {
        lived(&[self], &[at], self.objective, choice)
    }

    fn routes(mut self, chosen: usize, choice: &Choice<'_>) -> Routes {
        let (homes, steps) = (homes(self.class, choice), self.ways.steps());
        if homes.len() == 1 {
            let chosen = self.routes.swap_remove(chosen);
            return Routes {
                homes,
                chosen,
                other: None,
                steps,
            };
        }
        let gathers = self.routes[chosen].gathers();
        let others = (0..self.routes.len()).filter(|&at| self.routes[at].gathers() != gathers);
        let other = others.min_by_key(|&at| self.bounds[at].about());
        let taken = |at: usize| {
            let mut route = self.routes[at].clone();
            let is_short = self.bounds[at].fetches <= FETCHES_LIVED;
            route.estimate = Some(match is_short {
                true => time_of(&[(self.class, &route)], choice),
                false => self.bounds[at].about(),
            });
            route
        };
        Routes {
            homes,
            chosen: taken(chosen),
            other: other.map(taken),
            steps,
        }
    }
}

/// Chooses for all classes by what they take together: each as if it were alone, or, of several, all as one strategy says.
fn choose_together(
    planned: &[Candidates<'_>],
    alone: Vec<usize>,
    objective: Objective,
    choice: &Choice<'_>,
) -> Vec<usize> {
    if planned.len() == 1 || choice.rule != RouteRule::Fastest {
        return alone;
    }
    let strategies = planned.iter().map(|of| of.of_strategy.len());
    let strategies = strategies.max().unwrap_or(0);
    let uniform = (0..strategies).map(|strategy| {
        let of_class = planned.iter();
        let way = |of: &Candidates<'_>| {
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
    let classes: Vec<&Candidates<'_>> = planned.iter().collect();
    let best = ways
        .into_iter()
        .min_by_key(|way| lived(&classes, way, objective, choice));
    best.expect("there is one at least")
}

/// What classes take and spend together, each by one of its candidates.
fn lived(
    classes: &[&Candidates<'_>],
    ways: &[usize],
    objective: Objective,
    choice: &Choice<'_>,
) -> Key {
    let of = classes.iter().zip(ways);
    let taken: Vec<Taken<'_>> = of
        .map(|(of, &way)| (of.class, &of.shares, &of.routes[way]))
        .collect();
    let bound = match (classes, ways) {
        ([alone], &[way]) => alone.bounds[way],
        _ => bound_of(&taken, &asked(choice), choice),
    };
    let (time, energy) = together(&taken, &bound, &asked(choice), choice);
    key(objective, time, energy)
}

/// A class, how it is shared out, and the route it takes.
type Taken<'a> = (&'a Class, &'a Shares, &'a Route);

/// What classes have the parts of the drive do together.
fn bound_of(taken: &[Taken<'_>], question: &Question, choice: &Choice<'_>) -> Bound {
    let plans = taken.iter();
    let plans = plans.map(|(class, shares, route)| (*class, *shares, route.plans()));
    bound(plans, question, choice.model)
}

/// What classes take and spend together. It is lived through, of long vectors the first stripes, unless that would be too
/// much.
fn together(
    taken: &[Taken<'_>],
    bound: &Bound,
    question: &Question,
    choice: &Choice<'_>,
) -> (Span, Energy) {
    let chunks: u64 = taken.iter().map(|(class, ..)| class.len() as u64).sum();
    let planes = u64::from(choice.geometry.planes());
    let lived = |stripes: u64| bound.fetches * (stripes * planes).min(chunks) / chunks.max(1);
    let routes: Vec<(&Class, &Route)> = taken
        .iter()
        .map(|(class, _, route)| (*class, *route))
        .collect();
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
    (bound.about(), bound.about_energy(choice.model))
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
    planned: &[(Class, Routes)],
    question: &Question,
    choice: &Choice<'_>,
) -> Outlook {
    let shares: Vec<Shares> = planned
        .iter()
        .map(|(class, _)| Shares::of(class, choice.geometry))
        .collect();
    let read = bound_of_reading(planned.iter().map(|(class, _)| class), choice.model);
    let taken: Vec<Taken<'_>> = (planned.iter().zip(&shares))
        .map(|((class, routes), shares)| (class, shares, &routes.chosen))
        .collect();
    let bound = bound_of(&taken, question, choice);
    let (time, energy) = together(&taken, &bound, question, choice);
    Outlook {
        time,
        energy,
        reading: read.die.max(read.channel),
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
    add(by_time(choice.model, &extent, extent.pages_of_die));
    add(by_time(choice.model, &extent, extent.pages_of_channel));
    add(Weights::PAGES_FIRST);
    if objective == Objective::Energy {
        add(by_energy(choice.model));
    }
    strategies.extend([plain(Engine::ParaBit), plain(Engine::InStorage)]);
    strategies
}

/// What a sense, a page over the channel and an operand of the accelerator take, where the busiest has so many pages.
fn by_time(model: &CostModel, extent: &Extent, pages: u64) -> Weights {
    let sense = model.sense_of_one(1);
    Weights {
        sense: ((sense.cycles + sense.array) * extent.batches).as_ps(),
        page_transfer: (model.page_out().span * pages).as_ps(),
        operand: (model.accelerated(1).span * extent.chunks).as_ps(),
    }
}

/// What they spend.
fn by_energy(model: &CostModel) -> Weights {
    Weights {
        sense: model.sense_of_one(1).energy.as_pj(),
        page_transfer: model.page_out().energy.as_pj(),
        operand: model.accelerated(1).energy.as_pj(),
    }
}
