//! Transactions, and the queues in which they wait for their die.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use arrayvec::ArrayVec;
use media::nand::{
    BlockId, Command, Geometry, PLANES_PER_DIE_MAX, PageAddress, PlaneId, ProgramMode,
};

use super::ticket::TicketId;
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

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Senses a page and moves `bytes` of it, from `column` on, and its spare
    /// bytes to the same place of a buffer.
    Read {
        /// The page.
        page: PageAddress,
        /// First byte moved.
        column: u32,
        /// Bytes moved.
        bytes: u32,
        /// Where to.
        into: BufferId,
    },
    /// Moves a buffer and spare bytes to a page register and programs the page.
    Program {
        /// The page.
        page: PageAddress,
        /// How.
        mode: ProgramMode,
        /// What.
        from: BufferId,
        /// The out-of-band bytes.
        spare: SpareBytes,
    },
    /// Erases a block.
    Erase {
        /// The block.
        block: BlockId,
    },
    /// Runs commands on one die, nothing between them, and then moves whole
    /// C-latches out.
    Compute {
        /// The commands, in order.
        steps: Rc<[Command]>,
        /// What is read out afterwards.
        outputs: Outputs,
    },
}

/// An operation, and who waits for it.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    pub(super) operation: Operation,
    pub(super) ticket: TicketId,
    pub(super) arrival: u64,
}

impl Transaction {
    /// The page it reads or programs.
    pub(super) fn page(&self) -> Option<PageAddress> {
        match self.operation {
            Operation::Read { page, .. } | Operation::Program { page, .. } => Some(page),
            Operation::Erase { .. } | Operation::Compute { .. } => None,
        }
    }

    /// The block that tells where it belongs.
    pub(super) fn block(&self) -> Option<BlockId> {
        match &self.operation {
            Operation::Erase { block } => Some(*block),
            _ => self.page().map(|page| page.block),
        }
    }

    /// Whether both may be one multi-plane command: the same kind, the same
    /// page offset (any block), the same programming mode.
    fn merges_with(&self, leader: &Transaction) -> bool {
        match (&self.operation, &leader.operation) {
            (Operation::Read { page: a, .. }, Operation::Read { page: b, .. }) => a.page == b.page,
            (
                Operation::Program {
                    page: a, mode: m, ..
                },
                Operation::Program {
                    page: b, mode: n, ..
                },
            ) => a.page == b.page && m == n,
            (Operation::Erase { .. }, Operation::Erase { .. }) => true,
            _ => false,
        }
    }
}

/// Transactions of one multi-plane command; the leader first.
pub(super) type Set = ArrayVec<Transaction, PLANES_PER_DIE_MAX>;

/// What waits for one die.
#[derive(Default)]
pub(super) struct DieQueue {
    classes: [VecDeque<Transaction>; 4],
    next_arrival: Cell<u64>,
}

impl DieQueue {
    #[inline]
    pub(super) fn push(&mut self, operation: Operation, ticket: TicketId) {
        let class = match operation {
            Operation::Read { .. } => Class::Read,
            Operation::Compute { .. } => Class::Compute,
            Operation::Program { .. } => Class::Program,
            Operation::Erase { .. } => Class::Erase,
        };
        let arrival = self.next_arrival.get();
        self.next_arrival.set(arrival + 1);
        self.classes[class as usize].push_back(Transaction {
            operation,
            ticket,
            arrival,
        });
    }

    /// The transaction of `class` that has waited longest.
    #[inline]
    pub(super) fn first(&self, class: Class) -> Option<&Transaction> {
        self.classes[class as usize].front()
    }

    /// Takes the first transaction of `class` into `set` and, if `multi_plane`,
    /// those of other planes that can go with it.
    #[inline]
    pub(super) fn take(
        &mut self,
        class: Class,
        multi_plane: bool,
        geometry: &Geometry,
        set: &mut Set,
    ) {
        let queue = &mut self.classes[class as usize];
        let Some(leader) = queue.pop_front() else {
            return;
        };
        set.push(leader);
        if multi_plane && !queue.is_empty() && geometry.planes_per_die > 1 {
            take_companions(queue, geometry, set);
        }
    }
}

/// Moves to `set` what merges with its leader: from each other plane the first
/// that waits for it, so that nothing overtakes another in its own plane. A read
/// may be taken from further back, as reads of different pages do not mind.
fn take_companions(queue: &mut VecDeque<Transaction>, geometry: &Geometry, set: &mut Set) {
    let plane_bit = |transaction: &Transaction| {
        let plane = transaction
            .block()
            .map_or(PlaneId(0), |block| geometry.plane_of_block(block));
        1u32 << geometry.plane_in_die(plane)
    };
    let full = (1u32 << geometry.planes_per_die) - 1;
    let mut closed = plane_bit(&set[0]);
    let mut index = 0;
    while index < queue.len() && closed != full {
        let candidate = &queue[index];
        let plane = plane_bit(candidate);
        let ordered = !matches!(candidate.operation, Operation::Read { .. });
        if closed & plane == 0 && candidate.merges_with(&set[0]) {
            closed |= plane;
            set.extend(queue.remove(index));
            continue;
        }
        if ordered {
            closed |= plane;
        }
        index += 1;
    }
}
