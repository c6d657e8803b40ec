//! `fc_read`: an expression over logical pages, evaluated and sent to the host, or counted.

use std::cell::RefCell;
use std::rc::Rc;

use media::link::Carries;
use media::nand::BlockId;
use nvme::command::FcRead;
use nvme::{Expression, Lba, Status};

use super::error::Failure;
use super::operands::{Asked, Wanted, number};
use super::stage::{Sink, Stage};
use super::{Bits, ExecuteError};
use crate::bits::classes::{Class, DieShare};
use crate::bits::engine::{Engine, Evaluator};
use crate::bits::plan::{Computation, Plan, Source};
use crate::bits::routes::{Choice, Route, Routes, renumbered, route, routes};
use crate::bits::rows::Leaf;
use crate::bits::work::{Lent, Work};
use crate::ftl::Lpn;
use crate::schedule::{Fault, Origin};

/// What an evaluation gave, besides the result in host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evaluated {
    /// Bytes that are still to cross the link: nothing but a count.
    pub data_bytes: u64,
    /// Bits in which the result differs from that of a second plan, if one was asked for.
    pub differing_bits: u64,
}

/// Ones of a result, if they were counted, and bits in which a second result differs.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) ones: u64,
    differing: u64,
}

/// How an expression is evaluated, the same for all its classes.
#[derive(Clone)]
struct How {
    wanted: Wanted,
    origin: Origin,
    sink: Sink,
    /// Whether several classes are under way: what waits in the accelerator's buffer must not keep out what another
    /// waits for.
    mixed: bool,
    /// Blocks that were lent, and are to be given back when all classes are over: an erase would keep their dies.
    lent: Rc<RefCell<Vec<BlockId>>>,
}

/// What is carried out for one class.
pub(super) struct Planned {
    class: Class,
    routes: Routes,
    second: Option<Plan>,
}

impl Bits {
    /// Evaluates an expression into host memory, as things are when it begins: what is written meanwhile goes
    /// elsewhere. `page_of` gives the logical page that a block begins, or says why it can be no operand of so many bits.
    /// What is computed without stored data is zero.
    ///
    /// # Errors
    /// An expression that is none, operands that cannot be, host memory that is not there, or flash that lost data.
    pub async fn evaluate(
        self: &Rc<Bits>,
        command: &FcRead,
        origin: Origin,
        page_of: impl Fn(Lba) -> Result<Lpn, Status>,
    ) -> Result<Evaluated, ExecuteError> {
        let expression = self.fetch_expression(command, origin).await?;
        let asked = number(&expression, page_of)?;
        let wanted = Wanted::from(command);
        let origin = origin.sized(asked.first.len() as u64 * command.bits.div_ceil(8));
        self.entries_for(&asked, wanted).await?;
        let (classes, _pins) = self.pinned(&asked, wanted);
        let planned = self.planned(&asked, classes, wanted, command.count_only);
        let located = self
            .port
            .locate(origin, &command.data, command.data_bytes());
        let segments = located.await.map_err(ExecuteError::Host)?;
        self.port.check(&segments).map_err(ExecuteError::Host)?;
        let sink = match command.count_only {
            true => Sink::Count,
            false => Sink::Host(segments.clone()),
        };
        let counted = self
            .carry_out_counted(planned, wanted, (sink, origin))
            .await?;
        let mut evaluated = Evaluated {
            data_bytes: 0,
            differing_bits: counted.differing,
        };
        if command.count_only {
            let written = self.port.write(&segments, &counted.ones.to_le_bytes());
            written.map_err(ExecuteError::Host)?;
            evaluated.data_bytes = command.data_bytes();
        }
        Ok(evaluated)
    }

    /// Carries out all classes, and counts what became of it.
    pub(super) async fn carry_out_counted(
        self: &Rc<Bits>,
        planned: Vec<Planned>,
        wanted: Wanted,
        (sink, origin): (Sink, Origin),
    ) -> Result<Counted, ExecuteError> {
        let how = How {
            wanted,
            origin,
            sink,
            mixed: planned.len() > 1,
            lent: Rc::default(),
        };
        let counted = self.carry_out_all(planned, &how).await;
        self.give_back(how.lent.take());
        let counted = counted?;
        self.count_check(wanted.check, counted.differing);
        Ok(counted)
    }

