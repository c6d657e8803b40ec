//! One queue among those of a unit.

use std::collections::VecDeque;

use media::nand::PLANES_PER_DIE_MAX;

use super::{Set, Waiting};

/// Operations for single planes in the order in which they are to go.
pub(super) struct Line<T> {
    pub(super) waiting: VecDeque<Waiting<T>>,
    /// How many wait for each plane of the unit; and none for a few beyond, so that as many planes as a die can
    /// have follow each.
    pub(super) of_plane: Box<[u32]>,
}

impl<T> Line<T> {
    pub(super) fn new(planes: u32) -> Line<T> {
        Line {
            waiting: VecDeque::new(),
            of_plane: vec![0; planes as usize + PLANES_PER_DIE_MAX].into(),
        }
    }

    /// Puts an operation last, or before those of a lower rank if they are `ranked`.
    #[inline]
    pub(super) fn push(&mut self, waiting: Waiting<T>, ranked: bool) {
        self.of_plane[waiting.plane as usize] += 1;
        match ranked {
            false => self.waiting.push_back(waiting),
            true => insert(&mut self.waiting, waiting),
        }
    }

    /// Moves the operation at `index`, if there is one, to the end of a set, which has room.
    #[inline]
    pub(super) fn move_to(&mut self, set: &mut Set<T>, index: usize) {
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
    pub(super) fn planes_of_die(&self, first: u32, per_die: u32) -> u32 {
        let planes = &self.of_plane[first as usize..][..PLANES_PER_DIE_MAX];
        let held = planes.iter().rev();
        let held = held.fold(0, |held, count| held << 1 | u32::from(*count > 0));
        held & ((1 << per_die) - 1)
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Waiting<T>> {
        self.waiting.front()
    }
}

/// Puts an operation before the first that has a lower rank, or the same and came later.
pub(super) fn insert<T>(line: &mut VecDeque<Waiting<T>>, waiting: Waiting<T>) {
    let before = |other: &Waiting<T>| {
        other.rank > waiting.rank || (other.rank == waiting.rank && other.arrival < waiting.arrival)
    };
    match line.back() {
        Some(last) if !before(last) => {
            let place = line.partition_point(before);
            line.insert(place, waiting);
        }
        _ => line.push_back(waiting),
    }
}

/// The place of an arrival in a line, if it waits there.
pub(super) fn place_of<T>(line: &VecDeque<Waiting<T>>, arrival: u64) -> Option<usize> {
    line.iter().position(|waiting| waiting.arrival == arrival)
}

/// The lowest arrival of a line.
pub(super) fn oldest_of<T>(line: &VecDeque<Waiting<T>>) -> Option<u64> {
    line.iter().map(|waiting| waiting.arrival).min()
}
