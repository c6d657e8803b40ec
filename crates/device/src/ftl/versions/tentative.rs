//! Tentative versions: what transactions write before they commit.

use media::core::Work;

use super::deltas::Delta;
use super::{SnapshotId, TENTATIVE, VersionError, Versions};
use crate::ftl::blocks::Stream;
use crate::ftl::holds::Holds;
use crate::ftl::unit::Slots;
use crate::ftl::{Ftl, Lpn, PageSlice};
use crate::planted::{Bug, is_planted};

impl Ftl {
    /// Takes a page for a transaction to write, as soon as there is room for it: no other open one may then.
    ///
    /// # Errors
    /// [`VersionError`].
    pub async fn take_page(&self, id: SnapshotId, lpn: Lpn) -> Result<(), VersionError> {
        while !self.try_take_page(id, lpn)? {
            self.wait_for_entries(id).await?;
        }
        Ok(())
    }

    /// The same, if there is room for it.
    ///
    /// # Errors
    /// Somebody else has written the page, or changed it since.
    #[inline(never)] // Its instructions are counted by its name.
    fn try_take_page(&self, id: SnapshotId, lpn: Lpn) -> Result<bool, VersionError> {
        let versions = &self.versions;
        let number = versions.number(id)?;
        let checks = !is_planted(Bug::CommitIgnoresConflicts);
        if checks && let Some(lpn) = self.changed_since(&(lpn.0..lpn.0 + 1), number) {
            return Err(VersionError::Conflict(lpn));
        }
        let mut tentative = versions.tentative.borrow_mut();
        if let Some(delta) = tentative.get(lpn) {
            return match delta.by == id || !checks {
                true => Ok(true),
                false => Err(VersionError::Taken(lpn)),
            };
        }
        let entries = tentative.count() + versions.count_formers();
        if entries >= versions.entries_max() {
            return Ok(false);
        }
        let place = tentative.insert(lpn, id);
        versions.with(id, |open| open.taken.push(place));
        versions.note_entries(entries + 1);
        Ok(true)
    }

    /// Waits until another transaction has ended, if any does not wait itself.
    async fn wait_for_entries(&self, id: SnapshotId) -> Result<(), VersionError> {
        let versions = &self.versions;
        let another_goes_on = {
            let open = versions.open.borrow();
            let open = (0..)
                .zip(&*open)
                .filter_map(|(place, open)| Some((place, open.as_ref()?)));
            let mut others = open.filter(|(place, _)| SnapshotId(*place) != id);
            others.any(|(_, open)| open.waiting == 0)
        };
        if !another_goes_on {
            return Err(VersionError::Full);
        }
        let waits = Waits::new(versions, id);
        versions.ended.next().await;
        drop(waits);
        Ok(())
    }

    /// Something goes on for a transaction that may outlast its end: until [`Ftl::release_snapshot`] nobody else has its name.
    pub fn hold_snapshot(&self, id: SnapshotId) {
        self.versions.with(id, |open| open.holds += 1);
    }

    /// Something that went on for a transaction is over, which may have been the last that its end waits for.
    pub fn release_snapshot(&self, id: SnapshotId) {
        let is_last = self.versions.with(id, |open| {
            open.holds -= 1;
            open.holds == 0 && open.is_over
        });
        match is_last {
            true => self.end_snapshot(id),
            false => self.versions.ended.announce(),
        }
    }

