//! A transaction from its beginning to its end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use media::core::Work;
use media::dram::Toward;
use nvme::task::Isolation;
use sim::resource::{Access, Broadcast, RangeGuard, RangeLock};

use super::file::File;
use super::reads::{self, Reads};
use super::{Transactions, TxError};
use crate::ftl::ranges::merged;
use crate::ftl::{Ftl, Lpn, SnapshotId};
use crate::schedule::Origin;

/// A logical page of which parts were written, in DRAM; nothing of it on drives that keep no data.
pub(super) type Image = Rc<RefCell<Box<[u8]>>>;

/// Work for a transaction that goes on whatever becomes of who asked for it.
pub(super) struct Background {
    running: Cell<u32>,
    /// Announced when some of it is over.
    ended: Broadcast,
}

/// Some of it, until this is dropped.
#[must_use = "it is over when it is dropped"]
pub struct Running {
    background: Rc<Background>,
    /// Until then nobody else has the name of the transaction.
    held: Option<(Rc<Ftl>, SnapshotId)>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((ftl, id)) = self.held.take() {
            ftl.release_snapshot(id);
        }
        let background = &self.background;
        background.running.set(background.running.get() - 1);
        background.ended.announce();
    }
}

/// A transaction. Dropping it rolls it back, unless it has committed.
pub struct Transaction {
    pub(super) owner: Rc<Transactions>,
    pub(super) files: Vec<File>,
    /// All logical pages of them, ascending.
    pages: Vec<Range<u32>>,
    isolation: Isolation,
    pub(super) origin: Origin,
    /// It is none, and does not count among those that are.
    pub(super) is_beside: bool,
    /// Names it to the translation layer; none once it is over.
    id: Cell<Option<SnapshotId>>,
    /// An operation failed: it cannot commit.
    failed: Cell<bool>,
    /// It failed as somebody else was first.
    conflicted: Cell<bool>,
    /// Pages written in part that are not on flash yet, by logical page.
    pub(super) images: RefCell<BTreeMap<u32, Image>>,
    /// Pages read, if it is to be serializable.
    reads: RefCell<Reads>,
    /// Writes of the same page happen one after another.
    pub(super) locks: RangeLock,
    background: Rc<Background>,
}

impl Transaction {
    pub(super) fn new(
        owner: Rc<Transactions>,
        files: Vec<File>,
        isolation: Isolation,
        origin: Origin,
    ) -> Transaction {
        let pages = merged(files.iter().flat_map(File::ranges).collect());
        // Even without a transaction: what the host writes meanwhile is then on flash, where it is looked for.
        let id = owner.ftl.watch(pages.clone());
        let reads = Reads::new(owner.config.read_ranges);
        Transaction {
            locks: RangeLock::new(&owner.sim),
            background: Rc::new(Background {
                running: Cell::new(0),
                ended: Broadcast::new(&owner.sim),
            }),
            owner,
            files,
            pages,
            isolation,
            origin,
            is_beside: false,
            id: Cell::new(Some(id)),
            failed: Cell::new(false),
            conflicted: Cell::new(false),
            images: RefCell::default(),
            reads: RefCell::new(reads),
        }
    }

    /// Its files, in the order in which they were registered.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// What it has to do with others.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// All logical pages of its files, ascending.
    pub(super) fn pages(&self) -> &[Range<u32>] {
        &self.pages
    }

    /// Which file a logical page belongs to, by number, and the bytes that it has of it.
    pub(crate) fn bytes_of(&self, page: Lpn) -> Option<(u32, Range<u64>)> {
        let unit = u64::from(self.owner.unit.bytes());
        let mut places = (0..).zip(&self.files).filter_map(|(number, file)| {
            let start = u64::from(file.number(page.0)?) * unit;
            Some((number, start..file.bytes().min(start + unit)))
        });
        places.next()
    }

    /// What names it to the translation layer; none if it is over, or no transaction.
    pub(super) fn transaction(&self) -> Option<SnapshotId> {
        self.id.get().filter(|_| self.isolation.is_transaction())
    }

    pub(super) fn file(&self, number: u32) -> Result<&File, TxError> {
        self.files
            .get(number as usize)
            .ok_or(TxError::NoFile(number))
    }

