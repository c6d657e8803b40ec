//! Versions of logical pages for transactions (TxFTL, TxISC III).
//!
//! The mapping table always names the newest committed version of a page. What a transaction writes is *tentative*: it is on
//! flash, and only the transaction sees it. What it would still have to see of a page that somebody else changed meanwhile is
//! a *former* version, which is kept from collection. Both are entries ordered by logical page, the delta mappings of the
//! paper. Flag bits say of which pages there may be any, so that whoever changes or moves another page looks at one bit.
//!
//! A transaction is a *snapshot*, the number of versions when it began; so of any page it sees the version of before, and who
//! changed a page after it is known by the former version that this left. A commit has the table name what was tentative, in
//! one instant, and the journal says who has not committed ([`undone`]).

mod deltas;
mod flags;
mod formers;
mod read;
mod switch;
mod tentative;
mod undone;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

use media::nand::{BlockId, PlaneId};
use sim::Sim;
use sim::resource::{Broadcast, Semaphore};

use super::{Capacity, Ftl, FtlError, Lpn, UnitAddress};
use deltas::Deltas;
use flags::Flags;
pub use read::Place;
pub use switch::Durable;
use switch::Waiting;
pub(crate) use undone::state_bytes;
pub(super) use undone::{TENTATIVE, Undone};

/// Names a transaction among those that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotId(u32);

/// Bytes of an entry. Of a tentative page: logical page 4, transaction 4, unit and whether there is one 8, and 8 that lead to it,
/// from others and from its transaction. Of a former one: logical page 4, unit 4, version 8, and 8 for its place in the tree.
pub const ENTRY_BYTES: u64 = 24;

/// How often blocks are emptied before a transaction begins: what is needed of them may find no room.
const ROUNDS_MAX: u32 = 64;

/// Why a transaction cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Somebody else has changed a page that it writes, or, if it is to be serializable, one that it has read.
    #[error("logical page {} was changed by somebody else since the transaction began", .0.0)]
    Conflict(Lpn),
    /// Another transaction that is open has written the page.
    #[error("logical page {} was written by another transaction that is still open", .0.0)]
    Taken(Lpn),
    /// Its former versions were given up to make room.
    #[error(
        "former versions that the transaction could still read took more room than there is for them, and were given up"
    )]
    Lost,
    /// There is no room for what it writes, and nobody to wait for.
    #[error(
        "it has written as many pages as tx.delta_bytes has room for, and no other transaction is open whose end would make some"
    )]
    Full,
    /// Too many transactions were rolled back, and the blocks that hold what they wrote cannot be emptied.
    #[error(
        "as many transactions as tx.undone_max were rolled back, and there is no room to empty the blocks that they wrote to"
    )]
    TooManyUndone,
    /// The translation layer cannot do it.
    #[error(transparent)]
    Ftl(#[from] FtlError),
}

/// How much versions may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionLimits {
    /// Entries of pages, tentative and former, for which there is memory.
    pub entries: u64,
    /// Transactions that have not committed and have pages on flash.
    pub undone: u32,
}

/// What versions have come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionCounts {
    /// The most entries of pages, tentative and former, that there were at once.
    pub entries_most: u64,
    /// Former versions kept: changes of pages of a transaction's files by somebody else.
    pub formers: u64,
    /// Of these, those by commits of other transactions.
    pub formers_of_commits: u64,
}

/// An open transaction.
struct Open {
    /// The logical pages of its files, ascending, none twice.
    pages: Vec<Range<u32>>,
    /// What it has written: places among the tentative pages, in the order in which it took them.
    taken: Vec<u32>,
    /// Its number, once its snapshot was taken: it sees no change of this version or a higher one.
    number: Option<u64>,
    /// What it could still read was given up.
    lost: bool,
    /// What goes on for it and may outlast its end: programs of its pages, evaluations.
    holds: u32,
    /// Operations of it that wait for room.
    waiting: u32,
    /// It is found to be in nobody's way and commits: it needs no former versions, and cannot be given up any more.
    commits: bool,
    /// Its owner has ended it: who holds it last does.
    is_over: bool,
}

