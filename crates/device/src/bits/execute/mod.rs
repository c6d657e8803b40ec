//! The commands of bulk bitwise computing, carried out: pages move, dies sense, time passes.
//!
//! The chunks of a vector are worked on by a task for each die (a lane), so that dies run side by
//! side and each keeps at most two of its pages a plane in the controller.

mod accelerator;
mod error;
mod fetch;
mod locks;
mod place;
mod read;
mod reclaim;
mod stage;
mod write;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use media::nand::{BlockId, PageAddress, PlaneId, ProgramMode};
use nvme::{Expression, VectorId};
use serde::Serialize;
use sim::Sim;
use sim::resource::{Broadcast, RangeLock};

use super::config::{BitsConfig, Meeting};
use super::engine::Engine;
use super::error::BitsError;
use super::meet::estimate::Rates;
use super::meet::{Choice, Routes, route};
use super::placement::{
    BlockSource, DieBatch, Groups, Home, VectorPlacement, VectorSpare, rebuild,
};
use super::plan::{Limits, Plan, Weights};
use crate::backend::Backend;
use crate::ftl::{Ftl, Recovered};
use crate::memory::{Buffer, BufferId, Buffers};
use crate::part::Part;
use crate::port::HostTransfer;
use crate::schedule::{self, Origin, Schedule, Ticket};
use accelerator::Accelerator;
pub use error::ExecuteError;
pub use place::{PlaceError, PlacedVectors};
pub use read::Evaluated;

/// Page buffers of the chunks of a batch, in their order.
type Pages<'a> = arrayvec::ArrayVec<Buffer<'a>, { media::nand::PLANES_PER_DIE_MAX }>;

/// What bulk bitwise computing has done. A sense is one of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BitsCounts {
    /// Vectors written.
    pub vectors_written: u64,
    /// Pages programmed for vectors, those of failed attempts included.
    pub page_programs: u64,
    /// Attempts to write a vector that met a failing program and were repeated elsewhere.
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
    /// Vectors and groups deleted.
    pub deletions: u64,
    /// Blocks of vectors erased, temporary ones included.
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

/// Bulk bitwise computing of a drive.
pub struct Bits {
    sim: Sim,
    groups: RefCell<Groups>,
    locks: RangeLock,
    limits: Limits,
    rates: Rates,
    meeting: Meeting,
    schedule: Rc<Schedule>,
    ftl: Rc<Ftl>,
    buffers: Rc<Buffers>,
    port: Rc<HostTransfer>,
    accelerator: Accelerator,
    counts: Cell<BitsCounts>,
    /// Tasks that erase strings in the background.
    reclaiming: Cell<u32>,
    /// Announced when one of them is done.
    reclaimed: Broadcast,
}

impl Bits {
    /// The vectors of a drive at power-up: none, or what recovery found. What is left of dead
    /// strings is erased, which takes simulated time.
    pub async fn power_up(
        backend: &Backend,
        config: &BitsConfig,
        rates: Rates,
        recovered: Option<&Recovered>,
    ) -> Rc<Bits> {
        let Backend { sim, schedule, .. } = backend;
        let geometry = schedule.geometry().clone();
        let groups = match recovered {
            None => Groups::new(geometry.clone()),
            Some(recovered) => rebuild_groups(schedule, recovered),
        };
        let limits = Limits {
            blocks_max: schedule.nand().borrow().config().mws.blocks_max as usize,
            weights: Weights::SENSES_FIRST,
        };
        let page_bytes = u64::from(geometry.page_bytes);
        let bits = Rc::new(Bits {
            sim: sim.clone(),
            groups: RefCell::new(groups),
            locks: RangeLock::new(sim),
            limits,
            rates,
            meeting: config.meeting,
            accelerator: Accelerator::new(sim, config, page_bytes, &backend.ledger),
            schedule: schedule.clone(),
            ftl: backend.ftl.clone(),
            buffers: backend.buffers.clone(),
            port: backend.port.clone(),
            counts: Cell::default(),
            reclaiming: Cell::new(0),
            reclaimed: Broadcast::new(sim),
        });
        if let Some(recovered) = recovered {
            bits.reclaim_recovered(recovered).await;
        }
        bits
    }

    /// What was done so far.
    pub fn counts(&self) -> BitsCounts {
        self.counts.get()
    }

    /// The vectors stored, ascending by group and number.
    pub fn vectors(&self) -> Vec<(VectorId, VectorPlacement)> {
        self.groups.borrow().vectors().collect()
    }

    /// Blocks that vectors occupy.
    pub fn blocks(&self) -> usize {
        self.groups.borrow().blocks().count()
    }

    /// How `expression` would be evaluated where all its operands meet, or by the controller plan.
    ///
    /// # Errors
    /// An unknown vector, or vectors of different lengths.
    pub fn plan(&self, expression: &Expression, engine: Engine) -> Result<Plan, BitsError> {
        let routes = self.routes(expression, engine, false)?;
        Ok(match routes.other {
            Some(controller) if routes.chosen.gathers() => controller.plan,
            _ => routes.chosen.plan,
        })
    }

    /// How `expression` would be evaluated, its result sent or only counted: wherever its operands
    /// lie.
    ///
    /// # Errors
    /// An unknown vector, or vectors of different lengths.
    pub fn routes(
        &self,
        expression: &Expression,
        engine: Engine,
        count_only: bool,
    ) -> Result<Routes, BitsError> {
        let choice = Choice {
            limits: &self.limits,
            rates: &self.rates,
            meeting: self.meeting,
            count_only,
        };
        route(expression, engine, &self.groups.borrow(), &choice)
    }

    /// The home of a vector's group: the dies it lies on.
    pub fn home(&self, group: u32) -> Option<Home> {
        self.groups.borrow().home(group)
    }

    /// Whether blocks are about to come back: some are being erased, or are lent.
    fn blocks_will_come(&self) -> bool {
        self.reclaiming.get() > 0 || self.groups.borrow().lent() > 0
    }

    fn page_bytes(&self) -> u64 {
        u64::from(self.schedule.geometry().page_bytes)
    }

    /// Queues the program of a page of vectors, as they are programmed.
    fn push_program(
        &self,
        page: PageAddress,
        record: &VectorSpare,
        from: BufferId,
        origin: Origin,
        ticket: &Ticket<'_>,
    ) {
        let geometry = self.schedule.geometry();
        let program = schedule::Program {
            page,
            mode: ProgramMode::Esp,
            from,
            bytes: geometry.page_bytes,
            spare: record.encode().into_iter().collect(),
            origin,
        };
        let die = geometry.die_of_block(page.block);
        self.schedule.push(die, program, ticket.id().into());
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

/// The groups as the records of the media tell.
fn rebuild_groups(schedule: &Schedule, recovered: &Recovered) -> Groups {
    let nand = schedule.nand().borrow();
    let records = recovered
        .foreign
        .iter()
        .filter_map(|(page, spare)| Some((*page, VectorSpare::decode(spare)?)));
    rebuild(schedule.geometry().clone(), records, |block| {
        nand.block_state(block).next_page
    })
}

/// The translation layer as a source of blocks.
struct Blocks<'a>(&'a Ftl);

impl BlockSource for Blocks<'_> {
    fn allocate_block(&mut self, plane: PlaneId) -> Option<BlockId> {
        self.0.take_compute_block(plane)
    }

    fn release_block(&mut self, block: BlockId) {
        self.0.return_blank_block(block);
    }
}
