//! Commit: the mapping table names what was tentative, all in one instant.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use super::undone::{STATE, State};
use super::{SnapshotId, VersionError};
use crate::ftl::mapping::Mapping;
use crate::ftl::ranges::{merged, runs};
use crate::ftl::{Dump, Ftl, FtlError, Lpn};
use crate::planted::{Bug, is_planted};

/// Entries of the mapping that a commit fetches at once.
const ENTRIES_AT_ONCE: usize = 64;
/// Ranges that are locked one by one; more are locked as one with what is between them.
const RANGES_MAX: usize = 256;

/// Commits that wait for the journal.
#[derive(Default)]
pub(super) struct Waiting {
    /// The numbers of their transactions.
    numbers: Vec<u64>,
    /// What became of all of them.
    outcome: Rc<Cell<Option<Result<(), FtlError>>>>,
}

/// What makes a commit outlive the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// A capacitor: when the power goes it saves who has not committed.
    Capacitor,
    /// The journal says so first.
    Journal,
}

impl Ftl {
    /// Commits a transaction, unless others have changed what it wrote, or any of the pages `read`, which are ascending;
    /// `switched` is told of each page in the instant in which everybody sees what it wrote. The transaction has no more
    /// tentative pages then, and still is to be ended.
    ///
    /// # Errors
    /// [`VersionError`]; nothing of it is seen by anybody then.
    pub async fn commit(
        &self,
        id: SnapshotId,
        read: &[Range<u32>],
        durable: Durable,
        switched: impl Fn(Lpn),
    ) -> Result<(), VersionError> {
        while self.versions.with(id, |open| open.holds > 0) {
            self.versions.ended.next().await;
        }
        self.versions.number(id)?;
        let written = self.versions.pages_taken(id);
        if self.is_cached {
            for lpns in written.chunks(ENTRIES_AT_ONCE) {
                self.entries_for_writes(lpns).await?;
            }
        }
        let mut pages: Vec<Range<u32>> = runs(&written).collect();
        pages.extend(read.iter().cloned());
        let lock = self.lock_all(&to_lock(&pages)).await;
        let number = self.versions.number(id)?;
        if !is_planted(Bug::CommitIgnoresConflicts) {
            let mut pages = pages.iter();
            if let Some(lpn) = pages.find_map(|pages| self.changed_since(pages, number)) {
                return Err(VersionError::Conflict(lpn));
            }
        }
        if written.is_empty() {
            return Ok(());
        }
        self.versions.with(id, |open| open.commits = true);
        if durable == Durable::Journal && !is_planted(Bug::CommitIsNotDurable) {
            self.save_commit(number).await?;
        }
        self.switch(id, number, switched);
        drop(lock);
        Ok(())
    }

    /// Has the journal say that a transaction has committed, together with others that ask for it meanwhile.
    async fn save_commit(&self, number: u64) -> Result<(), FtlError> {
        let versions = &self.versions;
        let outcome = {
            let mut waiting = versions.waiting.borrow_mut();
            waiting.numbers.push(number);
            waiting.outcome.clone()
        };
        let _turn = versions.turn.acquire(1).await;
        if let Some(saved) = outcome.get() {
            return saved;
        }
        let batch = versions.waiting.take();
        versions.undone.borrow_mut().begin_commits(&batch.numbers);
        let saved = self.save_state().await;
        if saved.is_err() {
            versions.undone.borrow_mut().cancel_commits(&batch.numbers);
        }
        outcome.set(Some(saved));
        saved
    }

    /// Has everybody see what a transaction wrote.
    #[inline(never)] // Its instructions are counted by its name.
    fn switch(&self, id: SnapshotId, number: u64, switched: impl Fn(Lpn)) {
        let formers_before = self.version_counts().formers;
        let mut deltas = self.take_deltas(id);
        self.versions.undone.borrow_mut().commit(number);
        if is_planted(Bug::CommitLeavesOutAPage) && deltas.len() > 1 {
            deltas.pop();
        }
        for delta in deltas {
            let (lpn, Some(at)) = (delta.lpn, delta.at) else {
                continue;
            };
            let old = self.replace(lpn, Mapping::Data(at));
            let mapped = matches!(old, Mapping::Data(_));
            let mut written = self.written.borrow_mut();
            written.note(lpn, mapped, 0..self.unit.bytes());
            if self.is_cached {
                self.keep_entry(lpn);
            }
            switched(lpn);
        }
        // All that was kept since is of this commit: nobody else comes between.
        self.versions
            .count(|counts| counts.formers_of_commits += counts.formers - formers_before);
    }

    /// Has the journal say who has not committed. The caller's turn it is.
    async fn save_state(&self) -> Result<(), FtlError> {
        let (state, commits) = (
            self.transaction_state(),
            self.versions.undone.borrow().commits(),
        );
        self.put_fact(STATE, &state.encode()).await?;
        self.versions.undone.borrow_mut().saved(state, commits);
        Ok(())
    }

    /// What the journal is to say of transactions.
    fn transaction_state(&self) -> State {
        let open = self.versions.open.borrow();
        let open = open.iter().flatten().filter_map(|open| open.number);
        let undone = self.versions.undone.borrow();
        undone.state(self.next_version.get(), open)
    }

    /// Has the journal keep what only a capacitor would save: an image has what is on flash, whatever becomes of the process
    /// that has the rest.
    ///
    /// # Errors
    /// No space.
    pub async fn save_commits(&self) -> Result<(), FtlError> {
        let _turn = self.versions.turn.acquire(1).await;
        let is_unsaved = self.versions.undone.borrow().is_unsaved();
        match is_unsaved {
            true => self.save_state().await,
            false => Ok(()),
        }
    }

    /// The power is gone: what the journal does not say yet is saved; gives the pages that took, none if it failed.
    pub(crate) fn dump_commits(&self, dump: &mut Dump<'_>) -> Option<u32> {
        let is_unsaved = self.versions.undone.borrow().is_unsaved();
        if !is_unsaved || is_planted(Bug::CommitIsNotDurable) {
            return Some(0);
        }
        let state = self.transaction_state();
        dump.put_facts(vec![(STATE, Some(state.encode().into()))])
    }
}

/// Ranges to lock: all of `pages` as one with what is between them, if there are too many.
fn to_lock(pages: &[Range<u32>]) -> Vec<Range<u32>> {
    if pages.len() <= RANGES_MAX {
        return merged(pages.to_vec());
    }
    let all =
        |one: Range<u32>, other: &Range<u32>| one.start.min(other.start)..one.end.max(other.end);
    vec![pages.iter().fold(pages[0].clone(), all)]
}
