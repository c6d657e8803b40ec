//! The commands of bulk bitwise computing, carried out: pages move, dies sense, time passes.
//!
//! The chunks of a vector are worked on by a task for each die (a lane), so that dies run side by
//! side and each keeps at most two of its pages a plane in the controller.

mod accelerator;
mod error;
mod fetch;
mod read;
pub(super) mod recipe;
mod stage;
mod work;
mod write;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::{Expression, Status};
use serde::Serialize;
use sim::Sim;
use sim::resource::Semaphore;

use super::classes::classes;
use super::engine::{BitsConfig, Engine};
use super::meet::estimate::Rates;
use super::meet::{Meeting, Routes};
use super::plan::{Limits, Plan, Weights};
use super::rows::Operand;
use crate::backend::Backend;
use crate::buffer::{Buffer, Buffers};
use crate::cache::Cache;
use crate::ftl::{Ftl, Lpn, MappingUnit};
use crate::port::HostTransfer;
use crate::region::DieBatch;
use crate::schedule::Schedule;
pub(super) use accelerator::ACCELERATOR_UNIT_BYTES;
use accelerator::Accelerator;
pub use error::ExecuteError;
pub use read::Evaluated;
pub use write::PlacedRows;

/// Pages of each plane that are on their way from the array at the same time.
pub(super) const FETCHES_AHEAD: usize = 2;

/// Page buffers of the chunks of a batch, in their order.
type Pages<'a> = arrayvec::ArrayVec<Buffer<'a>, { media::nand::PLANES_PER_DIE_MAX }>;

/// What bulk bitwise computing has done. A sense is one of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// How it would be evaluated where all its operands meet, or by the controller plan.
    pub fn plan(self) -> Plan {
        match self.routes.other {
            Some(controller) if self.routes.chosen.gathers() => controller.plan,
            _ => self.routes.chosen.plan,
        }
    }
}

/// Bulk bitwise computing of a drive.
pub struct Bits {
    sim: Sim,
    limits: Limits,
    rates: Rates,
    meeting: Meeting,
    schedule: Rc<Schedule>,
    ftl: Rc<Ftl>,
    cache: Rc<Cache>,
    buffers: Rc<Buffers>,
    port: Rc<HostTransfer>,
    accelerator: Accelerator,
    /// By placement handle: who writes with it.
    turns: RefCell<BTreeMap<u16, Rc<Semaphore>>>,
    counts: Cell<BitsCounts>,
}

impl Bits {
    /// Computing of a drive at power-up; nothing of it is kept.
    pub fn new(backend: &Backend, config: &BitsConfig, rates: Rates, cache: Rc<Cache>) -> Rc<Bits> {
        let Backend { sim, schedule, .. } = backend;
        let limits = Limits {
            blocks_max: schedule.nand().borrow().config().mws.blocks_max as usize,
            weights: Weights::SENSES_FIRST,
        };
        let page_bytes = u64::from(schedule.geometry().page_bytes);
        Rc::new(Bits {
            sim: sim.clone(),
            limits,
            rates,
            meeting: config.meeting,
            accelerator: Accelerator::new(sim, config, page_bytes, &backend.ledger),
            schedule: schedule.clone(),
            ftl: backend.ftl.clone(),
            cache,
            buffers: backend.buffers.clone(),
            port: backend.port.clone(),
            turns: RefCell::default(),
            counts: Cell::default(),
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
        engine: Engine,
        (bits, count_only): (u64, bool),
        page_of: impl Fn(V) -> Result<Lpn, Status>,
    ) -> Result<Explained<V>, ExecuteError> {
        let asked = read::number(expression, page_of)?;
        let chunks = self.unit().of_bits(bits) as u32;
        let geometry = self.schedule.geometry();
        let stored = |lpn| self.stored(lpn);
        let classes = classes(stored, geometry, &asked.first, 0..chunks.max(1), |_| {});
        let largest = classes.iter().rev().max_by_key(|class| class.len());
        let class = largest.expect("one chunk makes a class");
        let names = expression.vectors().into_iter();
        Ok(Explained {
            routes: self.route(&asked.expression, engine, class, count_only),
            operands: names.zip((0..).map(|at| class.operand(at))).collect(),
        })
    }

    fn unit(&self) -> MappingUnit {
        MappingUnit::of(self.schedule.geometry())
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
