//! What goes together in one multi-plane command.

use arrayvec::ArrayVec;
use media::nand::{BlockId, Geometry, PLANES_PER_DIE_MAX};

use super::line::Line;
use super::{Order, UnitQueue, Waiting};
use crate::schedule::key::{Choice, Kind, QueueKey};
use crate::schedule::operation::{Erase, PageProgram, PlaneOperation, Read};
use crate::schedule::rank::Rank;

/// Operations of one multi-plane command; the leader first.
pub(in crate::schedule) type Set<T> = ArrayVec<Waiting<T>, PLANES_PER_DIE_MAX>;

/// How multi-plane commands are made up.
pub(in crate::schedule) struct Merging<'a> {
    pub(in crate::schedule) multi_plane: bool,
    pub(in crate::schedule) geometry: &'a Geometry,
}

impl<C> UnitQueue<C> {
    /// Takes the chosen read and those of other planes of its die
    /// that can go with it.
    #[inline]
    pub(in crate::schedule) fn take_reads(
        &mut self,
        choice: Choice,
        merging: &Merging<'_>,
        set: &mut Set<Read>,
    ) {
        self.reads[choice.key.class()].move_to(set, choice.index as usize);
        self.complete_reads(choice, merging, set);
        self.note_gone(set);
    }

    /// As [`UnitQueue::take_reads`], but of the first read for which `is_allowed` holds; false if
    /// there is none.
    pub(in crate::schedule) fn take_allowed_read(
        &mut self,
        key: QueueKey,
        merging: &Merging<'_>,
        set: &mut Set<Read>,
        is_allowed: impl Fn(BlockId) -> bool,
    ) -> bool {
        let line = &mut self.reads[key.class()];
        let allowed = |read: &Waiting<Read>| is_allowed(read.operation.page.block);
        let Some(index) = line.waiting.iter().position(allowed) else {
            return false;
        };
        line.move_to(set, index);
        if merging.multi_plane {
            take_companions(line, merging.geometry, set, false, |_, read| {
                is_allowed(read.operation.page.block)
            });
        }
        self.note_taken(key);
        self.note_gone(set);
        true
    }

    /// The rank of the first read in the queue of `key` for which `is_allowed` holds, if one waits.
    pub(in crate::schedule) fn allowed_read(
        &self,
        key: QueueKey,
        is_allowed: impl Fn(BlockId) -> bool,
    ) -> Option<Rank> {
        let mut reads = self.reads[key.class()].waiting.iter();
        let read = reads.find(|read| is_allowed(read.operation.page.block));
        read.map(|read| read.rank)
    }

    #[inline]
    fn complete_reads(&mut self, choice: Choice, merging: &Merging<'_>, set: &mut Set<Read>) {
        let merges = merging.multi_plane && merging.geometry.planes_per_die > 1;
        for key in [Some(choice.key), choice.fill].into_iter().flatten() {
            let line = &mut self.reads[key.class()];
            if merges && line.first().is_some() {
                take_companions(line, merging.geometry, set, false, |_, _| true);
            }
            self.note_taken(key);
        }
    }

    /// Takes the chosen program and those of other planes of its die
    /// that can go with it. A program for the same block that arrived before, wherever it waits,
    /// goes in its place: pages of a block are programmed in order.
    pub(in crate::schedule) fn take_programs(
        &mut self,
        choice: Choice,
        merging: &Merging<'_>,
        set: &mut Set<PageProgram>,
    ) {
        self.take_ordered(choice, merging, set);
        let raises = set.iter().filter(|taken| taken.operation.is_raise());
        self.raises -= raises.count() as u32;
        self.note_gone(set);
    }

    fn take_ordered(&mut self, choice: Choice, merging: &Merging<'_>, set: &mut Set<PageProgram>) {
        let chosen = (choice.key.class(), choice.index as usize);
        let Some(first) = self.programs[chosen.0].waiting.get(chosen.1) else {
            return;
        };
        let shares = self.shares_blocks(choice.key);
        let leader = shares.then(|| self.first_of_block(first.operation.page.block));
        let (class, index) = leader.flatten().unwrap_or(chosen);
        self.programs[class].move_to(set, index);
        self.note_taken(QueueKey::of_class(Kind::Program, class as u8));
        if !merging.multi_plane || merging.geometry.planes_per_die == 1 {
            return;
        }
        for key in [Some(choice.key), choice.fill].into_iter().flatten() {
            if self.programs[key.class()].first().is_none() {
                continue;
            }
            if self.shares_blocks(key) {
                self.take_companions_in_order(key, merging, set);
            } else {
                let line = &mut self.programs[key.class()];
                take_companions(line, merging.geometry, set, true, |_, _| true);
            }
            self.note_taken(key);
        }
    }

