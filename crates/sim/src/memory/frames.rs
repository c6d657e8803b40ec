//! Frames for pages of data, which several may hold at the same time: where it is kept, and who was given it or gives it. Nobody
//! changes a frame that others hold: who wants to has one of its own first. So a page of data moves between them without being
//! copied.
//!
//! Their memory comes from the operating system in large chunks: it gives each byte of it only when that is first written, in huge
//! pages where it has them. Memory asked for page by page would take more time to be had than to be written. What is in memory
//! already that comes from elsewhere is exchanged for a frame's.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use bytes::BytesMut;
use zerocopy::FromBytes;

use super::chunks::{CHUNK_BYTES, new_chunk};

/// Where frames for pages of one size come from, and go back to. Cheap to clone.
#[derive(Clone)]
pub struct Frames(Rc<Pool>);

struct Pool {
    page_words: usize,
    pages_per_chunk: usize,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// What is left of the chunk that came last.
    chunk: BytesMut,
    chunks: usize,
    /// Frames that somebody holds.
    held: usize,
    /// Whether somebody has got parts of chunks in exchange.
    has_exchanged: bool,
    free: Vec<Rc<Page>>,
}

struct Page {
    bytes: BytesMut,
    pool: Weak<Pool>,
}

/// Memory for a page: one that holds it has it alone, others share it. Cheap to clone.
#[derive(Clone)]
pub struct Frame(Rc<Page>);

impl Frames {
    /// For pages of so many words.
    pub fn of_pages(words: usize) -> Frames {
        Frames::with_chunks(words, CHUNK_BYTES)
    }

    fn with_chunks(words: usize, chunk_bytes: usize) -> Frames {
        let pages = chunk_bytes / 8 / words.max(1);
        Frames(Rc::new(Pool {
            page_words: words,
            pages_per_chunk: pages.next_power_of_two(),
            state: RefCell::default(),
        }))
    }

    /// A frame that nobody else holds, of undefined content.
    pub fn take(&self) -> Frame {
        let state = &mut *self.0.state.borrow_mut();
        state.held += 1;
        Frame(match state.free.pop() {
            Some(page) => page,
            None => self.0.new_page(state),
        })
    }
}

impl Pool {
    fn new_page(self: &Rc<Pool>, state: &mut State) -> Rc<Page> {
        let bytes = self.page_words * 8;
        if state.chunk.len() < bytes {
            state.chunk = new_chunk(self.pages_per_chunk * bytes, state.chunks > 0);
            state.chunks += 1;
        }
        Rc::new(Page {
            bytes: state.chunk.split_to(bytes),
            pool: Rc::downgrade(self),
        })
    }

    /// Takes one back. With the last one, whoever held it, the operating system gets all memory back, unless there is little, or
    /// chunks would stay of which somebody has a part, and new ones be added to them.
    fn give_back(&self, page: Rc<Page>) {
        let state = &mut *self.state.borrow_mut();
        state.held -= 1;
        if state.held > 0 || state.chunks <= 1 || state.has_exchanged {
            return state.free.push(page);
        }
        state.free.clear();
        (state.chunk, state.chunks) = (BytesMut::new(), 0);
    }
}

impl Frame {
    /// What it holds.
    #[inline]
    pub fn words(&self) -> &[u64] {
        <[u64]>::ref_from_bytes(&self.0.bytes).expect("frames begin and end at words")
    }

