//! As `read_priority`, and the host's transactions by class: the urgent before all others, the
//! other three in rounds, of which each class takes part in as many as its weight says.
//!
//! With weights 4, 2, 1 a cycle is: high, high, high and medium, high, medium and low. A class
//! with nothing waiting is passed over. MQSim's policy of the same name serves the same shares.

use super::{Turns, read_priority};
use crate::schedule::key::{Choice, QueueKey};
use crate::schedule::origin::Priority;
use crate::schedule::queue::UnitQueue;

/// The classes that share what the urgent one leaves.
const SHARING: [Priority; 3] = [Priority::High, Priority::Medium, Priority::Low];

/// Whose turn it is among the classes.
#[derive(Clone)]
pub(in crate::schedule) struct Shares {
    weights: [u32; 3],
    /// Rounds left of the cycle, this one included.
    round: u32,
    /// The class that this round has come to.
    class: usize,
}

impl Shares {
    pub(super) fn new(weights: [u32; 3]) -> Shares {
        Shares {
            weights,
            round: weights.into_iter().max().unwrap_or(1),
            class: 0,
        }
    }

    /// The queue whose turn it is, and the turn passes on; `None` if nothing waits in any.
    fn turn<C>(&mut self, queue: &UnitQueue<C>, key: fn(Priority) -> QueueKey) -> Option<QueueKey> {
        let urgent = key(Priority::Urgent);
        if queue.holds(urgent) {
            return Some(urgent);
        }
        if !SHARING.iter().any(|class| queue.holds(key(*class))) {
            return None;
        }
        loop {
            let class = self.class;
            let takes_part = self.weights[class] >= self.round;
            self.pass();
            if takes_part && queue.holds(key(SHARING[class])) {
                return Some(key(SHARING[class]));
            }
        }
    }

    fn pass(&mut self) {
        self.class += 1;
        if self.class == SHARING.len() {
            self.class = 0;
            self.round -= 1;
            if self.round == 0 {
                self.round = self.weights.into_iter().max().unwrap_or(1);
            }
        }
    }
}

/// `shares`: of reads, of computations and of programs.
pub(super) fn next<C>(
    queue: &UnitQueue<C>,
    urgent: bool,
    shares: [&mut Shares; 3],
) -> Option<Choice> {
    let [reads, computes, programs] = shares;
    // A turn is taken only where it is used: as leader, or to fill up.
    let wants_reads = reads.turn(queue, QueueKey::user_reads);
    let wants_computes = match wants_reads {
        Some(_) => None,
        None => computes.turn(queue, QueueKey::user_computes),
    };
    let wants_programs = match wants_reads.or(wants_computes) {
        Some(_) => None,
        None => programs.turn(queue, QueueKey::user_programs),
    };
    let turns = Turns {
        reads: wants_reads,
        computes: wants_computes,
        programs: wants_programs,
    };
    read_priority::next(queue, urgent, turns)
}

#[cfg(test)]
mod tests {
    use media::nand::{BlockId, PageAddress};
    use sim::Time;

    use super::*;
    use crate::memory::BufferId;
    use crate::schedule::Notify;
    use crate::schedule::operation::Read;
    use crate::schedule::origin::Origin;
    use crate::schedule::queue::{Operation, Order};
    use crate::tenants;

    fn queue(priorities: &[Priority]) -> UnitQueue {
        let mut queue = UnitQueue::new(Order::Priorities, 0..1, 1);
        for (page, priority) in (0..).zip(priorities) {
            let read = Read {
                page: PageAddress {
                    block: BlockId(0),
                    page,
                },
                column: 0,
                bytes: 0,
                into: BufferId::NONE,
                at: 0,
                inverse: false,
                origin: Origin::new(tenants::namespace(0), *priority),
            };
            read.enqueue(&mut queue, Notify::Reader(0), Time::ZERO);
        }
        queue
    }

    #[test]
    fn shares_are_as_the_weights() {
        let queue = queue(&SHARING);
        let mut shares = Shares::new([4, 2, 1]);
        let mut served = [0; 3];
        for _ in 0..70 {
            let key = shares
                .turn(&queue, QueueKey::user_reads)
                .expect("reads wait");
            let class = SHARING
                .iter()
                .position(|class| QueueKey::user_reads(*class) == key);
            served[class.expect("a queue of the host")] += 1;
        }
        assert_eq!(served, [40, 20, 10]);
    }

    #[test]
    fn urgent_goes_before_all_and_a_lone_class_gets_everything() {
        let mut shares = Shares::new([4, 2, 1]);
        let both = queue(&[Priority::Low, Priority::Urgent]);
        for _ in 0..10 {
            let key = shares.turn(&both, QueueKey::user_reads);
            assert_eq!(key, Some(QueueKey::user_reads(Priority::Urgent)));
        }
        let low = queue(&[Priority::Low]);
        for _ in 0..10 {
            let key = shares.turn(&low, QueueKey::user_reads);
            assert_eq!(key, Some(QueueKey::user_reads(Priority::Low)));
        }
    }
}
