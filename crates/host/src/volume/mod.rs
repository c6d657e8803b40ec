//! Named objects on a drive: groups and their vectors, arrays, files and tables, with their attributes and extents in
//! a small catalogue on the drive itself.
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
mod error;
mod extent;
mod name;
mod object;
mod page;
mod record;
mod replay;
mod superblock;
#[cfg(test)]
mod tests;

pub use change::{Change, Committed};
pub use error::VolumeError;
pub use extent::Extent;
pub use name::{NAME_BYTES_MAX, check as check_name};
pub use object::{
    Array, BITS_MAX, Content, DIMENSIONS_MAX, EXTENTS_MAX, Group, HANDLE_MAX, Kind, ObjectId,
    SCHEMA_BYTES_MAX, Vector,
};

use crate::block::BlockDevice;
use crate::transport::Transport;
use catalogue::Catalogue;
use extent::{Run, Space};
use object::Entry;
use page::{Page, Stamp};
use replay::{Replay, replay};
use superblock::{COPIES, Layout};

/// Pages of a catalogue that are read at once.
const PAGES_A_READ: u32 = 64;
/// A catalogue area has a page for so many pages of the volume, within [`CATALOGUE_PAGES_DEFAULT`].
const PAGES_A_CATALOGUE_PAGE: u64 = 128;
const CATALOGUE_PAGES_DEFAULT: (u64, u64) = (16, 256);

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

