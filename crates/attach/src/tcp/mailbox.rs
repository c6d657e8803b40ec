//! What the drive's thread tells that of the connections, which sleeps until there is something.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use mio::Waker;

use super::message::Told;

/// See the module.
pub(super) struct Mailbox {
    told: Mutex<Vec<Told>>,
    /// Whether who reads it sleeps, or is about to, and wants to be woken.
    sleeps: AtomicBool,
    /// Whether who reads it is to end.
    is_closed: AtomicBool,
    waker: Waker,
}

impl Mailbox {
    pub(super) fn new(waker: Waker) -> Mailbox {
        Mailbox {
            told: Mutex::default(),
            sleeps: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            waker,
        }
    }

    pub(super) fn post(&self, told: Told) {
        self.lock().push(told);
        if self.sleeps.swap(false, Ordering::AcqRel) {
            self.wake();
        }
    }

    /// Takes all of it; `into` is empty before.
    pub(super) fn take(&self, into: &mut Vec<Told>) {
        std::mem::swap(&mut *self.lock(), into);
    }

    /// Who reads it is about to sleep: says whether it may, as nothing has come.
    pub(super) fn may_sleep(&self) -> bool {
        self.sleeps.store(true, Ordering::Release);
        // What is posted from here on wakes.
        self.lock().is_empty() && !self.is_closed()
    }

    /// Who reads it is awake.
    pub(super) fn is_awake(&self) {
        self.sleeps.store(false, Ordering::Release);
    }

    /// Has who reads it end.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Wakes who reads it.
    pub(super) fn wake(&self) {
        // It looks by itself a few times a second.
        let _ = self.waker.wake();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Told>> {
        // Whoever holds it does nothing that panics.
        self.told
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
