//! Things that come and go, by number; numbers are used again, so that steady traffic
//! allocates nothing.

use std::ops::{Index, IndexMut};

/// Entries by number. A number that was released keeps its entry until it is used again.
pub(crate) struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Gives an entry a number.
    #[inline]
    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.entries[number as usize] = entry;
            return number;
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// Every entry with its number, those of released numbers as they were left.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.entries)
    }

    /// The number may be given to another entry.
    #[inline]
    pub(crate) fn release(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.entries[number as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.entries[number as usize]
    }
}
