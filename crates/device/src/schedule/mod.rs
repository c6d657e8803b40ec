//! When, on which die: transactions wait in a queue for each unit, which is a die, or a chip
//! where a chip takes one command at a time; a policy picks the next, and the unit's task
//! carries it out over the channel.

mod at_rest;
mod computation;
mod config;
mod counts;
mod fault;
mod key;
mod lone;
mod memo;
mod notify;
mod operation;
mod origin;
mod policy;
mod queue;
mod rank;
mod registers;
#[cfg(test)]
pub(crate) mod tests;
mod ticket;
mod turns;
mod unit;

use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::rc::Rc;

use media::channel::Channel;
use media::nand::{BlockId, Command, DieId, Geometry, Nand, PlaneId};
use sim::resource::Signal;
use sim::{Counter, Ledger, Name, Sim, Span, Tenant, Time};

use crate::energy::FlashAccounts;
use crate::memory::Buffers;
use crate::part::Part;
use crate::served::ServedFor;
use crate::tenants;
pub(crate) use at_rest::AtRest;
use computation::Computation;
pub use config::{Interleave, ProgramTransfer, ScheduleConfig, ScheduleConfigError, SuspendConfig};
pub use counts::{FlashCounts, FlashServed};
pub use fault::Fault;
use key::{Kind, QueueKey};
pub(crate) use lone::{LoneQueue, LoneRead, Next, Together};
pub(crate) use memo::{Memo, Recording};
pub use notify::{Callback, Notify};
pub use operation::{
    Compute, Copyback, Counted, Erase, Outputs, Program, ProgramPair, Raise, Read, Spare,
    SpareBytes,
};
pub use origin::{Origin, Priority};
pub use policy::Policy;
pub use queue::Operation;
use queue::UnitQueue;
pub(crate) use queue::Waiting;
pub use rank::Rank;

pub(crate) use ticket::Tickets;
pub use ticket::{Ticket, TicketId};
use turns::Turns;
use unit::Unit;

/// Tells from the spare bytes of a page the logical page whose data it holds, if it does.
pub(crate) type LogicalPage = fn(&[u8]) -> Option<u32>;

/// The flash back end: queues, dies and channels.
pub struct Schedule {
    nand: Rc<RefCell<Nand>>,
    buffers: Rc<Buffers>,
    geometry: Geometry,
    /// Dies of a unit: one, or all of a chip.
    dies_per_unit: u32,
    /// What waits for each unit.
    queues: Vec<RefCell<UnitQueue>>,
    /// Rung when something arrives for a unit.
    bells: Vec<Signal>,
    /// The units, until they serve.
    idle_units: RefCell<Vec<Unit>>,
    /// Units that have nothing to do.
    resting: Cell<usize>,
    /// Units in which a computation waits for room.
    parked: Cell<usize>,
    /// Operations that were queued.
    pushed: Cell<u64>,
    /// Computations that were repeated without telling the blocks.
    owing: RefCell<Option<Rc<Memo>>>,
    is_owing: Cell<bool>,
    channels: Box<[Rc<Channel>]>,
    ledger: Rc<Ledger>,
    accounts: FlashAccounts,
    tickets: Tickets,
    reader: OnceCell<Callback>,
    collector: OnceCell<Callback>,
    mapper: OnceCell<Callback>,
    counts: RefCell<FlashCounts>,
    /// By [`Kind`].
    served: ServedFor<{ Kind::COUNT }>,
    dies_busy: Vec<Cell<Span>>,
    /// Whether collection is urgent, for each plane.
    urgent_planes: Vec<Cell<bool>>,
    /// In how many of its planes, for each unit.
    urgent_in: Vec<Cell<u32>>,
    sim: Sim,
    /// How much waits for each unit, in a trace.
    waiting: Vec<Counter>,
    /// What tells the logical page of a page from its spare bytes, for a trace.
    logical_page: Cell<Option<LogicalPage>>,
}

