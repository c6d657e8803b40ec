//! Named objects on a drive: groups and their vectors, arrays, files, tables and name-value stores, with their attributes
//! and extents in a small catalogue on the drive itself.
//!
//! A volume is a range of logical blocks of a namespace, and ordinary commands are all it needs. From its first block
//! on: two copies of a superblock, two catalogue areas, the data area; all of them in pages of the size that the drive
//! prefers to write. An area of the catalogue is a log of commits. When it is full, one commit with all objects begins
//! the other. Objects are replaced by writing new extents: they are written and flushed, then the commit that names
//! them is, and then only are the old extents deallocated. So a power cut leaves a change whole or undone.
//!
//! **Costs.** A commit reads two pages and writes its records in whole pages past any volatile cache, 48 bytes of a
//! page being its header. A vector takes 26 bytes and its name, a group 39 and its name, an object's extent 8 bytes
//! more: a commit of up to some 440 vectors of one extent is one page of 16 KiB, of a thousand three. It flushes once
//! before if it wrote data. Freed extents that touch are deallocated together, up to 256 ranges a command. Opening
//! reads the superblock and both areas, whatever the number of objects.
//!
//! One handle changes a volume at a time. A commit looks first whether the catalogue is still as the handle knows it,
//! and refuses if another has changed it or a format has erased it.

mod catalogue;
mod change;
mod checksum;
mod commit;
mod data;
mod error;
mod extent;
mod kind;
mod name;
mod object;
mod open;
mod page;
mod record;
mod replay;
mod reserve;
mod resize;
mod store;
mod superblock;
#[cfg(test)]
mod tests;
mod vectors;

pub use change::Change;
pub use commit::Committed;
pub use error::VolumeError;
pub use extent::Extent;
pub use kind::Kind;
pub use name::{NAME_BYTES_MAX, check as check_name};
pub use object::{
    Array, BITS_MAX, Content, DIMENSIONS_MAX, EXTENTS_MAX, Group, HANDLE_MAX, NAMES_MAX, ObjectId,
    SCHEMA_BYTES_MAX, Store, Vector,
};

pub use reserve::{Reservation, write_content};
pub use store::{Mended, NewStore};

use crate::block::BlockDevice;
use crate::transport::Transport;
use catalogue::Catalogue;
use extent::{Run, Space};
use object::Entry;
use page::Stamp;
use superblock::Layout;

/// What a new volume is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeOptions {
    /// The first logical block, a multiple of the preferred write granularity.
    pub first: u64,
    /// Logical blocks, a multiple as well.
    pub blocks: u64,
    /// Pages of each of the two catalogue areas; by default one for 128 pages of the volume, 16 to 256. With pages of
    /// 16 KiB, 256 hold some 100,000 vectors.
    pub catalogue_pages: Option<u32>,
    /// Whether a volume that is there goes.
    pub replace_existing: bool,
    /// Whether the drive gives back what it was given. Of one that keeps only time nothing can be read; the volume is what
    /// this process remembers of it then.
    pub keeps_data: bool,
}

impl VolumeOptions {
    /// A volume of `blocks` logical blocks from `first` on, where there is none.
    pub fn new(first: u64, blocks: u64) -> VolumeOptions {
        VolumeOptions {
            first,
            blocks,
            catalogue_pages: None,
            replace_existing: false,
            keeps_data: true,
        }
    }
}

/// An object of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// Its number.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// What it is.
    pub content: Content,
    /// Where it lies, in order; none for a group.
    pub extents: Vec<Extent>,
}

/// What blocks of a volume are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockUse {
    /// Some are of the superblocks or the catalogue.
    Catalogue,
    /// Some are of no object.
    Free,
    /// All are of objects.
    Objects,
}

/// Where the next commit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Log {
    /// Which area, 0 or 1.
    area: usize,
    /// The page in it.
    page: u32,
    /// Of the last commit.
    stamp: Stamp,
    /// The highest generation and sequence number that any page has.
    seen: Stamp,
}

/// A volume of a namespace.
pub struct Volume<T> {
    device: BlockDevice<T>,
    layout: Layout,
    catalogue: Catalogue,
    space: Space,
    log: Log,
    /// What was freed and is still to be deallocated; nobody else may have it before.
    freed: Vec<Run>,
    /// The area that a compaction has left, still to be deallocated.
    old_area: Option<Extent>,
    /// A change broke off while it was being written.
    is_unsure: bool,
    /// Whether the drive gives back what it was given; one that keeps only time does not.
    keeps_data: bool,
}

impl<T: Transport> Volume<T> {
    /// A number that each commit changes, whoever makes it, and that never comes again: where it is the same, nothing
    /// was named, moved or removed between.
    pub fn commits(&self) -> u64 {
        self.log.seen.sequence
    }