impl Open {
    /// Whether it would have to see what a page held before a change of now.
    fn sees(&self, lpn: Lpn) -> bool {
        let at = self.pages.partition_point(|pages| pages.end <= lpn.0);
        self.number.is_some()
            && !self.lost
            && !self.commits
            && self
                .pages
                .get(at)
                .is_some_and(|pages| pages.contains(&lpn.0))
    }
}

/// Tentative and former versions.
pub(super) struct Versions {
    flags: RefCell<Flags>,
    /// Whether any flag is set: where no transaction is open nobody looks further.
    any_flag: Cell<bool>,
    /// Those open, by number; a free place is none.
    open: RefCell<Vec<Option<Open>>>,
    tentative: RefCell<Deltas>,
    /// By logical page and the version from which on it is something else; none is a page without data.
    formers: RefCell<BTreeMap<(u32, u64), Option<UnitAddress>>>,
    undone: RefCell<Undone>,
    /// One group of commits after another has the journal say so.
    turn: Semaphore,
    /// The next group.
    waiting: RefCell<Waiting>,
    /// Announced when a transaction has ended, a program of one, or an erase of what was left of one.
    ended: Broadcast,
    /// Announced when a block was emptied, or could not be.
    emptied: Broadcast,
    limits: Cell<VersionLimits>,
    counts: Cell<VersionCounts>,
    /// Units that versions may keep from others.
    units_max: u64,
}

impl Versions {
    pub(super) fn new(sim: &Sim, capacity: &Capacity, spare_units: u64) -> Versions {
        Versions {
            flags: RefCell::new(Flags::new(capacity.logical_pages)),
            any_flag: Cell::new(false),
            open: RefCell::default(),
            tentative: RefCell::new(Deltas::new(capacity.logical_pages)),
            formers: RefCell::default(),
            undone: RefCell::default(),
            turn: Semaphore::new(sim, 1),
            waiting: RefCell::default(),
            ended: Broadcast::new(sim),
            emptied: Broadcast::new(sim),
            limits: Cell::new(VersionLimits {
                entries: 0,
                undone: 0,
            }),
            counts: Cell::default(),
            units_max: spare_units,
        }
    }

    /// Whether there may be another version of a page than the newest.
    #[inline]
    pub(super) fn is_watched(&self, lpn: Lpn) -> bool {
        self.any_flag.get() && self.flags.borrow().has(lpn)
    }

    /// Entries that there are.
    fn entries(&self) -> u64 {
        self.tentative.borrow().count() + self.count_formers()
    }

    fn count_formers(&self) -> u64 {
        self.formers.borrow().len() as u64
    }

    /// Entries that there may be.
    fn entries_max(&self) -> u64 {
        self.units_max.min(self.limits.get().entries)
    }