    async fn fetch_expression(
        &self,
        command: &FcRead,
        origin: Origin,
    ) -> Result<Expression<Lba>, ExecuteError> {
        let bytes = u64::from(command.expression_bytes);
        self.port
            .fetch_bytes(origin, Carries::Parameters, bytes)
            .await;
        let mut bytes = vec![0; command.expression_bytes as usize];
        let read = self.port.read(command.expression_address, &mut bytes);
        read.map_err(ExecuteError::Host)?;
        Ok(Expression::decode(&bytes)?)
    }

    pub(super) fn planned(
        &self,
        asked: &Asked,
        classes: Vec<Class>,
        wanted: Wanted,
        count_only: bool,
    ) -> Vec<Planned> {
        let routes = self.routes(&asked.expression, wanted.by, classes, count_only);
        let planned = routes.into_iter().map(|(class, routes)| {
            let engine = match wanted.by {
                Evaluator::Engine(engine) => engine,
                Evaluator::Best(_) => routes.chosen.plan.engine,
            };
            let second = wanted
                .check
                .then(|| self.second_plan(&asked.expression, engine, &class));
            Planned {
                class,
                routes,
                second,
            }
        });
        planned.collect()
    }

    pub(super) fn routes(
        &self,
        expression: &Expression<Leaf>,
        by: Evaluator,
        classes: Vec<Class>,
        count_only: bool,
    ) -> Vec<(Class, Routes)> {
        self.known_or(expression, by, classes, count_only, |classes| {
            routes(expression, by, classes, &self.choice(count_only))
        })
    }

