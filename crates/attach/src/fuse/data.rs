//! The data of requests, on its way between the kernel and the drive.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
/// Bytes that are kept for later requests, at most: those of 32 that are as long as can be.
const SPARE_BYTES_MAX: usize = 32 << 20;
/// There is one who makes requests, the kernel.
const KERNEL: u64 = 0;

/// What the data of requests lies in. Cheap to clone.
#[derive(Clone)]
pub(super) struct DataPool {
    budget: Budget,
    spare: Arc<Mutex<Buffers>>,
}

/// The data of a request, in a buffer that may be longer. It counts for the budget until it is dropped.
pub(super) struct Data {
    buffer: Box<[u8]>,
    bytes: Range<usize>,
    pool: DataPool,
    _share: Share,
}

impl DataPool {
    /// The drive is rung for when there is room again.
    pub(super) fn new(drive: Doorbell) -> DataPool {
        DataPool {
            budget: Budget::of(UNDER_WAY_BYTES, drive),
            spare: Arc::new(Mutex::new(Buffers::new(SPARE_BYTES_MAX))),
        }
    }

    /// As much room again, for requests that have nothing to do with those of this one.
    pub(super) fn another(&self) -> DataPool {
        DataPool::new(self.budget.drive().clone())
    }

    /// Whether there may be a request more; if not, the drive is rung for when there may.
    pub(super) fn has_room(&self) -> bool {
        self.budget.has_room()
    }

    /// What a request takes that has no data.
    pub(super) fn share(&self) -> Share {
        self.budget.take(0)
    }

    /// A copy of `bytes`.
    pub(super) fn holding(&self, bytes: &[u8]) -> Data {
        let mut data = self.room(0..bytes.len(), bytes.len());
        data.buffer[..bytes.len()].copy_from_slice(bytes);
        data
    }

    /// Room for data that is to lie in `bytes` of at least `length`, of undefined content.
    pub(super) fn room(&self, bytes: Range<usize>, length: usize) -> Data {
        let share = self.budget.take(Buffers::counted(length));
        Data {
            buffer: self.buffer(length),
            bytes,
            pool: self.clone(),
            _share: share,
        }
    }

    /// A buffer for so many bytes, to which data may come that the pool then adopts.
    pub(super) fn buffer(&self, length: usize) -> Box<[u8]> {
        self.spare().take(KERNEL, length, false)
    }

    /// Data that lies at the beginning of a buffer already.
    pub(super) fn adopt(&self, buffer: Box<[u8]>, length: usize) -> Data {
        Data {
            bytes: 0..length,
            pool: self.clone(),
            _share: self.budget.take(buffer.len() as u64),
            buffer,
        }
    }

    fn spare(&self) -> MutexGuard<'_, Buffers> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Data {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.bytes.clone()]
    }

    /// The whole buffer, to be lent to the drive.
    pub(super) fn take(&mut self) -> Box<[u8]> {
        std::mem::take(&mut self.buffer)
    }

    /// What [`Data::take`] gave is back.
    pub(super) fn put_back(&mut self, buffer: Box<[u8]>) {
        self.buffer = buffer;
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let buffer = self.take();
        self.pool.spare().give_back(KERNEL, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> DataPool {
        DataPool::new(Doorbell::new().expect("an event"))
    }

    #[test]
    fn buffers_are_used_again() {
        let pool = pool();
        let mut first = pool.holding(&[1; 5000]);
        assert_eq!(first.bytes(), [1; 5000]);
        let buffer = first.take();
        let at = buffer.as_ptr();
        first.put_back(buffer);
        drop(first);
        let second = pool.holding(&[2; 8000]);
        assert_eq!(
            (second.bytes().as_ptr(), second.bytes()),
            (at, &[2; 8000][..])
        );
    }

    #[test]
    fn data_shows_its_part_of_a_buffer() {
        let mut data = pool().room(3..5, 4096);
        let mut buffer = data.take();
        assert_eq!(buffer.len(), 4096);
        buffer[..6].copy_from_slice(b"abcdef");
        data.put_back(buffer);
        assert_eq!(data.bytes(), b"de");
    }
}