    /// Completes a set of programs from a queue, but for those of blocks of which an earlier one waits.
    fn take_companions_in_order(
        &mut self,
        key: QueueKey,
        merging: &Merging<'_>,
        set: &mut Set<PageProgram>,
    ) {
        // For the time being the others are all there are.
        let none = Line::new(0);
        let mut line = std::mem::replace(&mut self.programs[key.class()], none);
        // By rank, the first of a plane may be one that has to wait for others of its block, which then go.
        let ordered = self.order != Order::Ranks;
        take_companions(
            &mut line,
            merging.geometry,
            set,
            ordered,
            |line, candidate| {
                let block = candidate.operation.page.block;
                let others = self.programs.iter().chain([line]);
                let mut others = others.flat_map(|line| &line.waiting);
                !others.any(|other| {
                    other.operation.page.block == block && other.arrival < candidate.arrival
                })
            },
        );
        self.programs[key.class()] = line;
    }

    /// Whether earlier programs of the same blocks may wait elsewhere than before those of this queue. Collection and the mapping fill
    /// blocks of their own, and so does the host, whose queues tell its priorities apart. But cells are raised in any block, and ranks
    /// order each queue.
    #[inline]
    fn shares_blocks(&self, key: QueueKey) -> bool {
        if self.raises > 0 {
            return true;
        }
        match self.order {
            Order::Arrival => false,
            Order::Priorities => {
                key != QueueKey::MAPPING_PROGRAMS && key != QueueKey::COLLECTION_PROGRAMS
            }
            Order::Ranks => true,
        }
    }

    /// Where the program of `block` that arrived first waits.
    fn first_of_block(&self, block: BlockId) -> Option<(usize, usize)> {
        let queues = self.programs.iter().enumerate();
        queues
            .filter_map(|(class, line)| {
                let of_block =
                    |program: &Waiting<PageProgram>| program.operation.page.block == block;
                let programs = line.waiting.iter().enumerate();
                let programs = programs.filter(|(_, program)| of_block(program));
                let first = match self.order {
                    Order::Ranks => programs.min_by_key(|(_, program)| program.arrival),
                    _ => { programs }.next(),
                };
                first.map(|(index, program)| (program.arrival, class, index))
            })
            .min()
            .map(|(_, class, index)| (class, index))
    }

    /// Takes the first erase and those of other planes of its die that can go with it
    /// and overtake nothing.
    pub(in crate::schedule) fn take_erases(&mut self, merging: &Merging<'_>, set: &mut Set<Erase>) {
        self.erases.move_to(set, 0);
        let others = QueueKey::all().filter(|key| *key != QueueKey::ERASES);
        let before = others.filter_map(|key| self.first_arrival(key)).min();
        let before = before.unwrap_or(u64::MAX);
        if merging.multi_plane && !set.is_empty() {
            take_companions(&mut self.erases, merging.geometry, set, true, |_, erase| {
                erase.arrival < before
            });
        }
        self.note_taken(QueueKey::ERASES);
        self.note_gone(set);
    }
}

/// Moves to `set` what merges with its leader: from each other plane of the die the first
/// that waits for it, if their order matters, or else the first that fits; and only
/// what `is_free` to go from the line.
fn take_companions<T: PlaneOperation>(
    line: &mut Line<T>,
    geometry: &Geometry,
    set: &mut Set<T>,
    ordered: bool,
    is_free: impl Fn(&Line<T>, &Waiting<T>) -> bool,
) {
    let per_die = geometry.planes_per_die;
    let first = set[0].plane - set[0].plane % per_die;
    // Planes of other dies have no bit.
    let bit = |waiting: &Waiting<T>| match waiting.plane.wrapping_sub(first) {
        plane if plane < per_die => 1u32 << plane,
        _ => 0,
    };
    let mut open = line.planes_of_die(first, per_die);
    open &= !set.iter().fold(0, |planes, taken| planes | bit(taken));
    let mut index = 0;
    while open != 0 && index < line.waiting.len() {
        let candidate = &line.waiting[index];
        let plane = open & bit(candidate);
        if plane != 0 {
            let fits =
                candidate.operation.merges_with(&set[0].operation) && is_free(line, candidate);
            if fits || ordered {
                open &= !plane;
            }
            if fits {
                line.move_to(set, index);
                continue;
            }
        }
        index += 1;
    }
}