impl Schedule {
    /// Idle queues and units.
    pub fn power_up(
        sim: &Sim,
        config: &ScheduleConfig,
        nand: Rc<RefCell<Nand>>,
        channels: &[Rc<Channel>],
        buffers: Rc<Buffers>,
        ledger: &Rc<Ledger>,
    ) -> Rc<Schedule> {
        let geometry = nand.borrow().geometry().clone();
        let dies_per_unit = match config.interleave {
            Interleave::Die => 1,
            Interleave::Chip => geometry.dies_per_chip,
        };
        let (dies, units) = (geometry.dies(), geometry.dies() / dies_per_unit);
        let schedule = Rc::new(Schedule {
            nand,
            buffers,
            dies_per_unit,
            queues: (0..units)
                .map(|unit| {
                    let planes = dies_per_unit * geometry.planes_per_die;
                    let planes = unit * planes..(unit + 1) * planes;
                    let order = config.policy.order();
                    let queue = UnitQueue::new(order, planes, geometry.blocks_per_plane);
                    RefCell::new(queue)
                })
                .collect(),
            bells: (0..units).map(|_| Signal::new(sim)).collect(),
            idle_units: RefCell::default(),
            resting: Cell::new(0),
            parked: Cell::new(0),
            pushed: Cell::new(0),
            owing: RefCell::default(),
            is_owing: Cell::new(false),
            channels: channels.into(),
            ledger: ledger.clone(),
            accounts: FlashAccounts::open(ledger),
            tickets: Tickets::new(sim),
            reader: OnceCell::new(),
            collector: OnceCell::new(),
            mapper: OnceCell::new(),
            counts: RefCell::default(),
            served: ServedFor::new(),
            dies_busy: (0..dies).map(|_| Cell::default()).collect(),
            urgent_planes: (0..geometry.planes()).map(|_| Cell::default()).collect(),
            urgent_in: (0..units).map(|_| Cell::default()).collect(),
            sim: sim.clone(),
            waiting: waiting_counters(sim, config, units),
            logical_page: Cell::new(None),
            geometry,
        });
        schedule.make_units(config, channels, ledger);
        schedule
    }

    /// The units, at rest until they serve; chips of a channel take turns.
    fn make_units(
        self: &Rc<Schedule>,
        config: &ScheduleConfig,
        channels: &[Rc<Channel>],
        ledger: &Rc<Ledger>,
    ) {
        let (sim, geometry) = (&self.sim, &self.geometry);
        let turns: Vec<Rc<Turns>> = channels
            .iter()
            .map(|_| Rc::new(Turns::new(sim, geometry.chips_per_channel)))
            .collect();
        for number in 0..self.queues.len() {
            let die = DieId(number as u32 * self.dies_per_unit);
            let channel = geometry.channel_of_die(die).0 as usize;
            let turns = (config.interleave == Interleave::Chip).then(|| turns[channel].clone());
            let channel = channels[channel].clone();
            let unit = Unit::new(sim, config, self.clone(), number, channel, turns, ledger);
            self.idle_units.borrow_mut().push(unit);
        }
    }

    /// Simulated time.
    pub(crate) fn sim(&self) -> &Sim {
        &self.sim
    }

    /// The number of the unit that a die is, or is part of.
    #[inline]
    fn unit_of(&self, die: DieId) -> usize {
        if self.dies_per_unit == 1 {
            return die.0 as usize;
        }
        (die.0 / self.dies_per_unit) as usize
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
        let unit = self.unit_of(die);
        self.pushed.set(self.pushed.get() + 1);
        if self.is_owing.get() {
            self.pay_all();
        }
        operation.enqueue(&mut self.queues[unit].borrow_mut(), notify, self.sim.now());
        self.trace_queue(unit);
        self.bells[unit].ring();
    }

    /// A computation that waited for room has it: its unit goes on with it.
    fn unpark(&self, unit: usize, computation: Waiting<Computation>, key: QueueKey) {
        self.parked.set(self.parked.get() - 1);
        let queue = &mut *self.queues[unit].borrow_mut();
        queue.put_back_with_room(computation, key);
        queue.bar_computations(false);
        self.bells[unit].ring();
    }

    /// Says whether collection in `plane` is urgent: the host is about to run out of free pages
    /// there, or collection is not to be preempted. Policies that know origins then put it first.
    pub fn set_collection_urgent(&self, plane: PlaneId, urgent: bool) {
        let was = self.urgent_planes[plane.0 as usize].replace(urgent);
        let count = &self.urgent_in[self.unit_of(self.geometry.die_of_plane(plane))];
        count.set(count.get() + u32::from(urgent) - u32::from(was));
    }

    /// Whether collection is urgent in any plane of what `die` waits with: itself, or its chip.
    pub fn is_collection_urgent(&self, die: DieId) -> bool {
        self.is_unit_urgent(self.unit_of(die))
    }

    /// Whether collection is urgent in any plane of a unit.
    #[inline]
    fn is_unit_urgent(&self, unit: usize) -> bool {
        self.urgent_in[unit].get() > 0
    }

    /// Notes in the trace how much waits for a unit.
    #[inline]
    fn trace_queue(&self, unit: usize) {
        if self.sim.trace().enabled() {
            self.record_queue(unit);
        }
    }

    #[cold]
    fn record_queue(&self, unit: usize) {
        let waiting = self.queues[unit].borrow().len();
        let trace = self.sim.trace();
        trace.count(self.waiting[unit], self.sim.now(), waiting);
    }

    /// Notes in a trace that begins now what waits already.
    pub fn trace_queues(&self) {
        let units = 0..self.queues.len();
        units
            .filter(|unit| !self.queues[*unit].borrow().is_empty())
            .for_each(|unit| self.trace_queue(unit));
    }

