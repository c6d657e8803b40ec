//! Which version of a page a transaction sees.

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
    pub fn place_of(&self, id: SnapshotId, lpn: Lpn) -> Result<Place, VersionError> {
        let number = self.versions.number(id)?;
        let delta = self.versions.tentative.borrow().get(&lpn.0).copied();
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

    /// Starts reading a slice of a page from a version of it; `notify` is told when it is over.
    pub fn read_version(&self, at: UnitAddress, slice: PageSlice, notify: Notify) {
        let (die, read): (DieId, Read) = self.read_of(at, slice);
        self.schedule.push(die, read, notify);
    }
}
