//! The data of requests, on its way between the kernel and the drive.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bitline::inside::nvme::{Loan, Pages};

use super::budget::{Budget, Share};
use crate::buffers::Buffers;
use crate::engine::Doorbell;

/// Most bytes of a request, which is what the kernel has memory pages for by default.
pub(super) const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// More data than this is much: the kernel takes longer to copy it than a thread to be woken.
pub(super) const MUCH_BYTES: usize = 64 << 10;
/// Bytes that requests under way have together, at most: more than all of those have that the kernel does not wait for itself, or
/// what it asks for besides would wait behind them.
const UNDER_WAY_BYTES: u64 = 144 << 20;
/// Bytes of buffers that are kept for later requests, at most: those of 32 that are as long as can be.
const SPARE_BYTES_MAX: usize = 32 << 20;
/// The smallest pages that data comes in: for smaller ones, the kernel would take longer to find the next than to copy.
const PAGE_BYTES_MIN: usize = 4096;
/// There is one who makes requests, the kernel.
const KERNEL: u64 = 0;

/// What the data of requests lies in. Cheap to clone.
#[derive(Clone)]
pub(super) struct DataPool {
    budget: Budget,
    spare: Arc<Mutex<Spare>>,
    page_bytes: usize,
}

/// Memory that nobody has.
struct Spare {
    buffers: Buffers,
    /// Pages for the data of whole requests: all that there ever were, no more than can be under way. Most lie in parts of what was
    /// the drive's own memory: where they were dropped, others would be made in their place, and those parts be of no use.
    pages: Vec<Pages>,
}

/// Room for what is read. It counts for the budget until it is dropped, as data does.
pub(super) struct Room {
    pooled: Pooled<Box<[u8]>>,
    bytes: Range<usize>,
}

/// The data of a write.
pub(super) struct Data {
    pooled: Pooled<Loan>,
    length: usize,
}

/// Memory of a pool, of which a request takes a part.
struct Pooled<L: Default + Into<Loan>> {
    memory: L,
    pool: DataPool,
    _share: Share,
}

impl DataPool {
    /// For a drive of such pages of flash. It is rung for when there is room again.
    pub(super) fn new(drive: Doorbell, page_bytes: usize) -> DataPool {
        DataPool {
            budget: Budget::of(UNDER_WAY_BYTES, drive),
            spare: Arc::new(Mutex::new(Spare {
                buffers: Buffers::new(SPARE_BYTES_MAX),
                pages: Vec::new(),
            })),
            page_bytes: page_bytes.max(PAGE_BYTES_MIN),
        }
    }

    /// As much room again, for requests that have nothing to do with those of this one.
    pub(super) fn another(&self) -> DataPool {
        DataPool::new(self.budget.drive().clone(), self.page_bytes)
    }

    /// Whether there may be a request more; if not, the drive is rung for when there may.
    pub(super) fn has_room(&self) -> bool {
        self.budget.has_room()
    }

    /// What a request takes that has no data.
    pub(super) fn share(&self) -> Share {
        self.budget.take(0)
    }

    /// Room for what is to be read to `bytes` of at least `length`.
    pub(super) fn room(&self, bytes: Range<usize>, length: usize) -> Room {
        let buffer = self.buffer(length);
        let counted = buffer.len();
        Room {
            pooled: self.hold(buffer, counted),
            bytes,
        }
    }

    /// A copy of data that lies in parts, `length` bytes of it.
    pub(super) fn holding<'a>(
        &self,
        length: usize,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> Data {
        let mut buffer = self.buffer(length);
        join(parts, &mut buffer[..length]);
        self.data(buffer, length)
    }

    /// Data that lies at the beginning of pages already.
    pub(super) fn adopt(&self, pages: Pages, length: usize) -> Data {
        self.data(pages, length)
    }

    /// Pages for the data of a whole request, for the pool to adopt.
    pub(super) fn pages(&self) -> Pages {
        let spare = self.spare().pages.pop();
        spare.unwrap_or_else(|| Pages::zeroed(self.page_bytes, REQUEST_BYTES_MAX as usize))
    }

