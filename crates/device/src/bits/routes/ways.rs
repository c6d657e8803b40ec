//! The ways in which an engine can evaluate an expression for the chunks of a class: every home by itself and the rest in
//! the controller, or all pages brought to one home.

use std::rc::Rc;

use nvme::{Expression, Step};

use super::split::{Operator, Subexpression, split};
use super::{Choice, Route, renumbered};
use crate::bits::classes::Class;
use crate::bits::engine::Engine;
use crate::bits::hashing::Table;
use crate::bits::plan::{Computation, Plan, Planner, Source, Weights};
use crate::bits::rows::{LENT, Leaf, Operand, Row};
use crate::region::Home;

/// The homes of a class.
pub(super) fn homes(class: &Class, choice: &Choice<'_>) -> Vec<Home> {
    let sites = 0..class.sites();
    sites
        .map(|site| class.home(choice.geometry, site))
        .collect()
}

/// Pages of a way to bring them to one home up to which it is told of where it is not what is chosen: to plan it takes as long as
/// to plan that.
const TOLD_MAX: usize = 8;

/// The ways to evaluate an expression for the chunks of a class, whoever is asked for them and what they are to be cheap in:
/// what they have in common is found once.
pub(super) struct Ways<'a> {
    expression: &'a Expression<Leaf>,
    class: &'a Class,
    homes: Vec<Home>,
    /// Blocks that a sense may select.
    blocks_max: usize,
    cells_per_string: usize,
    /// Plans the expression as if all of it were in the same planes.
    whole: Option<Planner>,
    split: Option<Split>,
}

/// An expression split by the homes of its operands.
pub(super) struct Split {
    pub(super) whole: Subexpression,
    /// Different subexpressions of one home, by first use.
    pub(super) parts: Vec<Part>,
    /// The part of each subexpression, in order.
    pub(super) numbers: Vec<usize>,
    /// By home; nothing where a string has not so many layers.
    pub(super) gathers: Vec<Option<Gather>>,
}

/// A subexpression of one home.
pub(super) struct Part {
    site: usize,
    pub(super) expression: Expression<Leaf>,
    /// What it is the inverse of, if that is a part as well: the array evaluates only that.
    inverse_of: Option<usize>,
    planner: Option<Planner>,
}

/// All subexpressions of other homes brought to one.
pub(super) struct Gather {
    /// The parts that are brought, in order.
    pub(super) foreign: Vec<usize>,
    /// Plan what is left of the expression, where they are stored as they are and inverted.
    rest: Option<[Planner; 2]>,
}

/// A way to bring all pages to one home, before it is planned what that does with them.
pub(super) struct Brought<K> {
    pub(super) weights: Weights,
    /// It takes no less, whatever the home does.
    pub(super) least: K,
    pub(super) way: Route,
}

