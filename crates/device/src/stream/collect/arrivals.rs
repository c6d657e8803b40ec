//! Packets that have come over a port and wait in the switch, and what becomes of those for which there is no room.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use nvme::collector::Policy;
use sim::resource::Broadcast;
use sim::{Sim, Span};

use crate::task::Data;

/// What has arrived, and what was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalCounts {
    /// Packets taken in, those that were dropped later included.
    pub packets: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Packets dropped as they came.
    pub newest: u64,
    /// Bytes of these.
    pub newest_bytes: u64,
    /// Packets dropped after they had waited.
    pub oldest: u64,
    /// Bytes of these.
    pub oldest_bytes: u64,
    /// Bytes given up at the end, for want of room where they go.
    pub lost_bytes: u64,
    /// How long packets were held back on their wire.
    pub stalled: Span,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is in the switch.
    Taken,
    /// There was no room for it.
    Dropped,
    /// Nobody collects here any more.
    Closed,
}

/// Packets of one port.
pub(super) struct Arrivals {
    sim: Sim,
    policy: Policy,
    /// Bytes that it may have in the switch.
    share: u64,
    /// Bytes that it has there: those that wait, and those that were taken and not released.
    held: Cell<u64>,
    waiting: RefCell<VecDeque<Data>>,
    waiting_bytes: Cell<u64>,
    /// Of these, the first ones that a task has had.
    seen_bytes: Cell<u64>,
    /// A part of the first packet was taken: the rest has to follow.
    is_cut: Cell<bool>,
    /// Packets that are admitted and not there yet.
    coming: Cell<u32>,
    /// Packets that are held back.
    held_back: Cell<u32>,
    is_closed: Cell<bool>,
    changed: Broadcast,
    counts: Cell<ArrivalCounts>,
}

impl Arrivals {
    pub(super) fn new(sim: &Sim, policy: Policy, share: u64) -> Arrivals {
        Arrivals {
            sim: sim.clone(),
            policy,
            share,
            held: Cell::new(0),
            waiting: RefCell::default(),
            waiting_bytes: Cell::new(0),
            seen_bytes: Cell::new(0),
            is_cut: Cell::new(false),
            coming: Cell::new(0),
            held_back: Cell::new(0),
            is_closed: Cell::new(false),
            changed: Broadcast::new(sim),
            counts: Cell::default(),
        }
    }