    fn data(&self, memory: impl Into<Loan>, length: usize) -> Data {
        let memory = memory.into();
        let counted = memory.bytes();
        Data {
            pooled: self.hold(memory, counted),
            length,
        }
    }

    fn buffer(&self, length: usize) -> Box<[u8]> {
        self.spare().buffers.take(KERNEL, length, false)
    }

    fn hold<L: Default + Into<Loan>>(&self, memory: L, bytes: usize) -> Pooled<L> {
        Pooled {
            memory,
            pool: self.clone(),
            _share: self.budget.take(bytes as u64),
        }
    }

    fn spare(&self) -> MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies parts one after another to where there is room for them.
pub(super) fn join<'a>(parts: impl IntoIterator<Item = &'a [u8]>, into: &mut [u8]) {
    let mut rest = into;
    for part in parts {
        let (here, beyond) = rest.split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = beyond;
    }
}

impl Spare {
    fn give_back(&mut self, memory: Loan) {
        match memory {
            Loan::Buffer(buffer) => self.buffers.give_back(KERNEL, buffer),
            Loan::Pages(pages) => self.pages.push(pages),
        }
    }
}

impl Room {
    /// What was read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.pooled.memory[self.bytes.clone()]
    }

    /// All of it, to be lent to the drive.
    pub(super) fn take(&mut self) -> Box<[u8]> {
        std::mem::take(&mut self.pooled.memory)
    }

    /// What [`Room::take`] gave is back.
    pub(super) fn put_back(&mut self, buffer: Box<[u8]>) {
        self.pooled.memory = buffer;
    }
}

impl Data {
    /// Its bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The data, in the stretches that it lies in. It has not been taken.
    pub(super) fn stretches(&self) -> impl Iterator<Item = &[u8]> {
        self.pooled.memory.stretches(0..self.length)
    }

    /// All that it lies in, to be lent to the drive. Nobody needs the data afterwards.
    pub(super) fn take(&mut self) -> Loan {
        std::mem::take(&mut self.pooled.memory)
    }

    /// What [`Data::take`] gave, or what the drive gave for it, is back.
    pub(super) fn put_back(&mut self, memory: Loan) {
        self.pooled.memory = memory;
    }
}

impl<L: Default + Into<Loan>> Drop for Pooled<L> {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        self.pool.spare().give_back(memory.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 16384;

    fn pool() -> DataPool {
        DataPool::new(Doorbell::new().expect("an event"), PAGE)
    }

    #[test]
    fn buffers_are_used_again() {
        let pool = pool();
        let mut first = pool.room(0..5000, 5000);
        let mut buffer = first.take();
        buffer.fill(1);
        let at = buffer.as_ptr();
        first.put_back(buffer);
        assert_eq!(first.bytes(), [1; 5000]);
        drop(first);
        let second = pool.holding(8000, [&[2; 7000][..], &[3; 1000]]);
        let parts: Vec<&[u8]> = second.stretches().collect();
        assert_eq!(parts, [[&[2; 7000][..], &[3; 1000]].concat()]);
        assert_eq!(parts[0].as_ptr(), at);
    }

    #[test]
    fn so_are_pages() {
        let pool = pool();
        let mut pages = pool.pages();
        let at = pages
            .pages_mut()
            .map(|page| page.as_ptr())
            .collect::<Vec<_>>();
        assert_eq!((at.len(), pages.bytes()), (64, 1 << 20));
        pages.pages_mut().for_each(|page| page.fill(5));
        let data = pool.adopt(pages, PAGE + 3);
        let parts: Vec<&[u8]> = data.stretches().collect();
        assert_eq!(parts, [&[5; PAGE][..], &[5; 3]]);
        drop(data);
        let mut again = pool.pages();
        assert!(again.pages_mut().map(|page| page.as_ptr()).eq(at));
    }

    #[test]
    fn room_shows_its_part_of_a_buffer() {
        let mut room = pool().room(3..5, 4096);
        let mut buffer = room.take();
        assert_eq!(buffer.len(), 4096);
        buffer[..6].copy_from_slice(b"abcdef");
        room.put_back(buffer);
        assert_eq!(room.bytes(), b"de");
    }
}
