//! `fc_read`: an expression over vectors, evaluated and sent to the host, or counted.

use std::ops::Range;
use std::rc::Rc;

use nvme::Expression;
use nvme::command::FcRead;

use super::error::Failure;
use super::locks::{Access, lock};
use super::stage::{Sink, Stage};
use super::{Bits, Blocks, ExecuteError};
use crate::bits::BitsError;
use crate::bits::engine::Engine;
use crate::bits::meet::{Route, Routes, renumbered};
use crate::bits::placement::RowSetId;
use crate::bits::plan::{Plan, Source};
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
struct Counted {
    ones: u64,
    differing: u64,
}

/// What of the vectors is evaluated.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) chunks: Range<u64>,
    /// Where it ends, in bits of the vectors.
    pub(super) end: u64,
}

impl Part {
    /// What a command asks for of vectors of `stored` bits, in chunks of `page_bits`.
    fn of(command: &FcRead, stored: u64, page_bits: u64) -> Result<Part, ExecuteError> {
        let asked = command.bits;
        let start = command.part.map_or(0, |page| u64::from(page) * page_bits);
        let end = start.checked_add(asked).filter(|end| *end <= stored);
        let whole = command.part.is_some() || asked == stored;
        let Some(end) = end.filter(|_| whole) else {
            return Err(ExecuteError::Length { asked, stored });
        };
        let chunks = start / page_bits..end.div_ceil(page_bits);
        Ok(Part { chunks, end })
    }
}