    /// Makes room for a packet, by the policy; or says why it is not taken in.
    pub(super) async fn admit(&self, bytes: u64) -> Result<Admitted<'_>, Arrival> {
        let begun = self.sim.now();
        let mut stalls = Stalls {
            arrivals: self,
            is_stalled: false,
        };
        let mut dropped = 0;
        let outcome = loop {
            if self.is_closed.get() {
                break Err(Arrival::Closed);
            }
            if self.held.get() + bytes <= self.share {
                break Ok(dropped);
            }
            match self.policy {
                // What has more bytes than there can ever be room for would wait for ever.
                Policy::Stall if bytes <= self.share => {
                    stalls.begin();
                    self.changed.next().await;
                }
                Policy::DropOldest if bytes <= self.share => match self.drop_oldest() {
                    Some(bytes) => dropped += bytes,
                    None => break Err(Arrival::Dropped),
                },
                _ => break Err(Arrival::Dropped),
            }
        };
        drop(stalls);
        let stalled = self.sim.now().since(begun);
        self.count(|counts| counts.stalled += stalled);
        match &outcome {
            Ok(_) => {
                self.coming.set(self.coming.get() + 1);
                self.held.set(self.held.get() + bytes);
                self.count(|counts| {
                    counts.packets += 1;
                    counts.bytes += bytes;
                });
            }
            Err(Arrival::Dropped) => self.count(|counts| {
                counts.newest += 1;
                counts.newest_bytes += bytes;
            }),
            Err(_) => {}
        }
        outcome.map(|dropped| Admitted {
            arrivals: self,
            bytes,
            dropped,
            is_there: false,
        })
    }

    /// Drops the packet that has waited the longest, is still whole and was seen by no task; gives how many bytes it had.
    fn drop_oldest(&self) -> Option<u64> {
        let mut waiting = self.waiting.borrow_mut();
        let lengths = waiting.iter().map(|packet| u64::from(packet.bytes()));
        let seen = self.seen_bytes.get();
        let begun = lengths.scan(0, |begin, bytes| {
            Some(std::mem::replace(begin, *begin + bytes))
        });
        let seen = begun.take_while(|begin| *begin < seen).count();
        let packet = waiting.remove(seen.max(self.is_cut.get().into()))?;
        let bytes = u64::from(packet.bytes());
        self.waiting_bytes.set(self.waiting_bytes.get() - bytes);
        self.held.set(self.held.get() - bytes);
        self.count(|counts| {
            counts.oldest += 1;
            counts.oldest_bytes += bytes;
        });
        Some(bytes)
    }

    /// Whether so many bytes wait.
    pub(super) fn has(&self, bytes: u64) -> bool {
        self.waiting_bytes.get() >= bytes
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting_bytes.get()
    }

    /// Whether more may come.
    pub(super) fn more_comes(&self) -> bool {
        !self.is_closed.get() || self.coming.get() > 0
    }

    /// Waits until more bytes wait than so many, or nothing more will come.
    pub(super) async fn wait_for_more(&self, than: u64) {
        while self.waiting_bytes.get() <= than && self.more_comes() {
            self.changed.next().await;
        }
    }

    /// Bytes that wait and no task has had.
    pub(super) fn unseen(&self) -> u64 {
        self.waiting_bytes.get() - self.seen_bytes.get()
    }

    /// Those bytes, which a task has then; they go on waiting.
    pub(super) fn show(&self) -> Vec<Data> {
        let mut skipped = self.seen_bytes.replace(self.waiting_bytes.get());
        let waiting = self.waiting.borrow();
        let shown = waiting.iter().filter_map(|packet| {
            let bytes = u64::from(packet.bytes());
            let skips = skipped.min(bytes);
            skipped -= skips;
            (skips < bytes).then(|| packet.clone().split(skips as u32).1)
        });
        shown.collect()
    }

    /// Takes the first bytes, of which there are so many, and tells how many of them a task has had. They are to be released.
    pub(super) fn take(&self, bytes: u64) -> (Vec<Data>, u64) {
        let mut waiting = self.waiting.borrow_mut();
        let (mut taken, mut left) = (Vec::new(), bytes);
        while left > 0 {
            let Some(packet) = waiting.pop_front() else {
                break;
            };
            let (part, rest) = packet.split(left.min(u64::from(u32::MAX)) as u32);
            left -= u64::from(part.bytes());
            self.is_cut.set(rest.bytes() > 0);
            taken.push(part);
            if rest.bytes() > 0 {
                waiting.push_front(rest);
            }
        }
        let bytes = bytes - left;
        self.waiting_bytes.set(self.waiting_bytes.get() - bytes);
        let seen = self.seen_bytes.get().min(bytes);
        self.seen_bytes.set(self.seen_bytes.get() - seen);
        (taken, seen)
    }

    /// Gives room back.
    pub(super) fn release(&self, bytes: u64) {
        self.held.set(self.held.get() - bytes);
        self.changed.announce();
    }

    /// Whether packets are held back.
    pub(super) fn hold_back(&self) -> bool {
        self.held_back.get() > 0
    }

    /// Waits until any of this changes.
    pub(super) async fn changed(&self) {
        self.changed.next().await;
    }

    /// What is asked of who waits for changes has changed.
    pub(super) fn announce(&self) {
        self.changed.announce();
    }

    /// What waits is given up, as there is nowhere to put it.
    pub(super) fn give_up(&self) -> u64 {
        self.waiting.take();
        self.is_cut.set(false);
        self.seen_bytes.set(0);
        let bytes = self.waiting_bytes.take();
        self.held.set(self.held.get() - bytes);
        self.count(|counts| counts.lost_bytes += bytes);
        self.changed.announce();
        bytes
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.is_closed.set(true);
        self.changed.announce();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Bytes that it may have in the switch.
    pub(super) fn share(&self) -> u64 {
        self.share
    }

    pub(super) fn counts(&self) -> ArrivalCounts {
        self.counts.get()
    }

    fn count(&self, change: impl FnOnce(&mut ArrivalCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }
}

/// A packet that is held back from some time on, until this is dropped.
struct Stalls<'a> {
    arrivals: &'a Arrivals,
    is_stalled: bool,
}

impl Stalls<'_> {
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.is_stalled, true) {
            let held_back = &self.arrivals.held_back;
            held_back.set(held_back.get() + 1);
            self.arrivals.changed.announce();
        }
    }
}

impl Drop for Stalls<'_> {
    fn drop(&mut self) {
        let held_back = &self.arrivals.held_back;
        held_back.set(held_back.get() - u32::from(self.is_stalled));
    }
}

