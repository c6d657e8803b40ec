//! The rules of a circular queue: head, tail, full, empty and the phase tag (Base 3.3.1, 4.2.4).

use thiserror::Error;

use crate::status::Status;

/// The fewest entries a queue may have (Base 3.3.1).
pub const MIN_QUEUE_ENTRIES: u32 = 2;
/// The most entries a queue may have: QSIZE is a zeroes-based 16-bit field (Base 3.3.1).
pub const MAX_QUEUE_ENTRIES: u32 = 65_536;

/// A queue was asked for what its rules forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    /// The size is not in 2 to 65536 entries.
    #[error("a queue of {entries} entries; it must have 2 to 65536")]
    InvalidSize {
        /// The size asked for, in entries.
        entries: u32,
    },
    /// A doorbell value points outside the queue, or past the entries it may pass over
    /// (Base 5.1.2, "Invalid Doorbell Write Value").
    #[error("doorbell value {value} moves {moved} entries of {allowed} in a queue of {size}")]
    InvalidDoorbell {
        /// The value written.
        value: u16,
        /// Entries the index would move over.
        moved: u32,
        /// Entries it may move over.
        allowed: u32,
        /// Entries in the queue.
        size: u32,
    },
}

impl From<RingError> for Status {
    fn from(error: RingError) -> Status {
        match error {
            RingError::InvalidSize { .. } => Status::INVALID_QUEUE_SIZE,
            RingError::InvalidDoorbell { .. } => Status::INVALID_FIELD,
        }
    }
}

/// One end of a queue: an index that wraps, and the phase that flips as it does.
///
/// By itself it is the host's end of a completion queue, which finds new entries by their phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    index: u16,
    last: u16,
    phase: bool,
}

impl Cursor {
    /// The first slot of a queue of `size` entries. The phase begins as 1, so that an entry in
    /// zeroed memory is not taken for new.
    pub fn new(size: u32) -> Result<Cursor, RingError> {
        if !(MIN_QUEUE_ENTRIES..=MAX_QUEUE_ENTRIES).contains(&size) {
            return Err(RingError::InvalidSize { entries: size });
        }
        Ok(Cursor {
            index: 0,
            last: (size - 1) as u16,
            phase: true,
        })
    }

    /// The slot pointed to.
    pub const fn index(&self) -> u16 {
        self.index
    }

    /// Entries in the queue.
    pub const fn size(&self) -> u32 {
        self.last as u32 + 1
    }

    /// The phase tag of entries of this round.
    pub const fn phase(&self) -> bool {
        self.phase
    }

    /// Moves to the next slot.
    pub fn advance(&mut self) {
        if self.index == self.last {
            self.index = 0;
            self.phase = !self.phase;
        } else {
            self.index += 1;
        }
    }

    /// Entries from here forward to `index`, which lies within the queue.
    const fn distance_to(&self, index: u16) -> u32 {
        if index >= self.index {
            index as u32 - self.index as u32
        } else {
            index as u32 + self.size() - self.index as u32
        }
    }

    /// Moves to `index`, passing over at most `allowed` entries; gives how many it passed over.
    fn move_to(&mut self, index: u16, allowed: u32) -> Result<u32, RingError> {
        let moved = self.distance_to(index);
        if index > self.last || moved > allowed {
            return Err(RingError::InvalidDoorbell {
                value: index,
                moved,
                allowed,
                size: self.size(),
            });
        }
        self.phase ^= index < self.index;
        self.index = index;
        Ok(moved)
    }
}

/// A circular queue as one side sees it: where the next entry is taken and where it is put.
///
/// It holds at most one entry fewer than its size, so that full and empty differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    head: Cursor,
    tail: Cursor,
}

impl Ring {
    /// An empty queue of `size` entries (2 to 65536).
    pub fn new(size: u32) -> Result<Ring, RingError> {
        let start = Cursor::new(size)?;
        Ok(Ring {
            head: start,
            tail: start,
        })
    }

    /// Entries in the queue, used or not.
    pub const fn size(&self) -> u32 {
        self.head.size()
    }

    /// The slot the next entry is consumed from.
    pub const fn head(&self) -> u16 {
        self.head.index()
    }

    /// The slot the next entry is put into.
    pub const fn tail(&self) -> u16 {
        self.tail.index()
    }

    /// Entries put and not yet consumed.
    pub const fn len(&self) -> u32 {
        self.head.distance_to(self.tail.index())
    }

    /// Whether head equals tail.
    pub const fn is_empty(&self) -> bool {
        self.head() == self.tail()
    }

    /// Whether the tail is one slot behind the head.
    pub const fn is_full(&self) -> bool {
        self.free() == 0
    }

    /// Entries that can still be put.
    pub const fn free(&self) -> u32 {
        self.size() - 1 - self.len()
    }

    /// Takes the slot at the tail, with the phase tag an entry there carries; none when full.
    pub fn produce(&mut self) -> Option<(u16, bool)> {
        if self.is_full() {
            return None;
        }
        let slot = (self.tail.index(), self.tail.phase());
        self.tail.advance();
        Some(slot)
    }