    #[inline]
    fn count(&self, change: impl FnOnce(&mut VersionCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Notes that there are so many entries, one of which is new.
    #[inline]
    fn note_entries(&self, entries: u64) {
        self.count(|counts| counts.entries_most = counts.entries_most.max(entries));
    }

    fn with<T>(&self, id: SnapshotId, look: impl FnOnce(&mut Open) -> T) -> T {
        let mut open = self.open.borrow_mut();
        let open = open[id.0 as usize].as_mut();
        look(open.expect("a transaction is open until it ends, and its owner ends it once"))
    }

    /// Its number, if it is not lost.
    fn number(&self, id: SnapshotId) -> Result<u64, VersionError> {
        self.with(id, |open| match (open.lost, open.number) {
            (false, Some(number)) => Ok(number),
            _ => Err(VersionError::Lost),
        })
    }

    fn is_open(&self, number: u64) -> bool {
        let open = self.open.borrow();
        open.iter()
            .flatten()
            .any(|open| open.number == Some(number))
    }
}

impl Ftl {
    /// Says how much versions may take.
    pub(crate) fn limit_versions(&self, limits: VersionLimits) {
        self.versions.limits.set(limits);
    }

    /// Opens a transaction over `pages`: from now on, changes of these are told apart by who made them, and reach flash
    /// before they are acknowledged ([`Ftl::is_watched`]). The pages are ascending, none twice.
    pub fn watch(&self, pages: Vec<Range<u32>>) -> SnapshotId {
        let versions = &self.versions;
        let mut flags = versions.flags.borrow_mut();
        pages.iter().for_each(|pages| flags.put(pages, true));
        let open = Open {
            pages,
            taken: Vec::new(),
            number: None,
            lost: false,
            holds: 0,
            waiting: 0,
            commits: false,
            is_over: false,
        };
        let mut all = versions.open.borrow_mut();
        let place = all.iter().position(Option::is_none).unwrap_or(all.len());
        if place == all.len() {
            all.push(None);
        }
        all[place] = Some(open);
        versions.any_flag.set(true);
        SnapshotId(place as u32)
    }

    /// Takes the snapshot of a transaction: what it reads from now on is as it is at this instant.
    pub fn take_snapshot(&self, id: SnapshotId) {
        let number = self.next_version();
        self.versions.with(id, |open| open.number = Some(number));
    }

    /// Whether a transaction sees this page, so that changes of it go to flash.
    #[inline]
    pub fn is_watched(&self, lpn: Lpn) -> bool {
        self.versions.is_watched(lpn)
    }

    /// Transactions that are open.
    pub fn open_snapshots(&self) -> u32 {
        self.versions.open.borrow().iter().flatten().count() as u32
    }

    /// What versions have come to since power-up.
    pub fn version_counts(&self) -> VersionCounts {
        self.versions.counts.get()
    }

    /// A transaction ends: what is tentative of it is not needed any more, nor is what nobody else sees.
    pub fn end_snapshot(&self, id: SnapshotId) {
        let versions = &self.versions;
        let goes_on = versions.with(id, |open| {
            open.is_over = true;
            open.holds > 0
        });
        if goes_on {
            return self.give_up_snapshot(id);
        }
        self.give_up_tentative(id);
        let ended = versions.open.borrow_mut()[id.0 as usize].take();
        let pages = ended.map_or_else(Vec::new, |ended| ended.pages);
        self.prune_formers(&pages);
        let mut flags = versions.flags.borrow_mut();
        pages.iter().for_each(|pages| flags.put(pages, false));
        let open = versions.open.borrow();
        let others = open.iter().flatten().flat_map(|open| &open.pages);
        others.for_each(|pages| flags.put(pages, true));
        versions.any_flag.set(open.iter().any(Option::is_some));
        drop((flags, open));
        versions.ended.announce();
    }

    /// Waits until a transaction has ended, a program of one, or an erase of what was left of one.
    pub async fn version_ended(&self) {
        self.versions.ended.next().await;
    }

    /// A transaction cannot go on: its owner learns that when it tries to.
    fn give_up_snapshot(&self, id: SnapshotId) {
        self.versions.with(id, |open| open.lost = true);
        self.give_up_tentative(id);
        let pages = self.versions.with(id, |open| open.pages.clone());
        self.prune_formers(&pages);
    }

    /// Gives up whoever sees any of `pages`, which are erased for good.
    pub(super) fn give_up_within(&self, pages: &Range<u32>) {
        let ids: Vec<SnapshotId> = {
            let open = self.versions.open.borrow();
            let touches = |open: &Open| {
                let mut own = open.pages.iter();
                own.any(|own| own.start < pages.end && pages.start < own.end)
            };
            let open = (0..).zip(&*open);
            let open = open.filter(|(_, open)| open.as_ref().is_some_and(touches));
            open.map(|(place, _)| SnapshotId(place)).collect()
        };
        ids.into_iter().for_each(|id| self.give_up_snapshot(id));
    }

    /// Forgets all versions, as blocks have forgotten their pages.
    pub(super) fn forget_versions(&self) {
        let versions = &self.versions;
        let mut tentative = versions.tentative.borrow_mut();
        for open in versions.open.borrow_mut().iter_mut().flatten() {
            open.lost = true;
            open.taken.drain(..).for_each(|place| {
                tentative.remove(place);
            });
        }
        versions.formers.borrow_mut().clear();
    }

    /// Takes from the journal who has committed.
    pub(super) fn restore_transactions(&self) {
        let facts = self.facts.borrow();
        self.versions
            .undone
            .borrow_mut()
            .restore(facts.get(undone::STATE));
    }

    /// The version of a page that recovery found, if it counts.
    pub(super) fn judged_version(&self, version: u64) -> Option<u64> {
        self.versions.undone.borrow().judge(version)
    }

    /// The least number that the next transaction may have: none may be taken for one that has committed.
    pub(super) fn next_transaction(&self) -> u64 {
        self.versions.undone.borrow().horizon()
    }

    /// Sees to it that there are not too many transactions that were rolled back and have pages on flash: the blocks of the
    /// oldest are emptied and erased.
    ///
    /// # Errors
    /// None of these can be emptied.
    pub async fn settle_undone(&self) -> Result<(), VersionError> {
        let versions = &self.versions;
        for _ in 0..ROUNDS_MAX {
            if versions.undone.borrow().len() < versions.limits.get().undone as usize {
                return Ok(());
            }
            let blocks = versions
                .undone
                .borrow()
                .oldest(|number| versions.is_open(number));
            if blocks.is_empty() {
                return Ok(());
            }
            let mut begun = false;
            for block in blocks {
                // One after the other of a plane, so that none is begun twice.
                let plane = self.geometry.plane_of_block(block);
                let at_rest = !self.is_collecting(plane) && !self.collections.is_levelling(plane);
                if at_rest && self.blocks.borrow_mut().can_be_purged(block) {
                    self.begin_purging(block, self.is_worn(block));
                    begun = true;
                }
            }
            let mut planes = (0..self.geometry.planes()).map(PlaneId);
            if !begun && !planes.any(|plane| self.is_collecting(plane)) {
                return Err(VersionError::TooManyUndone);
            }
            versions.emptied.next().await;
        }
        Err(VersionError::TooManyUndone)
    }

    /// A copy of collection is over.
    pub(super) fn announce_copied(&self) {
        self.versions.ended.announce();
    }

    /// A job of collection has ended.
    pub(super) fn announce_emptied(&self) {
        self.versions.emptied.announce();
    }

    /// Whether the flash says less of commits than was told.
    pub(super) fn has_unsaved_commits(&self) -> bool {
        self.versions.undone.borrow().is_unsaved()
    }

    /// A page of this version is about to be programmed to a block, or was found there.
    #[inline]
    pub(super) fn note_version(&self, version: u64, block: BlockId) {
        if version & TENTATIVE != 0 {
            self.versions.undone.borrow_mut().note(version, block);
        }
    }

    /// The version that a copy of a page has, which is about to be programmed to a block.
    #[inline]
    pub(super) fn version_of_copy(&self, version: u64, block: BlockId) -> u64 {
        if version & TENTATIVE == 0 {
            return version;
        }
        let mut undone = self.versions.undone.borrow_mut();
        undone.note_copy(version, block);
        undone.of_copy(version)
    }

    /// A block was erased: of some transactions nothing is left then.
    pub(super) fn versions_erased(&self, block: BlockId) {
        if self.versions.undone.borrow().is_empty() {
            return;
        }
        let is_open = |number| self.versions.is_open(number);
        if self.versions.undone.borrow_mut().erased(block, is_open) {
            self.versions.ended.announce();
        }
    }

    /// Blocks with pages of transactions that have not committed: recovery reads them whole.
    pub(super) fn undone_blocks(&self) -> Vec<BlockId> {
        self.versions.undone.borrow().all_blocks().collect()
    }
}
