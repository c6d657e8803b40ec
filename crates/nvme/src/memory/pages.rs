//! Memory in pages, each of which may be exchanged for another one: what is written moves to the drive without being copied.

use std::ops::Range;

use bytes::{Buf, BytesMut};

use super::MEMORY_PAGE_BYTES;

/// Memory in pages of one size, one after another. Whoever it is lent to may keep any of them, for another one in its place.
#[derive(Debug)]
pub struct Pages {
    page_bytes: usize,
    pages: Vec<BytesMut>,
}

/// What a page begins at: a memory page, which is what operating systems look for.
const ALIGNMENT: usize = MEMORY_PAGE_BYTES as usize;

impl Pages {
    /// Zeroes, as many whole pages as `bytes` take.
    ///
    /// # Panics
    /// If pages have no bytes.
    pub fn zeroed(page_bytes: usize, bytes: usize) -> Pages {
        let count = bytes.div_ceil(page_bytes);
        let mut rest = BytesMut::zeroed(count * page_bytes + ALIGNMENT);
        rest.advance(rest.as_ptr().align_offset(ALIGNMENT));
        Pages {
            page_bytes,
            pages: (0..count).map(|_| rest.split_to(page_bytes)).collect(),
        }
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> usize {
        self.page_bytes * self.pages.len()
    }

    /// The pages, one after another.
    pub fn pages_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.pages.iter_mut().map(|page| &mut page[..])
    }

    /// What lies in a range of it, page for page.
    ///
    /// # Panics
    /// If it is shorter.
    pub fn stretches(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        self.places(range)
            .map(|(page, place)| &self.pages[page][place])
    }

    /// What lies in a range, if that is on one page.
    pub(super) fn slice(&self, range: Range<usize>) -> Option<&[u8]> {
        let (page, place) = self.place(&range);
        self.pages.get(page)?.get(place)
    }

    /// The same, to be changed.
    pub(super) fn slice_mut(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        let (page, place) = self.place(&range);
        self.pages.get_mut(page)?.get_mut(place)
    }

    /// Fills `into` with what lies from a byte on, if there is so much.
    pub(super) fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        let range = at..at.checked_add(into.len())?;
        let mut rest = (range.end <= self.bytes()).then_some(into)?;
        for stretch in self.stretches(range) {
            let (here, beyond) = rest.split_at_mut(stretch.len());
            here.copy_from_slice(stretch);
            rest = beyond;
        }
        Some(())
    }

    /// Puts `from` there from a byte on, if there is room for it.
    pub(super) fn write(&mut self, at: usize, from: &[u8]) -> Option<()> {
        let range = at..at.checked_add(from.len())?;
        let mut rest = (range.end <= self.bytes()).then_some(from)?;
        for (page, place) in self.places(range) {
            let (here, beyond) = rest.split_at(place.len());
            self.pages[page][place].copy_from_slice(here);
            rest = beyond;
        }
        Some(())
    }

    /// The page that a range is.
    pub(super) fn page_mut(&mut self, range: Range<usize>) -> Option<&mut BytesMut> {
        let is_one = range.len() == self.page_bytes && range.start.is_multiple_of(self.page_bytes);
        let (page, _) = self.place(&range);
        self.pages.get_mut(page).filter(|_| is_one)
    }

    /// The page that a range begins on, and where it is from there on.
    fn place(&self, range: &Range<usize>) -> (usize, Range<usize>) {
        let page = range.start / self.page_bytes;
        let begin = page * self.page_bytes;
        (page, range.start - begin..range.end - begin)
    }

    /// Pages that a range is on, and where on each.
    fn places(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let page_bytes = self.page_bytes;
        let mut at = range.start;
        std::iter::from_fn(move || {
            let left = range.end.checked_sub(at).filter(|left| *left > 0)?;
            let begin = at % page_bytes;
            let place = begin..page_bytes.min(begin + left);
            let page = at / page_bytes;
            at += place.len();
            Some((page, place))
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::super::{Dma, HostMemory, Loan};
    use super::*;

    fn lent() -> (HostMemory, u64) {
        let mut memory = HostMemory::new();
        let lent = memory.lend(Pages::zeroed(8, 20));
        let numbers: Vec<u8> = (0..24).collect();
        memory.write(lent, &numbers).expect("it is as long");
        (memory, lent)
    }

    #[test]
    fn pages_are_memory_one_after_another() {
        let (mut memory, lent) = lent();
        let mut read = [0; 10];
        memory.read(lent + 6, &mut read).expect("it is as long");
        assert_eq!(read, [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert!(memory.read(lent + 15, &mut read).is_err());
        assert!(memory.write(lent + 15, &read).is_err());
        assert_eq!(
            memory.slice(lent + 8, 8).expect("a page"),
            [8, 9, 10, 11, 12, 13, 14, 15]
        );
        assert!(
            memory.slice(lent + 7, 2).is_err(),
            "they do not lie together"
        );
        let Ok(Loan::Pages(pages)) = memory.take_back(lent) else {
            panic!("pages were lent");
        };
        let stretches: Vec<&[u8]> = pages.stretches(7..17).collect();
        assert_eq!(
            stretches,
            [&[7][..], &[8, 9, 10, 11, 12, 13, 14, 15], &[16]]
        );
    }

    #[test]
    fn a_page_is_exchanged_and_no_others_change() {
        let (mut memory, lent) = lent();
        let mut other = BytesMut::from(&[9; 8][..]);
        let page = memory.lent_page(lent + 8, 8).expect("a page");
        std::mem::swap(page, &mut other);
        assert_eq!(&other[..], [8, 9, 10, 11, 12, 13, 14, 15]);
        let mut read = [0; 24];
        memory.read(lent, &mut read).expect("it is as long");
        assert_eq!((read[7], &read[8..16], read[16]), (7, &[9; 8][..], 16));
        for (at, bytes) in [(0, 7), (4, 8), (24, 8), (0, 16)] {
            assert!(
                memory.lent_page(lent + at, bytes).is_none(),
                "{at}, {bytes}"
            );
        }
        let whole = memory.lend(vec![0; 8].into_boxed_slice());
        assert!(memory.lent_page(whole, 8).is_none());
    }

    #[test]
    fn pages_begin_at_memory_pages() {
        let mut pages = Pages::zeroed(16384, 20_000);
        assert_eq!(pages.bytes(), 32768);
        assert!(
            pages
                .pages_mut()
                .all(|page| page.as_ptr().addr() % 4096 == 0)
        );
    }
}
