//! Which of a unit's waiting transactions goes next. One file a policy.
//!
//! Whatever the policy, an erase never overtakes a transaction that was queued
//! before it on its die: the mapping has already moved on when an erase is
//! queued, so everything that still needs the block stands ahead of it. Nor do
//! programs of a block overtake each other, which the queue itself sees to.

mod first_come;
mod priority_aware;
mod priority_classes;
mod read_priority;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Span;

use super::ScheduleConfig;
use super::key::{Choice, Kind, QueueKey};
use super::origin::Priority;
use super::queue::{Order, UnitQueue};
use crate::planted::{Bug, is_planted};
use priority_aware::Owed;
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
    /// By what a request was given and the reciprocal of its size: whatever is of the highest rank first, and streams and tasks
    /// as often as `isp_share_percent` guarantees them (TH-iSSD 3.3).
    PriorityAware,
}

impl Policy {
    /// How queues are kept under it.
    pub(super) fn order(self) -> Order {
        match self {
            Policy::FirstCome | Policy::ReadPriority => Order::Arrival,
            Policy::PriorityClasses => Order::Priorities,
            Policy::PriorityAware => Order::Ranks,
        }
    }
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
    owed: Owed,
}

impl Chooser {
    pub(super) fn new(config: &ScheduleConfig) -> Chooser {
        let shares = Shares::new(config.priority_weights);
        Chooser {
            policy: config.policy,
            bypass_max: config.bypass_max,
            overtaken: (u64::MAX, 0),
            reads: shares.clone(),
            computes: shares.clone(),
            programs: shares,
            owed: Owed::new(config.isp_share_percent),
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
        if let Some(choice) = queue.with_room() {
            return Some(choice);
        }
        if self.policy == Policy::PriorityAware {
            let choice = priority_aware::next(queue, urgent, &mut self.owed)?;
            return Some(self.bounded(queue, choice));
        }
        if let Some(key) = queue.only() {
            return Some(key.into());
        }
        let choice = match self.policy {
            Policy::FirstCome | Policy::PriorityAware => return first_come::next(queue),
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

    /// What was chosen last kept its unit so long.
    #[inline]
    pub(super) fn served(&mut self, span: Span) {
        self.owed.served(span);
    }

    /// Whether something that waits would go before the computation of that arrival in the queue of `key`, which has
    /// begun. Where requests are not ranked it is the first there, and other computations would only if they are urgent and it
    /// is not: the classes share the die by whole computations.
    pub(super) fn would_interrupt<C>(
        &self,
        queue: &UnitQueue<C>,
        urgent: bool,
        (key, arrival): (QueueKey, u64),
    ) -> bool {
        let next = self.clone().next(queue, urgent);
        next.is_some_and(|choice| {
            if self.policy == Policy::PriorityAware {
                return queue.arrival_of(choice) != Some(arrival);
            }
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
            Some((arrival, key)) if queue.arrival_of(choice) != Some(arrival) => {
                let times = match self.overtaken {
                    (known, times) if known == arrival => times,
                    _ => 0,
                };
                if times >= self.bypass_max {
                    if self.policy == Policy::PriorityAware {
                        // Of a computation this is one piece.
                        self.overtaken = (arrival, 0);
                    }
                    return queue.choice_of(arrival, key).unwrap_or(choice);
                }
                self.overtaken = (arrival, times + 1);
                choice
            }
            _ => choice,
        }
    }
}