impl<'a> Ways<'a> {
    /// Those of `expression`.
    pub(super) fn new(
        expression: &'a Expression<Leaf>,
        class: &'a Class,
        choice: &Choice<'_>,
    ) -> Ways<'a> {
        // Two strings of one block cannot be sensed at once.
        let blocks_max = match class.shares_blocks() {
            true => 1,
            false => choice.limits.blocks_max,
        };
        Ways {
            expression,
            class,
            homes: homes(class, choice),
            blocks_max,
            cells_per_string: choice.geometry.cells_per_string as usize,
            whole: None,
            split: None,
        }
    }

    /// What an engine does where every home evaluates its subexpressions and the controller combines them.
    pub(super) fn in_controller(&mut self, engine: Engine, weights: Weights) -> Route {
        // Pages outside of the region are read and corrected, and all combined in the controller.
        let engine = match self.class.has_pages() {
            true => Engine::InStorage,
            false => engine,
        };
        if self.homes.len() == 1 || engine == Engine::InStorage {
            let new = || Planner::new(self.expression, self.blocks_max, stored_in(self.class));
            let plan = self.whole.get_or_insert_with(new).plan(engine, weights);
            return route(self.homes[0], 0, Plan::clone(plan));
        }
        let mut split = self.take_split();
        let plan = self.combined(&mut split, engine, weights);
        self.split = Some(split);
        route(self.homes[0], 0, plan)
    }

    /// Where the pages of all subexpressions of other homes could be brought together, at most one way for each home: what
    /// is brought there. What that home then does is for [`Ways::gathered`] to plan.
    pub(super) fn brought(&mut self, weights: Weights) -> Vec<Route> {
        if self.homes.len() == 1 || self.class.has_pages() {
            return Vec::new();
        }
        let mut split = self.take_split();
        let sites = 0..self.homes.len();
        let brought = sites.filter_map(|site| {
            let foreign = &split.gathers[site].as_ref()?.foreign;
            let (parts, engine) = (&mut split.parts, Engine::FlashCosmos);
            let plans = foreign.iter();
            let plans = plans.map(|&part| self.planned(parts, part, engine, weights).clone());
            let nothing = Plan {
                engine,
                computations: Vec::new(),
                root: Source::Constant(false),
            };
            Some(Route {
                brought: plans.collect(),
                ..route(self.homes[site], site, nothing)
            })
        });
        let brought = brought.collect();
        self.split = Some(split);
        brought
    }

    /// A way of those of [`Ways::brought`] with what its home does.
    pub(super) fn gathered(&mut self, brought: Route, weights: Weights) -> Route {
        let mut split = self.take_split();
        let Split {
            whole,
            numbers,
            gathers,
            ..
        } = &mut split;
        let gather = gathers[brought.site].as_mut();
        let Gather { foreign, rest } = gather.expect("something can be brought there");
        let planners = rest.get_or_insert_with(|| {
            let rest = whole.without(foreign, numbers);
            [false, true].map(|inverse| {
                let find = |leaf| match leaf {
                    Leaf::Stored(_) => stored_in(self.class)(leaf),
                    Leaf::Brought(layer) => Operand::Row(Row {
                        row_set: LENT,
                        layer,
                        inverse,
                    }),
                };
                Planner::new(&rest, self.blocks_max, find)
            })
        });
        let plans = planners.each_mut();
        let [plain, inverted] =
            plans.map(|planner| Plan::clone(planner.plan(Engine::FlashCosmos, weights)));
        self.split = Some(split);
        let weigh = |plan: &Plan| (plan.senses(), plan.page_transfers());
        let inverse = weigh(&inverted) < weigh(&plain);
        Route {
            inverse,
            plan: if inverse { inverted } else { plain },
            ..brought
        }
    }

    /// Steps that all planning took so far.
    pub(super) fn steps(&self) -> u64 {
        let split = self.split.iter();
        let planners = split.flat_map(|split| {
            let gathers = split.gathers.iter().flatten();
            let rests = gathers.flat_map(|gather| gather.rest.iter().flatten());
            let parts = split.parts.iter().filter_map(|part| part.planner.as_ref());
            parts.chain(rests)
        });
        planners.chain(&self.whole).map(Planner::steps).sum()
    }

    /// The expression split; to be put back.
    fn take_split(&mut self) -> Split {
        self.split.take().unwrap_or_else(|| {
            let site = |leaf| match leaf {
                Leaf::Stored(number) => self.class.site(number),
                Leaf::Brought(_) => 0,
            };
            Split::of(
                split(self.expression, &site),
                self.homes.len(),
                self.cells_per_string,
            )
        })
    }

    /// The plan of a part.
    fn planned<'b>(
        &self,
        parts: &'b mut [Part],
        part: usize,
        engine: Engine,
        weights: Weights,
    ) -> &'b Rc<Plan> {
        let Part {
            expression,
            planner,
            ..
        } = &mut parts[part];
        let new = || Planner::new(expression, self.blocks_max, stored_in(self.class));
        planner.get_or_insert_with(new).plan(engine, weights)
    }

    /// The plan of the controller. A home that would sense more for its subexpressions than it has operands in them reads each
    /// operand once instead.
    fn combined(&self, split: &mut Split, engine: Engine, weights: Weights) -> Plan {
        let mut engines = vec![engine; self.homes.len()];
        for (site, of_site) in engines.iter_mut().enumerate() {
            let own = split.numbers.iter().copied();
            let own: Vec<usize> = own.filter(|&part| split.parts[part].site == site).collect();
            if own.len() < 2 {
                continue;
            }
            let mut senses = |engine| {
                let mut computations = Vec::new();
                for &part in &own {
                    let plain = split.parts[part].inverse_of.unwrap_or(part);
                    let plan = self.planned(&mut split.parts, plain, engine, weights);
                    append(plan, &mut computations);
                }
                computations.iter().map(Computation::senses).sum::<usize>()
            };
            if senses(engine) > senses(Engine::InStorage) {
                *of_site = Engine::InStorage;
            }
        }
        let mut computations = Vec::new();
        let parts = &mut split.parts;
        let pages = split.numbers.iter().map(|&part| {
            let Part {
                site, inverse_of, ..
            } = parts[part];
            let plain = inverse_of.unwrap_or(part);
            let plan = self.planned(parts, plain, engines[site], weights);
            let source = append(plan, &mut computations);
            match inverse_of {
                Some(_) => Source::Not(Box::new(source)),
                None => source,
            }
        });
        let root = split
            .whole
            .combined(&mut pages.collect::<Vec<_>>().into_iter());
        Plan {
            engine,
            computations,
            root,
        }
    }
}