/// Room for a packet that is on its way into the switch.
pub(super) struct Admitted<'a> {
    arrivals: &'a Arrivals,
    bytes: u64,
    /// Bytes that were dropped from the switch for it.
    pub(super) dropped: u64,
    is_there: bool,
}

impl Admitted<'_> {
    /// The packet is in the switch.
    pub(super) fn put(mut self, packet: Data) {
        let arrivals = self.arrivals;
        self.is_there = true;
        arrivals.waiting.borrow_mut().push_back(packet);
        let waiting = arrivals.waiting_bytes.get() + self.bytes;
        arrivals.waiting_bytes.set(waiting);
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let arrivals = self.arrivals;
        arrivals.coming.set(arrivals.coming.get() - 1);
        if !self.is_there {
            arrivals.held.set(arrivals.held.get() - self.bytes);
        }
        arrivals.changed.announce();
    }
}

#[cfg(test)]
mod tests {
    use sim::Simulation;

    use super::*;

    const SHARE: u64 = 100;

    /// Packets of so many bytes each, those that are not taken in left out; each byte tells which packet it is of.
    fn with(policy: Policy, packets: &[u8]) -> (Simulation, Arrivals) {
        let simulation = Simulation::new(1);
        let arrivals = Arrivals::new(&simulation.handle(), policy, SHARE);
        for (number, bytes) in packets.iter().enumerate() {
            let packet = vec![number as u8; usize::from(*bytes)];
            put(&arrivals, packet);
        }
        (simulation, arrivals)
    }

    /// Puts a packet in, if it need not wait.
    fn put(arrivals: &Arrivals, packet: Vec<u8>) -> Option<Arrival> {
        let admitting = std::pin::pin!(arrivals.admit(packet.len() as u64));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match admitting.poll(&mut context) {
            std::task::Poll::Ready(Ok(admitted)) => {
                admitted.put(Data::Bytes(packet));
                Some(Arrival::Taken)
            }
            std::task::Poll::Ready(Err(arrival)) => Some(arrival),
            std::task::Poll::Pending => None,
        }
    }

    fn bytes(parts: Vec<Data>) -> Vec<u8> {
        let whole = Data::joined(parts);
        whole.known().map(<[u8]>::to_vec).unwrap_or_default()
    }

    #[test]
    fn the_oldest_goes_that_is_whole_and_unseen() {
        let (_simulation, arrivals) = with(Policy::DropOldest, &[40, 30, 30]);
        // The first is cut, and a task sees of the second what there is.
        let (taken, seen) = arrivals.take(10);
        assert_eq!((bytes(taken), seen), (vec![0; 10], 0));
        assert_eq!(put(&arrivals, vec![3; 20]), Some(Arrival::Taken));
        assert_eq!(arrivals.counts().oldest_bytes, 30, "the second went");
        assert_eq!(bytes(arrivals.show()).len(), 30 + 30 + 20);
        assert_eq!(
            put(&arrivals, vec![4; 60]),
            Some(Arrival::Dropped),
            "all were seen"
        );
        let (rest, seen) = arrivals.take(SHARE);
        let kept = [vec![0; 30], vec![2; 30], vec![3; 20]].concat();
        assert_eq!((bytes(rest), seen), (kept, 80));
        assert_eq!((arrivals.waiting(), arrivals.unseen()), (0, 0));
    }

    #[test]
    fn who_is_held_back_is_known_until_there_is_room() {
        let (simulation, arrivals) = with(Policy::Stall, &[60, 40]);
        assert!(!arrivals.hold_back());
        {
            let waiting = std::pin::pin!(arrivals.admit(1));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            // Outside of any task nobody is woken: it is only asked.
            let _simulation = &simulation;
            assert!(waiting.poll(&mut context).is_pending());
            assert!(arrivals.hold_back());
        }
        assert!(!arrivals.hold_back(), "it went away");
        assert_eq!(
            put(&arrivals, vec![9; 101]),
            Some(Arrival::Dropped),
            "there will never be room for it"
        );
    }

    #[test]
    fn what_is_given_up_is_told_as_lost() {
        let (_simulation, arrivals) = with(Policy::DropOldest, &[40, 30]);
        arrivals.take(10);
        assert_eq!(arrivals.give_up(), 60);
        let counts = arrivals.counts();
        assert_eq!((counts.lost_bytes, counts.oldest_bytes), (60, 0));
        assert_eq!(
            put(&arrivals, vec![5; 91]),
            Some(Arrival::Dropped),
            "what was taken is not released"
        );
        arrivals.release(10);
        assert_eq!(put(&arrivals, vec![5; 100]), Some(Arrival::Taken));
    }
}
