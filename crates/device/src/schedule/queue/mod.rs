//! The queues in which transactions wait for their die, or for their chip where a
//! chip takes one command at a time. [`sets`] takes out of them what goes together.

mod arrivals;
mod line;
mod ranks;
mod sets;

use std::collections::VecDeque;
use std::ops::Range;

use media::nand::BlockId;
use sim::Time;

use super::computation::Computation;
use super::key::{CLASSES, Choice, Kind, QueueKey};
use super::notify::Notify;
use super::operation::{Compute, Copyback, Erase, PageProgram, Program, ProgramPair, Raise, Read};
use super::origin::{Class, Origin, Priority};
use super::rank::Rank;
use arrivals::Arrivals;
use line::Line;
pub(super) use ranks::Head;
pub(super) use sets::{Merging, Set};

/// An operation that can be queued.
pub trait Operation: Sized {
    /// Puts it at the end of its queue, `now`.
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time);
}

/// An operation in its queue, and who waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) operation: T,
    pub(crate) notify: Notify,
    /// When it came.
    pub(super) since: Time,
    pub(super) arrival: u64,
    /// The plane, counted from the first of the unit.
    plane: u32,
    /// Its place, where requests are ranked.
    rank: Rank,
}

/// In what order queues keep what waits in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As it came, all of the host's in one queue of each kind.
    Arrival,
    /// As it came, the host's in queues of their priorities.
    Priorities,
    /// By rank, and as it came where ranks are equal; the host's in one queue of each kind, streams and tasks in another.
    Ranks,
}

/// What waits for one unit; `C` is what is known of a computation.
pub struct UnitQueue<C = Computation> {
    reads: [Line<Read>; CLASSES],
    computes: [VecDeque<Waiting<C>>; CLASSES],
    programs: [Line<PageProgram>; CLASSES],
    erases: Line<Erase>,
    /// How many of the programs are raises of cells.
    raises: u32,
    /// Which queues hold something, as a bit mask.
    held: u32,
    /// Those of them that may not go at present.
    barred: u32,
    next_arrival: u64,
    order: Order,
    /// What waits, if that is not in the order of arrival.
    arrivals: Arrivals,
    /// The computation that has room for its outputs, if others may be before it.
    with_room: Option<(QueueKey, u64)>,
    /// The first plane of the unit, and blocks of each.
    first_plane: u32,
    blocks_per_plane: u32,
}

