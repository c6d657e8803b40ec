//! The task of one unit, a die or a chip: takes transactions from its queue and carries
//! them out, phase by phase, as a datasheet tells it.

mod compute;
mod lease;
mod phases;
mod program;
mod read;
mod retry;
mod suspension;
mod trace;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use arrayvec::ArrayVec;
use media::channel::Channel;
use media::nand::{
    BlockId, Command, DieId, NandError, Outcome, PLANES_PER_DIE_MAX, PageAddress, PlaneMask,
};
use sim::{Ledger, Name, Sim, Span, Track};

use super::fault::Fault;
use super::key::Kind;
use super::operation::{Erase, PlaneOperation};
use super::origin::Origin;
use super::policy::Chooser;
use super::queue::{Merging, Set, UnitQueue, Waiting};
use super::rank::Rank;
use super::turns::{Turn, Turns};
use super::{ProgramTransfer, Schedule, ScheduleConfig};
use crate::energy::FlashAccounts;
use lease::Lease;
use phases::Requesters;
use suspension::Suspensions;

pub(super) struct Unit {
    sim: Sim,
    schedule: Rc<Schedule>,
    /// The number of the unit among all.
    number: usize,
    first_die: DieId,
    channel: Rc<Channel>,
    /// How the chips of the channel take turns, if they do.
    turns: Option<Rc<Turns>>,
    /// The number of the chip among those of its channel.
    chip: u32,
    chooser: RefCell<Chooser>,
    multi_plane: bool,
    program_transfer: ProgramTransfer,
    suspensions: Suspensions,
    accounts: FlashAccounts,
    ledger: Rc<Ledger>,
    data_out_setup: Span,
    data_in_setup: Span,
    /// What a computation that stands back left in the latches.
    lease: RefCell<Option<Lease>>,
    /// How long a piece of a computation may hold a die.
    piece_max: Span,
    /// Command phases of reads of one page, two, and so on.
    read_spans: ArrayVec<Span, PLANES_PER_DIE_MAX>,
    /// The tracks of its dies in a trace.
    tracks: Vec<Track>,
    /// Further reads of a page that cannot be corrected.
    retries_max: u32,
    /// Reads that went before the program or erase under way.
    overtaking: Cell<u32>,
    /// Whether a program or erase stands back for reads.
    suspending: Cell<bool>,
    /// The rank of the program or erase under way.
    changing: Cell<Rank>,
}

impl Unit {
    /// The unit of that number: one die, or all dies of a chip if those of a channel take `turns`.
    pub(super) fn new(
        sim: &Sim,
        config: &ScheduleConfig,
        schedule: Rc<Schedule>,
        number: usize,
        channel: Rc<Channel>,
        turns: Option<Rc<Turns>>,
        ledger: &Rc<Ledger>,
    ) -> Unit {
        let geometry = &schedule.geometry;
        let dies = schedule.dies_per_unit;
        let first_die = DieId(number as u32 * dies);
        let trace = sim.trace();
        let tracks = first_die.0..first_die.0 + dies;
        let tracks = tracks.map(|die| trace.track("dies", Name::numbered("die", die)));
        // How many pages there are says how long it takes, whichever they are.
        let page = PageAddress {
            block: BlockId(0),
            page: 0,
        };
        let read_spans = (1..=geometry.planes_per_die as usize)
            .map(|count| Command::Read {
                pages: std::iter::repeat_n(page, count).collect(),
                inverse: false,
            })
            .map(|read| schedule.nand.borrow().command_span(&read))
            .collect();
        let data_out_setup = schedule.nand.borrow().data_out_setup();
        let data_in_setup = schedule.nand.borrow().data_in_setup();
        let retries_max = schedule.nand.borrow().config().ecc.retries_max;
        Unit {
            chip: first_die.0 / geometry.dies_per_chip % geometry.chips_per_channel,
            chooser: RefCell::new(config.chooser()),
            multi_plane: config.multi_plane,
            program_transfer: config.program_transfer,
            suspensions: Suspensions::new(config),
            accounts: FlashAccounts::open(ledger),
            data_out_setup,
            data_in_setup,
            lease: RefCell::default(),
            piece_max: Span::from_us(config.piece_max_us),
            tracks: tracks.collect(),
            read_spans,
            sim: sim.clone(),
            number,
            first_die,
            channel,
            turns,
            ledger: ledger.clone(),
            retries_max,
            overtaking: Cell::new(0),
            suspending: Cell::new(false),
            changing: Cell::new(Rank::BACKGROUND),
            schedule,
        }
    }

