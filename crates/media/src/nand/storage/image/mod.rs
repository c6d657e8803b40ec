//! The store in an image file: sparse, durable, for one drive at a time.
//!
//! The order of writes lets the process be killed at any moment. A program writes data, then spare bytes,
//! then the 16-byte page record that makes them count. An erase writes the 16-byte block entry, whose new
//! erase count voids all page records of the block, and only then gives the room back.
//! What was there at a [`Nand::sync`](crate::nand::Nand::sync) is also there after the host lost power. Of what
//! was written since, such a loss may keep records whose data never arrived: the operating system
//! writes back in any order, and records vouch for spare bytes only.

mod checksum;
mod header;
mod layout;

use super::{BitStore, PageRecord, StorageError};
use crate::nand::array::{Array, BlockCondition, BlockState, PageState};
use crate::nand::cells::DriveAge;
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use header::Header;
use layout::{
    AGE_BYTES, AGES_AT, AgeEntry, BAD, BlockEntry, IN_USE, Layout, NEEDS_ERASE, PageEntry,
    RECORD_BYTES,
};
use rustix::fs::{FallocateFlags, FlockOperation};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use zerocopy::IntoBytes;

pub use layout::TEXT_BYTES_MAX;

/// An image file, open and locked against other drives.
#[derive(Debug)]
pub struct Image {
    file: File,
    path: PathBuf,
    geometry: Geometry,
    layout: Layout,
    text: String,
    /// The process that locked it.
    process: u32,
    #[cfg(test)]
    kill: Kill,
}

/// Stands for the process being killed: when no writes are left, none reaches the file.
#[cfg(test)]
#[derive(Clone, Debug)]
pub(in crate::nand) struct Kill(std::rc::Rc<std::cell::Cell<u64>>);

#[cfg(test)]
impl Kill {
    fn never() -> Kill {
        Kill(std::rc::Rc::new(std::cell::Cell::new(u64::MAX)))
    }

    /// Lets only so many more writes happen.
    pub(in crate::nand) fn after(&self, writes: u64) {
        self.0.set(writes);
    }

    /// Whether it has happened to a write.
    pub(in crate::nand) fn happened(&self) -> bool {
        self.0.get() == 0
    }

    /// Takes one write from those left; whether there was one. Zero is reached by a write that is lost.
    fn survives(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        !self.happened()
    }
}

