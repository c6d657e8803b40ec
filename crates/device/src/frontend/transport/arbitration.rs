//! Which submission queue is fetched from next (NVMe Base 2.1, 3.4.4).

use nvme::QueuePriority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How queues take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arbitration {
    /// One after another, the admin queue among them.
    RoundRobin,
    /// The admin queue first, then urgent queues, then the others by the weights of their classes.
    WeightedRoundRobin,
}

/// The numbers that arbitration goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::frontend) struct Shares {
    /// Commands fetched from a queue in one turn.
    pub(in crate::frontend) burst: u32,
    /// Commands of the high, medium and low class in one round.
    pub(in crate::frontend) weights: [u32; 3],
}

/// A set of queues that take turns among themselves.
struct Class {
    /// Which of them have entries, a bit each.
    waiting: Vec<u64>,
    /// Where the round goes on.
    next: usize,
    /// What the queue at `next` may still have of its turn.
    left: u32,
}

/// All queues that have entries.
pub(in crate::frontend) struct Arbiter {
    policy: Arbitration,
    shares: Shares,
    classes: Vec<Class>,
    /// What each weighted class may still have of this round.
    credits: [u32; 3],
}

/// The class of the admin queue, and of urgent ones, under weighted arbitration.
const ADMIN: usize = 0;
const URGENT: usize = 1;
const HIGH: usize = 2;

impl Arbiter {
    /// Nobody waits among `queues` queues.
    pub(in crate::frontend) fn new(policy: Arbitration, shares: Shares, queues: usize) -> Arbiter {
        let classes = match policy {
            Arbitration::RoundRobin => 1,
            Arbitration::WeightedRoundRobin => 5,
        };
        let class = || Class {
            waiting: vec![0; queues.div_ceil(64)],
            next: 0,
            left: shares.burst,
        };
        Arbiter {
            policy,
            shares,
            classes: (0..classes).map(|_| class()).collect(),
            credits: shares.weights,
        }
    }

    pub(in crate::frontend) fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
        self.credits = shares.weights;
        for class in &mut self.classes {
            class.left = class.left.min(shares.burst);
        }
    }

    #[inline]
    fn class_of(&self, queue: usize, priority: QueuePriority) -> usize {
        match self.policy {
            Arbitration::RoundRobin => 0,
            Arbitration::WeightedRoundRobin if queue == 0 => ADMIN,
            Arbitration::WeightedRoundRobin => match priority {
                QueuePriority::Urgent => URGENT,
                QueuePriority::High => HIGH,
                QueuePriority::Medium => HIGH + 1,
                QueuePriority::Low => HIGH + 2,
            },
        }
    }

    /// `queue` may have entries.
    #[inline]
    pub(in crate::frontend) fn wait(&mut self, queue: usize, priority: QueuePriority) {
        let class = self.class_of(queue, priority);
        self.classes[class].waiting[queue / 64] |= 1 << (queue % 64);
    }

    /// `queue` has none, or may not be fetched from.
    #[inline]
    pub(in crate::frontend) fn rest(&mut self, queue: usize, priority: QueuePriority) {
        let class = self.class_of(queue, priority);
        self.classes[class].waiting[queue / 64] &= !(1 << (queue % 64));
    }

    /// Whether some queue may have entries.
    #[inline]
    pub(in crate::frontend) fn has_waiting(&self) -> bool {
        let mut classes = self.classes.iter();
        classes.any(|class| class.waiting.iter().any(|word| *word != 0))
    }

    /// The queue whose turn it is, if any may have entries.
    #[inline]
    pub(in crate::frontend) fn turn(&mut self) -> Option<usize> {
        match self.policy {
            Arbitration::RoundRobin => self.classes[0].next_waiting(),
            Arbitration::WeightedRoundRobin => self.weighted_turn(),
        }
    }

    fn weighted_turn(&mut self) -> Option<usize> {
        let urgent = self.classes[..HIGH].iter().find_map(Class::next_waiting);
        if urgent.is_some() {
            return urgent;
        }
        let mut waits = [false; 3];
        for (waits, class) in waits.iter_mut().zip(&self.classes[HIGH..]) {
            *waits = class.next_waiting().is_some();
        }
        let has_credit =
            |credits: &[u32; 3]| (0..3).any(|class| waits[class] && credits[class] > 0);
        if !has_credit(&self.credits) {
            self.credits = self.shares.weights;
        }
        let class = (0..3).find(|class| waits[*class] && self.credits[*class] > 0)?;
        self.classes[HIGH + class].next_waiting()
    }

    /// An entry of `queue`, whose turn it was, is fetched.
    #[inline]
    pub(in crate::frontend) fn fetched(&mut self, queue: usize, priority: QueuePriority) {
        let class = self.class_of(queue, priority);
        if class >= HIGH {
            self.credits[class - HIGH] = self.credits[class - HIGH].saturating_sub(1);
        }
        self.classes[class].fetched(queue, self.shares.burst);
    }
}

