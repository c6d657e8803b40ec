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

use super::queue::{Choice, Lane, UnitQueue};
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
    /// As `read_priority`, and among host commands by their priority: the urgent first, the others
    /// by their weights.
    PriorityClasses,
}

/// A policy at work on one unit.
pub(super) struct Chooser {
    policy: Policy,
    /// How many may overtake the transaction that has waited longest; 0: any number.
    bypass_max: u32,
    /// The arrival of the one that was overtaken last, and how often that was.
    overtaken: (u64, u32),
    reads: Shares,
    programs: Shares,
}

impl Chooser {
    pub(super) fn new(policy: Policy, bypass_max: u32, weights: [u32; 3]) -> Chooser {
        Chooser {
            policy,
            bypass_max,
            overtaken: (u64::MAX, 0),
            reads: Shares::new(weights),
            programs: Shares::new(weights),
        }
    }

    /// The queue whose first transaction goes next, and the one that may fill up a multi-plane
    /// command; `None` if nothing waits. `urgent`: collection is.
    #[inline]
    pub(super) fn next(&mut self, queue: &UnitQueue, urgent: bool) -> Option<Choice> {
        if queue.is_empty() {
            return None;
        }
        if is_planted(Bug::EraseOvertakes) && queue.holds(Lane::ERASES) {
            return Some(Lane::ERASES.into());
        }
        if let Some(lane) = queue.only() {
            return Some(lane.into());
        }
        let choice = match self.policy {
            Policy::FirstCome => return first_come::next(queue),
            Policy::ReadPriority => read_priority::next(
                queue,
                urgent,
                queue.user(Lane::user_reads),
                queue.user(Lane::user_programs),
            ),
            Policy::PriorityClasses => {
                priority_classes::next(queue, urgent, &mut self.reads, &mut self.programs)
            }
        }?;
        Some(self.bounded(queue, choice))
    }

    /// What goes instead of `choice` if that would overtake the oldest once too often.
    fn bounded(&mut self, queue: &UnitQueue, choice: Choice) -> Choice {
        if self.bypass_max == 0 {
            return choice;
        }
        match queue.oldest() {
            Some((arrival, lane)) if lane != choice.lane => {
                let times = match self.overtaken {
                    (known, times) if known == arrival => times,
                    _ => 0,
                };
                if times >= self.bypass_max {
                    return lane.into();
                }
                self.overtaken = (arrival, times + 1);
                choice
            }
            _ => choice,
        }
    }
}