    /// Begins a change; nothing of it is there before it is committed.
    ///
    /// # Errors
    /// [`VolumeError::Unsure`] if an earlier one broke off while it was written.
    pub fn change(&mut self) -> Result<Change<'_, T>, VolumeError> {
        if self.is_unsure {
            return Err(VolumeError::Unsure);
        }
        Ok(Change::new(self))
    }

    /// The highest number that an object had.
    pub fn last_number(&self) -> u32 {
        self.catalogue.last()
    }

    /// Gives new objects numbers above `last`, too: those that somebody still knows of objects that are gone.
    pub fn number_above(&mut self, last: u32) {
        self.catalogue.number_above(last);
    }

    /// Whether the drive gives back what it was given; one that keeps only time gives zeroes.
    pub fn keeps_data(&self) -> bool {
        self.keeps_data
    }

    /// Whether it is known what the drive holds; if not, only opening it again tells.
    pub fn is_sure(&self) -> bool {
        !self.is_unsure
    }

    /// The block device it lies on.
    pub fn device(&self) -> &BlockDevice<T> {
        &self.device
    }

    /// Its logical blocks, catalogue included.
    pub fn extent(&self) -> Extent {
        Extent {
            first: self.layout.first,
            blocks: self.layout.blocks,
        }
    }

    /// The logical blocks of its superblocks and catalogue, before those of objects.
    pub fn catalogue_extent(&self) -> Extent {
        Extent {
            first: self.layout.first,
            blocks: self.layout.data() - self.layout.first,
        }
    }

    /// What logical blocks are used for, from `first` on; `None` if the volume has none of them.
    pub fn use_of(&self, first: u64, blocks: u64) -> Option<BlockUse> {
        let (whole, data) = (self.extent(), self.layout.data());
        let end = first.saturating_add(blocks).min(whole.first + whole.blocks);
        let first = first.max(whole.first);
        if first >= end {
            return None;
        }
        if first < data {
            return Some(BlockUse::Catalogue);
        }
        let page = u64::from(self.layout.page_blocks);
        // Checked with the layout: pages are counted with 32 bits.
        let run = Run {
            first: ((first - data) / page) as u32,
            pages: ((end - data).div_ceil(page) - (first - data) / page) as u32,
        };
        let is_free = self.space.has_free(run) || self.freed.iter().any(|freed| freed.touches(run));
        Some(if is_free {
            BlockUse::Free
        } else {
            BlockUse::Objects
        })
    }

    /// Logical blocks that no object has.
    pub fn free_blocks(&self) -> u64 {
        self.space.free_pages() * u64::from(self.layout.page_blocks)
    }

    /// Logical blocks of a page, the unit that extents are multiples of.
    pub fn page_blocks(&self) -> u32 {
        self.layout.page_blocks
    }

    /// Number of objects, vectors included.
    pub fn len(&self) -> usize {
        self.catalogue.len()
    }

    /// Whether it has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Groups, arrays, files, tables and stores, by name.
    pub fn objects(&self) -> impl Iterator<Item = Object> {
        self.catalogue.roots().filter_map(|id| self.get(id))
    }

    /// The vectors of a group, by number.
    pub fn vectors(&self, group: ObjectId) -> impl Iterator<Item = Object> {
        self.catalogue.vectors(group).filter_map(|id| self.get(id))
    }

    /// An object by its number.
    pub fn get(&self, id: ObjectId) -> Option<Object> {
        let entry = self.catalogue.get(id)?;
        Some(self.object(id, entry))
    }

    /// An object by what [`ObjectId::get`] tells.
    pub fn find(&self, number: u32) -> Option<Object> {
        self.get(ObjectId(number))
    }

    /// A group, array, file, table or store by its name.
    pub fn named(&self, name: &str) -> Option<Object> {
        self.get(self.catalogue.named(ObjectId::ROOT, name)?)
    }

    /// A vector by its name in a group.
    pub fn vector(&self, group: ObjectId, name: &str) -> Option<Object> {
        self.get(self.catalogue.named(group, name)?)
    }

    /// A vector by its number in a group.
    pub fn numbered(&self, group: ObjectId, number: u32) -> Option<Object> {
        self.get(self.catalogue.numbered(group, number)?)
    }

    /// The group that has a placement handle.
    pub fn group_of_handle(&self, handle: u16) -> Option<Object> {
        self.get(self.catalogue.group_of_handle(handle)?)
    }

    /// How many vectors a group has.
    pub fn vector_count(&self, group: ObjectId) -> usize {
        self.catalogue.vector_count(group)
    }

    /// The number that a group's next vector gets; `None` if there is none left.
    pub fn next_number(&self, group: ObjectId) -> Option<u32> {
        self.catalogue.next_number(group)
    }

    /// What an object holds, as many bytes as it has.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn read(&self, id: ObjectId) -> Result<Vec<u8>, VolumeError> {
        let object = self.get(id).ok_or_else(|| no_object(id))?;
        object.read_whole(&self.device).await
    }

    /// Deallocates all blocks that no object has: what a power cut left of changes that were never made.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn trim(&mut self) -> Result<(), VolumeError> {
        let free = self.space.free_runs().map(|run| self.layout.extent(run));
        let free: Vec<Extent> = free.collect();
        for extent in free {
            self.device.deallocate(extent.first, extent.blocks).await?;
        }
        self.deallocate_freed().await.map(|_| ())
    }

    fn object(&self, id: ObjectId, entry: &Entry) -> Object {
        let extents = entry.runs.iter().map(|run| self.layout.extent(*run));
        Object {
            id,
            name: entry.name.clone(),
            content: entry.content.clone(),
            extents: extents.collect(),
        }
    }
}

fn no_object(id: ObjectId) -> VolumeError {
    VolumeError::NotFound {
        what: format!("object {}", id.get()),
    }
}
