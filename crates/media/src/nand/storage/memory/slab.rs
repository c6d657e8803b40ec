//! Room for pages of one size, from memory that the operating system gives in large chunks: it gives each byte of it only
//! when that is first written, in huge pages where it has them, and a page of its own for every page of flash would cost a drive
//! that is filled more time than what is written to it.

use std::num::NonZeroU32;

/// Bytes of a chunk, about: more than what the allocator would look for among what was freed before.
const CHUNK_BYTES: usize = 64 << 20;

/// Pages that are taken and given back.
pub(super) struct Slab {
    page_words: usize,
    pages_per_chunk: usize,
    chunks: Vec<Vec<u64>>,
    /// Pages of the chunks that were taken at least once.
    used: usize,
    free: Vec<Room>,
}

/// The room of one page, until it is given back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room(NonZeroU32);

impl Slab {
    /// For pages of so many words.
    pub(super) fn of_pages(words: usize) -> Slab {
        Slab {
            page_words: words,
            // Division by a power of two is a shift for the processor, too.
            pages_per_chunk: (CHUNK_BYTES / 8 / words.max(1)).next_power_of_two().max(1),
            chunks: Vec::new(),
            used: 0,
            free: Vec::new(),
        }
    }

    /// Room for a page, of undefined content.
    pub(super) fn take(&mut self) -> Room {
        if let Some(room) = self.free.pop() {
            return room;
        }
        if self.used == self.chunks.len() * self.pages_per_chunk {
            self.grow();
        }
        self.used += 1;
        let number = u32::try_from(self.used).ok().and_then(NonZeroU32::new);
        Room(number.expect("four thousand million pages are more than any memory has"))
    }

    pub(super) fn give_back(&mut self, room: Room) {
        self.free.push(room);
    }

    #[inline]
    pub(super) fn page(&self, room: Room) -> &[u64] {
        let (chunk, start) = self.place(room);
        &self.chunks[chunk][start..start + self.page_words]
    }

    #[inline]
    pub(super) fn page_mut(&mut self, room: Room) -> &mut [u64] {
        let (chunk, start) = self.place(room);
        &mut self.chunks[chunk][start..start + self.page_words]
    }

    fn place(&self, room: Room) -> (usize, usize) {
        let number = room.0.get() as usize - 1;
        let (chunk, page) = (number / self.pages_per_chunk, number % self.pages_per_chunk);
        (chunk, page * self.page_words)
    }

    #[cold]
    fn grow(&mut self) {
        let words = self.pages_per_chunk * self.page_words;
        // A drive that holds little takes little: its chunk is used by ordinary memory pages.
        self.chunks.push(match self.chunks.is_empty() {
            true => vec![0; words],
            false => sim::memory::zeroed(words),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_disjoint_and_used_again() {
        let mut slab = Slab::of_pages(2048 + 3);
        let most = slab.pages_per_chunk * 2 + 1;
        let rooms: Vec<Room> = (0..most).map(|_| slab.take()).collect();
        for (number, room) in rooms.iter().copied().enumerate() {
            let page = slab.page_mut(room);
            assert_eq!(page.len(), 2051);
            (page[0], page[2050]) = (number as u64, !(number as u64));
        }
        for (number, room) in rooms.iter().copied().enumerate() {
            let page = slab.page(room);
            assert_eq!((page[0], page[2050]), (number as u64, !(number as u64)));
        }
        let chunks = slab.chunks.len();
        rooms.into_iter().for_each(|room| slab.give_back(room));
        (0..most).for_each(|_| _ = slab.take());
        assert_eq!((chunks, slab.chunks.len()), (3, 3));
    }
}