impl Image {
    /// Makes a new image of `geometry`, with a text of the caller (such as a configuration) in its header.
    ///
    /// # Errors
    /// A file that exists already, a text of more than [`TEXT_BYTES_MAX`] bytes, and what the operating
    /// system refuses. Nothing is left behind then.
    pub fn create(path: &Path, geometry: &Geometry, text: &str) -> Result<Image, StorageError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(StorageError::TextTooLong { bytes: text.len() });
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        let file = options
            .open(path)
            .map_err(|source| io_error(path, "create the image", source))?;
        let image = Image {
            file,
            path: path.to_owned(),
            geometry: geometry.clone(),
            layout: Layout::of(geometry),
            text: text.to_owned(),
            process: std::process::id(),
            #[cfg(test)]
            kill: Kill::never(),
        };
        image.fill().inspect_err(|_| {
            // What remains of a failed creation is no image; that it cannot be removed either is
            // not worth hiding the first error.
            let _ = std::fs::remove_file(path);
        })?;
        Ok(image)
    }

    fn fill(&self) -> Result<(), StorageError> {
        self.lock()?;
        let bytes = self.layout.file_bytes;
        self.file.set_len(bytes).map_err(|source| {
            let what = format!("make the image {bytes} bytes long (sparse)");
            io_error(&self.path, what, source)
        })?;
        self.write_at(
            self.text.as_bytes(),
            layout::HEADER_BYTES as u64,
            "the text",
        )?;
        let header = Header {
            geometry: self.geometry.clone(),
            text: self.text.clone(),
        };
        self.write_at(&header.to_bytes(), 0, "the header")
    }

    /// Opens an image.
    ///
    /// # Errors
    /// A file that cannot be opened, is in use, or is no intact image of this version; it is left as it was.
    pub fn open(path: &Path) -> Result<Image, StorageError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|source| io_error(path, "open the image", source))?;
        // The header tells the geometry; until it is read any will do.
        let geometry = layout::geometry_of([1, 1, 1, 1, 1, 1, 1, 8, 0]);
        let mut image = Image {
            file,
            path: path.to_owned(),
            layout: Layout::of(&geometry),
            geometry,
            text: String::new(),
            process: std::process::id(),
            #[cfg(test)]
            kill: Kill::never(),
        };
        image.lock()?;
        let Header { geometry, text } = image.read_header()?;
        image.layout = Layout::of(&geometry);
        image.geometry = geometry;
        image.text = text;
        Ok(image)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The geometry the image was made for.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The text given when the image was made.
    pub fn text(&self) -> &str {
        &self.text
    }

    #[cfg(test)]
    pub(in crate::nand) fn kill(&self) -> Kill {
        self.kill.clone()
    }

    pub(super) fn check_geometry(&self, asked: &Geometry) -> Result<(), StorageError> {
        let image = layout::geometry_fields(&self.geometry);
        let asked = layout::geometry_fields(asked);
        match image
            .iter()
            .zip(&asked)
            .find(|(image, asked)| image != asked)
        {
            None => Ok(()),
            Some((&(key, image), &(_, asked))) => Err(StorageError::OtherGeometry {
                path: self.path.clone(),
                key,
                image,
                asked,
            }),
        }
    }

    fn lock(&self) -> Result<(), StorageError> {
        match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StorageError::Locked {
                path: self.path.clone(),
            }),
            Err(error) => Err(io_error(&self.path, "lock the image", error.into())),
        }
    }

    fn length(&self) -> Result<u64, StorageError> {
        let metadata = self.file.metadata();
        metadata
            .map(|metadata| metadata.len())
            .map_err(|source| io_error(&self.path, "ask for the length of the image", source))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64, what: &str) -> Result<(), StorageError> {
        self.file.read_exact_at(bytes, at).map_err(|source| {
            let what = format!("read {what} ({} bytes at byte {at})", bytes.len());
            io_error(&self.path, what, source)
        })
    }

    fn write_at(&self, bytes: &[u8], at: u64, what: &str) -> Result<(), StorageError> {
        #[cfg(test)]
        if !self.kill.survives() {
            return Ok(());
        }
        self.file.write_all_at(bytes, at).map_err(|source| {
            let what = format!("write {what} ({} bytes at byte {at})", bytes.len());
            io_error(&self.path, what, source)
        })
    }

    /// The newer copy of how old the drive is; a new one's if there is none.
    fn newest_age(&self) -> Result<AgeEntry, StorageError> {
        let mut newest = AgeEntry::default();
        for at in AGES_AT {
            let mut bytes = [0; AGE_BYTES];
            self.read_at(&mut bytes, at, "the age of the drive")?;
            let found = AgeEntry::from_bytes(&bytes).filter(|found| found.number > newest.number);
            newest = found.unwrap_or(newest);
        }
        Ok(newest)
    }

    fn write_block(&self, block: BlockId, entry: BlockEntry) -> Result<(), StorageError> {
        let at = self.layout.block_at(block);
        self.write_at(&entry.to_bytes(block), at, "a block's state")
    }

    /// Restores the pages of a block from their records.
    fn load_pages(
        &self,
        block: BlockId,
        epoch: u32,
        records: &mut [u8],
        array: &mut Array,
    ) -> Result<(), StorageError> {
        let at = self.layout.record_at(layout::first_page(block));
        self.read_at(records, at, "page records")?;
        let mut spare = vec![0; self.geometry.spare_bytes as usize];
        for (page, bytes) in (0..).zip(records.chunks_exact(RECORD_BYTES)) {
            let page = PageAddress { block, page };
            let Some(entry) = PageEntry::from_bytes(bytes).filter(|entry| entry.epoch == epoch)
            else {
                continue;
            };
            let length = usize::from(entry.spare_bytes).min(spare.len());
            let spare = &mut spare[..length];
            self.read_at(spare, self.layout.spare_at(page), "spare bytes")?;
            if page.page >= self.geometry.pages_per_block(entry.mode) {
                continue;
            }
            // Records come after what they speak of, so a checksum that is wrong means that the host
            // lost power before the file was synced: the page is as good as torn.
            if entry.to_bytes(page, spare) == bytes {
                array.program(page, entry.mode, entry.state, entry.birth, spare);
            } else {
                array.program(page, entry.mode, PageState::Torn, entry.birth, &[]);
            }
        }
        Ok(())
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // Closing the file would unlock it too, but not while a process that this one is just
        // starting still has a copy of the descriptor. A fork shares the lock with the process that
        // took it, so its copy is closed only.
        if self.process == std::process::id() {
            // It cannot fail on a file that is locked.
            let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
        }
    }
}

impl BitStore for Image {
    fn holds_data(&self) -> bool {
        true
    }

