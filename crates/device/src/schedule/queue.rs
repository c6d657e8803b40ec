//! Transactions, and the queues in which they wait for their die.

use std::collections::VecDeque;
use std::rc::Rc;

use arrayvec::ArrayVec;
use media::nand::{
    BlockId, Command, Geometry, PLANES_PER_DIE_MAX, PageAddress, PlaneId, ProgramMode,
};
use sim::resource::Semaphore;

use super::notify::Notify;
use super::origin::Origin;
use crate::buffer::BufferId;

/// Kinds of transaction that wait in separate queues, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Page reads.
    Read,
    /// Sequences of sensing commands.
    Compute,
    /// Page programs.
    Program,
    /// Block erases.
    Erase,
}

impl Class {
    /// All of them, most urgent first.
    pub const ALL: [Class; 4] = [Class::Read, Class::Compute, Class::Program, Class::Erase];
}

/// The out-of-band bytes of a page, as programmed.
pub type SpareBytes = ArrayVec<u8, 32>;

/// Planes of one die whose C-latch is read out after a computation, and where to.
pub type Outputs = ArrayVec<(PlaneId, BufferId), PLANES_PER_DIE_MAX>;

/// Senses a page and moves `bytes` of it, from `column` on, to the same place of
/// a buffer.
#[derive(Clone, Debug)]
pub struct Read {
    /// The page.
    pub page: PageAddress,
    /// First byte moved.
    pub column: u32,
    /// Bytes moved.
    pub bytes: u32,
    /// Where to.
    pub into: BufferId,
    /// For whom.
    pub origin: Origin,
}

/// Moves a buffer and spare bytes to a page register and programs the page.
#[derive(Clone, Debug)]
pub struct Program {
    /// The page.
    pub page: PageAddress,
    /// How.
    pub mode: ProgramMode,
    /// What.
    pub from: BufferId,
    /// The out-of-band bytes.
    pub spare: SpareBytes,
    /// For whom.
    pub origin: Origin,
}

/// Erases a block.
#[derive(Clone, Debug)]
pub struct Erase {
    /// The block.
    pub block: BlockId,
    /// For whom.
    pub origin: Origin,
}

/// Runs commands on one die, nothing between them, and then moves whole C-latches
/// out.
#[derive(Clone, Debug)]
pub struct Compute {
    /// The commands, in order.
    pub steps: Rc<[Command]>,
    /// What is read out afterwards.
    pub outputs: Outputs,
    /// Room for the outputs where they go, one permit a page: the die takes it before they leave
    /// it, and whoever asked for them gives it back.
    pub room: Option<Rc<Semaphore>>,
}

/// An operation that can be queued.
pub trait Operation: Sized {
    /// Its queue among those of a die.
    fn queue(queues: &mut DieQueue) -> &mut VecDeque<Waiting<Self>>;
}

/// An operation for one plane, which can be part of a multi-plane command.
pub(super) trait PlaneOperation: Operation {
    /// Whether those of one plane must stay in order.
    const ORDERED: bool;
    /// Whether it must not go before anything that was queued earlier for the die.
    const NEVER_OVERTAKES: bool;

    /// A block of the plane that it is for.
    fn block(&self) -> BlockId;

    /// Whether it may go in one multi-plane command with `leader`: the same page
    /// offset (in any block), the same programming mode.
    fn merges_with(&self, leader: &Self) -> bool;
}

/// An operation in its queue, and who waits for it.
#[derive(Clone, Debug)]
pub struct Waiting<T> {
    pub(super) operation: T,
    pub(super) notify: Notify,
    pub(super) arrival: u64,
}

/// Operations of one multi-plane command; the leader first.
pub(super) type Set<T> = ArrayVec<Waiting<T>, PLANES_PER_DIE_MAX>;

/// What waits for one die.
#[derive(Default)]
pub struct DieQueue {
    reads: VecDeque<Waiting<Read>>,
    computes: VecDeque<Waiting<Compute>>,
    programs: VecDeque<Waiting<Program>>,
    erases: VecDeque<Waiting<Erase>>,
    next_arrival: u64,
}

impl DieQueue {
    #[inline]
    pub(super) fn push<T: Operation>(&mut self, operation: T, notify: Notify) {
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        T::queue(self).push_back(Waiting {
            operation,
            notify,
            arrival,
        });
    }

    /// How many operations wait.
    pub(super) fn len(&self) -> usize {
        self.reads.len() + self.computes.len() + self.programs.len() + self.erases.len()
    }

    /// When the operation of `class` that has waited longest arrived, as a number.
    #[inline]
    pub(super) fn first_arrival(&self, class: Class) -> Option<u64> {
        match class {
            Class::Read => self.reads.front().map(|first| first.arrival),
            Class::Compute => self.computes.front().map(|first| first.arrival),
            Class::Program => self.programs.front().map(|first| first.arrival),
            Class::Erase => self.erases.front().map(|first| first.arrival),
        }
    }

    /// Takes the first computation.
    pub(super) fn take_compute(&mut self) -> Option<Waiting<Compute>> {
        self.computes.pop_front()
    }

    /// Takes the first operation of a kind and, if `multi_plane`, those of other
    /// planes that can go with it.
    #[inline]
    pub(super) fn take<T: PlaneOperation>(
        &mut self,
        multi_plane: bool,
        geometry: &Geometry,
        set: &mut Set<T>,
    ) {
        let queue = T::queue(self);
        if let Some(leader) = queue.pop_front() {
            set.push(leader);
        }
        if !multi_plane || queue.is_empty() || geometry.planes_per_die == 1 {
            return;
        }
        let before = if T::NEVER_OVERTAKES {
            self.first_arrival_but_erases()
        } else {
            u64::MAX
        };
        take_companions(T::queue(self), geometry, before, set);
    }

