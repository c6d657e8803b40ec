//! The queues in which transactions wait for their die, or for their chip where a
//! chip takes one command at a time.

use std::collections::VecDeque;

use arrayvec::ArrayVec;
use media::nand::{BlockId, Geometry, PLANES_PER_DIE_MAX};

use super::notify::Notify;
use super::operation::{
    Compute, Copyback, Erase, Operation, PageProgram, PlaneOperation, Program, Read,
};
use super::origin::{Origin, Priority};

/// Kinds of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Page reads.
    Read,
    /// Sequences of sensing commands.
    Compute,
    /// Page programs, those from a page of the same plane included.
    Program,
    /// Block erases.
    Erase,
}

/// Queues of one kind: one for the mapping's own pages, four for the priorities of the
/// host, one for collection.
const ORIGINS: usize = 6;

/// One queue among those of a unit: what kind of transactions, and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane(u8);

impl Lane {
    pub(super) const MAPPING_READS: Lane = Lane(0);
    pub(super) const COLLECTION_READS: Lane = Lane(5);
    pub(super) const COMPUTES: Lane = Lane(6);
    pub(super) const MAPPING_PROGRAMS: Lane = Lane(7);
    pub(super) const COLLECTION_PROGRAMS: Lane = Lane(12);
    pub(super) const ERASES: Lane = Lane(13);
    const COUNT: u8 = 14;

    pub(super) const fn user_reads(priority: Priority) -> Lane {
        Lane(1 + priority as u8)
    }

    pub(super) const fn user_programs(priority: Priority) -> Lane {
        Lane(8 + priority as u8)
    }

    pub(super) fn all() -> impl Iterator<Item = Lane> {
        (0..Lane::COUNT).map(Lane)
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match self.0 {
            0..=5 => Kind::Read,
            6 => Kind::Compute,
            7..=12 => Kind::Program,
            _ => Kind::Erase,
        }
    }

    /// The number of the queue among those of its kind.
    #[inline]
    fn origin(self) -> usize {
        match self.kind() {
            Kind::Program => self.0 as usize - 7,
            _ => self.0 as usize,
        }
    }
}

/// What a policy chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The queue whose first transaction goes next.
    pub(super) lane: Lane,
    /// Whose transactions of the same kind may fill the planes that are left.
    pub(super) fill: Option<Lane>,
}

impl From<Lane> for Choice {
    #[inline]
    fn from(lane: Lane) -> Choice {
        Choice { lane, fill: None }
    }
}

/// An operation in its queue, and who waits for it.
#[derive(Clone, Debug)]
pub(super) struct Waiting<T> {
    pub(super) operation: T,
    pub(super) notify: Notify,
    arrival: u64,
}

/// Operations of one multi-plane command; the leader first.
pub(super) type Set<T> = ArrayVec<Waiting<T>, PLANES_PER_DIE_MAX>;

/// How multi-plane commands are made up.
pub(super) struct Merging<'a> {
    pub(super) multi_plane: bool,
    pub(super) geometry: &'a Geometry,
}

/// What waits for one unit.
pub struct UnitQueue {
    reads: [VecDeque<Waiting<Read>>; ORIGINS],
    computes: VecDeque<Waiting<Compute>>,
    programs: [VecDeque<Waiting<PageProgram>>; ORIGINS],
    erases: VecDeque<Waiting<Erase>>,
    /// Which lanes hold something, as a bit mask.
    held: u16,
    next_arrival: u64,
    /// Whether host commands wait by their priority, or all in one queue.
    by_priority: bool,
}