impl Class {
    /// An entry of `queue` is fetched, in turns of `burst`.
    #[inline]
    fn fetched(&mut self, queue: usize, burst: u32) {
        if self.next != queue {
            self.left = burst;
        }
        self.next = queue;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.next = queue + 1;
            self.left = burst;
        }
    }

    /// The first queue from `next` on, round and round, that may have entries.
    #[inline]
    fn next_waiting(&self) -> Option<usize> {
        let words = self.waiting.len();
        let mut word = self.next / 64;
        let mut mask = u64::MAX << (self.next % 64);
        // One word more than there are, for the part of the first before `next`.
        for _ in 0..=words {
            if word >= words {
                (word, mask) = (0, u64::MAX);
            }
            let bits = self.waiting[word] & mask;
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            (word, mask) = (word + 1, u64::MAX);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches `count` times from queues that always have entries; gives how often from each.
    fn fetches(arbiter: &mut Arbiter, priorities: &[QueuePriority], count: u32) -> Vec<u32> {
        let mut fetched = vec![0; priorities.len()];
        for (queue, priority) in priorities.iter().enumerate().skip(1) {
            arbiter.wait(queue, *priority);
        }
        for _ in 0..count {
            let queue = arbiter.turn().expect("all of them wait");
            arbiter.fetched(queue, priorities[queue]);
            fetched[queue] += 1;
        }
        fetched
    }

    #[test]
    fn weights_are_shares() {
        use QueuePriority::{High, Low, Medium};
        let shares = Shares {
            burst: 1,
            weights: [5, 3, 2],
        };
        let mut arbiter = Arbiter::new(Arbitration::WeightedRoundRobin, shares, 5);
        let fetched = fetches(&mut arbiter, &[High, High, Medium, Low, Low], 1000);
        assert_eq!(fetched, [0, 500, 300, 100, 100]);
        let mut equal = Arbiter::new(Arbitration::RoundRobin, shares, 5);
        let fetched = fetches(&mut equal, &[High, High, Medium, Low, Low], 1000);
        assert_eq!(fetched, [0, 250, 250, 250, 250]);
    }

    #[test]
    fn urgent_queues_come_before_all_others() {
        use QueuePriority::{High, Urgent};
        let shares = Shares {
            burst: 4,
            weights: [200, 1, 1],
        };
        let mut arbiter = Arbiter::new(Arbitration::WeightedRoundRobin, shares, 4);
        let fetched = fetches(&mut arbiter, &[High, High, Urgent, Urgent], 100);
        assert_eq!(fetched, [0, 0, 52, 48]);
        arbiter.rest(2, Urgent);
        arbiter.rest(3, Urgent);
        assert_eq!(arbiter.turn(), Some(1));
    }

    #[test]
    fn a_burst_stays_with_its_queue() {
        let shares = Shares {
            burst: 3,
            weights: [1; 3],
        };
        let mut arbiter = Arbiter::new(Arbitration::RoundRobin, shares, 3);
        let any = QueuePriority::High;
        arbiter.wait(1, any);
        arbiter.wait(2, any);
        let turns: Vec<usize> = (0..7)
            .map(|_| {
                let queue = arbiter.turn().expect("both wait");
                arbiter.fetched(queue, any);
                queue
            })
            .collect();
        assert_eq!(turns, [1, 1, 1, 2, 2, 2, 1]);
    }
}
