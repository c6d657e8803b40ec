//! Commit: the mapping table names what was tentative, all in one instant.

use std::ops::Range;

use super::undone::STATE;
use super::{SnapshotId, VersionError};
use crate::ftl::mapping::Mapping;
use crate::ftl::ranges::{merged, runs};
use crate::ftl::{Dump, Ftl, FtlError, Lpn};
use crate::planted::{Bug, is_planted};

/// Ranges that are locked one by one; more are locked as one with what is between them.
const RANGES_MAX: usize = 256;

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
        while self.versions.with(id, |open| open.programs > 0) {
            self.versions.ended.next().await;
        }
        self.versions.number(id)?;
        let written = self.versions.pages_taken(id);
        if self.is_cached {
            for lpn in &written {
                self.entry_for_write(Lpn(*lpn)).await?;
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
            let _turn = self.versions.turn.acquire(1).await;
            self.save_state(Some(number)).await?;
            self.switch(id, number, switched);
        } else {
            self.switch(id, number, switched);
        }
        drop(lock);
        Ok(())
    }

    /// Has everybody see what a transaction wrote.
    #[inline(never)] // Its instructions are counted by its name.
    fn switch(&self, id: SnapshotId, number: u64, switched: impl Fn(Lpn)) {
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
    }

    /// Has the journal say who has not committed, one who is about to be left out.
    async fn save_state(&self, committing: Option<u64>) -> Result<(), FtlError> {
        let (state, commits) = {
            let open = self.versions.open.borrow();
            let open = open.iter().flatten().filter_map(|open| open.number);
            let undone = self.versions.undone.borrow();
            let commits = undone.commits() + u64::from(committing.is_some());
            (
                undone.state(self.next_version.get(), open, committing),
                commits,
            )
        };
        self.put_fact(STATE, &state.encode()).await?;
        self.versions.undone.borrow_mut().saved(state, commits);
        Ok(())
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
            true => self.save_state(None).await,
            false => Ok(()),
        }
    }

    /// The power is gone: what the journal does not say yet is saved; gives the pages that took, none if it failed.
    pub(crate) fn dump_commits(&self, dump: &mut Dump<'_>) -> Option<u32> {
        let undone = self.versions.undone.borrow();
        if !undone.is_unsaved() || is_planted(Bug::CommitIsNotDurable) {
            return Some(0);
        }
        let open = self.versions.open.borrow();
        let open = open.iter().flatten().filter_map(|open| open.number);
        let state = undone.state(self.next_version.get(), open, None);
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
