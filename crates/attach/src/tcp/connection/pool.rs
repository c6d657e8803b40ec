//! How much memory the data of commands takes, of a connection and of all of them, and the buffers that may be used again.

use std::cell::{Cell, RefCell};

/// What all connections share. A connection that has nothing may always have a little, so that those that keep much cannot keep
/// others from working.
pub(crate) struct Pool {
    most: u64,
    taken: Cell<u64>,
    spare: RefCell<Spare>,
}

/// Bytes that a connection may have, whatever others have.
pub(crate) const GUARANTEED_BYTES: u64 = 128 << 10;

/// Buffers that are kept for later, each with the connection whose commands left there what it holds; a list for each power of two.
struct Spare {
    classes: [Vec<Used>; CLASSES],
    bytes: usize,
}

/// The connection that used a buffer last, and the buffer.
type Used = (u64, Box<[u8]>);

/// Sizes of buffers: powers of two up to 4 GiB.
const CLASSES: usize = 33;

/// The smallest buffer.
const BUFFER_BYTES_MIN: usize = 4096;
/// The most that is kept for later.
const SPARE_BYTES_MAX: usize = 64 << 20;
/// Buffers of a list that are looked at for one of the same connection.
const LOOKED_AT: usize = 16;

impl Pool {
    pub(crate) fn new(most: u64) -> Pool {
        Pool {
            most,
            taken: Cell::new(0),
            spare: RefCell::new(Spare {
                classes: [const { Vec::new() }; CLASSES],
                bytes: 0,
            }),
        }
    }

    /// Bytes that a buffer for `bytes` counts for.
    pub(crate) fn counted(bytes: usize) -> u64 {
        bytes.max(BUFFER_BYTES_MIN).next_power_of_two() as u64
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
        let size = Pool::counted(bytes) as usize;
        self.taken.set(self.taken.get() + size as u64);
        let spare = &mut *self.spare.borrow_mut();
        let class = &mut spare.classes[size.trailing_zeros() as usize];
        let last = class.iter().enumerate().rev().take(LOOKED_AT);
        let own = last.into_iter().find(|(_, (of, _))| *of == owner);
        let place = own.map(|(place, _)| place);
        let found = match place {
            Some(place) => Some(class.swap_remove(place)),
            None => class.pop(),
        };
        let Some((of, mut buffer)) = found else {
            return vec![0; size].into();
        };
        spare.bytes -= size;
        if of != owner {
            buffer.fill(0);
        } else if clean {
            buffer[..bytes].fill(0);
        }
        buffer
    }

    /// Takes back what counts for `bytes`, and its buffer if it can be used again.
    pub(crate) fn give_back(&self, owner: u64, bytes: u64, buffer: Option<Box<[u8]>>) {
        debug_assert!(self.taken.get() >= bytes, "only what was taken");
        self.taken.set(self.taken.get().saturating_sub(bytes));
        let Some(buffer) = buffer else { return };
        let spare = &mut *self.spare.borrow_mut();
        let size = buffer.len();
        if size.is_power_of_two() && spare.bytes + size <= SPARE_BYTES_MAX {
            spare.bytes += size;
            spare.classes[size.trailing_zeros() as usize].push((owner, buffer));
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
    fn a_connection_sees_nothing_of_another() {
        let pool = Pool::new(1 << 20);
        let mut buffer = pool.buffer(1, 5000, false);
        assert_eq!((buffer.len(), pool.taken()), (8192, 8192));
        buffer.fill(7);
        pool.give_back(1, 8192, Some(buffer));
        let own = pool.buffer(1, 5000, false);
        assert_eq!(own[0], 7);
        pool.give_back(1, 8192, Some(own));
        let others = pool.buffer(2, 8192, false);
        assert!(others.iter().all(|byte| *byte == 0));
        pool.give_back(2, 8192, None);
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