    /// The same, byte for byte.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// What it holds, to be changed: if others hold it, too, what they hold stays as it is, and this becomes another one.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        <[u64]>::mut_from_bytes(self.bytes_mut()).expect("frames begin and end at words")
    }

    /// The same, byte for byte.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if Rc::strong_count(&self.0) > 1 {
            self.unshare();
        }
        let page = Rc::get_mut(&mut self.0).expect("nobody else holds it");
        &mut page.bytes
    }

    /// Exchanges its memory, with what it holds, for other memory that is as long; whether that could be. Not if others hold it.
    ///
    /// A chunk goes back only when nobody has a part of it. Whoever gets one by this exchanges it again, rather than drop it, and
    /// the pool keeps what it has as long as it lives.
    pub fn exchange(&mut self, memory: &mut BytesMut) -> bool {
        let Some(page) = Rc::get_mut(&mut self.0) else {
            return false;
        };
        let is_fit = memory.len() == page.bytes.len()
            && memory.as_ptr().align_offset(align_of::<u64>()) == 0;
        if is_fit {
            std::mem::swap(&mut page.bytes, memory);
            if let Some(pool) = page.pool.upgrade() {
                pool.state.borrow_mut().has_exchanged = true;
            }
        }
        is_fit
    }

    /// Makes it another one with the same content.
    #[cold]
    fn unshare(&mut self) {
        let pool = self.0.pool.upgrade();
        // Whoever keeps a page longer than its pool has memory of its own for it.
        let frames = pool.map_or_else(|| Frames::with_chunks(self.words().len(), 0), Frames);
        let mut own = frames.take();
        own.bytes_mut().copy_from_slice(self.bytes());
        *self = own;
    }
}

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        if Rc::strong_count(&self.0) == 1
            && let Some(pool) = self.0.pool.upgrade()
        {
            pool.give_back(self.0.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_disjoint_and_used_again() {
        let frames = Frames::with_chunks(2048 + 3, 1 << 20);
        let most = frames.0.pages_per_chunk * 2 + 1;
        let mut taken: Vec<Frame> = (0..most).map(|_| frames.take()).collect();
        for (number, frame) in (0..).zip(&mut taken) {
            let page = frame.words_mut();
            assert_eq!(page.len(), 2051);
            (page[0], page[2050]) = (number, !number);
        }
        for (number, frame) in (0..).zip(&taken) {
            let page = frame.words();
            assert_eq!((page[0], page[2050]), (number, !number));
        }
        taken.truncate(1);
        taken.extend((1..most).map(|_| frames.take()));
        assert_eq!(frames.0.state.borrow().chunks, 3);
        assert_eq!(taken[0].words()[0], 0);
    }

    #[test]
    fn what_others_hold_stays_as_it_is() {
        let frames = Frames::of_pages(4);
        let mut one = frames.take();
        one.words_mut().fill(7);
        let at = one.bytes().as_ptr();
        let mut other = one.clone();
        assert_eq!(other.bytes().as_ptr(), at, "nothing was copied");
        other.words_mut()[0] = 8;
        assert_eq!(
            (one.words(), other.words()),
            (&[7; 4][..], &[8, 7, 7, 7][..])
        );
        assert_eq!(one.words_mut().as_ptr().cast(), at, "it has it alone now");
        assert_eq!(frames.0.state.borrow().held, 2);
        drop(one);
        assert_eq!(frames.take().bytes().as_ptr(), at, "it is used again");
    }

    #[test]
    fn frames_begin_at_memory_pages() {
        for chunk_bytes in [1 << 15, 8 << 20] {
            let frames = Frames::with_chunks(2048, chunk_bytes);
            let taken: Vec<Frame> = (0..5).map(|_| frames.take()).collect();
            assert!(
                taken
                    .iter()
                    .all(|frame| frame.bytes().as_ptr().addr() % 4096 == 0)
            );
        }
    }

    #[test]
    fn memory_is_exchanged_unless_others_have_it() {
        let frames = Frames::of_pages(4);
        let mut frame = frames.take();
        frame.bytes_mut().fill(7);
        let mut other = new_chunk(32, false);
        other.truncate(32);
        assert!(frame.exchange(&mut other));
        assert_eq!((frame.bytes(), &other[..]), (&[0; 32][..], &[7; 32][..]));
        let shared = frame.clone();
        assert!(!frame.exchange(&mut other), "another one holds it, too");
        drop(shared);
        let mut odd = new_chunk(40, false).split_off(1);
        odd.truncate(32);
        assert!(!frame.exchange(&mut odd), "no word begins there");
        other.truncate(31);
        assert!(!frame.exchange(&mut other), "it is shorter");
        assert_eq!(frame.words(), [0; 4]);
    }

    #[test]
    fn memory_that_nobody_holds_goes_back() {
        let frames = Frames::with_chunks(512, 1 << 16);
        let taken: Vec<Frame> = (0..3 * frames.0.pages_per_chunk)
            .map(|_| frames.take())
            .collect();
        assert_eq!(frames.0.state.borrow().chunks, 3);
        drop(taken);
        let state = frames.0.state.borrow();
        assert_eq!((state.held, state.chunks, state.free.len()), (0, 0, 0));
        drop(state);
        let mut frame = frames.take();
        frame.words_mut().fill(7);
        assert_eq!(frame.words(), [7; 512]);
    }

    #[test]
    fn what_comes_and_goes_by_exchange_takes_no_more() {
        let frames = Frames::with_chunks(512, 1 << 16);
        let burst = 3 * frames.0.pages_per_chunk;
        let mut others: Vec<BytesMut> = (0..4).map(|_| BytesMut::zeroed(4096)).collect();
        for _ in 0..10 {
            let mut taken: Vec<Frame> = (0..burst).map(|_| frames.take()).collect();
            for (frame, other) in taken.iter_mut().step_by(7).zip(&mut others) {
                assert!(frame.exchange(other));
            }
            drop(taken);
            assert_eq!(frames.0.state.borrow().chunks, 3);
        }
    }

    #[test]
    fn a_page_may_outlive_its_pool() {
        let frames = Frames::of_pages(2);
        let mut one = frames.take();
        one.words_mut().fill(5);
        let mut other = one.clone();
        drop(frames);
        other.words_mut()[1] = 6;
        assert_eq!((one.words(), other.words()), (&[5, 5][..], &[5, 6][..]));
    }
}
