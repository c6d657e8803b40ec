//! The table of queues of a unit: kinds of transactions, and classes of those they are for.

use super::origin::{Class, Priority};

/// Kinds of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Page reads.
    Read,
    /// Sequences of sensing commands.
    Compute,
    /// Page programs, those from a page of the same plane included.
    Program,
    /// Block erases.
    Erase,
}

impl Kind {
    pub(super) const COUNT: usize = 4;
}

/// Queues of one kind, by class: one for the mapping's own pages, four for the priorities of the
/// host, one for collection.
pub(super) const CLASSES: usize = 6;

/// One queue among those of a unit, a table of kind and class: what kind of transactions, and whose.
/// Erases have one queue for all classes: nobody overtakes one, whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane(pub(super) u8);

impl Lane {
    pub(super) const MAPPING_READS: Lane = Lane::of(Kind::Read, Class::Mapping);
    pub(super) const COLLECTION_READS: Lane = Lane::of(Kind::Read, Class::Collection);
    pub(super) const MAPPING_PROGRAMS: Lane = Lane::of(Kind::Program, Class::Mapping);
    pub(super) const COLLECTION_PROGRAMS: Lane = Lane::of(Kind::Program, Class::Collection);
    pub(super) const ERASES: Lane = Lane(3 * CLASSES as u8);
    const COUNT: u8 = Lane::ERASES.0 + 1;
    /// The lanes of reads among those of [`UnitQueue::held`].
    pub(super) const READS: u32 = (1 << CLASSES) - 1;
    /// The same of computations.
    pub(super) const COMPUTES: u32 = Lane::READS << CLASSES;

    pub(super) const fn of(kind: Kind, class: Class) -> Lane {
        let class = match class {
            Class::Mapping => 0,
            Class::User(priority) => 1 + priority as u8,
            Class::Collection => 5,
        };
        Lane(kind as u8 * CLASSES as u8 + class)
    }

    pub(super) const fn user_reads(priority: Priority) -> Lane {
        Lane::of(Kind::Read, Class::User(priority))
    }

    pub(super) const fn user_computes(priority: Priority) -> Lane {
        Lane::of(Kind::Compute, Class::User(priority))
    }

    pub(super) const fn user_programs(priority: Priority) -> Lane {
        Lane::of(Kind::Program, Class::User(priority))
    }

    pub(super) fn all() -> impl Iterator<Item = Lane> {
        (0..Lane::COUNT).map(Lane)
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match self.0 {
            0..=5 => Kind::Read,
            6..=11 => Kind::Compute,
            12..=17 => Kind::Program,
            _ => Kind::Erase,
        }
    }

    /// The number of the queue among those of its kind.
    #[inline]
    pub(super) fn class(self) -> usize {
        self.0 as usize - self.kind() as usize * CLASSES
    }
}

/// What a policy chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The queue whose first transaction goes next.
    pub(super) lane: Lane,
    /// Whose transactions of the same kind may fill the planes that are left.
    pub(super) fill: Option<Lane>,
}

impl From<Lane> for Choice {
    #[inline]
    fn from(lane: Lane) -> Choice {
        Choice { lane, fill: None }
    }
}