impl UnitQueue {
    pub(super) fn new(by_priority: bool) -> UnitQueue {
        UnitQueue {
            reads: Default::default(),
            computes: VecDeque::new(),
            programs: Default::default(),
            erases: VecDeque::new(),
            held: 0,
            next_arrival: 0,
            by_priority,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held == 0
    }

    #[inline]
    pub(super) fn holds(&self, lane: Lane) -> bool {
        self.held & 1 << lane.0 != 0
    }

    /// The only lane that holds something, if there is only one.
    #[inline]
    pub(super) fn only(&self) -> Option<Lane> {
        (self.held.count_ones() == 1).then(|| Lane(self.held.trailing_zeros() as u8))
    }

    /// Whether reads wait.
    #[inline]
    pub(super) fn holds_reads(&self) -> bool {
        self.held & ((1 << ORIGINS) - 1) != 0
    }

    /// The lane of the host's transactions of a kind that has waited longest.
    #[inline]
    pub(super) fn user(&self, lane: fn(Priority) -> Lane) -> Option<Lane> {
        if !self.by_priority {
            let lane = lane(Priority::default());
            return self.holds(lane).then_some(lane);
        }
        Priority::ALL
            .into_iter()
            .map(lane)
            .filter(|lane| self.holds(*lane))
            .min_by_key(|lane| self.first_arrival(*lane))
    }

    /// When the transaction of `lane` that has waited longest arrived, as a number.
    pub(super) fn first_arrival(&self, lane: Lane) -> Option<u64> {
        match lane.kind() {
            Kind::Read => self.reads[lane.origin()].front().map(|first| first.arrival),
            Kind::Compute => self.computes.front().map(|first| first.arrival),
            Kind::Program => self.programs[lane.origin()]
                .front()
                .map(|first| first.arrival),
            Kind::Erase => self.erases.front().map(|first| first.arrival),
        }
    }

    /// The lane of the transaction that has waited longest, and its arrival.
    pub(super) fn oldest(&self) -> Option<(u64, Lane)> {
        Lane::all()
            .filter(|lane| self.holds(*lane))
            .filter_map(|lane| Some((self.first_arrival(lane)?, lane)))
            .min_by_key(|(arrival, _)| *arrival)
    }

    /// Whether an erase waits before which nothing has arrived that concerns its block.
    pub(super) fn erase_is_due(&self) -> bool {
        let Some(erase) = self.erases.front() else {
            return false;
        };
        let block = erase.operation.block;
        let reads = self.reads.iter().flatten();
        let mut reads = reads.map(|read| (read.arrival, read.operation.page.block));
        let programs = self.programs.iter().flatten();
        let mut programs = programs.map(|program| (program.arrival, program.operation.source()));
        let computed = self.computes.front();
        computed.is_none_or(|compute| compute.arrival >= erase.arrival)
            && !reads.any(|(arrival, of)| arrival < erase.arrival && of == block)
            && !programs.any(|(arrival, of)| arrival < erase.arrival && of == Some(block))
    }

    #[inline]
    fn arrive<T>(&mut self, operation: T, notify: Notify, lane: Lane) -> Waiting<T> {
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        self.held |= 1 << lane.0;
        Waiting {
            operation,
            notify,
            arrival,
        }
    }

    /// How many operations wait.
    pub(super) fn len(&self) -> usize {
        let reads: usize = self.reads.iter().map(VecDeque::len).sum();
        let programs: usize = self.programs.iter().map(VecDeque::len).sum();
        reads + programs + self.computes.len() + self.erases.len()
    }

    /// The number among the queues of a kind for transactions of `origin`.
    #[inline]
    fn number(&self, origin: Origin) -> u8 {
        match origin {
            Origin::Mapping => 0,
            Origin::User(priority) if self.by_priority => 1 + priority as u8,
            Origin::User(_) => 1 + Priority::default() as u8,
            Origin::Collection => 5,
        }
    }

    #[inline]
    fn note_taken(&mut self, lane: Lane) {
        let empty = match lane.kind() {
            Kind::Read => self.reads[lane.origin()].is_empty(),
            Kind::Compute => self.computes.is_empty(),
            Kind::Program => self.programs[lane.origin()].is_empty(),
            Kind::Erase => self.erases.is_empty(),
        };
        if empty {
            self.held &= !(1 << lane.0);
        }
    }

    /// Takes the first computation.
    pub(super) fn take_compute(&mut self) -> Option<Waiting<Compute>> {
        let taken = self.computes.pop_front();
        self.note_taken(Lane::COMPUTES);
        taken
    }

    /// Takes the first read of the chosen lane and those of other planes of its die
    /// that can go with it.
    #[inline]
    pub(super) fn take_reads(
        &mut self,
        choice: Choice,
        merging: &Merging<'_>,
        set: &mut Set<Read>,
    ) {
        let leader = self.reads[choice.lane.origin()].pop_front();
        set.extend(leader);
        self.complete_reads(choice, merging, set);
    }

    /// As [`UnitQueue::take_reads`], but of the first read for which `is_allowed` holds; false if
    /// there is none.
    pub(super) fn take_allowed_read(
        &mut self,
        lane: Lane,
        merging: &Merging<'_>,
        set: &mut Set<Read>,
        is_allowed: impl Fn(BlockId) -> bool,
    ) -> bool {
        let queue = &mut self.reads[lane.origin()];
        let allowed = |read: &Waiting<Read>| is_allowed(read.operation.page.block);
        let Some(index) = queue.iter().position(allowed) else {
            return false;
        };
        set.extend(queue.remove(index));
        if merging.multi_plane {
            take_companions(queue, merging.geometry, set, false, |read| {
                is_allowed(read.operation.page.block)
            });
        }
        self.note_taken(lane);
        true
    }

    /// Whether a read waits in `lane` for which `is_allowed` holds.
    pub(super) fn holds_allowed_read(
        &self,
        lane: Lane,
        is_allowed: impl Fn(BlockId) -> bool,
    ) -> bool {
        let mut reads = self.reads[lane.origin()].iter();
        reads.any(|read| is_allowed(read.operation.page.block))
    }

    #[inline]
    fn complete_reads(&mut self, choice: Choice, merging: &Merging<'_>, set: &mut Set<Read>) {
        let merges = merging.multi_plane && merging.geometry.planes_per_die > 1;
        for lane in [Some(choice.lane), choice.fill].into_iter().flatten() {
            let queue = &mut self.reads[lane.origin()];
            if merges && !queue.is_empty() {
                take_companions(queue, merging.geometry, set, false, |_| true);
            }
            self.note_taken(lane);
        }
    }

    /// Takes the first program of the chosen lane and those of other planes of its die
    /// that can go with it. A program that another lane holds for the same block, and
    /// that arrived before, goes in its place: pages of a block are programmed in order.
    pub(super) fn take_programs(
        &mut self,
        choice: Choice,
        merging: &Merging<'_>,
        set: &mut Set<PageProgram>,
    ) {
        let Some(block) = self.programs[choice.lane.origin()]
            .front()
            .map(|first| first.operation.page.block)
        else {
            return;
        };
        let (lane, index) = self
            .first_of_block(block)
            .unwrap_or((choice.lane.origin(), 0));
        set.extend(self.programs[lane].remove(index));
        self.note_taken(Lane(lane as u8 + 7));
        if !merging.multi_plane || merging.geometry.planes_per_die == 1 {
            return;
        }
        for lane in [Some(choice.lane), choice.fill].into_iter().flatten() {
            let mut queue = std::mem::take(&mut self.programs[lane.origin()]);
            take_companions(&mut queue, merging.geometry, set, true, |candidate| {
                let others = self.programs.iter().flatten();
                let mut of_block = others
                    .filter(|other| other.operation.page.block == candidate.operation.page.block);
                !of_block.any(|other| other.arrival < candidate.arrival)
            });
            self.programs[lane.origin()] = queue;
            self.note_taken(lane);
        }
    }

    /// Where the program of `block` that arrived first waits.
    fn first_of_block(&self, block: BlockId) -> Option<(usize, usize)> {
        let lanes = self.programs.iter().enumerate();
        lanes
            .filter_map(|(lane, queue)| {
                let of_block =
                    |program: &Waiting<PageProgram>| program.operation.page.block == block;
                let index = queue.iter().position(of_block)?;
                Some((queue[index].arrival, lane, index))
            })
            .min()
            .map(|(_, lane, index)| (lane, index))
    }

    /// Takes the first erase and those of other planes of its die that can go with it
    /// and overtake nothing.
    pub(super) fn take_erases(&mut self, merging: &Merging<'_>, set: &mut Set<Erase>) {
        set.extend(self.erases.pop_front());
        let others = Lane::all().filter(|lane| *lane != Lane::ERASES);
        let before = others.filter_map(|lane| self.first_arrival(lane)).min();
        let before = before.unwrap_or(u64::MAX);
        if merging.multi_plane && !set.is_empty() {
            take_companions(&mut self.erases, merging.geometry, set, true, |erase| {
                erase.arrival < before
            });
        }
        self.note_taken(Lane::ERASES);
    }
}

/// Moves to `set` what merges with its leader: from each other plane of the die the first
/// that waits for it, if their order matters, or else the first that fits; and only
/// what `is_free` to go.
fn take_companions<T: PlaneOperation>(
    queue: &mut VecDeque<Waiting<T>>,
    geometry: &Geometry,
    set: &mut Set<T>,
    ordered: bool,
    is_free: impl Fn(&Waiting<T>) -> bool,
) {
    let place = |waiting: &Waiting<T>| {
        let plane = geometry.plane_of_block(waiting.operation.block());
        (
            geometry.die_of_plane(plane),
            1u32 << geometry.plane_in_die(plane),
        )
    };
    let full = (1u32 << geometry.planes_per_die) - 1;
    let die = place(&set[0]).0;
    let mut closed = set.iter().fold(0, |planes, taken| planes | place(taken).1);
    let mut index = 0;
    while index < queue.len() && closed != full {
        let candidate = &queue[index];
        let (candidates_die, plane) = place(candidate);
        let open = candidates_die == die && closed & plane == 0;
        if open && candidate.operation.merges_with(&set[0].operation) && is_free(candidate) {
            closed |= plane;
            set.extend(queue.remove(index));
            continue;
        }
        if ordered && open {
            closed |= plane;
        }
        index += 1;
    }
}

impl Operation for Read {
    #[inline]
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify) {
        let number = queue.number(self.origin);
        let waiting = queue.arrive(self, notify, Lane(number));
        queue.reads[number as usize].push_back(waiting);
    }
}

impl Operation for Compute {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify) {
        let waiting = queue.arrive(self, notify, Lane::COMPUTES);
        queue.computes.push_back(waiting);
    }
}

impl Operation for Program {
    #[inline]
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify) {
        PageProgram::from(self).enqueue(queue, notify);
    }
}

impl Operation for Copyback {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify) {
        PageProgram::from(self).enqueue(queue, notify);
    }
}

impl PageProgram {
    #[inline]
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify) {
        let number = queue.number(self.origin);
        let waiting = queue.arrive(self, notify, Lane(number + 7));
        queue.programs[number as usize].push_back(waiting);
    }
}

impl Operation for Erase {
    fn enqueue(self, queue: &mut UnitQueue, notify: Notify) {
        let waiting = queue.arrive(self, notify, Lane::ERASES);
        queue.erases.push_back(waiting);
    }
}