/// Has `plan` plan what may be better than the best `known`, what promises most first; it says how good that is, and is told
/// whether there was hope. Of what cannot be better at most one is planned, to tell of.
pub(super) fn most_promising_first<K: Ord + Copy>(
    mut all: Vec<Brought<K>>,
    mut known: Option<K>,
    mut plan: impl FnMut(Brought<K>, bool) -> Option<K>,
) {
    all.sort_by_key(|brought| brought.least);
    for (number, brought) in all.into_iter().enumerate() {
        let is_open = known.is_none_or(|known| brought.least < known);
        if !is_open && (number > 0 || brought.way.brought.len() > TOLD_MAX) {
            break;
        }
        let planned = plan(brought, is_open);
        known = known.into_iter().chain(planned).min();
    }
}

/// A route of one plan, shared out over the dies of a site.
fn route(home: Home, site: usize, plan: Plan) -> Route {
    Route {
        site,
        home,
        plan,
        brought: Vec::new(),
        inverse: false,
        estimate: None,
    }
}

/// How operands are stored in a class.
fn stored_in(class: &Class) -> impl Fn(Leaf) -> Operand {
    |leaf| match leaf {
        Leaf::Stored(number) => class.operand(number),
        Leaf::Brought(_) => unreachable!("only a gather plan names what it brings"),
    }
}

impl Split {
    /// What is combined from subexpressions of so many homes, each of which has strings of so many layers to lend.
    pub(super) fn of(whole: Subexpression, homes: usize, layers: usize) -> Split {
        // order: looked up by key only, never walked.
        let mut known: Table<(Vec<Step<Leaf>>, bool), usize> = Table::default();
        let mut parts: Vec<Part> = Vec::new();
        let mut numbers = Vec::new();
        whole.each(&mut |site, expression| {
            let (plain, inverted) = without_not(expression);
            let (steps, next) = (plain.steps(), parts.len());
            let number = *known.entry((steps, inverted)).or_insert(next);
            if number == next {
                parts.push(Part {
                    site,
                    expression: expression.clone(),
                    inverse_of: None,
                    planner: None,
                });
            }
            numbers.push(number);
        });
        for part in &mut parts {
            let (plain, inverted) = without_not(&part.expression);
            if inverted {
                part.inverse_of = known.get(&(plain.steps(), false)).copied();
            }
        }
        let gather = |site| {
            let all = 0..parts.len();
            let foreign: Vec<usize> = all.filter(|&part| parts[part].site != site).collect();
            let has_room = foreign.len() <= layers;
            has_room.then_some(Gather {
                foreign,
                rest: None,
            })
        };
        Split {
            gathers: (0..homes).map(gather).collect(),
            whole,
            parts,
            numbers,
        }
    }
}

impl Subexpression {
    /// What the controller makes of the pages of the subexpressions of one home, in order.
    fn combined(&self, pages: &mut impl Iterator<Item = Source>) -> Source {
        match self {
            Subexpression::One { .. } => pages.next().expect("a page for each"),
            Subexpression::Many { operator, operands } => {
                let operands = operands.iter().map(|operand| operand.combined(pages));
                let operands = operands.collect();
                match operator {
                    Operator::And => Source::And(operands),
                    Operator::Or => Source::Or(operands),
                    Operator::Xor => Source::Xor(operands),
                }
            }
        }
    }
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

/// Adds the computations of `plan` that are not there yet; gives its root over them.
fn append(plan: &Plan, computations: &mut Vec<Computation>) -> Source {
    let places: Vec<usize> = plan
        .computations
        .iter()
        .map(|computation| {
            let known = computations.iter().position(|known| known == computation);
            known.unwrap_or_else(|| {
                computations.push(computation.clone());
                computations.len() - 1
            })
        })
        .collect();
    renumbered(&plan.root, &|computation| places[computation])
}