    /// Serves the queue for ever.
    pub(super) async fn run(self) {
        loop {
            if self.queue().borrow().is_empty() {
                let resting = &self.schedule.resting;
                resting.set(resting.get() + 1);
                self.schedule.bells[self.number].heard().await;
                resting.set(resting.get() - 1);
                continue;
            }
            let turn = match &self.turns {
                Some(turns) => Some(turns.command(self.chip).await),
                None => None,
            };
            let choice = {
                let queue = self.queue().borrow();
                let urgent = self.schedule.is_unit_urgent(self.number);
                self.chooser.borrow_mut().next(&queue, urgent)
            };
            let Some(choice) = choice else { continue };
            let begin = self.sim.now();
            match choice.key.kind() {
                Kind::Read => self.read(choice, turn).await,
                Kind::Program => self.program(choice, turn).await,
                Kind::Erase => self.erase(turn).await,
                Kind::Compute => self.compute(choice, turn).await,
            }
            let span = self.sim.now().since(begin);
            self.chooser.borrow_mut().served(span);
        }
    }

    #[inline]
    fn queue(&self) -> &RefCell<UnitQueue> {
        &self.schedule.queues[self.number]
    }

    #[inline]
    fn merging(&self) -> Merging<'_> {
        Merging {
            multi_plane: self.multi_plane,
            geometry: &self.schedule.geometry,
        }
    }

    async fn erase(&self, turn: Option<Turn<'_>>) {
        let mut set = Set::<Erase>::new();
        self.queue()
            .borrow_mut()
            .take_erases(&self.merging(), &mut set);
        self.schedule.trace_queue(self.number);
        self.changing.set(Rank::BACKGROUND);
        let turn = self.make_way(turn).await;
        let command = Command::Erase {
            blocks: set.iter().map(|waiting| waiting.operation.block).collect(),
        };
        let requesters = requesters_of(&set, |erase| erase.origin);
        let outcome = match self.change(&command, turn, &requesters).await {
            Ok(outcome) => outcome,
            Err(error) => return self.refuse(&set, &error),
        };
        self.schedule.count(|counts| {
            counts.block_erases += set.len() as u64;
            counts.multi_plane_erases += u64::from(set.len() > 1);
        });
        let failed = match outcome {
            Outcome::EraseFailed { planes } => planes,
            _ => PlaneMask::default(),
        };
        for Waiting {
            operation,
            notify,
            since,
            ..
        } in set
        {
            self.schedule
                .note_served(Kind::Erase, operation.origin, since);
            let fault = self
                .is_of(failed, operation.block)
                .then_some(Fault::EraseFailed(operation.block));
            self.schedule.settle(notify, fault);
        }
    }

    /// Whether the plane of `block` is among `planes` of its die.
    fn is_of(&self, planes: PlaneMask, block: BlockId) -> bool {
        let geometry = &self.schedule.geometry;
        planes.0 & 1 << geometry.plane_in_die(geometry.plane_of_block(block)) != 0
    }

    /// The die refused a command, or what keeps its bits did: everyone who waited for it learns so.
    fn refuse<T: PlaneOperation>(&self, set: &Set<T>, error: &NandError) {
        debug_assert!(
            matches!(error, NandError::Storage(_)),
            "the firmware sent an illegal command: {error}"
        );
        for Waiting {
            operation, notify, ..
        } in set
        {
            self.schedule
                .settle(*notify, Some(Fault::Refused(operation.block())));
        }
    }
}

/// For whom the planes of a set are at work.
#[inline]
fn requesters_of<T>(set: &Set<T>, origin: impl Fn(&T) -> Origin) -> Requesters {
    let origins = set.iter().map(|waiting| origin(&waiting.operation));
    origins.map(Origin::requester).collect()
}
