//! Transactions over files (TxISC III): a task sees its files as they were when it began, with what it wrote itself; when it
//! ends well, all of that becomes what everybody sees, at once and for good, unless somebody else was first.
//!
//! `ftl/versions` has the versions of pages; here is what a transaction is to a task: files of extents, reads and writes
//! at any place, rewritten parts of pages gathered in DRAM, and how it ends. Two ways without transactions
//! are there to compare with: files whose writes count at once, and raw blocks.

mod config;
mod file;
mod operands;
mod pieces;
mod read;
mod reads;
mod transaction;
mod write;

use std::cell::Cell;
use std::rc::Rc;

use media::dram::{Dram, Toward};
use serde::{Deserialize, Serialize};
use sim::{Sim, Span, Tenant};

use crate::backend::Backend;
use crate::cache::Cache;
use crate::cores::Cores;
use crate::ftl::{Ftl, FtlError, MappingUnit, VersionError};
use crate::memory::{Buffers, Dumped, Partition};
use crate::part::Part;
use crate::schedule::Origin;
pub use config::TxConfig;
pub use file::{Extent, File, FileError};
pub use nvme::task::Isolation;
pub use transaction::{Running, Transaction};

/// What transactions have done. Runs that are none (isolation `file` and `block`) count with the pages only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TxCounts {
    /// Transactions begun.
    pub begun: u64,
    /// Those that committed.
    pub committed: u64,
    /// Those that aborted, as somebody else was first or what they could read was given up.
    pub conflicts: u64,
    /// Those that were rolled back for another reason.
    pub rolled_back: u64,
    /// Logical pages that they read, wherever these were.
    pub pages_read: u64,
    /// Logical pages that they wrote as a whole; of runs that are no transactions all that they wrote.
    pub pages_written: u64,
    /// Logical pages gathered in DRAM, as only a part of them was written.
    pub pages_gathered: u64,
    /// Logical pages of open transactions' files that the host, or a run that is no transaction, changed, what was there before
    /// being kept: what TxISC diverts into host deltas (III-B).
    pub host_pages_diverted: u64,
    /// The same by commits of other transactions.
    pub commit_pages_diverted: u64,
    /// The most entries of tentative and former pages that there were at once.
    pub entries_most: u64,
}

/// Why a transaction does not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TxError {
    /// It cannot: somebody else was first, or there is no room.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The data cache could not write what the host had written before.
    #[error("what the host wrote before could not be read or written: {0}")]
    Ftl(#[from] FtlError),
    /// There is no such file.
    #[error("there is no file {0} in the transaction")]
    NoFile(u32),
    /// The file is only to be read.
    #[error("file {0} was registered to be read only")]
    ReadOnly(u32),
    /// Bytes that are not the file's.
    #[error("bytes {start} to {end} go beyond the {bytes} bytes of file {file}")]
    Beyond {
        /// The file.
        file: u32,
        /// The first of them.
        start: u64,
        /// The byte behind the last.
        end: u64,
        /// Bytes of the file.
        bytes: u64,
    },
    /// An operation of it failed before, so that what it wrote is not all there.
    #[error("the transaction failed before, and can only be rolled back")]
    Failed,
}

impl TxError {
    /// Whether somebody else was first, so that to try again may help.
    pub fn is_conflict(&self) -> bool {
        use VersionError::{Conflict, Lost, Taken};
        matches!(self, TxError::Version(Conflict(_) | Taken(_) | Lost))
    }

    /// Whether there was no room for what it wrote.
    pub fn is_full(&self) -> bool {
        use VersionError::{Full, TooManyUndone};
        match self {
            TxError::Version(VersionError::Ftl(error)) | TxError::Ftl(error) => {
                *error == FtlError::NoSpace
            }
            TxError::Version(error) => matches!(error, Full | TooManyUndone),
            _ => false,
        }
    }
}

/// Transactions of a drive.
pub struct Transactions {
    sim: Sim,
    config: TxConfig,
    unit: MappingUnit,
    ftl: Rc<Ftl>,
    cache: Rc<Cache>,
    buffers: Rc<Buffers>,
    cores: Rc<Cores>,
    /// Those open that are none, and do not end by themselves.
    beside: Cell<u32>,
    dram: Rc<Dram>,
    /// Of the DRAM, where entries and gathered pages lie.
    partition: Partition,
    counts: std::cell::Cell<TxCounts>,
}

