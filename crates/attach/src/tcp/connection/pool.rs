//! How much memory the data of commands takes, of a connection and of all of them, and the buffers that may be used again.

use std::cell::{Cell, RefCell};

use crate::buffers::Buffers;

/// What all connections share. A connection that has nothing may always have a little, so that those that keep much cannot keep
/// others from working.
pub(crate) struct Pool {
    most: u64,
    taken: Cell<u64>,
    spare: RefCell<Buffers>,
}

/// Bytes that a connection may have, whatever others have.
pub(crate) const GUARANTEED_BYTES: u64 = 128 << 10;

/// The most that is kept for later.
const SPARE_BYTES_MAX: usize = 64 << 20;

impl Pool {
    pub(crate) fn new(most: u64) -> Pool {
        Pool {
            most,
            taken: Cell::new(0),
            spare: RefCell::new(Buffers::new(SPARE_BYTES_MAX)),
        }
    }

    /// Bytes that a buffer for `bytes` counts for.
    pub(crate) fn counted(bytes: usize) -> u64 {
        Buffers::counted(bytes)
    }

    /// Whether a connection that has `own` bytes may have `bytes` more, of at most `own_most`. A quarter of all is for data that `is_here`,
    /// in a capsule: it would keep what is behind it from being read, and that may be what others wait for.
    pub(crate) fn may_take(&self, own: u64, own_most: u64, bytes: u64, is_here: bool) -> bool {
        if own + bytes <= GUARANTEED_BYTES {
            return true;
        }
        let share = |most: u64| if is_here { most } else { most - most / 4 };
        // What is longer than a connection may have gets it alone.
        let own_fits = own == 0 || own + bytes <= share(own_most);
        let taken = self.taken.get();
        let all_fit = taken == 0 || taken + bytes <= share(self.most);
        own_fits && all_fit
    }

    /// A buffer for `bytes` of a connection; all zero if it has to be `clean`. It holds nothing of another connection.
    pub(crate) fn buffer(&self, owner: u64, bytes: usize, clean: bool) -> Box<[u8]> {
        self.taken.set(self.taken.get() + Pool::counted(bytes));
        self.spare.borrow_mut().take(owner, bytes, clean)
    }

    /// Takes back what counts for `bytes`, and its buffer if it can be used again.
    pub(crate) fn give_back(&self, owner: u64, bytes: u64, buffer: Option<Box<[u8]>>) {
        debug_assert!(self.taken.get() >= bytes, "only what was taken");
        self.taken.set(self.taken.get().saturating_sub(bytes));
        if let Some(buffer) = buffer {
            self.spare.borrow_mut().give_back(owner, buffer);
        }
    }

    /// Bytes that are taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_counts_until_it_is_back() {
        let pool = Pool::new(1 << 20);
        let buffer = pool.buffer(1, 5000, false);
        assert_eq!((buffer.len(), pool.taken()), (8192, 8192));
        pool.give_back(1, 8192, Some(buffer));
        assert_eq!(pool.taken(), 0);
    }

    #[test]
    fn a_little_is_always_to_be_had() {
        let pool = Pool::new(1 << 20);
        let all = pool.buffer(1, 1 << 20, false);
        assert!(!pool.may_take(1 << 20, 8 << 20, 4096, true));
        assert!(pool.may_take(0, 8 << 20, GUARANTEED_BYTES, false));
        assert!(!pool.may_take(0, 8 << 20, 2 * GUARANTEED_BYTES, true));
        pool.give_back(1, 1 << 20, Some(all));
        assert!(pool.may_take(0, 1 << 20, 16 << 20, false), "alone");
        assert!(!pool.may_take(800 << 10, 1 << 20, 4096, false));
        assert!(pool.may_take(800 << 10, 1 << 20, 4096, true), "the quarter");
    }
}
