//! The ways in which an engine can evaluate an expression for the chunks of a class: every home by itself and the rest in
//! the controller, or all pages brought to one home.

use std::collections::HashSet;

use nvme::{Expression, Step};

use super::split::{Operator, Subexpression, split};
use super::{Choice, Route, renumbered};
use crate::bits::classes::Class;
use crate::bits::engine::Engine;
use crate::bits::plan::{Computation, Limits, Plan, Source, plan};
use crate::bits::rows::{LENT, Leaf, Operand, Row};
use crate::region::Home;

/// What the planner takes as given for a class.
pub(super) fn limits_of(class: &Class, choice: &Choice<'_>) -> Limits {
    Limits {
        // Two strings of one block cannot be sensed at once.
        blocks_max: if class.shares_blocks() {
            1
        } else {
            choice.limits.blocks_max
        },
        ..*choice.limits
    }
}

/// The homes of a class.
pub(super) fn homes(class: &Class, choice: &Choice<'_>) -> Vec<Home> {
    let sites = 0..class.sites();
    sites
        .map(|site| class.home(choice.geometry, site))
        .collect()
}

/// The ways of an engine, the one in the controller first; then the gather plans, at most one for each home.
pub(super) fn ways(
    expression: &Expression<Leaf>,
    engine: Engine,
    class: &Class,
    choice: &Choice<'_>,
) -> Vec<Route> {
    let limits = &limits_of(class, choice);
    // Pages outside of the region are read and corrected, and all combined in the controller.
    let engine = if class.has_pages() {
        Engine::InStorage
    } else {
        engine
    };
    let sites = Sites {
        class,
        limits,
        cells_per_string: choice.geometry.cells_per_string as usize,
        homes: homes(class, choice),
    };
    if sites.homes.len() == 1 || engine == Engine::InStorage {
        return vec![sites.route(0, sites.plan(expression, engine))];
    }
    let whole = split(expression, &|leaf| sites.site(leaf));
    let mut ways = vec![in_controller(&whole, &sites, engine)];
    if engine == Engine::FlashCosmos {
        let gathered = (0..sites.homes.len()).filter_map(|site| gather_at(site, &whole, &sites));
        ways.extend(gathered);
    }
    ways
}

/// The planes of a class in which operands are, as homes, and what each has to do.
struct Sites<'a> {
    class: &'a Class,
    limits: &'a Limits,
    cells_per_string: usize,
    homes: Vec<Home>,
}

impl Sites<'_> {
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

    fn plan(&self, expression: &Expression<Leaf>, engine: Engine) -> Plan {
        plan(expression, engine, self.limits, self.find())
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
}

/// Every home evaluates its subexpressions, the controller combines them.
fn in_controller(whole: &Subexpression, sites: &Sites<'_>, engine: Engine) -> Route {
    let mut pages = Pages::new(whole, sites, engine);
    let root = pages.combined(whole, &mut 0);
    let plan = Plan {
        engine,
        computations: pages.computations,
        root,
    };
    sites.route(0, plan)
}

/// The pages that homes send to the controller.
struct Pages<'a> {
    sites: &'a Sites<'a>,
    /// By site: who evaluates its subexpressions.
    engines: Vec<Engine>,
    /// By subexpression, in order: whether it is needed inverted and not, and evaluated once.
    both_ways: Vec<bool>,
    /// By subexpression: plans of the engine and of reading each operand, made once.
    planned: Vec<[Option<Planned>; 2]>,
    computations: Vec<Computation>,
}

