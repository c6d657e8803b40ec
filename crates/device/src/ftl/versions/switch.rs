//! Commit: the mapping table names what was tentative, all in one instant.

use std::ops::Range;

use sim::resource::{Access, RangeGuard};

use super::undone::STATE;
use super::{SnapshotId, VersionError};
use crate::ftl::mapping::Mapping;
use crate::ftl::{Dump, Ftl, FtlError, Lpn, UnitAddress};
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
        let written: Vec<u32> = self.deltas(id).into_iter().map(|(lpn, _)| lpn).collect();
        if self.is_cached {
            for lpn in &written {
                self.entry_for_write(Lpn(*lpn)).await?;
            }
        }
        let mut pages = ranges_of(&written);
        pages.extend(read.iter().cloned());
        let lock = self.lock_versions(pages.clone()).await;
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

    /// Waits until nobody else writes any of `pages`.
    async fn lock_versions(&self, mut pages: Vec<Range<u32>>) -> RangeGuard<'_> {
        pages.sort_unstable_by_key(|pages| pages.start);
        if pages.len() > RANGES_MAX {
            let end = pages.iter().map(|pages| pages.end).max().unwrap_or(0);
            pages[0].end = end;
            pages.truncate(1);
        }
        let mut merged: Vec<Range<u64>> = Vec::new();
        for pages in pages {
            let (start, end) = (u64::from(pages.start), u64::from(pages.end));
            match merged.last_mut().filter(|last| last.end >= start) {
                Some(last) => last.end = last.end.max(end),
                None => merged.push(start..end),
            }
        }
        let ranges = merged.into_iter().map(|range| (range, Access::Exclusive));
        self.locks.lock_all(ranges).await
    }

    /// How many pages a transaction has taken to write.
    pub fn pages_taken(&self, id: SnapshotId) -> u64 {
        self.deltas(id).len() as u64
    }

    /// The tentative pages of a transaction, ascending.
    fn deltas(&self, id: SnapshotId) -> Vec<(u32, Option<UnitAddress>)> {
        let tentative = self.versions.tentative.borrow();
        self.versions.with(id, |open| {
            let all = open
                .pages
                .iter()
                .flat_map(|pages| tentative.range(pages.clone()));
            let own = all.filter(|(_, delta)| delta.by == id);
            own.map(|(lpn, delta)| (*lpn, delta.at)).collect()
        })
    }

    /// Has everybody see what a transaction wrote.
    fn switch(&self, id: SnapshotId, number: u64, switched: impl Fn(Lpn)) {
        let mut deltas = self.deltas(id);
        {
            let mut tentative = self.versions.tentative.borrow_mut();
            deltas.iter().for_each(|(lpn, _)| {
                tentative.remove(lpn);
            });
        }
        self.versions.undone.borrow_mut().commit(number);
        if is_planted(Bug::CommitLeavesOutAPage) && deltas.len() > 1 {
            deltas.pop();
        }
        for (lpn, at) in deltas {
            let (lpn, Some(at)) = (Lpn(lpn), at) else {
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

/// Pages as ranges.
fn ranges_of(pages: &[u32]) -> Vec<Range<u32>> {
    let runs = pages.chunk_by(|page, next| page + 1 == *next);
    runs.map(|run| run[0]..run[run.len() - 1] + 1).collect()
}
