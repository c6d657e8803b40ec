//! The event queue: which task wakes when. Order is (time, sequence number).
//!
//! A calendar: the near future is divided into buckets of 2^20 ps, each an unsorted
//! list; only the bucket being emptied is sorted. The far future (erase
//! times) waits in a heap. Setting and firing a timer costs a few
//! instructions, whatever the number of timers.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::task::TaskId;
use crate::quantity::Time;

/// log2 of a bucket's width in picoseconds: about a microsecond.
const BUCKET_SHIFT: u32 = 20;
/// Buckets of the near future: about a millisecond ahead.
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / 64;
const NIL: u32 = u32::MAX;
/// No bucket.
const NONE: u64 = u64::MAX;

/// Names one pending timer, so that it can be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerId(u64);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at: Time,
    sequence: u64,
    task: TaskId,
}

impl Timer {
    fn bucket(&self) -> u64 {
        self.at.as_ps() >> BUCKET_SHIFT
    }

    fn key(&self) -> u128 {
        u128::from(self.at.as_ps()) << 64 | u128::from(self.sequence)
    }
}

/// A timer in a bucket's list.
struct Node {
    timer: Timer,
    next: u32,
}

/// All timers that have not fired.
pub(super) struct Timers {
    next_sequence: u64,
    /// The bucket being emptied, and everything before it: latest first.
    current: Vec<Timer>,
    current_bucket: u64,
    /// The first node of each bucket of the near future, by bucket modulo [`BUCKETS`].
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets have nodes.
    occupied: [u64; WORDS],
    nodes: Vec<Node>,
    free: u32,
    far: BinaryHeap<Reverse<Timer>>,
    /// The bucket of the first of them; [`NONE`] if there is none.
    far_bucket: u64,
    /// Sequence numbers of dropped sleeps still queued. Almost always empty:
    /// only cancellation puts anything here.
    cancelled: BTreeSet<u64>,
}

impl Default for Timers {
    fn default() -> Self {
        Timers {
            next_sequence: 0,
            current: Vec::new(),
            current_bucket: 0,
            heads: Box::new([NIL; BUCKETS]),
            occupied: [0; WORDS],
            nodes: Vec::new(),
            free: NIL,
            far: BinaryHeap::new(),
            far_bucket: NONE,
            cancelled: BTreeSet::new(),
        }
    }
}

impl Timers {
    /// Wakes `task` at `at`, after every timer already set for that instant.
    #[inline]
    pub(super) fn set(&mut self, at: Time, task: TaskId) -> TimerId {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let timer = Timer { at, sequence, task };
        let bucket = timer.bucket();
        // What is not after the current bucket is very far from it.
        if bucket.wrapping_sub(self.current_bucket).wrapping_sub(1) < BUCKETS as u64 - 1 {
            self.put(bucket, timer);
        } else if bucket <= self.current_bucket {
            self.put_into_current(timer);
        } else {
            self.put_far(bucket, timer);
        }
        TimerId(sequence)
    }

    #[inline(never)]
    fn put_into_current(&mut self, timer: Timer) {
        if self.current.last().is_none_or(|next| timer.at < next.at) {
            return self.current.push(timer);
        }
        // Later sequence: before (that is, fired after) all of its instant.
        let position = self.current.partition_point(|other| other.at > timer.at);
        self.current.insert(position, timer);
    }

    #[cold]
    fn put_far(&mut self, bucket: u64, timer: Timer) {
        self.far.push(Reverse(timer));
        self.far_bucket = self.far_bucket.min(bucket);
    }

    /// The timer will not fire, nor hold the clock.
    pub(super) fn cancel(&mut self, timer: TimerId) {
        self.cancelled.insert(timer.0);
    }

    /// Takes the next timer if it fires no later than `limit`.
    #[inline(always)]
    pub(super) fn pop(&mut self, limit: Time) -> Option<(Time, TaskId)> {
        loop {
            if self.current.is_empty() && !self.advance() {
                return None;
            }
            let next = self.current.last()?;
            if !self.cancelled.is_empty() && self.cancelled.remove(&next.sequence) {
                self.current.pop();
                continue;
            }
            if next.at > limit {
                return None;
            }
            let fired = (next.at, next.task);
            self.current.pop();
            return Some(fired);
        }
    }

    /// When the next timer fires, or would if it had not been cancelled.
    pub(super) fn next_at(&self) -> Option<Time> {
        if let Some(next) = self.current.last() {
            return Some(next.at);
        }
        let near = self.next_near();
        let far = self.far.peek().map(|Reverse(timer)| timer.at);
        if near == NONE {
            return far;
        }
        let mut place = self.heads[near as usize % BUCKETS];
        let mut first = far;
        while place != NIL {
            let Node { timer, next } = &self.nodes[place as usize];
            first = Some(first.map_or(timer.at, |first| first.min(timer.at)));
            place = *next;
        }
        first
    }

