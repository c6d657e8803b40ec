//! How much of requests is under way at once, so that memory stays bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::engine::Doorbell;

/// Bytes that requests under way may have together, but for the last of them. Cheap to clone.
#[derive(Clone)]
pub(super) struct Budget(Arc<Account>);

struct Account {
    most: u64,
    taken: AtomicU64,
    /// Whether the drive's thread receives nothing until there is room again.
    is_awaited: AtomicBool,
    drive: Doorbell,
}

/// What a request has of a budget, until it is dropped.
pub(super) struct Share {
    account: Arc<Account>,
    bytes: u64,
}

/// What a request takes besides its data, about: a flood of small ones is bounded, too.
const OVERHEAD_BYTES: u64 = 1024;

impl Budget {
    /// The drive is rung for when there is room again.
    pub(super) fn of(bytes: u64, drive: Doorbell) -> Budget {
        Budget(Arc::new(Account {
            most: bytes,
            taken: AtomicU64::new(0),
            is_awaited: AtomicBool::new(false),
            drive,
        }))
    }

    /// Who is rung for.
    pub(super) fn drive(&self) -> &Doorbell {
        &self.0.drive
    }

    /// Whether there may be a request more. If not, the drive is rung for when there may.
    pub(super) fn has_room(&self) -> bool {
        if self.0.is_below() {
            return true;
        }
        self.0.is_awaited.store(true, Ordering::SeqCst);
        // It may have been given back just before.
        self.0.is_below()
    }

    /// The share of a request of so many bytes.
    pub(super) fn take(&self, bytes: u64) -> Share {
        let bytes = bytes + OVERHEAD_BYTES;
        self.0.taken.fetch_add(bytes, Ordering::SeqCst);
        Share {
            account: self.0.clone(),
            bytes,
        }
    }
}

impl Account {
    fn is_below(&self) -> bool {
        self.taken.load(Ordering::SeqCst) < self.most
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.account.taken.fetch_sub(self.bytes, Ordering::SeqCst);
        if self.account.is_awaited.load(Ordering::SeqCst)
            && self.account.is_awaited.swap(false, Ordering::SeqCst)
        {
            self.account.drive.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::engine::Await;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_last_share_may_be_more_than_there_is() {
        let doorbell = Doorbell::new().expect("an event");
        let budget = Budget::of(10 * 1024, doorbell);
        let small = budget.take(8 * 1024);
        assert!(budget.has_room());
        let large = budget.take(1 << 20);
        assert!(!budget.has_room());
        drop(small);
        assert!(!budget.has_room());
        drop(large);
        assert!(budget.has_room());
    }

    #[test]
    fn the_drive_is_rung_for_when_there_is_room() {
        let doorbell = Doorbell::new().expect("an event");
        let budget = Budget::of(1024, doorbell.clone());
        let share = budget.take(1024);
        assert!(!budget.has_room());
        let began = Instant::now();
        doorbell.sleep(Some(LONG), || {
            drop(share);
            Await::Bell
        });
        assert!(began.elapsed() < LONG && budget.has_room());
    }
}