    /// Takes the slot at the head; none when empty.
    pub fn consume(&mut self) -> Option<u16> {
        if self.is_empty() {
            return None;
        }
        let slot = self.head.index();
        self.head.advance();
        Some(slot)
    }

    /// The producer on the other side says its tail is now `tail`; gives how many entries are new.
    ///
    /// # Errors
    /// [`RingError::InvalidDoorbell`] when `tail` is no slot or passes the head; nothing changes.
    pub fn set_tail(&mut self, tail: u16) -> Result<u32, RingError> {
        let free = self.free();
        self.tail.move_to(tail, free)
    }

    /// The consumer on the other side says its head is now `head`; gives how many it consumed.
    ///
    /// # Errors
    /// [`RingError::InvalidDoorbell`] when `head` is no slot or passes the tail; nothing changes.
    pub fn set_head(&mut self, head: u16) -> Result<u32, RingError> {
        let used = self.len();
        self.head.move_to(head, used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn refuses_sizes_outside_the_standard() {
        assert!(Ring::new(1).is_err());
        assert!(Ring::new(65_537).is_err());
        assert_eq!(Ring::new(65_536).map(|ring| ring.size()), Ok(65_536));
    }

    #[test]
    fn refuses_doorbells_that_pass_the_other_end() {
        let mut ring = Ring::new(4).expect("4 is a legal size");
        assert_eq!(ring.set_tail(3), Ok(3));
        assert!(ring.is_full());
        assert!(ring.set_tail(0).is_err(), "would overtake the head");
        assert!(ring.set_tail(4).is_err(), "no such slot");
        assert_eq!(ring.set_head(2), Ok(2));
        assert!(ring.set_head(0).is_err(), "would overtake the tail");
        assert_eq!((ring.head(), ring.tail(), ring.len()), (2, 3, 1));
        assert_eq!(ring.set_tail(1), Ok(2));
    }

    #[derive(Clone, Debug)]
    enum Action {
        Produce,
        Consume,
        SetTail(u16),
        SetHead(u16),
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            3 => Just(Action::Produce),
            3 => Just(Action::Consume),
            1 => (0u16..40).prop_map(Action::SetTail),
            1 => (0u16..40).prop_map(Action::SetHead),
        ]
    }

    proptest! {
        /// Against a deque of running numbers: slot = number mod size, phase = parity of the round.
        #[test]
        fn behaves_as_a_bounded_queue(
            size in 2u32..33,
            actions in prop::collection::vec(action(), 0..300),
        ) {
            let mut ring = Ring::new(size).expect("2 to 32 are legal sizes");
            let mut oracle = VecDeque::new();
            let mut put = 0u32;
            for action in actions {
                let (head, tail) = (put - oracle.len() as u32, put);
                match action {
                    Action::Produce => {
                        let expected = (oracle.len() as u32 + 1 < size)
                            .then_some(((tail % size) as u16, (tail / size) % 2 == 0));
                        prop_assert_eq!(ring.produce(), expected);
                        if expected.is_some() {
                            oracle.push_back(put);
                            put += 1;
                        }
                    }
                    Action::Consume => {
                        let expected = oracle.pop_front().map(|number: u32| (number % size) as u16);
                        prop_assert_eq!(ring.consume(), expected);
                    }
                    Action::SetTail(index) => {
                        let target = (tail..head + size).find(|at| at % size == u32::from(index));
                        prop_assert_eq!(ring.set_tail(index).ok(), target.map(|at| at - tail));
                        while target.is_some_and(|at| put < at) {
                            oracle.push_back(put);
                            put += 1;
                        }
                    }
                    Action::SetHead(index) => {
                        let target = (head..=tail).find(|at| at % size == u32::from(index));
                        prop_assert_eq!(ring.set_head(index).ok(), target.map(|at| at - head));
                        oracle.drain(..target.map_or(0, |at| (at - head) as usize));
                    }
                }
                prop_assert_eq!(ring.len() as usize, oracle.len());
                prop_assert_eq!(ring.is_empty(), oracle.is_empty());
                prop_assert_eq!(ring.is_full(), oracle.len() as u32 == size - 1);
            }
        }

        /// The host's end tells new entries from old ones by phase alone.
        #[test]
        fn phase_alone_finds_the_new_entries(size in 2u32..20, bursts in prop::collection::vec(0u32..20, 0..60)) {
            let mut ring = Ring::new(size).expect("2 to 19 are legal sizes");
            let mut host = Cursor::new(size).expect("2 to 19 are legal sizes");
            let mut slots = vec![(false, 0u32); size as usize];
            let (mut sent, mut received) = (0, 0);
            for burst in bursts {
                for _ in 0..burst {
                    let Some((slot, phase)) = ring.produce() else { break };
                    slots[usize::from(slot)] = (phase, sent);
                    sent += 1;
                }
                while slots[usize::from(host.index())].0 == host.phase() {
                    prop_assert_eq!(slots[usize::from(host.index())].1, received);
                    received += 1;
                    host.advance();
                }
                prop_assert_eq!(received, sent);
                prop_assert!(ring.set_head(host.index()).is_ok());
            }
        }
    }
}
