//! The commands of bulk bitwise computing, carried out: pages move, dies sense, time passes.
//!
//! The chunks of a vector are worked on by a task for each die, so that dies run side by
//! side and each keeps at most two of its pages a plane in the controller.

mod accelerator;
mod error;
mod fetch;
mod operands;
mod outlook;
mod read;
mod receive;
mod stage;
mod within;
mod write;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::{Expression, Status};
use serde::{Deserialize, Serialize};
use sim::Sim;
use sim::resource::Semaphore;

use super::classes::{Class, classes};
use super::config::{BitsConfig, RouteRule};
use super::demand::{Detail, Question, demand};
use super::engine::Evaluator;
use super::plan::{Limits, Plan, Weights};
use super::routes::{Route, Routes};
use super::rows::Operand;
use crate::backend::Backend;
use crate::cache::Cache;
use crate::cost::{Cost, CostModel, Demand, IdleDrive, of_stripes};
use crate::ftl::{Ftl, Lpn, MappingUnit};
use crate::memory::{Buffer, Buffers};
use crate::part::Part;
use crate::port::HostTransfer;
use crate::region::DieBatch;
use crate::schedule::Schedule;
use accelerator::Accelerator;
pub use error::ExecuteError;
use operands::Asked;
pub use operands::Wanted;
use outlook::KnownPlans;
pub use read::Evaluated;
pub use receive::{NotReceived, Receive, Receiving};
pub use within::Within;
pub use write::PlacedRows;

/// Page buffers of the chunks of a batch, in their order.
type Pages<'a> = arrayvec::ArrayVec<Buffer<'a>, { media::nand::PLANES_PER_DIE_MAX }>;

/// What bulk bitwise computing has done. A sense is one of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BitsCounts {
    /// Rows, and parts of rows, written with placement handles.
    pub rows_written: u64,
    /// Pages of them.
    pub pages_written: u64,
    /// Pages programmed for that, those of failed attempts included.
    pub page_programs: u64,
    /// Programs that failed and were repeated elsewhere.
    pub write_retries: u64,
    /// Expressions evaluated.
    pub evaluations: u64,
    /// Of these, how many the array was to compute alone but needed the controller for.
    pub controller_fallbacks: u64,
    /// Senses of Flash-Cosmos plans.
    pub flash_cosmos_senses: u64,
    /// Senses of ParaBit plans.
    pub parabit_senses: u64,
    /// Senses of plans of the in-storage accelerator: one for each operand page.
    pub in_storage_senses: u64,
    /// Pages read out of latches over the channels.
    pub page_transfers: u64,
    /// Bytes of operands that the accelerator took in.
    pub accelerator_bytes: u64,
    /// Blocks of placed pages erased, temporary ones included.
    pub blocks_erased: u64,
    /// Evaluations that brought pages of some dies to others.
    pub gathers: u64,
    /// Pages programmed for that.
    pub temporary_page_programs: u64,
    /// Evaluations that were compared with those of a second plan.
    pub checks: u64,
    /// Senses of the second plans.
    pub check_senses: u64,
    /// Evaluations whose two results differ.
    pub disagreements: u64,
    /// Bits in which they differ.
    pub differing_bits: u64,
}

/// An expression and how it would be evaluated.
#[derive(Clone, Debug)]
pub struct Explained<V> {
    /// How, for most of its chunks.
    pub routes: Routes,
    /// How each operand is stored there.
    pub operands: Vec<(V, Operand)>,
}

impl<V> Explained<V> {
    /// How it would be evaluated where all its operands are on the same dies, or by the controller plan.
    pub fn plan(self) -> Plan {
        match self.routes.other {
            Some(controller) if self.routes.chosen.gathers() => controller.plan,
            _ => self.routes.chosen.plan,
        }
    }
}

/// An evaluation whose cost is asked for.
pub struct Estimated<'a, V: nvme::Operand> {
    /// What is evaluated.
    pub expression: &'a Expression<V>,
    /// By whom.
    pub by: Evaluator,
    /// Of how many bits, and what of it the host gets.
    pub question: Question,
    /// Chunks of the operands that are stored.
    pub stored_chunks: u64,
    /// The logical page that an operand begins with.
    pub page_of: &'a dyn Fn(V) -> Result<Lpn, Status>,
}

/// Bulk bitwise computing of a drive.
pub struct Bits {
    sim: Sim,
    limits: Limits,
    model: CostModel,
    rule: RouteRule,
    schedule: Rc<Schedule>,
    ftl: Rc<Ftl>,
    cache: Rc<Cache>,
    buffers: Rc<Buffers>,
    port: Rc<HostTransfer>,
    accelerator: Accelerator,
    /// By placement handle: who writes with it.
    turns: RefCell<BTreeMap<u16, Rc<Semaphore>>>,
    counts: Cell<BitsCounts>,
    /// How what was asked of late is evaluated.
    known: RefCell<KnownPlans>,
}

impl Bits {
    /// Computing of a drive at power-up; nothing of it is kept.
    pub fn power_up(
        backend: &Backend,
        config: &BitsConfig,
        model: CostModel,
        cache: Rc<Cache>,
    ) -> Rc<Bits> {
        let Backend { sim, schedule, .. } = backend;
        let limits = Limits {
            blocks_max: schedule.nand().config().mws.blocks_max as usize,
            weights: Weights::SENSES_FIRST,
        };
        let accelerator = Accelerator::new(sim, model.accelerator, &backend.ledger);
        Rc::new(Bits {
            sim: sim.clone(),
            limits,
            model,
            rule: config.route,
            accelerator,
            schedule: schedule.clone(),
            ftl: backend.ftl.clone(),
            cache,
            buffers: backend.buffers.clone(),
            port: backend.port.clone(),
            turns: RefCell::default(),
            counts: Cell::default(),
            known: RefCell::default(),
        })
    }