    /// Writes whole logical pages, which the transaction has taken, to one page of flash. All lie in one buffer, each where its
    /// slot is there. Whoever asks holds the snapshot, and lets this run to its end.
    ///
    /// # Errors
    /// No space; or the transaction was given up meanwhile.
    pub async fn write_tentative(
        &self,
        id: SnapshotId,
        units: &[PageSlice],
    ) -> Result<(), VersionError> {
        if self.cores.takes_time() {
            let work = [Work::WritePage, Work::TakePage].map(|work| (work, 1));
            for unit in units {
                self.cores.work_often(unit.origin, work).await;
            }
        }
        for unit in units {
            self.forget_tentative(id, unit.lpn).await;
        }
        let number = self.versions.number(id)?;
        let (lead, version) = (units[0], TENTATIVE | number);
        self.count(|counts| counts.tentative_page_writes += 1);
        let record = self.record_buffer();
        let holds = Holds::data(units, version, record.as_ref());
        let bytes = units.iter().map(|unit| unit.bytes).sum();
        let preferred = self.plane_for(lead.lpn);
        let programmed = self
            .program(
                preferred,
                Stream::Host,
                (lead.buffer, bytes),
                holds,
                lead.origin,
            )
            .await;
        let page = match (programmed, self.versions.number(id)) {
            (Ok(page), Ok(_)) => page,
            (Ok(page), Err(lost)) => {
                self.settle(page, Slots::NONE);
                return Err(lost);
            }
            (Err(error), _) => {
                // What it has taken and not written must not be committed.
                self.give_up_snapshot(id);
                return Err(error.into());
            }
        };
        self.settle(page, self.slots_of(units));
        let page = self.geometry.ppa(page);
        for unit in units {
            let at = self.unit.at(page, self.slot_of(unit));
            let before = self.versions.tentative.borrow_mut().put(unit.lpn, Some(at));
            debug_assert!(
                before.is_none_or(|delta| delta.at.is_none()),
                "who rewrites a page has it locked"
            );
        }
        Ok(())
    }

    /// What a transaction wrote to a page before is overwritten. As all that it writes has one version, of two pages on flash
    /// the one that was programmed later counts; so there must be no copy of the former on its way.
    async fn forget_tentative(&self, id: SnapshotId, lpn: Lpn) {
        loop {
            let delta = self.versions.tentative.borrow().get(lpn).copied();
            let Some(at) = delta
                .filter(|delta| delta.by == id)
                .and_then(|delta| delta.at)
            else {
                return;
            };
            if !self.is_being_copied(at) {
                self.versions.tentative.borrow_mut().put(lpn, None);
                return self.forget(at);
            }
            self.versions.ended.next().await;
        }
    }

    /// What is tentative of a transaction is not needed any more.
    pub(super) fn give_up_tentative(&self, id: SnapshotId) {
        let needless = self.take_deltas(id).into_iter();
        needless
            .filter_map(|delta| delta.at)
            .for_each(|unit| self.forget(unit));
    }

    /// The tentative pages of a transaction, which are none from now on.
    pub(super) fn take_deltas(&self, id: SnapshotId) -> Vec<Delta> {
        let taken = self
            .versions
            .with(id, |open| std::mem::take(&mut open.taken));
        let mut tentative = self.versions.tentative.borrow_mut();
        taken
            .into_iter()
            .map(|place| tentative.remove(place))
            .collect()
    }

    /// How many pages a transaction has taken to write.
    pub fn count_taken(&self, id: SnapshotId) -> u64 {
        self.versions.with(id, |open| open.taken.len() as u64)
    }
}

impl Versions {
    /// The pages that a transaction has taken to write, in the order in which it took them.
    pub(super) fn pages_taken(&self, id: SnapshotId) -> Vec<u32> {
        let tentative = self.tentative.borrow();
        let lpn = |place: &u32| tentative.lpn(*place).0;
        self.with(id, |open| open.taken.iter().map(lpn).collect())
    }
}

/// An operation of a transaction that waits, until it is dropped.
struct Waits<'a> {
    versions: &'a Versions,
    id: SnapshotId,
}

impl<'a> Waits<'a> {
    fn new(versions: &'a Versions, id: SnapshotId) -> Waits<'a> {
        versions.with(id, |open| open.waiting += 1);
        Waits { versions, id }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        // A transaction may have been ended before its operations are dropped.
        if let Some(open) = &mut self.versions.open.borrow_mut()[self.id.0 as usize] {
            open.waiting = open.waiting.saturating_sub(1);
        }
    }
}