impl<C> UnitQueue<C> {
    /// The queue of a unit that has these planes, each of so many blocks.
    pub(super) fn new(order: Order, planes: Range<u32>, blocks_per_plane: u32) -> UnitQueue<C> {
        let count = planes.end - planes.start;
        UnitQueue {
            first_plane: planes.start,
            blocks_per_plane,
            reads: std::array::from_fn(|_| Line::new(count)),
            computes: Default::default(),
            programs: std::array::from_fn(|_| Line::new(count)),
            erases: Line::new(count),
            raises: 0,
            held: 0,
            barred: 0,
            next_arrival: 0,
            order,
            arrivals: Arrivals::default(),
            with_room: None,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ready() == 0
    }

    /// The queues that hold something that may go.
    #[inline]
    fn ready(&self) -> u32 {
        self.held & !self.barred
    }

    #[inline]
    pub(super) fn holds(&self, key: QueueKey) -> bool {
        self.ready() & 1 << key.0 != 0
    }

    /// The only queue that holds something, if there is only one.
    #[inline]
    pub(super) fn only(&self) -> Option<QueueKey> {
        let ready = self.ready();
        (ready.count_ones() == 1).then(|| QueueKey(ready.trailing_zeros() as u8))
    }

    /// Whether reads wait.
    #[inline]
    pub(super) fn holds_reads(&self) -> bool {
        self.held & QueueKey::READS != 0
    }

    /// The queue of the host's transactions of a kind that has waited longest.
    #[inline]
    pub(super) fn user(&self, key: fn(Priority) -> QueueKey) -> Option<QueueKey> {
        if self.order != Order::Priorities {
            let key = key(Priority::default());
            return self.holds(key).then_some(key);
        }
        Priority::ALL
            .into_iter()
            .map(key)
            .filter(|key| self.holds(*key))
            .min_by_key(|key| self.first_arrival(*key))
    }

    #[inline]
    fn is_ranked(&self) -> bool {
        self.order == Order::Ranks
    }

    /// When the transaction in the queue of `key` that has waited longest arrived, as a number.
    pub(super) fn first_arrival(&self, key: QueueKey) -> Option<u64> {
        if self.is_ranked() {
            return self.lowest_arrival(key);
        }
        match key.kind() {
            Kind::Read => self.reads[key.class()].first().map(|first| first.arrival),
            Kind::Compute => self.computes[key.class()]
                .front()
                .map(|first| first.arrival),
            Kind::Program => self.programs[key.class()]
                .first()
                .map(|first| first.arrival),
            Kind::Erase => self.erases.first().map(|first| first.arrival),
        }
    }

    /// The queue of the transaction that has waited longest, and its arrival.
    pub(super) fn oldest(&self) -> Option<(u64, QueueKey)> {
        if self.is_ranked() {
            return self.arrivals.oldest(|key| self.holds(key));
        }
        QueueKey::all()
            .filter(|key| self.holds(*key))
            .filter_map(|key| Some((self.first_arrival(key)?, key)))
            .min_by_key(|(arrival, _)| *arrival)
    }

    /// Whether an erase waits before which nothing has arrived that concerns its block.
    pub(super) fn erase_is_due(&self) -> bool {
        let Some(erase) = self.erases.first() else {
            return false;
        };
        let block = erase.operation.block;
        let of_plane = |line: &[u32]| line[erase.plane as usize] > 0;
        let reads = self.reads.iter().filter(|line| of_plane(&line.of_plane));
        let reads = reads.flat_map(|line| &line.waiting);
        let mut reads = reads.map(|read| (read.arrival, read.operation.page.block));
        let programs = self.programs.iter().filter(|line| of_plane(&line.of_plane));
        let programs = programs.flat_map(|line| &line.waiting);
        let mut programs = programs.map(|program| (program.arrival, program.operation.source()));
        let mut computes = self.computes.iter().flatten();
        !computes.any(|compute| compute.arrival < erase.arrival)
            && !reads.any(|(arrival, of)| arrival < erase.arrival && of == block)
            && !programs.any(|(arrival, of)| arrival < erase.arrival && of == Some(block))
    }

    #[inline]
    fn arrive<T>(
        &mut self,
        operation: T,
        block: BlockId,
        notify: Notify,
        (key, rank): (QueueKey, Rank),
        since: Time,
    ) -> Waiting<T> {
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        self.held |= 1 << key.0;
        if self.is_ranked() {
            self.arrivals.push(arrival, key);
        }
        Waiting {
            operation,
            notify,
            since,
            arrival,
            rank,
            plane: block.0 / self.blocks_per_plane - self.first_plane,
        }
    }

    /// How many operations wait.
    pub(super) fn len(&self) -> usize {
        let reads: usize = self.reads.iter().map(|line| line.waiting.len()).sum();
        let programs: usize = self.programs.iter().map(|line| line.waiting.len()).sum();
        let computes: usize = self.computes.iter().map(VecDeque::len).sum();
        reads + programs + computes + self.erases.waiting.len()
    }

    /// Where transactions of a kind wait that are for `origin`, and with what rank: a command waits for a read of the mapping.
    #[inline]
    fn place(&self, kind: Kind, origin: Origin) -> (QueueKey, Rank) {
        let class = match (origin.class(), self.order) {
            (Class::User(_), Order::Ranks) if origin.in_storage => QueueKey::IN_STORAGE,
            (Class::User(_), Order::Arrival | Order::Ranks) => Class::User(Priority::default()),
            (class, _) => class,
        };
        match QueueKey::of(kind, class) {
            QueueKey::MAPPING_READS => (QueueKey::MAPPING_READS, Rank::FIRST),
            key => (key, origin.rank),
        }
    }

    #[inline]
    fn note_taken(&mut self, key: QueueKey) {
        let empty = match key.kind() {
            Kind::Read => self.reads[key.class()].first().is_none(),
            Kind::Compute => self.computes[key.class()].is_empty(),
            Kind::Program => self.programs[key.class()].first().is_none(),
            Kind::Erase => self.erases.first().is_none(),
        };
        if empty {
            self.held &= !(1 << key.0);
        }
    }

    /// Puts a computation at the end of its queue.
    pub(super) fn push_compute(&mut self, compute: C, origin: Origin, notify: Notify, now: Time) {
        let place = self.place(Kind::Compute, origin);
        // It has its die for itself, whatever the plane.
        let block = BlockId(self.first_plane * self.blocks_per_plane);
        let waiting = self.arrive(compute, block, notify, place, now);
        let line = &mut self.computes[place.0.class()];
        match self.order {
            Order::Ranks => line::insert(line, waiting),
            _ => line.push_back(waiting),
        }
    }

    /// Takes the computation that was chosen.
    pub(super) fn take_compute(&mut self, choice: Choice) -> Option<Waiting<C>> {
        let Choice { key, index, .. } = choice;
        let taken = self.computes[key.class()].remove(index as usize);
        self.note_taken(key);
        self.with_room = None;
        if let Some(taken) = taken.as_ref().filter(|_| self.is_ranked()) {
            self.arrivals.take(taken.arrival);
        }
        taken
    }

    /// Puts a computation back that was taken: it is first of its queue again, or of its rank.
    pub(super) fn put_back(&mut self, computation: Waiting<C>, key: QueueKey) {
        let line = &mut self.computes[key.class()];
        match self.order {
            Order::Ranks => {
                self.arrivals.put_back(computation.arrival, key);
                line::insert(line, computation);
            }
            _ => line.push_front(computation),
        }
        self.held |= 1 << key.0;
    }

    /// Puts a computation back that has room for its outputs. Where others may be before it, which then would wait for that
    /// room, it goes before them all.
    pub(super) fn put_back_with_room(&mut self, computation: Waiting<C>, key: QueueKey) {
        if self.order != Order::Arrival {
            self.with_room = Some((key, computation.arrival));
        }
        self.put_back(computation, key);
    }

    /// The computation that has room for its outputs and goes before all others.
    #[inline]
    pub(super) fn with_room(&self) -> Option<Choice> {
        let (key, arrival) = self.with_room?;
        self.choice_of(arrival, key)
    }

    /// Keeps computations back while one waits for room, so that no more than its own outputs are on
    /// their way; and erases, which must not overtake those kept back.
    pub(super) fn bar_computations(&mut self, bar: bool) {
        self.barred = if bar {
            QueueKey::COMPUTES | 1 << QueueKey::ERASES.0
        } else {
            0
        };
    }
}

impl Operation for Read {
    #[inline]
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        self.enqueue_in(queue, notify, now);
    }
}