    /// Counts work that goes on whatever becomes of who asked for it, until what this gives is dropped.
    pub fn run_on(&self) -> Running {
        let (background, ftl) = (&self.background, &self.owner.ftl);
        background.running.set(background.running.get() + 1);
        let id = self.transaction();
        id.into_iter().for_each(|id| ftl.hold_snapshot(id));
        Running {
            background: background.clone(),
            held: id.map(|id| (ftl.clone(), id)),
        }
    }

    /// Waits until nothing of it goes on: what was begun for it before it was rolled back may.
    pub async fn at_rest(&self) {
        while self.background.running.get() > 0 {
            self.background.ended.next().await;
        }
    }

    /// That it goes on.
    ///
    /// # Errors
    /// [`TxError::Failed`].
    pub(super) fn check_open(&self) -> Result<(), TxError> {
        match self.failed.get() || self.id.get().is_none() {
            true => Err(TxError::Failed),
            false => Ok(()),
        }
    }

    /// What an operation came to: one that failed fails all of it.
    pub(super) fn noted<T>(&self, outcome: Result<T, TxError>) -> Result<T, TxError> {
        if let Err(error) = &outcome
            && !self.failed.replace(true)
        {
            self.conflicted.set(error.is_conflict());
        }
        outcome
    }

    /// Waits until no other operation of the transaction has any of `pages`, or none writes them.
    pub(super) async fn lock(
        &self,
        pages: impl Iterator<Item = Range<u32>>,
        access: Access,
    ) -> RangeGuard<'_> {
        let ranges = pages.map(|pages| (pages.start.into()..pages.end.into(), access));
        self.locks.lock_all(ranges).await
    }

    /// Whether what it reads matters to its commit.
    pub(super) fn is_validated(&self) -> bool {
        self.isolation == Isolation::Serializable
    }

    /// Notes that a page was read, if that matters.
    pub(super) fn note_read(&self, lpn: Lpn) {
        if self.is_validated() && self.reads.borrow_mut().note(lpn.0) {
            let (tenant, bytes) = (self.origin.tenant, reads::RANGE_BYTES);
            self.owner.post_bytes(tenant, bytes, Toward::Cells);
        }
    }

    /// Has everybody see what it wrote, if nobody else has changed that. When this returns, no power cut takes it.
    ///
    /// # Errors
    /// Why it does not; it is rolled back then.
    pub async fn commit(&self) -> Result<(), TxError> {
        let committed = self.try_commit().await;
        if self.transaction().is_some() {
            self.owner.count(|counts| match &committed {
                Ok(()) => counts.committed += 1,
                Err(error) if error.is_conflict() || self.conflicted.get() => counts.conflicts += 1,
                Err(_) => counts.rolled_back += 1,
            });
        }
        self.end();
        committed
    }

    async fn try_commit(&self) -> Result<(), TxError> {
        self.check_open()?;
        self.write_images(0).await?;
        let Some(id) = self.transaction() else {
            return Ok(());
        };
        let (ranges, read) = {
            let reads = self.reads.borrow();
            (reads.len(), reads.within(&self.pages))
        };
        let taken = self.owner.ftl.count_taken(id);
        let work = [(Work::CommitPage, taken), (Work::FindVersion, ranges)];
        self.owner.cores.work_often(self.origin, work).await;
        let bytes = ranges * reads::RANGE_BYTES;
        self.owner
            .move_bytes(self.origin.tenant, bytes, Toward::Reader)
            .await;
        let (ftl, cache) = (&self.owner.ftl, &self.owner.cache);
        let durable = self.owner.config.durable();
        // Reads under way may have brought what was there before.
        let switched = |lpn: Lpn| cache.forget(lpn);
        ftl.commit(id, &read, durable, switched).await?;
        Ok(())
    }

    /// Undoes all that it did, if it is a transaction.
    pub fn roll_back(&self) {
        if self.transaction().is_some() {
            self.owner.count(|counts| match self.conflicted.get() {
                true => counts.conflicts += 1,
                false => counts.rolled_back += 1,
            });
        }
        self.end();
    }

    fn end(&self) {
        self.images.borrow_mut().clear();
        if let Some(id) = self.id.take() {
            if self.is_beside {
                self.owner.beside.set(self.owner.beside.get() - 1);
            }
            self.owner.ftl.end_snapshot(id);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.roll_back();
    }
}