    /// Whether no timer is left, those aside that were cancelled and whose time has not come.
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty()
            && self.far_bucket == NONE
            && self.occupied.iter().all(|word| *word == 0)
    }

    /// Forgets everything but the sequence.
    pub(super) fn clear(&mut self) {
        *self = Timers {
            next_sequence: self.next_sequence,
            current_bucket: self.current_bucket,
            ..Timers::default()
        };
    }

    #[inline]
    fn put(&mut self, bucket: u64, timer: Timer) {
        if self.free == NIL {
            self.add_node(timer);
        }
        let (place, index) = (self.free, bucket as usize % BUCKETS);
        let node = &mut self.nodes[place as usize];
        self.free = node.next;
        node.timer = timer;
        node.next = std::mem::replace(&mut self.heads[index], place);
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    /// Makes a free node; what is in it does not matter.
    #[cold]
    fn add_node(&mut self, timer: Timer) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { timer, next: NIL });
    }

    /// Makes the next bucket that has timers the current one; false if none has.
    fn advance(&mut self) -> bool {
        let near = self.next_near();
        let bucket = near.min(self.far_bucket);
        if bucket == NONE {
            return false;
        }
        self.current_bucket = bucket;
        if near == bucket {
            self.empty(bucket as usize % BUCKETS);
        }
        if self.far_bucket == bucket {
            self.take_far(bucket);
        }
        if self.current.len() > 1 {
            self.current
                .sort_unstable_by_key(|timer| Reverse(timer.key()));
        }
        true
    }

    /// Moves those of the far future that are in `bucket` to the current timers.
    #[cold]
    fn take_far(&mut self, bucket: u64) {
        self.far_bucket = NONE;
        while let Some(Reverse(timer)) = self.far.peek() {
            if timer.bucket() > bucket {
                self.far_bucket = timer.bucket();
                return;
            }
            self.current.push(*timer);
            self.far.pop();
        }
    }

    /// Moves a bucket's list to the current timers.
    fn empty(&mut self, index: usize) {
        let mut place = std::mem::replace(&mut self.heads[index], NIL);
        while place != NIL {
            let node = &mut self.nodes[place as usize];
            self.current.push(node.timer);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = place;
            place = next;
        }
        self.occupied[index / 64] &= !(1 << (index % 64));
    }

    /// The nearest bucket after the current one that has timers; [`NONE`] if none has.
    #[inline]
    fn next_near(&self) -> u64 {
        let first = (self.current_bucket as usize + 1) % BUCKETS;
        let mut word = first / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        for _ in 0..=WORDS {
            if bits != 0 {
                let index = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (index + BUCKETS - first) % BUCKETS;
                return self.current_bucket + 1 + ahead as u64;
            }
            word = (word + 1) % WORDS;
            bits = self.occupied[word];
        }
        NONE
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a sorted list of (time, sequence), over near, equal and far times.
        #[test]
        fn fires_in_order(
            operations in prop::collection::vec((0u64..5, 0u64..2_000_000_000, any::<bool>()), 1..300),
        ) {
            let mut timers = Timers::default();
            let mut oracle: Vec<(Time, TimerId)> = Vec::new();
            let mut now = Time::ZERO;
            let mut cancelled = false;
            for (kind, span, cancel) in operations {
                let span = if kind < 3 { span >> (kind * 9) } else { span % 3 };
                if kind == 4 {
                    oracle.sort_by_key(|(at, id)| (*at, id.0));
                    let next = timers.next_at();
                    let first = oracle.first().map(|(at, _)| *at);
                    // One that was cancelled may be told of, which is no later.
                    prop_assert!(first.is_none_or(|first| next.is_some_and(|next| next <= first)));
                    prop_assert!(cancelled || next == first);
                    let fired = timers.pop(Time::MAX).map(|(at, _)| at);
                    prop_assert_eq!(fired, oracle.first().map(|(at, _)| *at));
                    if !oracle.is_empty() {
                        now = oracle.remove(0).0;
                    }
                } else {
                    let at = Time::from_ps(now.as_ps() + span);
                    let id = timers.set(at, TaskId::NONE);
                    if cancel {
                        timers.cancel(id);
                        cancelled = true;
                    } else {
                        oracle.push((at, id));
                    }
                }
            }
        }
    }
}
