//! Changes of a volume: any number of objects are created, replaced, renamed and removed, all or none of them.

use std::collections::BTreeMap;

use nvme::command::MAX_DATASET_RANGES;

use super::catalogue::alignment;
use super::error::VolumeError;
use super::extent::{Alignment, Extent, Run};
use super::object::{
    Array, Content, EXTENTS_MAX, Entry, Group, HANDLE_MAX, Kind, ObjectId, Vector,
};
use super::page::{self, Stamp};
use super::record::{self, Record};
use super::{Log, Volume, name, no_object};
use crate::transport::Transport;

/// What a commit took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Pages of the catalogue that were written.
    pub pages: u32,
    /// Whether they hold all objects and begin the other area, as this one was full.
    pub is_compacted: bool,
    /// Logical blocks that are free again.
    pub freed_blocks: u64,
}

/// A change under way. Dropping it undoes it.
pub struct Change<'v, T> {
    volume: &'v mut Volume<T>,
    /// The objects touched, as they were before.
    before: BTreeMap<ObjectId, Option<Entry>>,
    /// Pages taken for new extents.
    taken: Vec<Run>,
    /// Pages that are free once this is committed.
    freed: Vec<Run>,
    is_committed: bool,
}

impl<'v, T: Transport> Change<'v, T> {
    pub(super) fn new(volume: &'v mut Volume<T>) -> Change<'v, T> {
        Change {
            volume,
            before: BTreeMap::new(),
            taken: Vec::new(),
            freed: Vec::new(),
            is_committed: false,
        }
    }

    /// The volume as it is with the change.
    pub fn volume(&self) -> &Volume<T> {
        self.volume
    }

    /// Creates a group for vectors of `bits` bits on some dies of the drive, from `first_die` on; 0 `dies` are all.
    /// It gets a placement handle that no other group has, and rows of as many pages as a vector takes.
    ///
    /// # Errors
    /// [`VolumeError::Name`], [`VolumeError::Taken`], [`VolumeError::Attribute`]; [`VolumeError::NoSpace`] if no volume
    /// has room for such a vector.
    pub fn create_group(
        &mut self,
        name: &str,
        bits: u64,
        first_die: u16,
        dies: u16,
    ) -> Result<ObjectId, VolumeError> {
        let volume = &self.volume;
        let handle = volume
            .catalogue
            .next_handle()
            .ok_or_else(|| VolumeError::Attribute {
                what: "the number of groups",
                value: u32::from(HANDLE_MAX).to_string(),
                allowed: "less: each has a placement handle of 15 bits; remove groups".into(),
            })?;
        let mut group = Group {
            handle,
            anchor: volume.layout.data(),
            pitch: 0,
            first_die,
            dies,
            bits,
        };
        let row = volume.layout.pages_for(bits.div_ceil(8));
        let pages = u32::try_from(row).map_err(|_| volume.no_space(row))?;
        let first = volume.space.first_fit(pages, Alignment::ANY);
        // Where no row fits in one piece, rows lie in pieces, wherever the matrix begins.
        group.anchor += u64::from(first.unwrap_or(0)) * u64::from(volume.layout.page_blocks);
        group.pitch = row.max(1) * u64::from(volume.layout.page_blocks);
        self.create(name, Content::Group(group))
    }

    /// Creates a vector of a group, as long as the group says, under the next free number.
    ///
    /// # Errors
    /// As [`Change::create`]; [`VolumeError::WrongKind`] if `group` is none.
    pub fn create_vector(
        &mut self,
        group: ObjectId,
        name: &str,
        inverse: bool,
    ) -> Result<ObjectId, VolumeError> {
        let vector = self.next_vector(group, inverse)?;
        self.create(name, Content::Vector(vector))
    }

    fn next_vector(&self, group: ObjectId, inverse: bool) -> Result<Vector, VolumeError> {
        let bits = self.group(group)?.bits;
        let number = self.volume.catalogue.next_number(group);
        let number = number.ok_or_else(|| VolumeError::Attribute {
            what: "the number of a vector",
            value: "beyond 32 bits".into(),
            allowed: "at most 4294967295: write the vectors to a new group".into(),
        })?;
        Ok(Vector {
            group,
            number,
            inverse,
            bits,
        })
    }

    /// Whether the catalogue cannot have room for so many more vectors.
    ///
    /// # Errors
    /// [`VolumeError::CatalogueFull`].
    pub fn check_room(&self, vectors: u32) -> Result<(), VolumeError> {
        let pages = u64::from(self.volume.layout.catalogue_pages);
        let bytes = u64::from(vectors) * record::VECTOR_BYTES_MIN;
        let needed = page::pages_for(bytes as usize, self.volume.layout.page_bytes());
        if needed > pages {
            return Err(VolumeError::CatalogueFull { needed, pages });
        }
        Ok(())
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
        name::check(name)?;
        let (id, runs) = (self.volume.catalogue.next_id(), Vec::new());
        let mut entry = Entry {
            name: name.to_owned(),
            content,
            runs,
        };
        self.check(&entry, None)?;
        entry.runs = self.take(&entry.content)?;
        self.put(vec![(id, Some(entry))])?;
        Ok(id)
    }

    /// Gives an object other content of the same kind, or the same once more, and new pages for it.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::WrongKind`], [`VolumeError::Attribute`], [`VolumeError::NoSpace`].
    pub fn replace(&mut self, id: ObjectId, content: Content) -> Result<(), VolumeError> {
        let old = self.entry(id)?;
        let (found, wanted) = (old.content.kind(), content.kind());
        if found != wanted {
            let name = old.name.clone();
            return Err(VolumeError::WrongKind {
                name,
                found,
                wanted,
            });
        }
        let mut entry = Entry {
            name: old.name.clone(),
            content,
            runs: Vec::new(),
        };
        let freed = old.runs.clone();
        self.check(&entry, Some(id))?;
        entry.runs = self.take(&entry.content)?;
        self.put(vec![(id, Some(entry))])?;
        self.freed.extend(freed);
        Ok(())
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
    /// [`VolumeError::NotFound`].
    pub fn remove(&mut self, id: ObjectId) -> Result<(), VolumeError> {
        self.entry(id)?;
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
    pub async fn write(&mut self, id: ObjectId, data: &[u8]) -> Result<(), VolumeError> {
        let (wanted, found) = (self.entry(id)?.content.bytes(), data.len() as u64);
        if wanted != found {
            let name = self.entry(id)?.name.clone();
            return Err(VolumeError::Length {
                name,
                found,
                wanted,
            });
        }
        self.write_by(id, async |volume, extents| {
            volume.write_extents(extents, data).await
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

    /// Makes the change durable, then deallocates what it replaced and removed.
    ///
    /// # Errors
    /// [`VolumeError::CatalogueFull`], [`VolumeError::Stale`]: the change is undone. What the drive reports while the
    /// records are written: then only opening the volume again tells whether it is done.
    pub async fn commit(mut self) -> Result<Committed, VolumeError> {
        if !self.taken.is_empty() {
            // New extents are durable before anything names them.
            self.volume.device.flush().await?;
        }
        if self.before.is_empty() {
            self.is_committed = true;
            return Ok(Committed::default());
        }
        self.volume.check_unchanged().await?;
        let mut committed = self.volume.write_commit(&self.before).await?;
        self.is_committed = true;
        self.volume.freed.append(&mut self.freed);
        // The change is made, whatever becomes of this; what is not deallocated now is so with the next commit.
        committed.freed_blocks = self.volume.deallocate_freed().await.unwrap_or(0);
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

    fn entry(&self, id: ObjectId) -> Result<&Entry, VolumeError> {
        self.volume.catalogue.get(id).ok_or_else(|| no_object(id))
    }

    fn group(&self, id: ObjectId) -> Result<Group, VolumeError> {
        let entry = self.entry(id)?;
        match &entry.content {
            Content::Group(group) => Ok(*group),
            other => Err(VolumeError::WrongKind {
                name: entry.name.clone(),
                found: other.kind(),
                wanted: Kind::Group,
            }),
        }
    }

    /// Whether an object can be as it is to be; `id` has its name already, if it has.
    fn check(&self, entry: &Entry, id: Option<ObjectId>) -> Result<(), VolumeError> {
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

    /// Pages for the content of an object.
    fn take(&mut self, content: &Content) -> Result<Vec<Run>, VolumeError> {
        let place = match content {
            Content::Vector(vector) => {
                let group = self.group(vector.group)?;
                alignment(&group, &self.volume.layout).unwrap_or(Alignment::ANY)
            }
            _ => Alignment::ANY,
        };
        // What computes on vectors takes each as one run of blocks.
        let runs_max = match content {
            Content::Vector(_) => 1,
            _ => EXTENTS_MAX,
        };
        let pages = self.volume.layout.pages_for(content.bytes());
        if pages == 0 {
            return Ok(Vec::new());
        }
        let space = &mut self.volume.space;
        let runs = u32::try_from(pages)
            .ok()
            .and_then(|pages| space.allocate(pages, place, runs_max));
        let runs = runs.ok_or_else(|| self.volume.no_space(pages))?;
        self.taken.extend(&runs);
        Ok(runs)
    }

    fn put(&mut self, records: Vec<Record>) -> Result<(), VolumeError> {
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

impl<T> Drop for Change<'_, T> {
    fn drop(&mut self) {
        if self.is_committed {
            return;
        }
        let before = std::mem::take(&mut self.before);
        self.volume.catalogue.restore(before.into_iter().collect());
        for run in self.taken.drain(..) {
            self.volume.space.release(run);
        }
    }
}

impl<T: Transport> Volume<T> {
    fn no_space(&self, pages: u64) -> VolumeError {
        VolumeError::NoSpace {
            needed: pages.saturating_mul(u64::from(self.layout.page_blocks)),
            free: self.free_blocks(),
        }
    }

    /// Writes an object's bytes, the last page filled up with zeroes.
    async fn write_extents(&self, extents: &[Extent], data: &[u8]) -> Result<(), VolumeError> {
        let mut rest = data;
        for extent in extents {
            let bytes = (extent.blocks as usize) * self.layout.block_bytes as usize;
            let (share, after) = rest.split_at(bytes.min(rest.len()));
            rest = after;
            if share.len() == bytes {
                self.device.write(extent.first, share).await?;
            } else {
                let mut padded = share.to_vec();
                padded.resize(bytes, 0);
                self.device.write(extent.first, &padded).await?;
            }
        }
        Ok(())
    }

    /// Whether the last commit is still on the drive and nothing newer behind it.
    async fn check_unchanged(&mut self) -> Result<(), VolumeError> {
        let page_blocks = u64::from(self.layout.page_blocks);
        let last = self.layout.area(self.log.area) + u64::from(self.log.page - 1) * page_blocks;
        let pages = if self.log.page < self.layout.catalogue_pages {
            2
        } else {
            1
        };
        let bytes = self.device.read(last, pages * page_blocks).await?;
        let (last_bytes, next_bytes) = bytes.split_at(self.layout.page_bytes());
        let is_last = page::decode(last_bytes, last)
            .is_some_and(|page| page.stamp == self.log.stamp && page.part + 1 == page.parts);
        let is_newer = page::decode(next_bytes, last + page_blocks)
            .is_some_and(|page| page.stamp.sequence > self.log.seen.sequence);
        if self.keeps_data && (!is_last || is_newer) {
            self.is_unsure = true;
            return Err(VolumeError::Stale);
        }
        Ok(())
    }

    /// Writes the records of the objects in `touched` as they are now; all objects to the other area if they do not
    /// fit into this one.
    async fn write_commit(
        &mut self,
        touched: &BTreeMap<ObjectId, Option<Entry>>,
    ) -> Result<Committed, VolumeError> {
        let mut records = Vec::new();
        for id in touched.keys() {
            record::encode(*id, self.catalogue.get(*id), &mut records);
        }
        let area_pages = u64::from(self.layout.catalogue_pages);
        let mut log = self.log;
        log.seen.sequence += 1;
        let mut pages = page::pages_for(records.len(), self.layout.page_bytes());
        let is_compacted = u64::from(log.page) + pages > area_pages;
        if is_compacted {
            records.clear();
            for (id, entry) in self.catalogue.iter() {
                record::encode(id, Some(entry), &mut records);
            }
            pages = page::pages_for(records.len(), self.layout.page_bytes());
            if pages > area_pages {
                let needed = pages;
                return Err(VolumeError::CatalogueFull {
                    needed,
                    pages: area_pages,
                });
            }
            log.seen.generation += 1;
            (log.area, log.page) = (1 - log.area, 0);
            log.stamp.generation = log.seen.generation;
        }
        log.stamp.sequence = log.seen.sequence;
        // Until it is known to be there, nobody knows.
        self.is_unsure = true;
        self.write_pages(log.area, log.page, log.stamp, &records)
            .await?;
        self.is_unsure = false;
        log.page += pages as u32;
        let old = std::mem::replace(&mut self.log, log);
        if is_compacted {
            self.old_area = Some(self.area_extent(old));
        }
        Ok(Committed {
            pages: pages as u32,
            is_compacted,
            freed_blocks: 0,
        })
    }

    /// Deallocates what earlier commits have freed; gives the blocks that are free then. Until it succeeds, nobody
    /// else may have them.
    pub(super) async fn deallocate_freed(&mut self) -> Result<u64, VolumeError> {
        let mut runs = self.freed.clone();
        runs.sort_unstable();
        let mut extents: Vec<Extent> = self.old_area.into_iter().collect();
        for extent in runs.iter().map(|run| self.layout.extent(*run)) {
            match extents.last_mut() {
                Some(last) if last.first + last.blocks == extent.first => {
                    last.blocks += extent.blocks
                }
                _ => extents.push(extent),
            }
        }
        let ranges: Vec<(u64, u32)> = extents.iter().flat_map(|extent| ranges(*extent)).collect();
        for ranges in ranges.chunks(MAX_DATASET_RANGES) {
            self.device.deallocate_ranges(ranges).await?;
        }
        self.freed.clear();
        self.old_area = None;
        let pages = runs.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        runs.into_iter().for_each(|run| self.space.release(run));
        Ok(pages * u64::from(self.layout.page_blocks))
    }

    /// The pages of the area that a log has filled.
    fn area_extent(&self, log: Log) -> Extent {
        let page_blocks = u64::from(self.layout.page_blocks);
        Extent {
            first: self.layout.area(log.area),
            blocks: u64::from(log.page) * page_blocks,
        }
    }

    /// Writes a commit from page `page` of an area on, durably.
    pub(super) async fn write_pages(
        &self,
        area: usize,
        page: u32,
        stamp: Stamp,
        records: &[u8],
    ) -> Result<(), VolumeError> {
        let page_blocks = u64::from(self.layout.page_blocks);
        let lba = self.layout.area(area) + u64::from(page) * page_blocks;
        let bytes = page::encode(stamp, records, lba, self.layout.page_bytes(), page_blocks);
        Ok(self.device.write_durably(lba, &bytes).await?)
    }
}

/// An extent as ranges of Dataset Management, whose lengths have 32 bits.
fn ranges(extent: Extent) -> impl Iterator<Item = (u64, u32)> {
    let most = u64::from(u32::MAX);
    (0..extent.blocks.div_ceil(most)).map(move |part| {
        let done = part * most;
        (extent.first + done, (extent.blocks - done).min(most) as u32)
    })
}
