//! How much of requests is under way at once, so that memory stays bounded.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that requests under way may have together.
pub(super) struct Budget {
    account: Mutex<Account>,
    given_back: Condvar,
}

struct Account {
    free: u64,
    /// How many wait for more: it is a call to the operating system to wake them.
    waiting: u32,
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
            account: Mutex::new(Account {
                free: bytes,
                waiting: 0,
            }),
            given_back: Condvar::new(),
        })
    }

    /// Waits until there is room for a request of so many bytes.
    pub(super) fn take(self: &Arc<Budget>, bytes: u64) -> Share {
        let bytes = bytes + OVERHEAD_BYTES;
        let mut account = self.account();
        while account.free < bytes {
            account.waiting += 1;
            let waited = self.given_back.wait(account);
            account = waited.unwrap_or_else(PoisonError::into_inner);
            account.waiting -= 1;
        }
        account.free -= bytes;
        Share {
            budget: self.clone(),
            bytes,
        }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let is_awaited = {
            let mut account = self.budget.account();
            account.free += self.bytes;
            account.waiting > 0
        };
        if is_awaited {
            // One that is too large for what is free now must not take the wakeup of another that fits.
            self.budget.given_back.notify_all();
        }
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