    pub(super) fn choice(&self, count_only: bool) -> Choice<'_> {
        Choice {
            geometry: self.schedule.geometry(),
            limits: &self.limits,
            model: &self.model,
            rule: self.rule,
            count_only,
        }
    }

    /// A plan for the same result that has as little as possible in common with that of `engine`:
    /// it has every wordline sensed by itself, and computes the complement.
    fn second_plan(&self, expression: &Expression<Leaf>, engine: Engine, class: &Class) -> Plan {
        let complement = Expression::Not(Box::new(expression.clone()));
        let serial = match engine {
            Engine::FlashCosmos | Engine::InStorage => Engine::ParaBit,
            Engine::ParaBit => Engine::InStorage,
        };
        let mut second = route(&complement, serial, class, &self.choice(false))
            .chosen
            .plan;
        second.root = match second.root {
            Source::Not(inner) => *inner,
            Source::Constant(value) => Source::Constant(!value),
            root => Source::Not(Box::new(root)),
        };
        second
    }

    /// Carries out all classes, side by side.
    async fn carry_out_all(
        self: &Rc<Bits>,
        mut planned: Vec<Planned>,
        how: &How,
    ) -> Result<Counted, ExecuteError> {
        self.count(|counts| counts.evaluations += 1);
        if planned.len() == 1
            && let Some(only) = planned.pop()
        {
            return Ok(self.carry_out(only, how).await?);
        }
        let tasks: Vec<_> = planned
            .into_iter()
            .map(|planned| {
                let (bits, how) = (self.clone(), how.clone());
                self.sim
                    .spawn(async move { bits.carry_out(planned, &how).await })
            })
            .collect();
        let mut sum: Result<Counted, Failure> = Ok(Counted::default());
        for task in tasks {
            let counted = task.await;
            sum = sum.and_then(|sum| {
                let Counted { ones, differing } = counted?;
                Ok(Counted {
                    ones: sum.ones + ones,
                    differing: sum.differing + differing,
                })
            });
        }
        Ok(sum?)
    }

    /// Carries out the route chosen for a class, or the other one if pages cannot be brought after all.
    async fn carry_out(self: &Rc<Bits>, planned: Planned, how: &How) -> Result<Counted, Failure> {
        let Planned {
            class,
            routes,
            second,
        } = planned;
        let Routes { chosen, other, .. } = routes;
        if !chosen.gathers() {
            let work = self.work(class, &chosen, None);
            return self.run(chosen, &work, second, how).await;
        }
        let controller = other.expect("what can be gathered can be combined in the controller");
        let lent = Lent::new(&self.ftl, self.schedule.geometry(), &class, chosen.site);
        if lent.is_none() {
            let work = self.work(class, &controller, None);
            return self.run(controller, &work, second, how).await;
        }
        self.count(|counts| counts.gathers += 1);
        let work = self.work(class.clone(), &chosen, lent);
        let lent = work.lent.iter().flat_map(|lent| lent.blocks.clone());
        how.lent.borrow_mut().extend(lent);
        let gathered = self.run(chosen, &work, second.clone(), how).await;
        match gathered {
            Err(Failure::Flash(Fault::ProgramFailed(_))) => {
                let work = self.work(class, &controller, None);
                self.run(controller, &work, second, how).await
            }
            gathered => gathered,
        }
    }

    fn work(&self, class: Class, route: &Route, lent: Option<Lent>) -> Rc<Work> {
        let geometry = self.schedule.geometry();
        Rc::new(Work::new(class, geometry, route.site, lent))
    }

    /// Erases, in the background, strings that were lent.
    fn give_back(&self, lent: Vec<BlockId>) {
        for block in lent {
            let ftl = self.ftl.clone();
            self.sim.spawn_detached(async move {
                // A block whose erase fails is out of use.
                let _ = ftl.take_back(block).await;
            });
        }
    }

    /// Carries out a route, every die for itself, stage after stage.
    async fn run(
        self: &Rc<Bits>,
        route: Route,
        work: &Rc<Work>,
        second: Option<Plan>,
        how: &How,
    ) -> Result<Counted, Failure> {
        let Route {
            mut plan,
            brought,
            inverse,
            ..
        } = route;
        let chunks = work.class.len() as u64;
        let asked = how.wanted.by;
        let mut stages = Vec::with_capacity(brought.len() + 1);
        let bits = how.wanted.bits;
        let across = |plan: &Plan| {
            how.mixed
                || plan
                    .computations
                    .iter()
                    .any(|computation: &Computation| work.is_elsewhere(computation))
        };
        for (layer, brought) in brought.into_iter().enumerate() {
            let sink = Sink::Strings {
                layer: layer as u32,
                inverse,
            };
            self.count_plan(&brought, asked, chunks);
            let shape = (bits, across(&brought));
            let brought = Rc::unwrap_or_clone(brought);
            let stage = Stage::new(self, work, brought, None, shape, (sink, how.origin));
            stages.push(stage);
        }
        self.count_plan(&plan, asked, chunks);
        let check = second.map(|second| {
            self.count_check_plan(&second, chunks);
            let before = plan.computations.len();
            plan.computations.extend(second.computations);
            renumbered(&second.root, &|computation| before + computation)
        });
        let shape = (bits, across(&plan));
        let sink = (how.sink.clone(), how.origin);
        let last = Stage::new(self, work, plan, check.as_ref(), shape, sink);
        stages.push(last.clone());
        let stages: Rc<[Rc<Stage>]> = stages.into();
        let tasks: Vec<_> = (0..work.shares.len())
            .map(|number| self.sim.spawn(run_share(stages.clone(), number)))
            .collect();
        for task in tasks {
            task.await;
        }
        let counted = Counted {
            ones: last.ones(),
            differing: last.differing(),
        };
        let failed = stages.iter().find_map(|stage| stage.failed());
        failed.map_or(Ok(counted), Err)
    }

    fn count_plan(&self, plan: &Plan, asked: Evaluator, chunks: u64) {
        let alone = matches!(plan.root, Source::Constant(_) | Source::Array(_));
        let senses = plan.senses() as u64 * chunks;
        self.count(|counts| {
            counts.page_transfers += plan.page_transfers() as u64 * chunks;
            match plan.engine {
                Engine::FlashCosmos => counts.flash_cosmos_senses += senses,
                Engine::ParaBit => counts.parabit_senses += senses,
                Engine::InStorage => counts.in_storage_senses += senses,
            }
            counts.controller_fallbacks += u64::from(!alone && asked != Engine::InStorage.into());
        });
    }

    fn count_check_plan(&self, second: &Plan, chunks: u64) {
        self.count(|counts| {
            counts.page_transfers += second.page_transfers() as u64 * chunks;
            counts.check_senses += second.senses() as u64 * chunks;
        });
    }

    fn count_check(&self, checked: bool, differing: u64) {
        self.count(|counts| {
            counts.checks += u64::from(checked);
            counts.disagreements += u64::from(differing > 0);
            counts.differing_bits += differing;
        });
    }
}

/// One die's share of all stages: the pages of an earlier one lie on the die when a later one senses
/// them.
async fn run_share(stages: Rc<[Rc<Stage>]>, number: usize) {
    for stage in stages.iter() {
        let share: &DieShare = &stage.work.shares[number];
        stage.run_share(share).await;
        if stages.iter().any(|stage| stage.failed().is_some()) {
            return;
        }
    }
}
