//! When, on which die: transactions wait in a queue for each die, a policy picks
//! the next, and the die's task carries it out over the channel.

mod die;
mod fault;
mod notify;
mod origin;
mod policy;
mod queue;
mod ticket;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use media::channel::Channel;
use media::nand::{BlockId, Command, DieId, Geometry, Nand, PlaneId};
use serde::{Deserialize, Serialize};
use sim::resource::Signal;
use sim::{Ledger, Sim, Span};

use crate::buffer::Buffers;
use die::DieTask;
pub use fault::Fault;
pub use notify::{Notify, Sink};
pub use origin::{Origin, Priority};
pub use policy::Policy;
use queue::DieQueue;
pub use queue::{Class, Compute, Erase, Operation, Outputs, Program, Read, SpareBytes};
use ticket::Tickets;
pub use ticket::{Ticket, TicketId};

/// How transactions are ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig {
    /// Which waiting transaction of a die goes next.
    pub policy: Policy,
    /// Whether transactions for the same page offset in different planes of a
    /// die become one multi-plane command.
    pub multi_plane: bool,
}

/// What the dies have done, in commands and pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlashCounts {
    /// Pages sensed by plain reads.
    pub page_reads: u64,
    /// Pages programmed.
    pub page_programs: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Sensing operations, one for each plane and command, plain reads included.
    pub senses: u64,
    /// Commands that served several planes at once.
    pub multi_plane_commands: u64,
}

/// The flash back end: queues, dies and channels.
pub struct Schedule {
    nand: Rc<RefCell<Nand>>,
    buffers: Rc<Buffers>,
    geometry: Geometry,
    queues: Vec<RefCell<DieQueue>>,
    bells: Vec<Signal>,
    tickets: Tickets,
    sink: OnceCell<Sink>,
    collector: OnceCell<Sink>,
    mapper: OnceCell<Sink>,
    counts: RefCell<FlashCounts>,
    dies_busy: Vec<Cell<Span>>,
    /// For each die its planes whose collection is urgent, as a bit mask.
    collection_urgent: Vec<Cell<u8>>,
}

impl Schedule {
    /// Idle queues, and a task for each die.
    pub fn start(
        sim: &Sim,
        config: &ScheduleConfig,
        nand: Rc<RefCell<Nand>>,
        channels: &[Rc<Channel>],
        buffers: Rc<Buffers>,
        ledger: &Rc<Ledger>,
    ) -> Rc<Schedule> {
        let geometry = nand.borrow().geometry().clone();
        let dies = geometry.dies();
        let schedule = Rc::new(Schedule {
            nand,
            buffers,
            queues: (0..dies).map(|_| RefCell::default()).collect(),
            bells: (0..dies).map(|_| Signal::new(sim)).collect(),
            tickets: Tickets::new(sim),
            sink: OnceCell::new(),
            collector: OnceCell::new(),
            mapper: OnceCell::new(),
            counts: RefCell::default(),
            dies_busy: (0..dies).map(|_| Cell::default()).collect(),
            collection_urgent: (0..dies).map(|_| Cell::default()).collect(),
            geometry,
        });
        for die in (0..dies).map(DieId) {
            let channel = channels[schedule.geometry.channel_of_die(die).0 as usize].clone();
            let task = DieTask::new(sim, config, schedule.clone(), die, channel, ledger);
            sim.spawn_detached(task.run());
        }
        schedule
    }

