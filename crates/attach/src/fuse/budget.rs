//! How much of requests is under way at once, so that memory stays bounded.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes that requests under way may have together.
pub(super) struct Budget {
    free: Mutex<u64>,
    given_back: Condvar,
}

/// What a request has of a budget, until it is dropped.
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

/// What a request takes besides its data, about: a flood of small ones is bounded, too.
const OVERHEAD_BYTES: u64 = 1024;

impl Budget {
    pub(super) fn of(bytes: u64) -> Arc<Budget> {
        Arc::new(Budget {
            free: Mutex::new(bytes),
            given_back: Condvar::new(),
        })
    }

    /// Waits until there is room for a request of so many bytes.
    pub(super) fn take(self: &Arc<Budget>, bytes: u64) -> Share {
        let bytes = bytes + OVERHEAD_BYTES;
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < bytes {
            let waited = self.given_back.wait(free);
            free = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Share {
            budget: self.clone(),
            bytes,
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let free = self.budget.free.lock();
        *free.unwrap_or_else(PoisonError::into_inner) += self.bytes;
        // One that is too large for what is free now must not take the wakeup of another that fits.
        self.budget.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_finds_no_room_waits() {
        let budget = Budget::of(10 * 1024);
        let share = budget.take(8 * 1024);
        let waiting = {
            let budget = budget.clone();
            thread::spawn(move || drop(budget.take(1024)))
        };
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        drop(share);
        waiting.join().expect("it gets its share");
    }

    /// What is given back is enough for the one that waits second, and not for the one that waits first.
    #[test]
    fn who_fits_does_not_wait_for_who_does_not() {
        let budget = Budget::of(20 * 1024);
        let (large, small) = (budget.take(11 * 1024), budget.take(7 * 1024));
        let waits = |bytes| {
            let budget = budget.clone();
            let waiting = thread::spawn(move || drop(budget.take(bytes)));
            thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            waiting
        };
        let (first, second) = (waits(15 * 1024), waits(1024));
        drop(small);
        second.join().expect("it gets its share");
        assert!(!first.is_finished());
        drop(large);
        first.join().expect("it gets its share");
    }
}
