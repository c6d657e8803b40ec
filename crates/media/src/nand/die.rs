//! What a die is at, and until when.

use super::command::{BlockSet, PageSet};
use super::mode::ProgramMode;
use sim::{Span, Time};

/// What keeps a die busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Nothing; the die takes commands.
    Idle,
    /// A sense or a move between latches, already computed, shown when finished.
    Latches,
    /// A sense into the S-latch that leaves the C-latch to the channel.
    CacheSense,
    /// A program.
    Program(PageSet, ProgramMode),
    /// A raise of cells.
    Raise(PageSet),
    /// An erase.
    Erase(BlockSet),
    /// Anything else that only takes time: set feature, suspend, reset.
    Wait,
}

/// A program or erase that was suspended.
#[derive(Clone, Debug)]
pub(crate) struct Suspended {
    pub(crate) operation: Operation,
    /// What is left to do of it.
    pub(crate) remaining: Span,
}

/// The state of one die that a power cut erases.
pub(crate) struct Die {
    pub(crate) operation: Operation,
    /// When the operation ends; meaningless while idle.
    pub(crate) ends: Time,
    /// How long the operation took when it began, or was to take when it was resumed.
    pub(crate) work: Span,
    pub(crate) suspended: Option<Box<Suspended>>,
    /// Length of an ESP program in percent of an SLC program; 0 for the configured one.
    pub(crate) esp_effort: u32,
    /// Steps by which the read references are lowered.
    pub(crate) reference_level: u32,
}

impl Die {
    pub(crate) fn new() -> Die {
        Die {
            operation: Operation::Idle,
            ends: Time::ZERO,
            work: Span::ZERO,
            suspended: None,
            esp_effort: 0,
            reference_level: 0,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.operation == Operation::Idle
    }

    pub(crate) fn start(&mut self, operation: Operation, now: Time, span: Span) {
        self.operation = operation;
        self.ends = now + span;
        self.work = span;
    }

    /// What is left of the operation; the time spent on resuming it does not count as work.
    pub(crate) fn remaining(&self, now: Time) -> Span {
        self.ends.since(now).min(self.work)
    }
}

impl Operation {
    pub(crate) fn is_suspendable(&self) -> bool {
        matches!(
            self,
            Operation::Program(..) | Operation::Raise(_) | Operation::Erase(_)
        )
    }

    /// Whether the operation changes the cells of `block`.
    pub(crate) fn changes(&self, block: super::geometry::BlockId) -> bool {
        match self {
            Operation::Program(pages, _) | Operation::Raise(pages) => {
                pages.iter().any(|page| page.block == block)
            }
            Operation::Erase(blocks) => blocks.contains(&block),
            _ => false,
        }
    }
}
