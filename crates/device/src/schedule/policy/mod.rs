//! Which of a die's waiting transactions goes next. One file a policy.
//!
//! Whatever the policy, an erase never overtakes a transaction that was queued
//! before it on its die: the mapping has already moved on when an erase is
//! queued, so everything that still needs the block stands ahead of it. Nor do
//! programs overtake each other: pages of a block are programmed in order.

mod first_come;
mod read_priority;

use serde::{Deserialize, Serialize};

use super::queue::{Class, DieQueue};

/// The scheduling policy, as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// In the order of arrival.
    FirstCome,
    /// Out of order: reads first, then computing, programs and erases.
    ReadPriority,
}

impl Policy {
    /// The class whose first transaction goes next; `None` if nothing waits.
    #[inline]
    pub(super) fn next(self, queue: &DieQueue) -> Option<Class> {
        match self {
            Policy::FirstCome => first_come::next(queue),
            Policy::ReadPriority => read_priority::next(queue),
        }
    }
}