    /// Says what tells logical pages from spare bytes, so that a trace can name them.
    pub(crate) fn name_pages(&self, logical_page: LogicalPage) {
        self.logical_page.set(Some(logical_page));
    }

    /// Says whom [`Notify::Reader`] tells: the front end, once.
    pub fn set_reader(&self, reader: Callback) {
        let set = self.reader.set(reader);
        assert!(set.is_ok(), "there is one reader");
    }

    /// Says whom [`Notify::Collector`] tells: the translation layer, once.
    pub(crate) fn set_collector(&self, collector: Callback) {
        let set = self.collector.set(collector);
        assert!(set.is_ok(), "there is one collector");
    }

    /// Says whom [`Notify::Mapper`] tells: the translation layer, once.
    pub(crate) fn set_mapper(&self, mapper: Callback) {
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
            Notify::Reader(number) => {
                if let Some(reader) = self.reader.get() {
                    reader(number, fault);
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

    /// The flash packages, to look at: commands are for the schedule alone.
    pub fn nand(&self) -> Ref<'_, Nand> {
        if self.is_owing.get() {
            self.pay_all();
        }
        self.nand.borrow()
    }

    /// Erases of all their blocks so far, those included that they were aged by.
    pub fn erases(&self) -> u64 {
        // Senses that are owed are not among them: this is asked for after every command.
        let nand = self.nand.borrow();
        nand.erases() + u64::from(nand.age().cycles) * u64::from(self.geometry.blocks())
    }

    /// Their geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What the dies have done so far.
    pub fn counts(&self) -> FlashCounts {
        let of = |tenants: [Tenant; 2], kind: Kind| {
            let served = tenants.iter().map(|tenant| self.served.of(*tenant));
            served.map(|kinds| kinds[kind as usize].count()).sum()
        };
        let mapping = [tenants::MAPPING, tenants::RECOVERY];
        let collection = [tenants::COLLECTION, tenants::WEAR_LEVELLING];
        FlashCounts {
            mapping_reads: of(mapping, Kind::Read),
            mapping_programs: of(mapping, Kind::Program),
            collection_reads: of(collection, Kind::Read),
            collection_programs: of(collection, Kind::Program),
            ..*self.counts.borrow()
        }
    }

    /// What was done for `tenant`.
    pub fn served(&self, tenant: Tenant) -> FlashServed {
        let [reads, computations, programs, erases] = self.served.of(tenant);
        FlashServed {
            reads,
            computations,
            programs,
            erases,
        }
    }

    /// An operation for `origin`, queued at `since`, is over.
    #[inline]
    fn note_served(&self, kind: Kind, origin: Origin, since: Time) {
        let latency = self.sim.now().since(since);
        self.served.note(origin.tenant, kind as usize, latency);
    }

    /// How long each die's array was busy.
    pub fn dies_busy(&self) -> impl Iterator<Item = Span> + '_ {
        self.dies_busy.iter().map(Cell::get)
    }

    fn count(&self, change: impl FnOnce(&mut FlashCounts)) {
        change(&mut self.counts.borrow_mut());
    }
}

impl Part for Schedule {
    fn name(&self) -> &'static str {
        "schedule"
    }

    /// Gives each unit its task.
    fn serve(self: Rc<Schedule>) {
        for unit in self.idle_units.take() {
            self.sim.spawn_detached(unit.run());
        }
    }
}

/// Counters in the trace of what waits for each unit.
fn waiting_counters(sim: &Sim, config: &ScheduleConfig, units: u32) -> Vec<Counter> {
    let unit_name = match config.interleave {
        Interleave::Die => "die",
        Interleave::Chip => "chip",
    };
    let trace = sim.trace();
    let waiting = (0..units).map(|unit| {
        let name = Name::numbered(unit_name, unit).followed_by("waiting");
        trace.counter("queues", name)
    });
    waiting.collect()
}

/// How many planes take part in a command that touches cells.
fn planes_of(command: &Command) -> u64 {
    match command {
        Command::Read { pages, .. }
        | Command::CacheRead { pages }
        | Command::CopybackRead { pages }
        | Command::Program { pages, .. }
        | Command::ProgramComplement { pages, .. }
        | Command::Raise { pages }
        | Command::CopybackProgram { pages, .. } => pages.len() as u64,
        Command::Erase { blocks } => blocks.len() as u64,
        Command::Mws(mws) => mws.planes.len() as u64,
        _ => 0,
    }
}

/// Whether a command that touches cells changes them rather than sensing them.
fn changes_cells(command: &Command) -> bool {
    matches!(
        command,
        Command::Program { .. }
            | Command::ProgramComplement { .. }
            | Command::Raise { .. }
            | Command::CopybackProgram { .. }
            | Command::Erase { .. }
    )
}
