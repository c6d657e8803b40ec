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

/// Numbers of queues of one kind: as many as are quickly told apart.
const STRIDE: u8 = 8;

/// One queue among those of a unit, a table of kind and class: what kind of transactions, and whose.
/// Erases have one queue for all classes: nobody overtakes one, whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueKey(pub(super) u8);

impl QueueKey {
    pub(super) const MAPPING_READS: QueueKey = QueueKey::of(Kind::Read, Class::Mapping);
    pub(super) const COLLECTION_READS: QueueKey = QueueKey::of(Kind::Read, Class::Collection);
    pub(super) const MAPPING_PROGRAMS: QueueKey = QueueKey::of(Kind::Program, Class::Mapping);
    pub(super) const COLLECTION_PROGRAMS: QueueKey = QueueKey::of(Kind::Program, Class::Collection);
    /// Where streams and tasks wait if requests are ranked: then the host's priorities are not told apart, and what is left of
    /// its queues is free.
    pub(super) const IN_STORAGE: Class = Class::User(Priority::Low);
    pub(super) const ERASES: QueueKey = QueueKey(3 * STRIDE);
    const COUNT: u8 = QueueKey::ERASES.0 + 1;
    /// The queues of reads among those of [`UnitQueue::held`].
    pub(super) const READS: u32 = (1 << CLASSES) - 1;
    /// The same of computations.
    pub(super) const COMPUTES: u32 = QueueKey::READS << STRIDE;

    pub(super) const fn of(kind: Kind, class: Class) -> QueueKey {
        let class = match class {
            Class::Mapping => 0,
            Class::User(priority) => 1 + priority as u8,
            Class::Collection => 5,
        };
        QueueKey::of_class(kind, class)
    }

    /// The queue of a kind for a class, by its number.
    pub(super) const fn of_class(kind: Kind, class: u8) -> QueueKey {
        QueueKey(kind as u8 * STRIDE + class)
    }

    pub(super) const fn user_reads(priority: Priority) -> QueueKey {
        QueueKey::of(Kind::Read, Class::User(priority))
    }

    pub(super) const fn user_computes(priority: Priority) -> QueueKey {
        QueueKey::of(Kind::Compute, Class::User(priority))
    }

    pub(super) const fn user_programs(priority: Priority) -> QueueKey {
        QueueKey::of(Kind::Program, Class::User(priority))
    }

    pub(super) fn all() -> impl Iterator<Item = QueueKey> {
        let keys = (0..QueueKey::COUNT).map(QueueKey);
        keys.filter(|key| key.class() < CLASSES)
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match self.0 / STRIDE {
            0 => Kind::Read,
            1 => Kind::Compute,
            2 => Kind::Program,
            _ => Kind::Erase,
        }
    }

    /// Whether it holds what streams and tasks want, if requests are ranked.
    pub(super) const fn is_in_storage(self) -> bool {
        let class = self.0 % STRIDE;
        class == QueueKey::of(Kind::Read, QueueKey::IN_STORAGE).0
    }

    /// Whether it holds what collection wants; erases aside.
    pub(super) const fn is_collection(self) -> bool {
        self.0 % STRIDE == QueueKey::COLLECTION_READS.0
    }

    /// The number of the queue among those of its kind.
    #[inline]
    pub(super) fn class(self) -> usize {
        usize::from(self.0 % STRIDE)
    }
}

/// What a policy chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The queue of the transaction that goes next.
    pub(super) key: QueueKey,
    /// How many stand before it there: none, but where one goes because it was overtaken too often.
    pub(super) index: u32,
    /// Whose transactions of the same kind may fill the planes that are left.
    pub(super) fill: Option<QueueKey>,
}

impl From<QueueKey> for Choice {
    #[inline]
    fn from(key: QueueKey) -> Choice {
        Choice {
            key,
            index: 0,
            fill: None,
        }
    }
}