    /// A ticket to push transactions with.
    #[inline]
    pub fn ticket(&self) -> Ticket<'_> {
        self.tickets.issue()
    }

    /// Queues an operation on `die`; `notify` is told when it is over.
    #[inline]
    pub fn push(&self, die: DieId, operation: impl Operation, notify: Notify) {
        self.expect(notify);
        self.push_expected(die, operation, notify);
    }

    /// Queues an operation that [`Schedule::expect`] announced.
    #[inline]
    pub(crate) fn push_expected(&self, die: DieId, operation: impl Operation, notify: Notify) {
        self.queues[die.0 as usize]
            .borrow_mut()
            .push(operation, notify);
        self.bells[die.0 as usize].ring();
    }

    /// Says whether collection in `plane` is urgent: the host is about to run out of free pages
    /// there, or collection is not to be preempted. Policies that know origins then put it first.
    pub fn set_collection_urgent(&self, plane: PlaneId, urgent: bool) {
        let planes = &self.collection_urgent[self.geometry.die_of_plane(plane).0 as usize];
        let bit = 1 << self.geometry.plane_in_die(plane);
        planes.set(if urgent {
            planes.get() | bit
        } else {
            planes.get() & !bit
        });
    }

    /// Whether collection is urgent in any plane of `die`.
    #[inline]
    pub fn is_collection_urgent(&self, die: DieId) -> bool {
        self.collection_urgent[die.0 as usize].get() != 0
    }

    /// Says whom [`Notify::Sink`] tells: the front end, once.
    pub fn set_sink(&self, sink: Sink) {
        let set = self.sink.set(sink);
        assert!(set.is_ok(), "there is one sink");
    }

    /// Says whom [`Notify::Collector`] tells: the translation layer, once.
    pub(crate) fn set_collector(&self, collector: Sink) {
        let set = self.collector.set(collector);
        assert!(set.is_ok(), "there is one collector");
    }

    /// Says whom [`Notify::Mapper`] tells: the translation layer, once.
    pub(crate) fn set_mapper(&self, mapper: Sink) {
        let set = self.mapper.set(mapper);
        assert!(set.is_ok(), "there is one mapper");
    }

    /// An operation for `notify` will be pushed later, or settled.
    #[inline]
    pub(crate) fn expect(&self, notify: Notify) {
        if let Notify::Ticket(ticket) = notify {
            self.tickets.count(ticket);
        }
    }

    /// An operation is over.
    #[inline]
    pub(crate) fn settle(&self, notify: Notify, fault: Option<Fault>) {
        match notify {
            Notify::Ticket(ticket) => self.tickets.settle(ticket, fault),
            Notify::Sink(number) => {
                if let Some(sink) = self.sink.get() {
                    sink(number, fault);
                }
            }
            Notify::Collector(number) => {
                if let Some(collector) = self.collector.get() {
                    collector(number, fault);
                }
            }
            Notify::Mapper(number) => {
                if let Some(mapper) = self.mapper.get() {
                    mapper(number, fault);
                }
            }
        }
    }

    /// Queues one operation and waits for it.
    ///
    /// # Errors
    /// The fault, if it met one.
    pub async fn perform(&self, die: DieId, operation: impl Operation) -> Result<(), Fault> {
        let ticket = self.ticket();
        self.push(die, operation, ticket.id().into());
        ticket.await
    }

    /// Marks a block as never to be used again, for all lives of the drive.
    pub fn mark_bad(&self, block: BlockId) {
        // The mark is a program of the block's spare area that real drives do not
        // account for either: it happens once in a block's life.
        let marked = self.nand.borrow_mut().mark_bad(block);
        debug_assert!(marked.is_ok(), "marking a block bad: {marked:?}");
    }

    /// The flash packages.
    pub fn nand(&self) -> &RefCell<Nand> {
        &self.nand
    }

    /// Their geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What the dies have done so far.
    pub fn counts(&self) -> FlashCounts {
        *self.counts.borrow()
    }

    /// How long each die's array was busy.
    pub fn dies_busy(&self) -> impl Iterator<Item = Span> + '_ {
        self.dies_busy.iter().map(Cell::get)
    }

    fn count(&self, change: impl FnOnce(&mut FlashCounts)) {
        change(&mut self.counts.borrow_mut());
    }
}

/// How many planes take part in a command that touches cells.
fn planes_of(command: &Command) -> u64 {
    match command {
        Command::Read { pages, .. }
        | Command::CacheRead { pages }
        | Command::CopybackRead { pages }
        | Command::Program { pages, .. }
        | Command::CopybackProgram { pages, .. } => pages.len() as u64,
        Command::Erase { blocks } => blocks.len() as u64,
        Command::Mws(mws) => mws.planes.len() as u64,
        _ => 0,
    }
}

/// How many planes a command senses.
fn senses_of(command: &Command) -> u64 {
    match command {
        Command::Program { .. } | Command::CopybackProgram { .. } | Command::Erase { .. } => 0,
        sensing => planes_of(sensing),
    }
}
