//! Name-value stores: objects of which the drive has search regions, too.
//!
//! Their regions are allocated before the commit that names them, and deallocated before the one that removes them. So a
//! power cut between leaves regions that no store has, or a store some of whose regions are gone. Both are found where the
//! volume is opened again, by what the drive reports of its regions, and go ([`Volume::mend`]): the store then was not made,
//! or is removed.

use nvme::Status;
use nvme::command::RegionRecord;

use super::error::VolumeError;
use super::extent::Extent;
use super::object::{Content, ObjectId, Store};
use super::{Object, Volume, name, no_object};
use crate::error::Error;
use crate::search::{DataRegion, NameKind, SearchDevice};
use crate::transport::Transport;

/// What a new store is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStore {
    /// Entries that there is to be room for.
    pub entries: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// The names of an entry.
    pub names: Vec<NameKind>,
    /// What names and values mean.
    pub schema: Vec<u8>,
}

/// What was set right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mended {
    /// Search regions that no store had, which were deallocated.
    pub regions: u32,
    /// Stores without all of their search regions, which were removed.
    pub stores: u32,
}

impl Object {
    /// Where a store lies and by which search regions its names are found; `None` for anything else.
    pub fn data_region(&self) -> Option<DataRegion> {
        match (&self.content, self.extents.first()) {
            (Content::Store(store), Some(extent)) => Some(store.region(extent.first)),
            _ => None,
        }
    }
}

impl<T: Transport + Clone> Volume<T> {
    fn search(&self) -> SearchDevice<T> {
        SearchDevice::new(self.device.clone())
    }

    /// Makes a store, durably and all at once: its search regions, and the object that has them.
    ///
    /// # Errors
    /// [`VolumeError::Name`], [`VolumeError::Taken`], [`VolumeError::Attribute`], [`VolumeError::NoSpace`] if there is no
    /// run of blocks for the values of whole rows of entries; what the drive reports, such as Search Region Limit Exceeded.
    pub async fn create_store(
        &mut self,
        name: &str,
        what: &NewStore,
    ) -> Result<ObjectId, VolumeError> {
        // Whatever can be refused is, before anything is allocated.
        name::check(name)?;
        if let Some(other) = self.named(name) {
            let (name, kind) = (name.to_owned(), other.content.kind());
            return Err(VolumeError::Taken { name, kind });
        }
        if self.is_unsure {
            return Err(VolumeError::Unsure);
        }
        let search = self.search();
        let blocks = search.data_blocks(what.entries, what.value_bytes)?;
        let bytes = blocks.saturating_mul(u64::from(self.layout.block_bytes));
        let reservation = self.reserve_run(bytes)?;
        let start = reservation.extents().first().map_or(0, |run| run.first);
        // Whoever drops this future leaves a command behind that may still allocate.
        self.is_unsure = true;
        let (entries, value_bytes) = (what.entries, what.value_bytes);
        let allocated = search.allocate(start, entries, value_bytes, &what.names);
        let region = match allocated.await {
            Ok(region) => region,
            Err(error) => {
                self.is_unsure = !is_refused(&error);
                self.cancel(reservation);
                return Err(error.into());
            }
        };
        self.is_unsure = false;
        let store = Content::Store(Store {
            names: region.names.clone(),
            entries,
            value_bytes,
            bytes,
            schema: what.schema.clone(),
        });
        let mut change = self.change()?;
        let runs = change.adopt(reservation);
        let made = match change.create_on(name, store, Some(runs)) {
            Ok(id) => change.commit().await.map(|_| id),
            Err(error) => {
                drop(change);
                Err(error)
            }
        };
        if made.is_err() && !self.is_unsure {
            self.is_unsure = search.deallocate(&region).await.is_err();
        }
        made
    }

    /// Removes a store with its search regions. If the drive fails on the way, or the power goes, it is removed where the
    /// volume is opened next.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn remove_store(&mut self, id: ObjectId) -> Result<(), VolumeError> {
        let object = self.get(id).ok_or_else(|| no_object(id))?;
        let region = object.data_region().ok_or_else(|| no_object(id))?;
        if self.is_unsure {
            return Err(VolumeError::Unsure);
        }
        self.is_unsure = true;
        self.search().deallocate(&region).await?;
        self.is_unsure = false;
        let mut change = self.change()?;
        change.remove_any(id)?;
        let removed = change.commit().await;
        // What has no search regions any more is no store, whatever the catalogue says.
        self.is_unsure |= removed.is_err();
        removed.map(|_| ())
    }

    /// Deallocates search regions over blocks of the volume that no store has, and removes stores that do not have all of
    /// theirs: what a power cut leaves of one that was made or removed. To be called after [`Volume::open`]. Changes nothing
    /// on a drive without name-value lookup; one that keeps only time is asked, and tells nothing.
    ///
    /// `may_remove` is asked if there is something to be taken away: not on a drive that has lost data, for what is missing may be what it
    /// lost.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn mend(
        &mut self,
        may_remove: impl AsyncFnOnce() -> Result<bool, Error>,
    ) -> Result<Mended, VolumeError> {
        let search = self.search();
        let regions = match search.report().await {
            Err(error) if error.is_status(Status::INVALID_OPCODE) => {
                return Ok(Mended::default());
            }
            regions => regions?,
        };
        if !self.keeps_data {
            return Ok(Mended::default());
        }
        let is_there = |start: u64, number: u16| {
            let mut all = regions.iter();
            all.any(|region| region.start.get() == start && region.region.get() == number)
        };
        let (mut whole, mut broken) = (Vec::new(), Vec::new());
        for object in self.objects() {
            let Some(region) = object.data_region() else {
                continue;
            };
            let mut numbers = region.names.iter().map(|name| name.region.get());
            match numbers.all(|number| is_there(region.start, number)) {
                true => whole.push(region),
                false => broken.push(object.id),
            }
        }
        let Extent { first, blocks } = self.extent();
        let is_left = |record: &&RegionRecord| {
            let (start, number) = (record.start.get(), record.region.get());
            let is_named = whole.iter().any(|region| {
                let mut names = region.names.iter();
                region.start == start && names.any(|name| name.region.get() == number)
            });
            (first..first + blocks).contains(&start) && !is_named
        };
        let left: Vec<u16> = regions
            .iter()
            .filter(is_left)
            .map(|record| record.region.get())
            .collect();
        let mut mended = Mended::default();
        if (left.is_empty() && broken.is_empty()) || !may_remove().await? {
            return Ok(mended);
        }
        for number in left {
            search.deallocate_one(nvme::RegionId::new(number)).await?;
            mended.regions += 1;
        }
        if !broken.is_empty() {
            let mut change = self.change()?;
            for id in broken {
                change.remove_any(id)?;
                mended.stores += 1;
            }
            change.commit().await?;
        }
        Ok(mended)
    }
}

/// Whether the drive has said no, or was not asked: then nothing is under way.
fn is_refused(error: &crate::search::SearchError) -> bool {
    use crate::search::SearchError;
    !matches!(
        error,
        SearchError::Device(crate::Error::Transport(_) | crate::Error::Protocol(_))
    )
}
