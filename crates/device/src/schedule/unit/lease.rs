//! What a computation that stands back leaves in the latches: a lease of the media, and what happens
//! when other work needs the latches.
//!
//! A unit has one lease at most. Reads of other planes leave it alone. Before anything else runs, what
//! the latches hold is moved out over the channel into page buffers, and back before the computation
//! goes on: the C-latch as it is; the S-latch through the C-latch, by the moves that end a sequence of
//! cache reads and that load data to be programmed. The media refuses whatever would change leased
//! latches, so none is lost by mistake.
//!
//! A unit waits for no room: the first page of a plane goes to the buffer of that plane's output, into
//! which nothing goes before the end, and for a second one whoever computes has taken room
//! ([`crate::memory::SAVED_PAGES`]).

use std::cell::RefCell;
use std::rc::Rc;

use media::nand::{Command, DieId, Latches, NandError, PageStatus, PlaneId, PlaneMask};

use super::Unit;
use super::trace::{Moved, Purpose};
use crate::memory::BufferId;
use crate::planted::{Bug, is_planted};
use crate::schedule::computation::{Computation, Left, SavedPage};
use crate::schedule::fault::Fault;
use crate::schedule::operation::{Counted, Outputs, Read};
use crate::schedule::origin::Origin;
use crate::schedule::queue::Set;
use crate::schedule::turns::{Turn, Visit};

/// Latches that a computation left under a lease.
pub(super) struct Lease {
    die: DieId,
    planes: PlaneMask,
    latches: Latches,
    origin: Origin,
    left: Rc<RefCell<Left>>,
    outputs: Outputs,
    counted: Option<Counted>,
    /// The latches hold nothing but the outputs, and go there if they are needed.
    over: bool,
}

impl Unit {
    /// Leases what a computation needs of the latches, so that other work can go first.
    pub(super) fn lease_latches(&self, die: DieId, computation: &mut Computation) {
        let latches = computation.keep();
        let compute = &computation.compute;
        let over = computation.done == compute.steps.len();
        let planes = self.planes_of_outputs(compute.outputs.iter());
        let left = Rc::new(RefCell::new(Left::Leased));
        computation.left = Some(left.clone());
        if latches == Latches::NONE {
            return;
        }
        let leased = self.schedule.nand.borrow_mut().lease(die, planes, latches);
        debug_assert!(leased.is_ok(), "leasing what was sensed: {leased:?}");
        let lease = Lease {
            die,
            planes,
            latches,
            origin: compute.origin,
            left,
            outputs: compute.outputs.clone(),
            counted: compute.counted.clone(),
            over,
        };
        let before = self.lease.borrow_mut().replace(lease);
        debug_assert!(before.is_none(), "a unit has one lease at most");
    }