impl<'a> Pages<'a> {
    /// A home that would sense more for its subexpressions than it has operands in them reads each operand once instead, and
    /// the controller combines them.
    fn new(whole: &Subexpression, sites: &'a Sites<'a>, engine: Engine) -> Pages<'a> {
        let mut asked = Vec::new();
        whole.each(&mut |site, expression| asked.push((site, expression.clone())));
        let mut of_sites = vec![Vec::new(); sites.homes.len()];
        for (number, (site, _)) in asked.iter().enumerate() {
            of_sites[*site].push(number);
        }
        let mut pages = Pages {
            sites,
            engines: vec![engine; sites.homes.len()],
            both_ways: both_ways(&asked),
            planned: vec![[None, None]; asked.len()],
            computations: Vec::new(),
        };
        for (site, own) in of_sites.iter().enumerate() {
            if own.len() < 2 {
                continue;
            }
            let senses = |pages: &mut Pages<'_>, engine| {
                let mut computations = Vec::new();
                for &number in own {
                    let planned = pages.planned(number, &asked[number].1, engine);
                    append(planned.plan.clone(), &mut computations);
                }
                computations.iter().map(Computation::senses).sum::<usize>()
            };
            let (apart, read) = (
                senses(&mut pages, engine),
                senses(&mut pages, Engine::InStorage),
            );
            if apart > read {
                pages.engines[site] = Engine::InStorage;
            }
        }
        pages
    }

    /// The pages of `operand`, whose first subexpression is the one of number `next`.
    fn combined(&mut self, operand: &Subexpression, next: &mut usize) -> Source {
        match operand {
            Subexpression::One { site, expression } => {
                *next += 1;
                self.page(*next - 1, *site, expression)
            }
            Subexpression::Many { operator, operands } => {
                let operands = operands.iter().map(|operand| self.combined(operand, next));
                let operands = operands.collect();
                match operator {
                    Operator::And => Source::And(operands),
                    Operator::Or => Source::Or(operands),
                    Operator::Xor => Source::Xor(operands),
                }
            }
        }
    }

    /// A subexpression of one home.
    fn page(&mut self, number: usize, site: usize, expression: &Expression<Leaf>) -> Source {
        let Planned { plan, inverted } =
            self.planned(number, expression, self.engines[site]).clone();
        let source = append(plan, &mut self.computations);
        match inverted {
            true => Source::Not(Box::new(source)),
            false => source,
        }
    }

    /// The plan of an engine for a subexpression.
    fn planned(
        &mut self,
        number: usize,
        expression: &Expression<Leaf>,
        engine: Engine,
    ) -> &Planned {
        let both_ways = self.both_ways[number];
        let known = &mut self.planned[number][usize::from(engine == Engine::InStorage)];
        known.get_or_insert_with(|| {
            let (plain, inverted) = without_not(expression);
            let inverted = inverted && both_ways;
            Planned {
                plan: self
                    .sites
                    .plan(if inverted { plain } else { expression }, engine),
                inverted,
            }
        })
    }
}

/// How a subexpression is evaluated.
#[derive(Clone)]
struct Planned {
    plan: Plan,
    /// What the plan gives is its inverse.
    inverted: bool,
}

/// What is inverted an odd number of times, or an even number, and which.
fn without_not(expression: &Expression<Leaf>) -> (&Expression<Leaf>, bool) {
    match expression {
        Expression::Not(inner) => {
            let (plain, inverted) = without_not(inner);
            (plain, !inverted)
        }
        plain => (plain, false),
    }
}

/// By subexpression: whether it is asked for both inverted and as it is.
fn both_ways(asked: &[(usize, Expression<Leaf>)]) -> Vec<bool> {
    let forms: Vec<(Vec<Step<Leaf>>, bool)> = asked
        .iter()
        .map(|(_, asked)| without_not(asked))
        .map(|(plain, inverted)| (plain.steps(), inverted))
        .collect();
    // order: looked up by key only, never walked.
    let known: HashSet<&(Vec<Step<Leaf>>, bool)> = forms.iter().collect();
    let other = |(plain, inverted): &(Vec<Step<Leaf>>, bool)| (plain.clone(), !inverted);
    forms
        .iter()
        .map(|form| known.contains(&other(form)))
        .collect()
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

/// Brings all subexpressions of other homes to `site`; `None` if a string has not so many layers.
fn gather_at(site: usize, whole: &Subexpression, sites: &Sites<'_>) -> Option<Route> {
    let (rest, foreign) = whole.brought_to(site, sites.cells_per_string)?;
    let (engine, limits, find) = (Engine::FlashCosmos, sites.limits, sites.find());
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
