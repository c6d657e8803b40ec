//! The queues in which transactions wait for their die, or for their chip where a
//! chip takes one command at a time. [`sets`] takes out of them what goes together.

mod sets;

use std::collections::VecDeque;
use std::ops::Range;

use media::nand::{BlockId, PLANES_PER_DIE_MAX};
use sim::Time;

use super::computation::Computation;
use super::key::{CLASSES, Kind, QueueKey};
use super::notify::Notify;
use super::operation::{Compute, Copyback, Erase, PageProgram, Program, ProgramPair, Raise, Read};
use super::origin::{Class, Origin, Priority};
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
    arrival: u64,
    /// The plane, counted from the first of the unit.
    plane: u32,
}

/// Operations for single planes in the order of their arrival.
struct Line<T> {
    waiting: VecDeque<Waiting<T>>,
    /// How many wait for each plane of the unit; and none for a few beyond, so that as many planes as a die can
    /// have follow each.
    of_plane: Box<[u32]>,
}

impl<T> Line<T> {
    fn new(planes: u32) -> Line<T> {
        Line {
            waiting: VecDeque::new(),
            of_plane: vec![0; planes as usize + PLANES_PER_DIE_MAX].into(),
        }
    }

    #[inline]
    fn push(&mut self, waiting: Waiting<T>) {
        self.of_plane[waiting.plane as usize] += 1;
        self.waiting.push_back(waiting);
    }

    /// Moves the operation at `index`, if there is one, to the end of a set, which has room.
    #[inline]
    fn move_to(&mut self, set: &mut Set<T>, index: usize) {
        let taken = match index {
            0 => self.waiting.pop_front(),
            _ => self.waiting.remove(index),
        };
        if let Some(taken) = taken {
            self.of_plane[taken.plane as usize] -= 1;
            set.push(taken);
        }
    }

    /// For which planes of the die that begins with plane `first` something waits, a bit each.
    #[inline]
    fn planes_of_die(&self, first: u32, per_die: u32) -> u32 {
        let planes = &self.of_plane[first as usize..][..PLANES_PER_DIE_MAX];
        let held = planes.iter().rev();
        let held = held.fold(0, |held, count| held << 1 | u32::from(*count > 0));
        held & ((1 << per_die) - 1)
    }

    #[inline]
    fn first(&self) -> Option<&Waiting<T>> {
        self.waiting.front()
    }
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
    /// Whether host commands wait by their priority, or all in one queue.
    by_priority: bool,
    /// The first plane of the unit, and blocks of each.
    first_plane: u32,
    blocks_per_plane: u32,
}

impl<C> UnitQueue<C> {
    /// The queue of a unit that has these planes, each of so many blocks.
    pub(super) fn new(
        by_priority: bool,
        planes: Range<u32>,
        blocks_per_plane: u32,
    ) -> UnitQueue<C> {
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
            by_priority,
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
        if !self.by_priority {
            let key = key(Priority::default());
            return self.holds(key).then_some(key);
        }
        Priority::ALL
            .into_iter()
            .map(key)
            .filter(|key| self.holds(*key))
            .min_by_key(|key| self.first_arrival(*key))
    }

    /// When the transaction in the queue of `key` that has waited longest arrived, as a number.
    pub(super) fn first_arrival(&self, key: QueueKey) -> Option<u64> {
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
        key: QueueKey,
        since: Time,
    ) -> Waiting<T> {
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        self.held |= 1 << key.0;
        Waiting {
            operation,
            notify,
            since,
            arrival,
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

    /// Where transactions of a kind wait that are for `origin`.
    #[inline]
    fn key(&self, kind: Kind, origin: Origin) -> QueueKey {
        match origin.class() {
            Class::User(_) if !self.by_priority => {
                QueueKey::of(kind, Class::User(Priority::default()))
            }
            class => QueueKey::of(kind, class),
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
        let key = self.key(Kind::Compute, origin);
        // It has its die for itself, whatever the plane.
        let block = BlockId(self.first_plane * self.blocks_per_plane);
        let waiting = self.arrive(compute, block, notify, key, now);
        self.computes[key.class()].push_back(waiting);
    }

    /// Takes the first computation of a queue.
    pub(super) fn take_compute(&mut self, key: QueueKey) -> Option<Waiting<C>> {
        let taken = self.computes[key.class()].pop_front();
        self.note_taken(key);
        taken
    }

    /// Puts a computation back that stood first in its queue: it is first again.
    pub(super) fn put_back(&mut self, computation: Waiting<C>, key: QueueKey) {
        self.computes[key.class()].push_front(computation);
        self.held |= 1 << key.0;
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
        let key = queue.key(Kind::Read, self.origin);
        let block = self.page.block;
        let waiting = queue.arrive(self, block, notify, key, now);
        queue.reads[key.class()].push(waiting);
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
        let key = queue.key(Kind::Program, self.origin);
        let block = self.page.block;
        queue.raises += u32::from(self.is_raise());
        let waiting = queue.arrive(self, block, notify, key, now);
        queue.programs[key.class()].push(waiting);
    }
}

impl Operation for Erase {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify, now: Time) {
        let block = self.block;
        let waiting = queue.arrive(self, block, notify, QueueKey::ERASES, now);
        queue.erases.push(waiting);
    }
}
