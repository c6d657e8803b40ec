//! Bugs planted on purpose: the whole-drive simulation must catch each of them.
//!
//! Compiled in only with the feature `planted-bugs`, which nothing but that test
//! asks for. Without it `is_planted` is the constant `false`.

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Recovery takes the oldest version of a logical page for the current one.
    RecoveryTakesOldestVersion,
    /// Recovery overlooks the records of deallocation.
    RecoveryIgnoresTombstones,
    /// Blocks are deallocated in the table only, not on the media.
    DeallocationLeavesNoRecord,
    /// Garbage collection moves the mapping to its copy even if the host was faster.
    CollectionIgnoresOvertaking,
    /// A write of a part of a page forgets the rest of it.
    PartialWriteForgetsTheRest,
    /// Garbage collection does not copy records of deallocation.
    CollectionDropsTombstones,
    /// Recovery takes blocks marked bad for free ones.
    BadBlocksAreForgotten,
    /// An erase goes before transactions that were queued ahead of it.
    EraseOvertakes,
    /// While a program or erase is suspended, blocks that it changes are read.
    SuspensionReadsWhatChanges,
    /// Copy leaves the last block of its last range out.
    CopyMissesTheLastBlock,
    /// A format is in force until the power goes.
    FormatIsNotDurable,
    /// A checkpoint says that mapping pages are on flash which it did not write.
    CheckpointLeavesChanges,
    /// A mapping page is written without one of its entries.
    WriteBackDropsAnEntry,
    /// Recovery takes what a checkpoint says for newer than what was written since.
    RecoveryTrustsCheckpoint,
    /// A flush forgets one page of the cache.
    FlushForgetsASlot,
    /// A read that finds a part of its page in the cache takes the rest for cached, too.
    CacheHitTakesStaleSectors,
    /// Copies of placed pages all go to the first string of their block.
    CollectionForgetsStrings,
    /// Recovery takes the strings of every handle for full, so that further rows do not join
    /// those written before.
    RecoveryOpensNewStrings,
    /// A read does not look whether the latches of its plane are leased.
    ReadIgnoresLease,
    /// Sanitize leaves two blocks as they are, and does not look again.
    PurgeLeavesTwoBlocks,
    /// Recovery takes what there is of a group of facts for all of it.
    RecoveryTakesTornGroups,
    /// A sense of several wordlines of a string leaves out the last of them.
    SenseMissesAWordline,
    /// Recovery finds every logical page of a flash page in its first slot.
    RecoveryForgetsSlots,
    /// Garbage collection gives all that it gathers into one page the version of the first.
    GatheringMixesVersions,
    /// A deletion raises the cells of an entry in the first of its search regions alone.
    DeletionRaisesOneRegion,
    /// Recovery forgets the names that wait for their row to be full.
    RecoveryForgetsWaitingNames,
    /// The blocks of a row of names are in no fact when the facts of its names go.
    SealLeavesNoFact,
    /// A transaction reads what others committed after it began.
    SnapshotShowsTheNewest,
    /// A transaction reads what another has written and not committed.
    ReadsAreDirty,
    /// A transaction commits over what others changed since it began.
    CommitIgnoresConflicts,
    /// A commit leaves out the last page that its transaction wrote.
    CommitLeavesOutAPage,
    /// Nothing that outlives the power says that a transaction has committed.
    CommitIsNotDurable,
    /// Recovery takes what transactions wrote that have not committed.
    RecoveryTakesUncommitted,
    /// A transaction that rewrites a part of a page forgets the rest of it.
    TransactionForgetsTheRest,
    /// Garbage collection leaves behind what only a transaction sees.
    CollectionForgetsVersions,
    /// A stream leaves out the second half of what it writes to its file at a time.
    StreamLosesAHalf,
    /// The journal is told of a page more than a collector has on flash.
    CollectorTellsTooMuch,
}

impl Bug {
    /// Those that lose data, or show what is no more.
    pub const ALL: [Bug; 21] = [
        Bug::RecoveryTakesOldestVersion,
        Bug::RecoveryIgnoresTombstones,
        Bug::DeallocationLeavesNoRecord,
        Bug::CollectionIgnoresOvertaking,
        Bug::PartialWriteForgetsTheRest,
        Bug::CollectionDropsTombstones,
        Bug::BadBlocksAreForgotten,
        Bug::EraseOvertakes,
        Bug::SuspensionReadsWhatChanges,
        Bug::ReadIgnoresLease,
        Bug::CopyMissesTheLastBlock,
        Bug::FormatIsNotDurable,
        Bug::CheckpointLeavesChanges,
        Bug::WriteBackDropsAnEntry,
        Bug::RecoveryTrustsCheckpoint,
        Bug::FlushForgetsASlot,
        Bug::CacheHitTakesStaleSectors,
        Bug::PurgeLeavesTwoBlocks,
        Bug::RecoveryTakesTornGroups,
        Bug::RecoveryForgetsSlots,
        Bug::GatheringMixesVersions,
    ];

    /// Those that lose names, or find what is no more.
    pub const OF_NAMES: [Bug; 3] = [
        Bug::DeletionRaisesOneRegion,
        Bug::RecoveryForgetsWaitingNames,
        Bug::SealLeavesNoFact,
    ];

    /// Those that break transactions.
    pub const OF_TRANSACTIONS: [Bug; 8] = [
        Bug::SnapshotShowsTheNewest,
        Bug::ReadsAreDirty,
        Bug::CommitIgnoresConflicts,
        Bug::CommitLeavesOutAPage,
        Bug::CommitIsNotDurable,
        Bug::RecoveryTakesUncommitted,
        Bug::TransactionForgetsTheRest,
        Bug::CollectionForgetsVersions,
    ];

    /// Those that break streams and collectors.
    pub const OF_STREAMS: [Bug; 2] = [Bug::StreamLosesAHalf, Bug::CollectorTellsTooMuch];

    /// Those that spoil the layout of placed pages.
    pub const OF_LAYOUT: [Bug; 2] = [Bug::CollectionForgetsStrings, Bug::RecoveryOpensNewStrings];
}

#[cfg(feature = "planted-bugs")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// A planted bug; dropping it digs it out.
    pub struct Planted(());

    /// Plants a bug in every drive of this thread.
    pub fn plant(bug: Bug) -> Planted {
        PLANTED.set(Some(bug));
        Planted(())
    }

    impl Drop for Planted {
        fn drop(&mut self) {
            PLANTED.set(None);
        }
    }

    pub(crate) fn is_planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }
}

#[cfg(feature = "planted-bugs")]
pub(crate) use switch::is_planted;
#[cfg(feature = "planted-bugs")]
pub use switch::{Planted, plant};

/// Whether `bug` is in.
#[cfg(not(feature = "planted-bugs"))]
#[inline(always)]
pub(crate) const fn is_planted(_bug: Bug) -> bool {
    false
}
