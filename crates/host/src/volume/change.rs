//! Changes of a volume: any number of objects are created, replaced, renamed and removed, all or none of them.

use std::collections::{BTreeMap, BTreeSet};

use super::catalogue::alignment;
use super::commit::Committed;
use super::error::VolumeError;
use super::extent::{Extent, Run};
use super::object::{Array, Content, Entry, ObjectId};
use super::record::Record;
use super::reserve::Reservation;
use super::{Volume, data, name, no_object};
use crate::transport::Transport;

/// A change under way. Dropping it undoes it.
pub struct Change<'v, T> {
    pub(super) volume: &'v mut Volume<T>,
    /// The objects touched, as they were before.
    before: BTreeMap<ObjectId, Option<Entry>>,
    /// Pages taken for new extents.
    taken: BTreeSet<Run>,
    /// Content was written that must be durable before anything names it.
    pub(super) has_content: bool,
    /// Pages that are free once this is committed.
    pub(super) freed: Vec<Run>,
    /// Objects whose last page still holds bytes behind their end.
    pub(super) uncleared: Vec<ObjectId>,
    is_committed: bool,
}

impl<'v, T: Transport> Change<'v, T> {
    pub(super) fn new(volume: &'v mut Volume<T>) -> Change<'v, T> {
        Change {
            volume,
            before: BTreeMap::new(),
            taken: BTreeSet::new(),
            has_content: false,
            freed: Vec::new(),
            uncleared: Vec::new(),
            is_committed: false,
        }
    }

    /// The volume as it is with the change.
    pub fn volume(&self) -> &Volume<T> {
        self.volume
    }

    /// Creates an array of `bytes` bytes in all.
    ///
    /// # Errors
    /// As [`Change::create`].
    pub fn create_array(
        &mut self,
        name: &str,
        dtype: &str,
        shape: &[u64],
        bytes: u64,
    ) -> Result<ObjectId, VolumeError> {
        let array = Array {
            dtype: dtype.to_owned(),
            shape: shape.to_vec(),
            bytes,
        };
        self.create(name, Content::Array(array))
    }

    /// Creates an object, and takes the pages for its content. A vector is named within its group, everything else
    /// within the volume.
    ///
    /// # Errors
    /// [`VolumeError::Name`], [`VolumeError::Taken`], [`VolumeError::Attribute`], [`VolumeError::NoSpace`].
    pub fn create(&mut self, name: &str, content: Content) -> Result<ObjectId, VolumeError> {
        not_a_store(name, &content)?;
        self.create_on(name, content, None)
    }

    /// Creates an object whose content was written to a reservation.
    ///
    /// # Errors
    /// As [`Change::create`]; the reservation is then given back with the change.
    pub fn create_from(
        &mut self,
        name: &str,
        content: Content,
        reservation: Reservation,
    ) -> Result<ObjectId, VolumeError> {
        let runs = self.adopt(reservation);
        not_a_store(name, &content)?;
        self.create_on(name, content, Some(runs))
    }

    pub(super) fn create_on(
        &mut self,
        name: &str,
        content: Content,
        runs: Option<Vec<Run>>,
    ) -> Result<ObjectId, VolumeError> {
        name::check(name)?;
        let id = self.volume.catalogue.next_id();
        let mut entry = Entry {
            name: name.to_owned(),
            content,
            runs: Vec::new(),
        };
        self.check(&entry, None)?;
        entry.runs = self.runs_for(&entry, runs)?;
        self.put(vec![(id, Some(entry))])?;
        Ok(id)
    }

    /// Gives an object other content of the same kind, or the same once more, and new pages for it.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::WrongKind`], [`VolumeError::Attribute`], [`VolumeError::NoSpace`].
    pub fn replace(&mut self, id: ObjectId, content: Content) -> Result<(), VolumeError> {
        self.replace_on(id, content, None)
    }

    /// Gives an object other content of the same kind, which was written to a reservation.
    ///
    /// # Errors
    /// As [`Change::replace`]; the reservation is then given back with the change.
    pub fn replace_from(
        &mut self,
        id: ObjectId,
        content: Content,
        reservation: Reservation,
    ) -> Result<(), VolumeError> {
        let runs = self.adopt(reservation);
        self.replace_on(id, content, Some(runs))
    }

    fn replace_on(
        &mut self,
        id: ObjectId,
        content: Content,
        runs: Option<Vec<Run>>,
    ) -> Result<(), VolumeError> {
        let mut entry = self.same_kind(id, content)?;
        self.check(&entry, Some(id))?;
        let freed = self.entry(id)?.runs.clone();
        entry.runs = self.runs_for(&entry, runs)?;
        self.put(vec![(id, Some(entry))])?;
        self.freed.extend(freed);
        Ok(())
    }

    /// An object with other content of the same kind, and no pages yet.
    pub(super) fn same_kind(&self, id: ObjectId, content: Content) -> Result<Entry, VolumeError> {
        let old = self.entry(id)?;
        let (found, wanted) = (old.content.kind(), content.kind());
        let name = old.name.clone();
        not_a_store(&name, &old.content)?;
        if found != wanted {
            return Err(VolumeError::WrongKind {
                name,
                found,
                wanted,
            });
        }
        Ok(Entry {
            name,
            content,
            runs: Vec::new(),
        })
    }

    /// Gives an object another name.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Name`], [`VolumeError::Taken`].
    pub fn rename(&mut self, id: ObjectId, name: &str) -> Result<(), VolumeError> {
        name::check(name)?;
        let mut entry = self.entry(id)?.clone();
        name.clone_into(&mut entry.name);
        self.check(&entry, Some(id))?;
        self.put(vec![(id, Some(entry))])
    }

    /// Removes an object; a group goes with its vectors.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; [`VolumeError::Store`] for one, which [`Volume::remove_store`] removes.
    pub fn remove(&mut self, id: ObjectId) -> Result<(), VolumeError> {
        let entry = self.entry(id)?;
        not_a_store(&entry.name, &entry.content)?;
        self.remove_any(id)
    }

    /// Removes an object, of whatever kind.
    pub(super) fn remove_any(&mut self, id: ObjectId) -> Result<(), VolumeError> {
        let mut ids: Vec<ObjectId> = self.volume.catalogue.vectors(id).collect();
        ids.push(id);
        for id in &ids {
            let runs = self.entry(*id)?.runs.clone();
            self.freed.extend(runs);
        }
        self.put(ids.into_iter().map(|id| (id, None)).collect())
    }

    /// Where the content of an object lies, which this change created or replaced. It must be written when the change is
    /// committed.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::InPlace`].
    pub fn extents(&self, id: ObjectId) -> Result<Vec<Extent>, VolumeError> {
        let entry = self.entry(id)?;
        let is_new = |run: &Run| self.taken.contains(run);
        if !entry.runs.iter().all(is_new) {
            let name = entry.name.clone();
            return Err(VolumeError::InPlace { name });
        }
        let extents = entry.runs.iter();
        Ok(extents.map(|run| self.volume.layout.extent(*run)).collect())
    }

    /// Writes the content of an object that this change created or replaced.
    ///
    /// # Errors
    /// As [`Change::extents`]; [`VolumeError::Length`]; what the drive reports.
    pub async fn write(&mut self, id: ObjectId, bytes: &[u8]) -> Result<(), VolumeError> {
        let (wanted, found) = (self.entry(id)?.content.bytes(), bytes.len() as u64);
        if wanted != found {
            let name = self.entry(id)?.name.clone();
            return Err(VolumeError::Length {
                name,
                found,
                wanted,
            });
        }
        self.write_by(id, async |volume, extents| {
            data::write_padded(volume.device(), extents, bytes).await
        })
        .await
    }

    /// Has the content of an object that this change created or replaced written by commands of the caller's own.
    ///
    /// # Errors
    /// As [`Change::extents`]; what `write` reports.
    pub async fn write_by<E: From<VolumeError>>(
        &mut self,
        id: ObjectId,
        write: impl AsyncFnOnce(&Volume<T>, &[Extent]) -> Result<(), E>,
    ) -> Result<(), E> {
        let extents = self.extents(id)?;
        let volume = &mut *self.volume;
        // Whoever drops this future leaves a command behind that may still write.
        volume.is_unsure = true;
        let written = write(volume, &extents).await;
        volume.is_unsure = false;
        written
    }

    /// Makes the change durable, then deallocates what it replaced and removed, and clears ends that it has cut off where
    /// they are ([`Change::shorten`]).
    ///
    /// # Errors
    /// [`VolumeError::CatalogueFull`], [`VolumeError::Stale`]: the change is undone; what was written for it is deallocated
    /// if there is no volume any more, as after a format. What the drive reports while the
    /// records are written: then only opening the volume again tells whether it is done. What it reports while an end is
    /// cleared: the change is made.
    pub async fn commit(mut self) -> Result<Committed, VolumeError> {
        if self.has_content {
            // It is durable before anything names it.
            self.volume.device.flush().await?;
        }
        if self.before.is_empty() {
            self.is_committed = true;
            return Ok(Committed::default());
        }
        if let Err(error) = self.volume.check_unchanged().await {
            if error == VolumeError::Stale {
                self.erase_if_gone().await;
            }
            return Err(error);
        }
        let mut committed = self.volume.write_commit(&self.before).await?;
        self.is_committed = true;
        self.volume.freed.append(&mut self.freed);
        // The change is made, whatever becomes of this; what is not deallocated now is so with the next commit.
        committed.freed_blocks = self.volume.deallocate_freed().await.unwrap_or(0);
        self.clear_ends().await?;
        Ok(committed)
    }

    /// Undoes the change and deallocates what was written for it.
    ///
    /// # Errors
    /// What the drive reports; then the blocks are deallocated with a later change.
    pub async fn abandon(mut self) -> Result<(), VolumeError> {
        let taken = std::mem::take(&mut self.taken);
        let before = std::mem::take(&mut self.before);
        self.is_committed = true;
        self.volume.catalogue.restore(before.into_iter().collect());
        self.volume.freed.extend(taken);
        self.volume.deallocate_freed().await.map(|_| ())
    }

    /// Deallocates what was written for the change if there is no volume any more: nobody else would, and no volume is
    /// made where blocks hold data. Where another's volume is, the blocks may be its own by now.
    async fn erase_if_gone(&self) {
        if !matches!(self.volume.is_gone().await, Ok(true)) {
            return;
        }
        for run in &self.taken {
            let extent = self.volume.layout.extent(*run);
            // The refusal of the change tells more than that of this.
            let _ = self
                .volume
                .device
                .deallocate(extent.first, extent.blocks)
                .await;
        }
    }

    pub(super) fn entry(&self, id: ObjectId) -> Result<&Entry, VolumeError> {
        self.volume.catalogue.get(id).ok_or_else(|| no_object(id))
    }

    /// Whether an object can be as it is to be; `id` has its name already, if it has.
    pub(super) fn check(&self, entry: &Entry, id: Option<ObjectId>) -> Result<(), VolumeError> {
        entry.content.check()?;
        if let Content::Group(group) = &entry.content
            && alignment(group, &self.volume.layout).is_none()
        {
            return Err(VolumeError::Attribute {
                what: "the matrix of a group",
                value: format!("from block {} on, {} a row", group.anchor, group.pitch),
                allowed: "whole pages within the volume, a row at least as long as a vector".into(),
            });
        }
        let catalogue = &self.volume.catalogue;
        let taken = catalogue.named(entry.parent(), &entry.name);
        if let Some(other) = taken.filter(|other| Some(*other) != id) {
            let kind = self.entry(other)?.content.kind();
            let name = entry.name.clone();
            return Err(VolumeError::Taken { name, kind });
        }
        Ok(())
    }

    /// The pages of a reservation, which go back with this change if it is not made.
    pub(super) fn adopt(&mut self, reservation: Reservation) -> Vec<Run> {
        self.has_content |= !reservation.runs.is_empty();
        self.taken.extend(&reservation.runs);
        reservation.runs
    }

    /// Pages for the content of an object: those it is to have, if they are as many as it needs, or new ones.
    pub(super) fn runs_for(
        &mut self,
        entry: &Entry,
        runs: Option<Vec<Run>>,
    ) -> Result<Vec<Run>, VolumeError> {
        let bytes = entry.content.bytes();
        if let Some(runs) = runs {
            let pages = runs.iter().map(|run| u64::from(run.pages)).sum::<u64>();
            if pages == self.volume.layout.pages_for(bytes) {
                return Ok(runs);
            }
            return Err(VolumeError::Length {
                name: entry.name.clone(),
                found: pages * self.volume.layout.page_bytes() as u64,
                wanted: bytes,
            });
        }
        let reservation = match entry.content {
            Content::Vector(vector) => {
                let group = self.group(vector.group)?;
                self.volume.reserve_vector(&group)
            }
            _ => self.volume.reserve(bytes),
        };
        Ok(self.adopt(reservation?))
    }

    pub(super) fn put(&mut self, records: Vec<Record>) -> Result<(), VolumeError> {
        let inconsistent = |reason: String| VolumeError::Attribute {
            what: "the change",
            value: reason,
            allowed: "consistent".into(),
        };
        let before = self.volume.catalogue.apply(records).map_err(inconsistent)?;
        for (id, entry) in before {
            self.before.entry(id).or_insert(entry);
        }
        Ok(())
    }
}

/// A change of the catalogue alone does not do for a store.
fn not_a_store(name: &str, content: &Content) -> Result<(), VolumeError> {
    match content {
        Content::Store(_) => Err(VolumeError::Store {
            name: name.to_owned(),
        }),
        _ => Ok(()),
    }
}

impl<T> Drop for Change<'_, T> {
    fn drop(&mut self) {
        if self.is_committed {
            return;
        }
        let before = std::mem::take(&mut self.before);
        self.volume.catalogue.restore(before.into_iter().collect());
        for run in std::mem::take(&mut self.taken) {
            self.volume.space.release(run);
        }
    }
}