impl Read {
    /// The same, whatever is known of computations.
    #[inline]
    pub(super) fn enqueue_in<C>(self, queue: &mut UnitQueue<C>, notify: Notify, now: Time) {
        let place = queue.place(Kind::Read, self.origin);
        let block = self.page.block;
        let waiting = queue.arrive(self, block, notify, place, now);
        let ranked = queue.is_ranked();
        queue.reads[place.0.class()].push(waiting, ranked);
    }
}

impl Operation for Compute {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        let origin = self.origin;
        queue.push_compute(Computation::from(self), origin, notify, now);
    }
}

impl Operation for Program {
    #[inline]
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        PageProgram::from(self).enqueue(queue, notify, now);
    }
}

impl Operation for Copyback {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        PageProgram::from(self).enqueue(queue, notify, now);
    }
}

impl Operation for ProgramPair {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        PageProgram::from(self).enqueue(queue, notify, now);
    }
}

impl Operation for Raise {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        PageProgram::from(self).enqueue(queue, notify, now);
    }
}

impl PageProgram {
    #[inline]
    pub(super) fn enqueue<C>(self, queue: &mut UnitQueue<C>, notify: Notify, now: Time) {
        let place = queue.place(Kind::Program, self.origin);
        let block = self.page.block;
        queue.raises += u32::from(self.is_raise());
        let waiting = queue.arrive(self, block, notify, place, now);
        let ranked = queue.is_ranked();
        queue.programs[place.0.class()].push(waiting, ranked);
    }
}

impl Operation for Erase {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        let block = self.block;
        // Erases stay in order among themselves.
        let place = (QueueKey::ERASES, Rank::BACKGROUND);
        let waiting = queue.arrive(self, block, notify, place, now);
        queue.erases.push(waiting, false);
    }
}
