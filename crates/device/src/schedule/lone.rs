//! The queue of a die by itself, for the cost model: what waits there is served in the order in which a drive's die would
//! serve it.

use arrayvec::ArrayVec;
use media::nand::{Geometry, PLANES_PER_DIE_MAX, PageAddress, ProgramMode};
use sim::Time;

use super::ScheduleConfig;
use super::key::{Choice, Kind, QueueKey};
use super::notify::Notify;
use super::operation::{PageData, PageProgram, Read, SpareBytes};
use super::origin::{Origin, Priority};
use super::policy::Chooser;
use super::queue::{Merging, Order, Set, UnitQueue, Waiting};
use crate::memory::BufferId;

/// Where computations, known as `C`, wait: all have the priority of commands that state none. So have reads and programs of the
/// same evaluation, and one rank: it orders nothing among them.
const COMPUTES: QueueKey = QueueKey::user_computes(Priority::High);

/// What waits for a die.
pub(crate) struct LoneQueue<C> {
    queue: UnitQueue<C>,
    chooser: Chooser,
    multi_plane: bool,
}

/// For each plane of a command.
pub(crate) type Together<T> = ArrayVec<T, PLANES_PER_DIE_MAX>;

/// The read of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoneRead {
    /// The page.
    pub(crate) page: PageAddress,
    /// Bytes of it that are moved.
    pub(crate) bytes: u32,
    /// The complement of what is stored is wanted.
    pub(crate) inverse: bool,
    /// Who waits for it.
    pub(crate) notify: Notify,
}

/// What goes next.
pub(crate) enum Next<C> {
    /// A computation.
    Compute(Waiting<C>),
    /// Pages that are sensed together.
    Read(Together<LoneRead>),
    /// Programs that go together: who waits for each.
    Program(Together<Notify>),
}

impl<C> LoneQueue<C> {
    /// An empty queue of the die of that number.
    pub(crate) fn new(die: u32, geometry: &Geometry, config: &ScheduleConfig) -> LoneQueue<C> {
        let planes = geometry.planes_per_die;
        let planes = die * planes..(die + 1) * planes;
        let order = match config.policy.order() {
            Order::Priorities => Order::Arrival,
            order => order,
        };
        LoneQueue {
            queue: UnitQueue::new(order, planes, geometry.blocks_per_plane),
            chooser: config.chooser(),
            multi_plane: config.multi_plane,
        }
    }

    /// Queues a computation.
    pub(crate) fn push_compute(&mut self, compute: C, notify: Notify, now: Time) {
        let origin = Origin::default();
        self.queue.push_compute(compute, origin, notify, now);
    }

    /// Queues the read of a page.
    pub(crate) fn push_read(&mut self, read: LoneRead, now: Time) {
        let LoneRead {
            page,
            bytes,
            inverse,
            notify,
        } = read;
        let read = Read {
            page,
            column: 0,
            bytes,
            into: BufferId::NONE,
            at: 0,
            inverse,
            origin: Origin::default(),
        };
        read.enqueue_in(&mut self.queue, notify, now);
    }

    /// Queues the program of a page of an evaluation.
    pub(crate) fn push_program(&mut self, page: PageAddress, notify: Notify, now: Time) {
        let program = PageProgram {
            page,
            mode: ProgramMode::Esp,
            data: PageData::Buffer(BufferId::NONE),
            bytes: 0,
            spare: SpareBytes::new().into(),
            complement: None,
            origin: Origin::default(),
        };
        program.enqueue(&mut self.queue, notify, now);
    }

    /// Takes what goes next; `None` if nothing may.
    pub(crate) fn next(&mut self, geometry: &Geometry) -> Option<Next<C>> {
        let choice = self.chooser.next(&self.queue, false)?;
        let merging = Merging {
            multi_plane: self.multi_plane,
            geometry,
        };
        match choice.key.kind() {
            Kind::Compute => return self.queue.take_compute(choice).map(Next::Compute),
            Kind::Read => return Some(Next::Read(self.take_reads(choice, &merging))),
            Kind::Program | Kind::Erase => {}
        }
        let mut set = Set::<PageProgram>::new();
        self.queue.take_programs(choice, &merging, &mut set);
        Some(Next::Program(
            set.iter().map(|program| program.notify).collect(),
        ))
    }

    fn take_reads(&mut self, choice: Choice, merging: &Merging<'_>) -> Together<LoneRead> {
        let mut set = Set::<Read>::new();
        self.queue.take_reads(choice, merging, &mut set);
        let read = |waiting: &Waiting<Read>| LoneRead {
            page: waiting.operation.page,
            bytes: waiting.operation.bytes,
            inverse: waiting.operation.inverse,
            notify: waiting.notify,
        };
        set.iter().map(read).collect()
    }

    /// A computation waits for room: no other begins.
    pub(crate) fn park(&mut self) {
        self.queue.bar_computations(true);
    }

    /// It has room, and goes on before all others.
    pub(crate) fn unpark(&mut self, computation: Waiting<C>) {
        self.queue.put_back_with_room(computation, COMPUTES);
        self.queue.bar_computations(false);
    }
}