    /// When the operation that has waited longest arrived, erases aside.
    fn first_arrival_but_erases(&self) -> u64 {
        let others = Class::ALL
            .into_iter()
            .filter(|class| *class != Class::Erase);
        others
            .filter_map(|class| self.first_arrival(class))
            .min()
            .unwrap_or(u64::MAX)
    }
}

/// Moves to `set` what merges with its leader: from each other plane the first
/// that waits for it, if their order matters, or else the first that fits; and only
/// what arrived before number `before`.
fn take_companions<T: PlaneOperation>(
    queue: &mut VecDeque<Waiting<T>>,
    geometry: &Geometry,
    before: u64,
    set: &mut Set<T>,
) {
    let plane_bit = |waiting: &Waiting<T>| {
        let plane = geometry.plane_of_block(waiting.operation.block());
        1u32 << geometry.plane_in_die(plane)
    };
    let full = (1u32 << geometry.planes_per_die) - 1;
    let mut closed = plane_bit(&set[0]);
    let mut index = 0;
    while index < queue.len() && closed != full {
        let candidate = &queue[index];
        if candidate.arrival >= before {
            return;
        }
        let plane = plane_bit(candidate);
        if closed & plane == 0 && candidate.operation.merges_with(&set[0].operation) {
            closed |= plane;
            set.extend(queue.remove(index));
            continue;
        }
        if T::ORDERED {
            closed |= plane;
        }
        index += 1;
    }
}

impl Operation for Read {
    fn queue(queues: &mut DieQueue) -> &mut VecDeque<Waiting<Read>> {
        &mut queues.reads
    }
}

impl Operation for Compute {
    fn queue(queues: &mut DieQueue) -> &mut VecDeque<Waiting<Compute>> {
        &mut queues.computes
    }
}

impl Operation for Program {
    fn queue(queues: &mut DieQueue) -> &mut VecDeque<Waiting<Program>> {
        &mut queues.programs
    }
}

impl Operation for Erase {
    fn queue(queues: &mut DieQueue) -> &mut VecDeque<Waiting<Erase>> {
        &mut queues.erases
    }
}

impl PlaneOperation for Read {
    const ORDERED: bool = false;
    const NEVER_OVERTAKES: bool = false;

    fn block(&self) -> BlockId {
        self.page.block
    }

    fn merges_with(&self, leader: &Read) -> bool {
        self.page.page == leader.page.page
    }
}

impl PlaneOperation for Program {
    const ORDERED: bool = true;
    const NEVER_OVERTAKES: bool = false;

    fn block(&self) -> BlockId {
        self.page.block
    }

    fn merges_with(&self, leader: &Program) -> bool {
        self.page.page == leader.page.page && self.mode == leader.mode
    }
}

impl PlaneOperation for Erase {
    const ORDERED: bool = true;
    const NEVER_OVERTAKES: bool = true;

    fn block(&self) -> BlockId {
        self.block
    }

    fn merges_with(&self, _leader: &Erase) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 2,
        blocks_per_plane: 10,
        strings_per_block: 1,
        cells_per_string: 4,
        page_bytes: 64,
        spare_bytes: 32,
    };
    /// A block of each plane.
    const BLOCKS: [BlockId; 2] = [BlockId(3), BlockId(14)];

    fn read(block: BlockId, page: u32) -> Read {
        Read {
            page: PageAddress { block, page },
            column: 0,
            bytes: 64,
            into: BufferId::NONE,
            origin: Origin::default(),
        }
    }

    fn erase(block: BlockId) -> Erase {
        Erase {
            block,
            origin: Origin::Collection,
        }
    }

    #[test]
    fn planes_merge_at_the_same_page_only() {
        let mut queue = DieQueue::default();
        for (block, page) in [(0, 1), (0, 2), (1, 3), (1, 1)] {
            queue.push(read(BLOCKS[block], page), Notify::Sink(0));
        }
        let mut set = Set::new();
        queue.take::<Read>(true, &GEOMETRY, &mut set);
        let taken: Vec<_> = set
            .iter()
            .map(|read| (read.operation.page.block, read.operation.page.page))
            .collect();
        assert_eq!(taken, [(BLOCKS[0], 1), (BLOCKS[1], 1)]);
        assert_eq!(queue.reads.len(), 2);
    }

    #[test]
    fn a_merged_erase_does_not_overtake_a_read() {
        let mut queue = DieQueue::default();
        queue.push(erase(BLOCKS[0]), Notify::Sink(0));
        queue.push(read(BLOCKS[1], 0), Notify::Sink(1));
        queue.push(erase(BLOCKS[1]), Notify::Sink(2));
        let mut set = Set::new();
        queue.take::<Erase>(true, &GEOMETRY, &mut set);
        assert_eq!(set.len(), 1);
        let mut later = Set::new();
        queue.take::<Read>(true, &GEOMETRY, &mut Set::new());
        queue.push(erase(BLOCKS[0]), Notify::Sink(3));
        queue.take::<Erase>(true, &GEOMETRY, &mut later);
        assert_eq!(later.len(), 2, "nothing stands between these two");
    }
}