/// What blocks of a volume are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lies {
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
    /// Makes an empty volume. Whatever the blocks held is deallocated.
    ///
    /// # Errors
    /// [`VolumeError::Exists`] unless `replace_existing`; [`VolumeError::Range`] for blocks that can hold none.
    pub async fn create(
        device: BlockDevice<T>,
        options: VolumeOptions,
    ) -> Result<Volume<T>, VolumeError> {
        let layout = new_layout(&device, options)?;
        let first = layout.first;
        match read_layout(&device, first).await {
            Err(VolumeError::NoVolume { .. }) => {}
            Ok(_) if !options.replace_existing => return Err(VolumeError::Exists { first }),
            Err(error) if !options.replace_existing => return Err(error),
            Ok(_) | Err(_) => erase_superblocks(&device, &layout).await?,
        }
        device.deallocate(first, layout.blocks).await?;
        device.flush().await?;
        // What is left of an older catalogue, on a drive that does not erase what is deallocated, stays older.
        let old = [
            scan(&device, &layout, 0).await?,
            scan(&device, &layout, 1).await?,
        ];
        let seen = seen(&old);
        let stamp = Stamp {
            generation: seen.generation + 1,
            sequence: seen.sequence + 1,
        };
        let volume = Volume {
            catalogue: Catalogue::default(),
            space: Space::new(layout.data_pages()),
            log: Log {
                area: 0,
                page: 1,
                stamp,
                seen: stamp,
            },
            freed: Vec::new(),
            old_area: None,
            is_unsure: false,
            keeps_data: options.keeps_data,
            device,
            layout,
        };
        volume.write_pages(0, 0, stamp, &[]).await?;
        for copy in (0..COPIES).rev() {
            let superblock = layout.encode();
            let lba = layout.superblock(copy);
            volume.device.write_durably(lba, &superblock).await?;
        }
        Ok(volume)
    }

    /// Opens the volume that begins at logical block `first`. What a power cut tore is left out.
    ///
    /// # Errors
    /// [`VolumeError::NoVolume`]; [`VolumeError::Damaged`] if it is not as this library leaves it.
    pub async fn open(device: BlockDevice<T>, first: u64) -> Result<Volume<T>, VolumeError> {
        // What is read here may be in a volatile cache; what builds on it must not be durable before it.
        device.flush().await?;
        let layout = read_layout(&device, first).await?;
        let areas = [
            scan(&device, &layout, 0).await?,
            scan(&device, &layout, 1).await?,
        ];
        let (area, found) = newest(&areas, &layout)?;
        let damaged = |reason| VolumeError::Damaged {
            lba: layout.area(area),
            reason,
        };
        let mut catalogue = Catalogue::default();
        for commit in &found.commits {
            let records = record::decode_all(commit).map_err(damaged)?;
            catalogue.apply(records).map_err(damaged)?;
        }
        Ok(Volume {
            space: catalogue.space(&layout).map_err(damaged)?,
            catalogue,
            log: Log {
                area,
                page: found.pages,
                stamp: found.stamp(),
                seen: seen(&areas),
            },
            freed: Vec::new(),
            old_area: None,
            is_unsure: false,
            keeps_data: true,
            device,
            layout,
        })
    }

    /// Whether the page at `lba` is one of a catalogue: what a creation that broke off leaves where there is no volume.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn is_of_catalogue(device: &BlockDevice<T>, lba: u64) -> Result<bool, VolumeError> {
        let bytes = device.read(lba, u64::from(device.page_blocks())).await?;
        Ok(page::decode(&bytes, lba).is_some())
    }

    /// The same volume after a power cut, on the `device` that its drive is now. Takes the time that opening takes; but
    /// of a drive that keeps only time, nothing can be read, and the volume stays as it is.
    ///
    /// # Errors
    /// As [`Volume::open`]; it is then as it was before.
    pub async fn reopen(&mut self, device: BlockDevice<T>) -> Result<(), VolumeError> {
        if self.keeps_data {
            *self = Volume::open(device, self.layout.first).await?;
            return Ok(());
        }
        device.flush().await?;
        read_superblocks(&device, self.layout.first).await?;
        for area in 0..2 {
            scan(&device, &self.layout, area).await?;
        }
        self.device = device;
        self.is_unsure = false;
        Ok(())
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

    /// What logical blocks are, from `first` on; `None` if the volume has none of them.
    pub fn lies_in(&self, first: u64, blocks: u64) -> Option<Lies> {
        let (whole, data) = (self.extent(), self.layout.data());
        let end = first.saturating_add(blocks).min(whole.first + whole.blocks);
        let first = first.max(whole.first);
        if first >= end {
            return None;
        }
        if first < data {
            return Some(Lies::Catalogue);
        }
        let page = u64::from(self.layout.page_blocks);
        // Checked with the layout: pages are counted with 32 bits.
        let run = Run {
            first: ((first - data) / page) as u32,
            pages: ((end - data).div_ceil(page) - (first - data) / page) as u32,
        };
        let is_free = self.space.has_free(run) || self.freed.iter().any(|freed| freed.touches(run));
        Some(if is_free { Lies::Free } else { Lies::Objects })
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

    /// Groups, arrays, files and tables, by name.
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

    /// A group, array, file or table by its name.
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
        let mut bytes = Vec::new();
        for extent in &object.extents {
            bytes.extend(self.device.read(extent.first, extent.blocks).await?);
        }
        bytes.truncate(usize::try_from(object.content.bytes()).unwrap_or(usize::MAX));
        Ok(bytes)
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

fn new_layout<T: Transport>(
    device: &BlockDevice<T>,
    options: VolumeOptions,
) -> Result<Layout, VolumeError> {
    let page_blocks = device.page_blocks();
    let (least, most) = CATALOGUE_PAGES_DEFAULT;
    let pages = options.blocks / u64::from(page_blocks) / PAGES_A_CATALOGUE_PAGE;
    let layout = Layout {
        first: options.first,
        blocks: options.blocks,
        block_bytes: device.block_bytes(),
        page_blocks,
        catalogue_pages: options
            .catalogue_pages
            .unwrap_or(pages.clamp(least, most) as u32),
    };
    let range = |reason| VolumeError::Range {
        first: options.first,
        end: options.first.saturating_add(options.blocks),
        reason,
    };
    layout.check(device.blocks()).map_err(range)
}

/// The layout in the first copy of the superblock that is whole.
async fn read_layout<T: Transport>(
    device: &BlockDevice<T>,
    first: u64,
) -> Result<Layout, VolumeError> {
    let page = device.page_blocks();
    let end = first.checked_add(COPIES * u64::from(page));
    if end.is_none_or(|end| end > device.blocks()) {
        return Err(VolumeError::NoVolume { first });
    }
    let copies = read_superblocks(device, first).await?;
    for copy in copies.chunks_exact(copies.len() / COPIES as usize) {
        let layout = Layout::decode(copy, first, device.block_bytes(), device.blocks())?;
        match layout {
            Some(layout) if layout.page_blocks == page => return Ok(layout),
            Some(Layout { page_blocks, .. }) => {
                let reason = format!("its pages are {page_blocks} blocks, the drive's are {page}");
                return Err(VolumeError::Damaged { lba: first, reason });
            }
            None => {}
        }
    }
    Err(VolumeError::NoVolume { first })
}

/// Reads both copies of the superblock; the drive reports an error only if neither can be read.
async fn read_superblocks<T: Transport>(
    device: &BlockDevice<T>,
    first: u64,
) -> Result<Vec<u8>, VolumeError> {
    let page = u64::from(device.page_blocks());
    let both = device.read(first, COPIES * page).await;
    if both.is_ok() {
        return Ok(both?);
    }
    match device.read(first, page).await {
        Ok(copy) => Ok(copy.repeat(COPIES as usize)),
        Err(_) => Ok(device
            .read(first + page, page)
            .await?
            .repeat(COPIES as usize)),
    }
}

async fn erase_superblocks<T: Transport>(
    device: &BlockDevice<T>,
    layout: &Layout,
) -> Result<(), VolumeError> {
    let blank = vec![0; layout.page_bytes()];
    for copy in 0..COPIES {
        device
            .write_durably(layout.superblock(copy), &blank)
            .await?;
    }
    Ok(())
}

/// Reads a catalogue area.
async fn scan<T: Transport>(
    device: &BlockDevice<T>,
    layout: &Layout,
    area: usize,
) -> Result<Replay, VolumeError> {
    let page_blocks = u64::from(layout.page_blocks);
    let mut pages: Vec<Option<Page>> = Vec::new();
    while pages.len() < layout.catalogue_pages as usize {
        let first = pages.len() as u32;
        let count = PAGES_A_READ.min(layout.catalogue_pages - first);
        let lba = layout.area(area) + u64::from(first) * page_blocks;
        let bytes = device.read(lba, u64::from(count) * page_blocks).await?;
        let of_area = bytes.chunks_exact(layout.page_bytes()).enumerate();
        pages.extend(
            of_area.map(|(index, bytes)| page::decode(bytes, lba + index as u64 * page_blocks)),
        );
    }
    Ok(replay(pages))
}

/// The highest numbers in both areas.
fn seen(areas: &[Replay; 2]) -> Stamp {
    let highest = |of: fn(&Replay) -> u64| areas.iter().map(of).max().unwrap_or(0);
    Stamp {
        generation: highest(|area| area.generation),
        sequence: highest(|area| area.sequence_seen),
    }
}

/// The area that was begun last and is there as a whole, by its beginning.
fn newest<'a>(areas: &'a [Replay; 2], layout: &Layout) -> Result<(usize, &'a Replay), VolumeError> {
    let mut order = [0, 1];
    order.sort_by_key(|area| std::cmp::Reverse(areas[*area].generation));
    for area in order {
        let found = &areas[area];
        if let Some(page) = found.damage {
            return Err(VolumeError::Damaged {
                lba: layout.area(area) + u64::from(page) * u64::from(layout.page_blocks),
                reason: "a page of its catalogue is lost, though later ones are there".into(),
            });
        }
        if !found.commits.is_empty() {
            return Ok((area, found));
        }
    }
    Err(VolumeError::Damaged {
        lba: layout.area(0),
        reason: "neither area of its catalogue is whole".into(),
    })
}
