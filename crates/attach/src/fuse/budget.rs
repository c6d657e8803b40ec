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
        self.budget.given_back.notify_one();
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
}
