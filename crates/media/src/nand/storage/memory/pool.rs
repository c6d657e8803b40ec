//! Frames for pages of one size, from memory that the operating system gives in large chunks: it gives each byte of it only
//! when that is first written, in huge pages where it has them, and a page of its own for every page of flash would cost a drive
//! that is filled more time than what is written to it.

use std::num::NonZeroU32;

/// Bytes of a chunk, about: more than what the allocator would look for among what was freed before.
const CHUNK_BYTES: usize = 64 << 20;

/// Pages that are taken and given back.
pub(super) struct PagePool {
    page_words: usize,
    pages_per_chunk: usize,
    chunks: Vec<Vec<u64>>,
    /// Pages of the chunks that were taken at least once.
    used: usize,
    free: Vec<Frame>,
}

/// Where one page lies, until it is given back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame(NonZeroU32);

impl PagePool {
    /// For pages of so many words.
    pub(super) fn of_pages(words: usize) -> PagePool {
        PagePool::with_chunks(words, CHUNK_BYTES)
    }

    fn with_chunks(words: usize, chunk_bytes: usize) -> PagePool {
        let pages = chunk_bytes / 8 / words.max(1);
        PagePool {
            page_words: words,
            pages_per_chunk: pages.next_power_of_two(),
            chunks: Vec::new(),
            used: 0,
            free: Vec::new(),
        }
    }

    /// A frame for a page, of undefined content.
    pub(super) fn take(&mut self) -> Frame {
        if let Some(frame) = self.free.pop() {
            return frame;
        }
        if self.used == self.chunks.len() * self.pages_per_chunk {
            self.grow();
        }
        self.used += 1;
        let number = u32::try_from(self.used).ok().and_then(NonZeroU32::new);
        Frame(number.expect("four thousand million pages are more than any memory has"))
    }

    /// Takes one back; with the last one, the operating system gets all memory back but that of a drive that holds little.
    pub(super) fn give_back(&mut self, frame: Frame) {
        self.free.push(frame);
        if self.free.len() == self.used && self.chunks.len() > 1 {
            self.chunks.truncate(1);
            self.free.clear();
            self.used = 0;
        }
    }

    #[inline]
    pub(super) fn page(&self, frame: Frame) -> &[u64] {
        let (chunk, start) = self.place(frame);
        &self.chunks[chunk][start..start + self.page_words]
    }

    #[inline]
    pub(super) fn page_mut(&mut self, frame: Frame) -> &mut [u64] {
        let (chunk, start) = self.place(frame);
        &mut self.chunks[chunk][start..start + self.page_words]
    }

    fn place(&self, frame: Frame) -> (usize, usize) {
        let number = frame.0.get() as usize - 1;
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
        let mut pool = PagePool::with_chunks(2048 + 3, 1 << 20);
        let most = pool.pages_per_chunk * 2 + 1;
        let frames: Vec<Frame> = (0..most).map(|_| pool.take()).collect();
        for (number, frame) in frames.iter().copied().enumerate() {
            let page = pool.page_mut(frame);
            assert_eq!(page.len(), 2051);
            (page[0], page[2050]) = (number as u64, !(number as u64));
        }
        for (number, frame) in frames.iter().copied().enumerate() {
            let page = pool.page(frame);
            assert_eq!((page[0], page[2050]), (number as u64, !(number as u64)));
        }
        let (first, rest) = frames.split_first().expect("there are some");
        rest.iter().for_each(|frame| pool.give_back(*frame));
        rest.iter().for_each(|_| _ = pool.take());
        assert_eq!((pool.used, pool.chunks.len()), (most, 3));
        assert_eq!(pool.page(*first)[0], 0);
    }

    #[test]
    fn memory_of_a_drive_that_is_empty_goes_back() {
        let mut pool = PagePool::with_chunks(512, 1 << 16);
        let frames: Vec<Frame> = (0..3 * pool.pages_per_chunk).map(|_| pool.take()).collect();
        frames.into_iter().for_each(|frame| pool.give_back(frame));
        assert_eq!((pool.used, pool.chunks.len()), (0, 1));
        let frame = pool.take();
        pool.page_mut(frame).fill(7);
        assert_eq!(pool.page(frame), [7; 512]);
    }
}