    /// What was done so far.
    pub fn counts(&self) -> BitsCounts {
        BitsCounts {
            blocks_erased: self.ftl.counts().compute_blocks_erased,
            ..self.counts.get()
        }
    }

    /// How `expression` over vectors of `bits` bits would be evaluated, its result sent or only counted, where most of its
    /// chunks lie now; `page_of` gives the logical page that a vector begins with.
    ///
    /// # Errors
    /// An operand that is nowhere.
    pub fn explain<V: nvme::Operand>(
        &self,
        expression: &Expression<V>,
        by: impl Into<Evaluator>,
        (bits, count_only): (u64, bool),
        page_of: impl Fn(V) -> Result<Lpn, Status>,
    ) -> Result<Explained<V>, ExecuteError> {
        let asked = operands::number(expression, page_of)?;
        let chunks = self.chunks_of(bits);
        let geometry = self.schedule.geometry();
        let stored = |lpn, reads: &mut _| self.stored(lpn, reads);
        let per_chunk = self.unit().per_page();
        let classes = classes(
            stored,
            geometry,
            (&asked.first, per_chunk),
            0..chunks.max(1),
            |_| {},
        );
        let planned = self.routes(&asked.expression, by.into(), classes, count_only);
        let largest = planned.into_iter().rev();
        let largest = largest.max_by_key(|(class, _)| class.len());
        let (class, routes) = largest.expect("one chunk makes a class");
        let names = expression.vectors().into_iter();
        Ok(Explained {
            routes,
            operands: names.zip((0..).map(|at| class.operand(at))).collect(),
        })
    }

    /// What an expression would take and spend on an idle drive.
    ///
    /// # Errors
    /// An operand that is nowhere.
    pub fn cost<V: nvme::Operand>(
        &self,
        estimated: &Estimated<'_, V>,
    ) -> Result<Cost, ExecuteError> {
        let question = estimated.question;
        let stripe = u64::from(self.schedule.geometry().planes()) * self.page_bytes() * 8;
        let commands = || {
            let planned = self.planned_from(estimated, 0, stripe)?;
            let steps = planned.iter().map(|(_, route)| route.steps());
            let dies = u64::from(self.schedule.geometry().dies());
            Ok(steps.max().unwrap_or(0) * dies)
        };
        of_stripes(question.bits, stripe, commands, |bits| {
            let demand = self.demand(estimated, 0, bits)?;
            Ok(IdleDrive::live(demand, &self.model))
        })
    }

    /// What evaluating `bits` bits of an expression from the page `first` on has the drive do.
    ///
    /// # Errors
    /// An operand that is nowhere.
    pub fn demand<V: nvme::Operand>(
        &self,
        estimated: &Estimated<'_, V>,
        first: u64,
        bits: u64,
    ) -> Result<Demand, ExecuteError> {
        let planned = self.planned_from(estimated, first, bits)?;
        let classes = planned.iter().map(|(class, route)| (class, route.plans()));
        let question = self.question_of(estimated, first, bits);
        Ok(demand(classes, &question, &self.model, Detail::Commands))
    }

    /// The classes of chunks, and how each would be evaluated.
    fn planned_from<V: nvme::Operand>(
        &self,
        estimated: &Estimated<'_, V>,
        first: u64,
        bits: u64,
    ) -> Result<Vec<(Class, Route)>, ExecuteError> {
        let asked = operands::number(estimated.expression, |name| (estimated.page_of)(name))?;
        let classes = self.classes_from(estimated, &asked, first, bits);
        let count_only = estimated.question.count_only;
        let planned = self.routes(&asked.expression, estimated.by, classes, count_only);
        let planned = planned
            .into_iter()
            .map(|(class, routes)| (class, routes.chosen));
        Ok(planned.collect())
    }

    /// The classes of the chunks of `bits` bits from page `first` on. Chunks that are not stored lie as if the operands went on
    /// as they begin.
    fn classes_from<V: nvme::Operand>(
        &self,
        estimated: &Estimated<'_, V>,
        asked: &Asked,
        first: u64,
        bits: u64,
    ) -> Vec<Class> {
        let geometry = self.schedule.geometry();
        let chunks = first..first + bits.div_ceil(self.page_bytes() * 8).max(1);
        let stored = |lpn, reads: &mut _| self.stored(lpn, reads);
        let first = (&asked.first[..], self.unit().per_page());
        let of = |chunks| classes(stored, geometry, first, chunks, |_| {});
        if chunks.end <= estimated.stored_chunks {
            of(chunks.start as u32..chunks.end as u32)
        } else {
            let of_first = of(0..1);
            let begin = of_first.first().expect("one chunk makes a class");
            let layouts = begin.blocks().map(|block| self.ftl.layout_of(block));
            let layouts: Vec<_> = layouts.collect();
            vec![begin.continued(&layouts, geometry, chunks)]
        }
    }

    fn unit(&self) -> MappingUnit {
        self.ftl.unit()
    }

    /// Chunks, each of a flash page, that so many bits take.
    fn chunks_of(&self, bits: u64) -> u32 {
        bits.div_ceil(self.page_bytes() * 8) as u32
    }

    fn page_bytes(&self) -> u64 {
        u64::from(self.schedule.geometry().page_bytes)
    }

    /// Buffers for the chunks of a batch.
    fn take_pages(&self, batch: &DieBatch) -> Pages<'_> {
        batch.iter().map(|_| self.buffers.take()).collect()
    }

    fn count(&self, change: impl FnOnce(&mut BitsCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }
}

impl Part for Bits {
    fn name(&self) -> &'static str {
        "bits"
    }
}