    fn write(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError> {
        self.write_at(words.as_bytes(), self.layout.data_at(page), "a page")
    }

    fn words<'a>(
        &'a self,
        page: PageAddress,
        range: Range<usize>,
        scratch: &'a mut [u64],
    ) -> Result<&'a [u64], StorageError> {
        self.read(page, range, scratch)?;
        Ok(scratch)
    }

    fn read(
        &self,
        page: PageAddress,
        range: Range<usize>,
        into: &mut [u64],
    ) -> Result<(), StorageError> {
        let at = self.layout.data_at(page) + range.start as u64 * 8;
        self.read_at(into.as_mut_bytes(), at, "a page")
    }

    fn erase(&mut self, block: BlockId) -> Result<(), StorageError> {
        #[cfg(test)]
        if !self.kill.survives() {
            return Ok(());
        }
        let at = self.layout.data_at(layout::first_page(block));
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, flags, at, self.layout.block_data_bytes()) {
            // A file system without holes keeps the room; the block is erased all the same.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
            Err(error) => Err(io_error(
                &self.path,
                format!("give back a block at byte {at}"),
                error.into(),
            )),
        }
    }

    fn record_page(
        &mut self,
        record: &PageRecord<'_>,
        block: &BlockState,
    ) -> Result<(), StorageError> {
        let page = record.page;
        if block.mode.is_none() {
            let entry = BlockEntry {
                flags: IN_USE,
                erase_count: block.erase_count,
            };
            self.write_block(page.block, entry)?;
        }
        if !record.spare.is_empty() {
            let at = self.layout.spare_at(page);
            self.write_at(record.spare, at, "spare bytes")?;
        }
        let entry = PageEntry {
            epoch: block.erase_count.wrapping_add(1),
            state: record.state,
            mode: record.mode,
            spare_bytes: record.spare.len() as u16,
            birth: record.birth,
        };
        let bytes = entry.to_bytes(page, record.spare);
        self.write_at(&bytes, self.layout.record_at(page), "a page record")
    }

    fn record_block(&mut self, block: BlockId, state: &BlockState) -> Result<(), StorageError> {
        let in_use = if state.mode.is_some() { IN_USE } else { 0 };
        let condition = match state.condition {
            BlockCondition::Good => 0,
            BlockCondition::NeedsErase => NEEDS_ERASE,
            BlockCondition::Bad => BAD,
        };
        let entry = BlockEntry {
            erase_count: state.erase_count,
            flags: in_use | condition,
        };
        self.write_block(block, entry)
    }

    fn record_age(&mut self, age: &DriveAge) -> Result<(), StorageError> {
        let newest = self.newest_age()?;
        let entry = AgeEntry {
            number: newest.number + 1,
            age: *age,
        };
        let at = AGES_AT[entry.number as usize % AGES_AT.len()];
        self.write_at(&entry.to_bytes(), at, "the age of the drive")
    }

    fn age(&self) -> Result<DriveAge, StorageError> {
        Ok(self.newest_age()?.age)
    }

    fn load(&self, array: &mut Array) -> Result<(), StorageError> {
        let blocks = self.geometry.blocks();
        let mut table = vec![0; blocks as usize * RECORD_BYTES];
        self.read_at(&mut table, layout::BLOCKS_AT, "the block table")?;
        let pages = self.geometry.pages_per_block_max() as usize;
        let mut records = vec![0; pages * RECORD_BYTES];
        for (block, bytes) in (0..).map(BlockId).zip(table.chunks_exact(RECORD_BYTES)) {
            let Some(entry) = BlockEntry::from_bytes(block, bytes) else {
                return Err(StorageError::Damaged {
                    path: self.path.clone(),
                    what: format!("the state of block {}", block.0),
                    at: self.layout.block_at(block),
                });
            };
            let condition = match entry.flags {
                flags if flags & BAD != 0 => BlockCondition::Bad,
                flags if flags & NEEDS_ERASE != 0 => BlockCondition::NeedsErase,
                _ => BlockCondition::Good,
            };
            array.restore(block, entry.erase_count, condition);
            if entry.flags & IN_USE != 0 {
                let epoch = entry.erase_count.wrapping_add(1);
                self.load_pages(block, epoch, &mut records, array)?;
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.file
            .sync_data()
            .map_err(|source| io_error(&self.path, "sync the image", source))
    }
}

fn io_error(path: &Path, what: impl Into<String>, source: io::Error) -> StorageError {
    StorageError::Io {
        path: path.to_owned(),
        what: what.into(),
        source,
    }
}