impl Transactions {
    /// No transaction is open.
    pub(crate) fn power_up(
        backend: &Backend,
        config: &TxConfig,
        cache: Rc<Cache>,
    ) -> Rc<Transactions> {
        backend.ftl.limit_versions(config.limits());
        Rc::new(Transactions {
            sim: backend.sim.clone(),
            config: *config,
            unit: backend.ftl.unit(),
            ftl: backend.ftl.clone(),
            cache,
            buffers: backend.buffers.clone(),
            cores: backend.cores.clone(),
            beside: Cell::new(0),
            dram: backend.dram.clone(),
            partition: backend.dram_map.tx,
            counts: std::cell::Cell::default(),
        })
    }

    /// A file of these extents of the drive's logical pages.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn file(
        &self,
        extents: Vec<Extent>,
        bytes: u64,
        writable: bool,
    ) -> Result<File, FileError> {
        let pages = (self.unit.bytes(), self.ftl.logical_pages());
        File::new(extents, bytes, writable, pages)
    }

    /// Begins a transaction over `files`, for `origin`: as soon as there may be another one.
    ///
    /// # Errors
    /// What the host had written before cannot be written to flash.
    pub async fn begin(
        self: &Rc<Transactions>,
        files: Vec<File>,
        isolation: Isolation,
        origin: Origin,
    ) -> Result<Rc<Transaction>, TxError> {
        let is_full =
            || self.ftl.open_snapshots() - self.beside.get() >= self.config.transactions_max;
        loop {
            while is_full() {
                self.ftl.version_ended().await;
            }
            self.ftl.settle_undone().await?;
            if !is_full() {
                break;
            }
        }
        if isolation.is_transaction() {
            self.count(|counts| counts.begun += 1);
        }
        let transaction = Transaction::new(self.clone(), files, isolation, origin);
        self.opened(transaction).await
    }

    /// Opens files for what goes on as long as somebody wants it to, a collector: its writes count at once, it is no transaction, and
    /// none waits for its end.
    ///
    /// # Errors
    /// What the cache has of the files and flash does not take.
    pub async fn open_beside(
        self: &Rc<Transactions>,
        files: Vec<File>,
        origin: Origin,
    ) -> Result<Rc<Transaction>, TxError> {
        self.beside.set(self.beside.get() + 1);
        let mut transaction = Transaction::new(self.clone(), files, Isolation::File, origin);
        transaction.is_beside = true;
        self.opened(transaction).await
    }

    async fn opened(&self, transaction: Transaction) -> Result<Rc<Transaction>, TxError> {
        // What the cache has of a page that flash misses something of goes there as one with what is written meanwhile.
        while self.cache.has_unsaved_of(transaction.pages()) {
            for pages in transaction.pages() {
                self.cache.save(pages.clone()).await?;
            }
        }
        if let Some(id) = transaction.transaction() {
            self.ftl.take_snapshot(id);
        }
        Ok(Rc::new(transaction))
    }

    /// How long a run waits before it is begun anew after so many attempts.
    pub fn retry_wait(&self, attempts: u32) -> Span {
        self.config.retry_wait(attempts)
    }

    /// What was done so far.
    pub fn counts(&self) -> TxCounts {
        let of_versions = self.ftl.version_counts();
        TxCounts {
            host_pages_diverted: of_versions.formers - of_versions.formers_of_commits,
            commit_pages_diverted: of_versions.formers_of_commits,
            entries_most: of_versions.entries_most,
            ..self.counts.get()
        }
    }

    /// Has the journal keep what only a capacitor would save.
    ///
    /// # Errors
    /// No space.
    pub async fn flush(&self) -> Result<(), FtlError> {
        self.ftl.save_commits().await
    }

    fn count(&self, change: impl FnOnce(&mut TxCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Has bytes cross its DRAM, for which nobody waits.
    fn post_bytes(&self, tenant: Tenant, bytes: u64, toward: Toward) {
        // Whoever comes next may wait for it.
        let _over = self
            .partition
            .post(&self.dram, tenant.into(), bytes, toward);
    }

    /// Moves bytes into or out of its DRAM, and waits for that.
    async fn move_bytes(&self, tenant: Tenant, bytes: u64, toward: Toward) {
        let over = self
            .partition
            .post(&self.dram, tenant.into(), bytes, toward);
        if let Some(over) = over {
            self.sim.sleep_until(over).await;
        }
    }
}

impl Part for Transactions {
    fn name(&self) -> &'static str {
        config::NAME
    }

    /// The capacitor saves who has not committed.
    fn power_lost(&self) -> Dumped {
        let mut dump = self.ftl.dump();
        let saved = self.ftl.dump_commits(&mut dump);
        debug_assert!(
            saved.is_some() || dump.met_failures(),
            "commits are lost, and no flash failed"
        );
        Dumped {
            pages: saved.unwrap_or(0).into(),
            // What was told to have been committed is rolled back by the next power-up.
            lost: u64::from(saved.is_none()),
            work: dump.work(),
            ..Dumped::default()
        }
    }
}