    fn planes_of_outputs<'a>(
        &self,
        outputs: impl Iterator<Item = &'a (PlaneId, BufferId)>,
    ) -> PlaneMask {
        let geometry = &self.schedule.geometry;
        let bit = |&(plane, _)| PlaneMask::single(geometry.plane_in_die(plane)).0;
        PlaneMask(outputs.map(bit).fold(0, |mask, bit| mask | bit))
    }

    /// Whether reads would change leased latches.
    #[inline]
    pub(super) fn is_leased(&self, set: &Set<Read>) -> bool {
        match &*self.lease.borrow() {
            None => false,
            Some(lease) => self.is_among(lease, set),
        }
    }

    #[cold]
    fn is_among(&self, lease: &Lease, set: &Set<Read>) -> bool {
        let geometry = &self.schedule.geometry;
        !is_planted(Bug::ReadIgnoresLease)
            && set.iter().any(|read| {
                let plane = geometry.plane_of_block(read.operation.page.block);
                let bit = PlaneMask::single(geometry.plane_in_die(plane)).0;
                geometry.die_of_plane(plane) == lease.die && lease.planes.0 & bit != 0
            })
    }

    /// Frees leased latches for work that needs them; their content is saved.
    #[inline]
    pub(super) async fn make_way<'a>(&'a self, turn: Option<Turn<'a>>) -> Option<Turn<'a>> {
        let lease = self.lease.borrow_mut().take();
        match lease {
            None => turn,
            Some(lease) => Box::pin(self.save(lease, turn)).await,
        }
    }

    /// Moves what is leased out, and then takes a turn for what comes next.
    async fn save<'a>(&'a self, lease: Lease, turn: Option<Turn<'a>>) -> Option<Turn<'a>> {
        drop(turn);
        let (left, pages) = if lease.over {
            let fault = self
                .latches_out(&lease.outputs, lease.counted.as_ref(), lease.origin)
                .await;
            (Left::Delivered(fault), lease.outputs.len())
        } else {
            match self.read_out(&lease).await {
                Ok(pages) => {
                    let count = pages.len();
                    (Left::Saved(pages), count)
                }
                Err(error) => {
                    debug_assert!(false, "the firmware sent an illegal command: {error}");
                    let block = self.schedule.geometry.block_of_plane(PlaneId(0), 0);
                    (Left::Delivered(Some(Fault::Refused(block))), 0)
                }
            }
        };
        self.end_lease(&lease);
        *lease.left.borrow_mut() = left;
        self.schedule
            .count(|counts| counts.latches_saved += pages as u64);
        match &self.turns {
            Some(turns) => Some(turns.command(self.chip).await),
            None => None,
        }
    }

    fn end_lease(&self, lease: &Lease) {
        let nand = &mut *self.schedule.nand.borrow_mut();
        nand.end_lease(lease.die, lease.planes);
    }

    async fn read_out(&self, lease: &Lease) -> Result<Vec<SavedPage>, NandError> {
        let (die, planes) = (lease.die, lease.planes);
        let mut pages = Vec::new();
        if lease.latches.c {
            self.read_out_c(lease, false, &mut pages).await;
        }
        if lease.latches.s {
            // What C held is safe; S is not yet.
            let sensing = Latches { s: true, c: false };
            self.schedule
                .nand
                .borrow_mut()
                .lease(die, planes, sensing)?;
            self.step(die, &Command::CacheReadEnd { planes }, lease.origin)
                .await?;
            self.read_out_c(lease, true, &mut pages).await;
        }
        Ok(pages)
    }

    /// Reads the C-latches out, which hold what is leased of them, or what the S-latches held.
    async fn read_out_c(&self, lease: &Lease, sensing: bool, pages: &mut Vec<SavedPage>) {
        let bytes = self.schedule.geometry.page_bytes;
        let in_output = pages.is_empty();
        for &(plane, output) in &lease.outputs {
            let buffer = match in_output {
                true => output,
                false => self.schedule.buffers.take().keep(),
            };
            let turn = self.turn(Visit::UserData).await;
            self.move_data(Moved {
                requester: lease.origin.requester(),
                purpose: Purpose::Save,
                plane,
                setup: self.data_out_setup,
                bytes: u64::from(bytes),
            })
            .await;
            drop(turn);
            let status = self.latch_out(plane, 0, buffer, 0..bytes as usize);
            pages.push(SavedPage {
                plane,
                sensing,
                buffer,
                in_output,
                status,
            });
        }
    }

    /// Has the latches hold again what a computation left in them, if it did, and nothing of anybody
    /// else; gives what of it went where it was to go.
    pub(super) async fn take_up<'a>(
        &'a self,
        die: DieId,
        computation: &mut Computation,
        turn: Option<Turn<'a>>,
    ) -> (Option<Turn<'a>>, bool) {
        let Some(left) = computation.left.take() else {
            return (self.make_way(turn).await, false);
        };
        let own = |lease: &mut Lease| Rc::ptr_eq(&lease.left, &left);
        let lease = self.lease.borrow_mut().take_if(own);
        if let Some(lease) = lease {
            self.end_lease(&lease);
            return (turn, false);
        }
        let turn = self.make_way(turn).await;
        match left.replace(Left::Leased) {
            // Nothing was needed.
            Left::Leased => (turn, false),
            Left::Delivered(fault) => {
                computation.fault = computation.fault.or(fault);
                (turn, true)
            }
            Left::Saved(pages) => {
                drop(turn);
                let restored = self
                    .write_back(die, &pages, computation.compute.origin)
                    .await;
                if let Err(error) = restored {
                    debug_assert!(false, "the firmware sent an illegal command: {error}");
                    let block = self.schedule.geometry.block_of_plane(PlaneId(0), 0);
                    computation.fault = Some(Fault::Refused(block));
                }
                for page in pages.iter().filter(|page| !page.in_output) {
                    self.schedule.buffers.give_back(page.buffer);
                }
                (self.turn(Visit::Continuation).await, false)
            }
        }
    }

    /// Moves saved pages back into their latches, those of the S-latches first.
    async fn write_back(
        &self,
        die: DieId,
        pages: &[SavedPage],
        origin: Origin,
    ) -> Result<(), NandError> {
        let mut sensing = PlaneMask::default();
        for page in pages.iter().filter(|page| page.sensing) {
            self.restore(page, origin).await?;
            let plane = self.schedule.geometry.plane_in_die(page.plane);
            sensing.0 |= PlaneMask::single(plane).0;
        }
        if sensing.count() > 0 {
            let load = Command::LatchLoad { planes: sensing };
            self.step(die, &load, origin).await?;
        }
        for page in pages.iter().filter(|page| !page.sensing) {
            self.restore(page, origin).await?;
        }
        self.schedule
            .count(|counts| counts.latches_restored += pages.len() as u64);
        Ok(())
    }

    /// Moves a saved page into the C-latch of its plane.
    async fn restore(&self, page: &SavedPage, origin: Origin) -> Result<(), NandError> {
        let (plane, bytes) = (page.plane, u64::from(self.schedule.geometry.page_bytes));
        let turn = self.turn(Visit::Continuation).await;
        self.move_data(Moved {
            requester: origin.requester(),
            purpose: Purpose::Restore,
            plane,
            setup: self.data_in_setup,
            bytes,
        })
        .await;
        drop(turn);
        let buffers = &self.schedule.buffers;
        let nand = &mut *self.schedule.nand.borrow_mut();
        let restored = buffers.with(page.buffer, |bytes| {
            nand.restore(plane, Some(bytes), page.status)
        });
        restored.unwrap_or_else(|| nand.restore(plane, None, page.status))
    }
}

/// Whether a latch's content is of no worth.
pub(super) fn is_lost(status: PageStatus) -> bool {
    status != PageStatus::Ok
}
