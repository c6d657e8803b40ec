//! Which of a unit's waiting transactions goes next. One file a policy.
//!
//! Whatever the policy, an erase never overtakes a transaction that was queued
//! before it on its die: the mapping has already moved on when an erase is
//! queued, so everything that still needs the block stands ahead of it. Nor do
//! programs of a block overtake each other, which the queue itself sees to.

mod first_come;
mod priority_classes;
mod read_priority;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key::{Choice, Kind, QueueKey};
use super::origin::Priority;
use super::queue::UnitQueue;
use crate::planted::{Bug, is_planted};
pub(super) use priority_classes::Shares;

/// The scheduling policy, as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// In the order of arrival.
    FirstCome,
    /// Out of order: reads first, then computing, programs and erases.
    ReadPriority,
    /// As `read_priority`, and among host commands of a kind, vendor commands included, by their
    /// priority: the urgent first, the others by their weights.
    PriorityClasses,
}

/// Whose turn it is among the host's transactions of each kind.
#[derive(Clone, Copy)]
struct Turns {
    reads: Option<QueueKey>,
    computes: Option<QueueKey>,
    programs: Option<QueueKey>,
}

/// A policy at work on one unit.
#[derive(Clone)]
pub(super) struct Chooser {
    policy: Policy,
    /// How many may overtake the transaction that has waited longest; 0: any number.
    bypass_max: u32,
    /// The arrival of the one that was overtaken last, and how often that was.
    overtaken: (u64, u32),
    reads: Shares,
    computes: Shares,
    programs: Shares,
}

impl Chooser {
    pub(super) fn new(policy: Policy, bypass_max: u32, weights: [u32; 3]) -> Chooser {
        Chooser {
            policy,
            bypass_max,
            overtaken: (u64::MAX, 0),
            reads: Shares::new(weights),
            computes: Shares::new(weights),
            programs: Shares::new(weights),
        }
    }

    /// The queue whose first transaction goes next, and the one that may fill up a multi-plane
    /// command; `None` if nothing waits. `urgent`: collection is.
    #[inline]
    pub(super) fn next<C>(&mut self, queue: &UnitQueue<C>, urgent: bool) -> Option<Choice> {
        if queue.is_empty() {
            return None;
        }
        if is_planted(Bug::EraseOvertakes) && queue.holds(QueueKey::ERASES) {
            return Some(QueueKey::ERASES.into());
        }
        if let Some(key) = queue.only() {
            return Some(key.into());
        }
        let choice = match self.policy {
            Policy::FirstCome => return first_come::next(queue),
            Policy::ReadPriority => read_priority::next(
                queue,
                urgent,
                Turns {
                    reads: queue.user(QueueKey::user_reads),
                    computes: queue.user(QueueKey::user_computes),
                    programs: queue.user(QueueKey::user_programs),
                },
            ),
            Policy::PriorityClasses => priority_classes::next(
                queue,
                urgent,
                [&mut self.reads, &mut self.computes, &mut self.programs],
            ),
        }?;
        Some(self.bounded(queue, choice))
    }

    /// Whether something that waits would go before the computation that the queue of `key` holds first, which has
    /// begun. Other computations would only if they are urgent and it is not: the classes share the
    /// die by whole computations.
    pub(super) fn would_interrupt<C>(
        &self,
        queue: &UnitQueue<C>,
        urgent: bool,
        key: QueueKey,
    ) -> bool {
        let next = self.clone().next(queue, urgent);
        next.is_some_and(|choice| {
            let urgent_computes = QueueKey::user_computes(Priority::Urgent);
            let other = choice.key.kind() != Kind::Compute || choice.key == urgent_computes;
            other && choice.key != key
        })
    }

    /// What goes instead of `choice` if that would overtake the oldest once too often.
    fn bounded<C>(&mut self, queue: &UnitQueue<C>, choice: Choice) -> Choice {
        if self.bypass_max == 0 {
            return choice;
        }
        match queue.oldest() {
            Some((arrival, key)) if key != choice.key => {
                let times = match self.overtaken {
                    (known, times) if known == arrival => times,
                    _ => 0,
                };
                if times >= self.bypass_max {
                    return key.into();
                }
                self.overtaken = (arrival, times + 1);
                choice
            }
            _ => choice,
        }
    }
}