impl Bits {
    /// Evaluates an expression into host memory. What is computed without stored data is zero.
    ///
    /// # Errors
    /// An expression that is none, unknown vectors or such of other lengths, host memory that is
    /// not there, or flash that lost data.
    pub async fn evaluate(
        self: &Rc<Bits>,
        command: &FcRead,
        origin: Origin,
    ) -> Result<Evaluated, ExecuteError> {
        let expression = self.fetch_expression(command, origin).await?;
        let mut groups: Vec<u32> = expression.vectors().iter().map(|id| id.group).collect();
        groups.dedup();
        let _lock = lock(&self.locks, groups, Access::Read).await;
        let engine = engine_of(command.engine);
        let routes = self.routes(&expression, engine, command.count_only)?;
        let stored = routes.chosen.plan.bits;
        let part = Part::of(command, stored, self.page_bytes() * 8)?;
        let second = match command.check {
            true => Some(self.second_plan(&expression, engine)?),
            false => None,
        };
        let located = self
            .port
            .locate(origin.tenant, &command.data, command.data_bytes());
        let segments = located.await.map_err(ExecuteError::Host)?;
        let sink = match command.count_only {
            true => Sink::Count,
            false => Sink::Host(segments.clone()),
        };
        let counted = self.carry_out(routes, second, &part, &sink, origin).await?;
        self.count_check(command.check, counted.differing);
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

    async fn fetch_expression(
        &self,
        command: &FcRead,
        origin: Origin,
    ) -> Result<Expression, ExecuteError> {
        self.port
            .fetch_bytes(origin.tenant, u64::from(command.expression_bytes))
            .await;
        let mut bytes = vec![0; command.expression_bytes as usize];
        let read = self.port.read(command.expression_address, &mut bytes);
        read.map_err(ExecuteError::Host)?;
        Ok(Expression::decode(&bytes)?)
    }

    /// A plan for the same result that has as little as possible in common with that of `engine`:
    /// it has every wordline sensed by itself, and computes the complement.
    fn second_plan(&self, expression: &Expression, engine: Engine) -> Result<Plan, BitsError> {
        let complement = Expression::Not(Box::new(expression.clone()));
        let serial = match engine {
            Engine::FlashCosmos | Engine::InStorage => Engine::ParaBit,
            Engine::ParaBit => Engine::InStorage,
        };
        let mut second = self.routes(&complement, serial, false)?.chosen.plan;
        second.root = match second.root {
            Source::Not(inner) => *inner,
            Source::Constant(value) => Source::Constant(!value),
            root => Source::Not(Box::new(root)),
        };
        Ok(second)
    }

    /// Carries out the route chosen, or the other one if pages cannot be brought after all.
    async fn carry_out(
        self: &Rc<Bits>,
        routes: Routes,
        second: Option<Plan>,
        part: &Part,
        sink: &Sink,
        origin: Origin,
    ) -> Result<Counted, ExecuteError> {
        self.count(|counts| counts.evaluations += 1);
        let Routes { chosen, other, .. } = routes;
        if !chosen.gathers() {
            return Ok(self.run(chosen, None, second, part, sink, origin).await?);
        }
        let controller = other.expect("what can be gathered can be combined in the controller");
        let chunks = part.chunks.clone();
        let lent = self
            .groups
            .borrow_mut()
            .lend(&mut Blocks(&self.ftl), &chosen.layout, chunks);
        let Ok(row_set) = lent else {
            return Ok(self
                .run(controller, None, second, part, sink, origin)
                .await?);
        };
        self.count(|counts| counts.gathers += 1);
        let route = chosen.lent(row_set);
        let gathered = self
            .run(route, Some(row_set), second.clone(), part, sink, origin)
            .await;
        self.give_back(row_set);
        match gathered {
            Err(Failure::Flash(Fault::ProgramFailed(_))) => Ok(self
                .run(controller, None, second, part, sink, origin)
                .await?),
            gathered => Ok(gathered?),
        }
    }

    /// Carries out a route, every die for itself, stage after stage.
    async fn run(
        self: &Rc<Bits>,
        route: Route,
        lent: Option<RowSetId>,
        second: Option<Plan>,
        part: &Part,
        sink: &Sink,
        origin: Origin,
    ) -> Result<Counted, Failure> {
        let Route {
            layout,
            mut plan,
            brought,
            inverse,
            ..
        } = route;
        let chunks = part.chunks.end - part.chunks.start;
        let mut stages = Vec::with_capacity(brought.len() + 1);
        for (layer, brought) in brought.into_iter().enumerate() {
            let row_set = lent.expect("strings were lent to what brings pages there");
            let sink = Sink::Strings {
                row_set,
                layer: layer as u32,
                inverse,
            };
            self.count_plan(&brought, chunks);
            stages.push(Stage::new(self, &layout, brought, None, part, sink, origin));
        }
        self.count_plan(&plan, chunks);
        let check = second.map(|second| {
            self.count_check_plan(&second, chunks);
            let before = plan.programs.len();
            plan.programs.extend(second.programs);
            renumbered(&second.root, &|program| before + program)
        });
        let last = Stage::new(
            self,
            &layout,
            plan,
            check.as_ref(),
            part,
            sink.clone(),
            origin,
        );
        stages.push(last.clone());
        let stages: Rc<[Rc<Stage>]> = stages.into();
        let tasks: Vec<_> = layout
            .lanes(part.chunks.clone())
            .map(|lane| self.sim.spawn(run_lane(stages.clone(), lane)))
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

    fn count_plan(&self, plan: &Plan, chunks: u64) {
        let alone = matches!(plan.root, Source::Constant(_) | Source::Array(_));
        let senses = plan.senses() as u64 * chunks;
        self.count(|counts| {
            counts.page_transfers += plan.page_transfers() as u64 * chunks;
            match plan.engine {
                Engine::FlashCosmos => counts.flash_cosmos_senses += senses,
                Engine::ParaBit => counts.parabit_senses += senses,
                Engine::InStorage => counts.in_storage_senses += senses,
            }
            counts.controller_fallbacks += u64::from(!alone && plan.engine != Engine::InStorage);
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
async fn run_lane(stages: Rc<[Rc<Stage>]>, lane: u32) {
    for stage in stages.iter() {
        stage.run_lane(lane).await;
        if stages.iter().any(|stage| stage.failed().is_some()) {
            return;
        }
    }
}

/// The engine that a command names.
fn engine_of(engine: nvme::command::Engine) -> Engine {
    match engine {
        nvme::command::Engine::FlashCosmos => Engine::FlashCosmos,
        nvme::command::Engine::ParaBit => Engine::ParaBit,
        nvme::command::Engine::InStorage => Engine::InStorage,
    }
}
