//! Tables of the simulator that are as large as what they tell of and are looked at anywhere: memory of their own, in pages as large as
//! the system has.

use memmap2::{Advice, MmapMut};
use sim::memory;
use zerocopy::FromBytes;

/// Words of memory, which are zero at first.
pub(super) struct Words(MmapMut);

impl Words {
    /// So many of them, at least 1.
    pub(super) fn zeroed(count: usize) -> Words {
        let map =
            MmapMut::map_anon(count * size_of::<u64>()).expect("memory, as for any other table");
        // A hint: without large pages it takes longer.
        #[cfg(target_os = "linux")]
        let _ = map.advise(Advice::HugePage);
        Words(map)
    }

    #[inline]
    pub(super) fn all(&self) -> &[u64] {
        <[u64]>::ref_from_bytes(&self.0).expect("whole words, in pages")
    }

    #[inline]
    pub(super) fn all_mut(&mut self) -> &mut [u64] {
        <[u64]>::mut_from_bytes(&mut self.0).expect("whole words, in pages")
    }
}

/// Numbers by hashes: a cell has both, and lies where the hash says or behind it, before the next empty one.
pub(super) struct Numbers {
    /// The hash in the high half, one more than the number in the low one; a power of two of them, half of which is empty.
    cells: Words,
    taken: usize,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers {
            cells: Words::zeroed(2),
            taken: 0,
        }
    }
}

impl Numbers {
    /// Makes room for so many more hashes.
    pub(super) fn reserve(&mut self, more: usize) {
        let needed = (2 * (self.taken + more)).next_power_of_two();
        if needed <= self.cells.all().len() {
            return;
        }
        let before = std::mem::replace(&mut self.cells, Words::zeroed(needed));
        for cell in before.all().iter().filter(|cell| **cell != 0) {
            let place = self.place((cell >> 32) as u32);
            self.cells.all_mut()[place] = *cell;
        }
    }

    /// Puts a number, for which there is room, in place of the one with this hash, which it gives. In the order of hashes many go
    /// fast, for that is the order of cells.
    pub(super) fn put(&mut self, hash: u32, number: u32) -> Option<u32> {
        let place = self.place(hash);
        let cell = &mut self.cells.all_mut()[place];
        let before = (*cell as u32).checked_sub(1);
        *cell = u64::from(hash) << 32 | (u64::from(number) + 1);
        self.taken += usize::from(before.is_none());
        before
    }

    /// Has the processor fetch where a hash is.
    pub(super) fn prefetch(&self, hash: u32) {
        let cells = self.cells.all();
        memory::prefetch(cells, first_place(hash, cells.len()));
    }

    /// The number with a hash.
    pub(super) fn get(&self, hash: u32) -> Option<u32> {
        (self.cells.all()[self.place(hash)] as u32).checked_sub(1)
    }

    /// The cell of a hash, or where it would be.
    fn place(&self, hash: u32) -> usize {
        let cells = self.cells.all();
        let mut place = first_place(hash, cells.len());
        while cells[place] != 0 && (cells[place] >> 32) as u32 != hash {
            place = (place + 1) & (cells.len() - 1);
        }
        place
    }
}

/// The cell that a hash has if no other has taken it.
fn first_place(hash: u32, cells: usize) -> usize {
    ((u64::from(hash) * cells as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn numbers_are_found_by_their_hashes() {
        let (mut numbers, mut model) = (Numbers::default(), BTreeMap::new());
        for number in 0..5000u32 {
            // Many alike, and many one after another.
            let hash = match number % 3 {
                0 => number.wrapping_mul(0x9E37_79B9),
                1 => u32::MAX - number / 7,
                _ => number % 100,
            };
            numbers.reserve(1);
            assert_eq!(numbers.put(hash, number), model.insert(hash, number));
        }
        for (hash, number) in &model {
            assert_eq!(numbers.get(*hash), Some(*number));
        }
        assert_eq!((numbers.get(777_777), numbers.taken), (None, model.len()));
        assert_eq!(Numbers::default().get(0), None);
    }
}
