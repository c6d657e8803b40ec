//! Room in the page buffers: how many are in use, and who waits for one.
//!
//! All but a few are anybody's, first come, first served. One is kept for each purpose of the
//! firmware, which takes it when the others are gone. Purposes are in an order: who holds a buffer
//! waits, if at all, for buffers of later purposes only, and takes all that it needs for its own at
//! once. The last purpose waits for flash alone, so it always gets on; with it the one before, and so
//! on up to the commands. So nothing waits for ever, however few buffers there are.

use std::cell::Cell;

use sim::resource::{Permit, Semaphore};
use sim::{Either, Sim, select};

/// What page buffers are used for, each before those that its holders may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Data of a host command: waits for the host, locks, space in the data cache and on flash.
    Command,
    /// A page that leaves the data cache for flash.
    WriteBack,
    /// The rest of a page of which a part is written: waits for one read.
    Rest,
    /// Mapping pages, records and notes: waits for space on flash.
    Record,
    /// A page that collection moves: waits for flash.
    Copy,
}

/// Purposes with a buffer of their own: all but commands.
const KEPT: usize = 4;

/// Buffers that are kept for the firmware's purposes.
pub(super) const RESERVED: u32 = KEPT as u32;

/// Room in the page buffers.
pub(super) struct Rooms {
    common: Semaphore,
    common_total: u32,
    kept: [Semaphore; KEPT],
    /// Buffers for which there was room, counted in debug builds.
    granted: Cell<u32>,
}

/// Room for some page buffers, and where it goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "room is given back"]
pub struct Held {
    count: u32,
    kept_for: Option<Purpose>,
}

impl Held {
    /// Room for one buffer of a command.
    pub const COMMAND: Held = Held {
        count: 1,
        kept_for: None,
    };
}

/// Room for some page buffers; dropping it gives it back.
#[must_use = "dropping room gives it back"]
pub struct Room<'a> {
    rooms: &'a Rooms,
    held: Held,
}

impl Rooms {
    pub(super) fn new(sim: &Sim, buffers: u32) -> Rooms {
        let common_total = buffers.saturating_sub(RESERVED);
        Rooms {
            common: Semaphore::new(sim, u64::from(common_total)),
            common_total,
            kept: std::array::from_fn(|_| Semaphore::new(sim, 1)),
            granted: Cell::new(0),
        }
    }

    /// The most that can be asked for at once.
    pub(super) fn most(&self) -> u32 {
        self.common_total
    }

    fn kept(&self, purpose: Purpose) -> Option<&Semaphore> {
        match purpose {
            Purpose::Command => None,
            Purpose::WriteBack => Some(&self.kept[0]),
            Purpose::Rest => Some(&self.kept[1]),
            Purpose::Record => Some(&self.kept[2]),
            Purpose::Copy => Some(&self.kept[3]),
        }
    }

    /// Room for one buffer, if there is some now and nobody waits for it.
    #[inline]
    pub(super) fn try_one(&self, purpose: Purpose) -> Option<Room<'_>> {
        if let Some(permit) = self.common.try_acquire(1) {
            return Some(self.common_room(permit, 1));
        }
        let permit = self.kept(purpose)?.try_acquire(1)?;
        Some(self.kept_room(permit, purpose))
    }

    /// Waits for room for one buffer.
    #[inline]
    pub(super) async fn one(&self, purpose: Purpose) -> Room<'_> {
        match self.try_one(purpose) {
            Some(room) => room,
            None => Box::pin(self.wait_for_one(purpose)).await,
        }
    }

    async fn wait_for_one(&self, purpose: Purpose) -> Room<'_> {
        let common = self.common.acquire(1);
        let Some(kept) = self.kept(purpose) else {
            return self.common_room(common.await, 1);
        };
        match select(common, kept.acquire(1)).await {
            Either::Left(permit) => self.common_room(permit, 1),
            Either::Right(permit) => self.kept_room(permit, purpose),
        }
    }

    /// Waits for room for `count` buffers of a command, which is not more than there are.
    pub(super) async fn several(&self, count: u32) -> Room<'_> {
        debug_assert!(count <= self.common_total, "{count} at once");
        let permit = self.common.acquire(u64::from(count)).await;
        self.common_room(permit, count)
    }

    #[inline]
    fn common_room(&self, permit: Permit<'_>, count: u32) -> Room<'_> {
        permit.keep();
        let kept_for = None;
        self.grant(Held { count, kept_for })
    }

    #[inline]
    fn kept_room(&self, permit: Permit<'_>, purpose: Purpose) -> Room<'_> {
        permit.keep();
        let (count, kept_for) = (1, Some(purpose));
        self.grant(Held { count, kept_for })
    }

    #[inline]
    fn grant(&self, held: Held) -> Room<'_> {
        if cfg!(debug_assertions) {
            self.granted.set(self.granted.get() + held.count);
        }
        Room { rooms: self, held }
    }

    /// Buffers for which there was room and still is, in debug builds.
    pub(super) fn granted(&self) -> u32 {
        self.granted.get()
    }

    /// Gives back what was kept.
    #[inline]
    pub(super) fn release(&self, held: Held) {
        if cfg!(debug_assertions) {
            self.granted.set(self.granted.get() - held.count);
        }
        let from = held.kept_for.and_then(|purpose| self.kept(purpose));
        from.unwrap_or(&self.common).release(u64::from(held.count));
    }
}

impl Room<'_> {
    /// Leaves the buffers in use: somebody else gives the room back.
    #[inline]
    pub fn keep(self) -> Held {
        let held = self.held;
        std::mem::forget(self);
        held
    }
}

impl Drop for Room<'_> {
    #[inline]
    fn drop(&mut self) {
        self.rooms.release(self.held);
    }
}
