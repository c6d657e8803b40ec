//! Plans of one expression for several engines and by several weights, for which what they have in common is found once.
//!
//! What an expression means (its normal form, what of it is used several times, other ways to write it) depends neither on the
//! engine nor on what plans are to be cheap in, and of a search only the last choices do.

use std::rc::Rc;

use media::nand::MWS_BLOCKS_MAX;
use nvme::Expression;

use super::emit::emit;
use super::forms::Reach;
use super::graph::{Graph, Lit};
use super::read::read_all;
use super::search::Search;
use super::tree::{Join, array, links};
use super::{Computation, Plan, Source, Weights, rewrite, shared};
use crate::bits::engine::Engine;
use crate::bits::rows::Operand;

/// Array computations, and what the controller makes of their pages.
type Found = (Vec<Computation>, Source);

/// Plans one expression.
pub struct Planner {
    reach: Reach,
    graph: Graph,
    root: Lit,
    /// The rows below the root, if none is used twice.
    rows_if_read_once: Option<usize>,
    /// The expression as it is.
    own: Option<Search>,
    parabit: Option<Search>,
    others: Option<Others>,
    /// What was planned before.
    known: Vec<(Engine, Weights, Rc<Plan>)>,
}

/// The expression otherwise.
struct Others {
    /// What is used several times is a page of its own.
    sealed: Option<Search>,
    /// In other forms.
    rewritten: Vec<Search>,
    /// Steps that it took to find these.
    steps: u64,
}

impl Planner {
    /// Plans `expression`, `find` telling how each vector is stored; a sense may select so many blocks.
    ///
    /// # Panics
    /// If `blocks_max` is not within 1 to [`MWS_BLOCKS_MAX`].
    pub fn new<V: nvme::Operand>(
        expression: &Expression<V>,
        blocks_max: usize,
        find: impl Fn(V) -> Operand,
    ) -> Planner {
        assert!(
            (1..=MWS_BLOCKS_MAX).contains(&blocks_max),
            "the configuration keeps mws.blocks_max within 1 to {MWS_BLOCKS_MAX}"
        );
        let mut graph = Graph::new();
        let root = graph.build(expression, &find);
        Planner {
            reach: Reach::flash_cosmos(blocks_max),
            rows_if_read_once: graph.rows_if_read_once(root),
            graph,
            root,
            own: None,
            parabit: None,
            others: None,
            known: Vec::new(),
        }
    }

    /// The plan of an engine that is cheapest by `weights`, as far as one is found.
    pub fn plan(&mut self, engine: Engine, weights: Weights) -> &Rc<Plan> {
        let is_it = |known: &(Engine, Weights, Rc<Plan>)| (known.0, known.1) == (engine, weights);
        let at = self.known.iter().position(is_it);
        let at = at.unwrap_or_else(|| {
            let plan = self.find(engine, weights);
            self.known.push((engine, weights, Rc::new(plan)));
            self.known.len() - 1
        });
        &self.known[at].2
    }

    fn find(&mut self, engine: Engine, weights: Weights) -> Plan {
        let reach = match engine {
            Engine::FlashCosmos => Some(self.reach),
            Engine::ParaBit => Some(Reach::PARABIT),
            Engine::InStorage => None,
        };
        if let Some(form) = reach.and_then(|reach| self.graph.form(self.root, reach)) {
            // Nothing is cheaper than one sense and one page.
            let (computations, root) = emit(&array(links(&vec![form], Join::Or).collect()));
            return Plan {
                engine,
                computations,
                root,
            };
        }
        let (computations, root) = match engine {
            Engine::FlashCosmos => self.flash_cosmos(weights),
            Engine::ParaBit => self.parabit(weights),
            Engine::InStorage => read_all(&self.graph, self.root),
        };
        Plan {
            engine,
            computations,
            root,
        }
    }

    /// Steps that all planning took so far: literals looked at by searches, senses tried, nodes of diagrams.
    pub fn steps(&self) -> u64 {
        let searches = self.own.iter().chain(&self.parabit);
        let own: u64 = searches.map(Search::steps).sum();
        own + self.others.as_ref().map_or(0, Others::steps)
    }

    /// The cheapest of what the search finds and of what simpler engines would do.
    fn flash_cosmos(&mut self, weights: Weights) -> Found {
        let (reach, graph, root) = (self.reach, &self.graph, self.root);
        let own = || Search::new(graph.clone(), root, Vec::new(), reach);
        let own = self.own.get_or_insert_with(own).plan(weights);
        // Where something is used twice, the search may overlook that it can be shared. Elsewhere other
        // plans take at least one sense for every row.
        let rows = self.rows_if_read_once;
        let floor = rows.map(|rows| rows as u64 * weights.sense + weights.page_transfer);
        if floor.is_some_and(|floor| weights.of(&own) <= floor) {
            return own;
        }
        let others = || Others::of(graph, root, reach, rows.is_none());
        let others = self.others.get_or_insert_with(others);
        let sealed = others.sealed.as_mut().map(|sealed| sealed.plan(weights));
        let rewritten = others.rewritten.iter_mut();
        let rewritten: Vec<Found> = rewritten.map(|form| form.plan(weights)).collect();
        let simpler = [read_all(graph, root), self.parabit(weights)];
        let all = [own].into_iter().chain(sealed).chain(simpler);
        let cheapest = all.chain(rewritten).min_by_key(|found| weights.of(found));
        cheapest.expect("there is one at least")
    }

    fn parabit(&mut self, weights: Weights) -> Found {
        let (graph, root) = (&self.graph, self.root);
        let search = || Search::new(graph.clone(), root, Vec::new(), Reach::PARABIT);
        self.parabit.get_or_insert_with(search).plan(weights)
    }
}

impl Others {
    fn of(graph: &Graph, root: Lit, reach: Reach, rewrites: bool) -> Others {
        let sealed = shared::seal(graph, root);
        let sealed = sealed.map(|of| Search::new(of.graph, of.root, of.subexpressions, reach));
        let rewritten = rewrites.then(|| rewrite::rewritten(graph, root, reach));
        let form = |graph: &Graph, form| Search::new(graph.clone(), form, Vec::new(), reach);
        Others {
            sealed,
            steps: rewritten.as_ref().map_or(0, |of| of.steps),
            rewritten: rewritten.map_or(Vec::new(), |of| {
                let forms = of.forms.iter();
                forms.map(|lit| form(&of.graph, *lit)).collect()
            }),
        }
    }

    fn steps(&self) -> u64 {
        let searches = self.sealed.iter().chain(&self.rewritten);
        self.steps + searches.map(Search::steps).sum::<u64>()
    }
}
