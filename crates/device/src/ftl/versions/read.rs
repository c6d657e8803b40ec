//! Which version of a page a transaction sees.

use std::ops::Range;

use media::nand::DieId;

use super::{SnapshotId, VersionError};
use crate::ftl::{Ftl, Lpn, PageSlice, UnitAddress};
use crate::planted::{Bug, is_planted};
use crate::schedule::{Notify, Read};

/// Where what a transaction sees of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where the mapping table says.
    Newest,
    /// A version of its own: written by the transaction, or from before a change.
    Version(UnitAddress),
    /// Nowhere: the page had no data when the transaction began.
    Nothing,
}

impl Ftl {
    /// Where what a transaction sees of a page is.
    ///
    /// # Errors
    /// [`VersionError::Lost`].
    #[inline(never)] // Its instructions are counted by its name.
    pub fn place_of(&self, id: SnapshotId, lpn: Lpn) -> Result<Place, VersionError> {
        let number = self.versions.number(id)?;
        let delta = self.versions.tentative.borrow().get(lpn).copied();
        let own = delta.filter(|delta| delta.by == id || is_planted(Bug::ReadsAreDirty));
        if let Some(at) = own.and_then(|delta| delta.at) {
            return Ok(Place::Version(at));
        }
        if is_planted(Bug::SnapshotShowsTheNewest) {
            return Ok(Place::Newest);
        }
        Ok(match self.former(lpn, number) {
            None => Place::Newest,
            Some(Some(at)) => Place::Version(at),
            Some(None) => Place::Nothing,
        })
    }

    /// Whether a transaction sees the newest version of all of `pages`, and nothing that it wrote to them itself.
    ///
    /// # Errors
    /// [`VersionError::Lost`].
    pub fn sees_newest(&self, id: SnapshotId, pages: &Range<u32>) -> Result<bool, VersionError> {
        let number = self.versions.number(id)?;
        let tentative = self.versions.tentative.borrow();
        let is_own = |page| {
            let delta = tentative.get(Lpn(page));
            delta.is_some_and(|delta| delta.by == id && delta.at.is_some())
        };
        let changed = self.changed_since(pages, number).is_some();
        Ok(!changed && !pages.clone().any(is_own))
    }

    /// Whether nobody has changed any of `pages` since a transaction began.
    ///
    /// # Errors
    /// [`VersionError::Lost`].
    pub fn is_unchanged(&self, id: SnapshotId, pages: &Range<u32>) -> Result<bool, VersionError> {
        let number = self.versions.number(id)?;
        Ok(self.changed_since(pages, number).is_none())
    }

    /// Starts reading a slice of a page from a version of it; `notify` is told when it is over.
    pub fn read_version(&self, at: UnitAddress, slice: PageSlice, notify: Notify) {
        let (die, read): (DieId, Read) = self.read_of(at, slice);
        self.schedule.push(die, read, notify);
    }
}
