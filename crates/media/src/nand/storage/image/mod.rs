//! The store in an image file: sparse, durable, for one drive at a time.
//!
//! A program writes data, then the page record that makes them count, with their checksum, twice. An erase
//! writes the record of the block, twice, which voids all page records of its earlier life. So the process
//! may be killed at any moment: at most one change is lost.
//!
//! [`Nand::sync`](crate::nand::Nand::sync) *seals* the image: everything is made durable, then a seal says so.
//! What a seal covers is not overwritten before the next one: records of blocks also tell what was
//! sealed, and a block that was erased since is sealed before it is programmed again. So a host may lose
//! power at any moment, and write back what it likes in any order: the image then is as it was when it was
//! last sealed, unless everything after that is there, too.
//!
//! A raise of cells writes the page and its record anew in another place ([`raise`]); the newest counts.
//!
//! What is there is told from what was damaged by sums over all records ([`record`]): one copy of a record
//! may be damaged or old, and the other is taken; where both are, the image is refused. Damaged data is an error
//! of that page, whose record is still good.

mod backlog;
mod change;
mod check;
mod checksum;
mod file;
mod header;
mod held;
mod layout;
mod load;
mod raise;
mod record;
mod scan;
mod seal;
mod versions;

use super::{BitStore, PageRecord, StorageError};
use crate::nand::array::{Array, BlockState};
use crate::nand::cells::DriveAge;
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use backlog::Backlog;
use checksum::crc32;
use file::HostFile;
use header::{Header, WRITER};
use layout::{Layout, Place};
use record::{AgeRecord, BlockVersion, Content, condition_code};
use seal::{Boot, Seal};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::Path;
use zerocopy::IntoBytes;

pub use check::ImageCheck;
#[cfg(test)]
pub(in crate::nand) use file::Medium;
#[cfg(not(test))]
use file::Medium;
pub use layout::TEXT_BYTES_MAX;

/// An image file, open and locked against other drives.
#[derive(Debug)]
pub struct Image {
    file: Backlog,
    header: Header,
    /// Whether one of the two headers does not match its checksum.
    header_is_damaged: bool,
    layout: Layout,
    /// This host's.
    boot: Boot,
    seal: Seal,
    /// The last change.
    number: u64,
    /// The sum over all records.
    sum: u64,
    age: AgeRecord,
    blocks: Vec<Block>,
    /// Blocks erased since the image was sealed, whose room is still taken.
    erased: BTreeSet<u32>,
    /// Copies of records that were damaged when the image was opened.
    damaged_copies: u64,
    /// Whether what followed the seal was given up when the image was opened.
    rolled_back: bool,
    /// The process that opened it. What a fork has of it is a copy, and the file is not the copy's to write.
    process: u32,
}

/// What an image holds of a block.
#[derive(Debug, Default)]
struct Block {
    now: BlockVersion,
    sealed: BlockVersion,
    /// What the records of its pages weigh.
    pages_weight: u64,
    /// Of each page; nothing while none was programmed.
    pages: Option<Box<[Content]>>,
}

impl Block {
    fn content(&self, page: PageAddress) -> Content {
        match &self.pages {
            Some(pages) => pages[page.page as usize],
            None => Content::None,
        }
    }

    fn content_mut(&mut self, page: PageAddress, pages: u32) -> &mut Content {
        let pages = self
            .pages
            .get_or_insert_with(|| vec![Content::None; pages as usize].into());
        &mut pages[page.page as usize]
    }

    /// A page that had no record of this life has one.
    fn program(&mut self, page: PageAddress, pages: u32, content: Content, weight: u64) {
        *self.content_mut(page, pages) = content;
        self.pages_weight = self.pages_weight.wrapping_add(weight);
    }
}

impl Image {
    /// Makes a new image of `geometry`, with a text of the caller (such as a configuration) in its header.
    /// `content_version` is what the caller calls the layout of what pages hold.
    ///
    /// # Errors
    /// A file that exists already, a text of more than [`TEXT_BYTES_MAX`] bytes, and what the operating
    /// system refuses. Nothing is left behind then.
    pub fn create(
        path: &Path,
        geometry: &Geometry,
        content_version: u32,
        text: &str,
    ) -> Result<Image, StorageError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(StorageError::TextTooLong { bytes: text.len() });
        }
        let file = Box::new(HostFile::create(path)?);
        let image = Image::create_on(file, path, geometry, content_version, text);
        image
            .and_then(|image| file::sync_folder_of(path).map(|()| image))
            .inspect_err(|_| {
                // What remains of a failed creation is no image; that it cannot be removed either is
                // not worth hiding the first error.
                let _ = std::fs::remove_file(path);
            })
    }

    /// The same on any medium that is blank.
    pub(in crate::nand) fn create_on(
        medium: Box<dyn Medium>,
        path: &Path,
        geometry: &Geometry,
        content_version: u32,
        text: &str,
    ) -> Result<Image, StorageError> {
        let header = Header {
            content_version,
            writer: WRITER.to_owned(),
            geometry: geometry.clone(),
            text: text.to_owned(),
        };
        let mut image = Image::on(medium, path, header, false);
        let bytes = image.layout.file_bytes;
        image.file.medium.set_length(bytes).map_err(|source| {
            let what = format!("make the image {bytes} bytes long (sparse)");
            io_error(path, what, source)
        })?;
        image.write_header();
        image.write_last();
        // Twice, so that both seals are there.
        image.seal_all();
        image.seal_all();
        image.file.drain()?;
        Ok(image)
    }

    /// Opens an image to go on with it.
    ///
    /// # Errors
    /// A file that cannot be opened, is in use, or is no intact image of this version; it is left as it was.
    pub fn open(path: &Path, content_version: u32) -> Result<Image, StorageError> {
        let file = Box::new(HostFile::open(path, false)?);
        Image::open_on(file, path, content_version, false)
    }

    /// Opens an image to look at it: the file is not written, whatever a drive does with it.
    ///
    /// # Errors
    /// As [`Image::open`].
    pub fn open_read_only(path: &Path, content_version: u32) -> Result<Image, StorageError> {
        let file = Box::new(HostFile::open(path, true)?);
        Image::open_on(file, path, content_version, true)
    }

    /// The same on any medium.
    pub(in crate::nand) fn open_on(
        medium: Box<dyn Medium>,
        path: &Path,
        content_version: u32,
        read_only: bool,
    ) -> Result<Image, StorageError> {
        let (header, header_is_damaged) = Header::read(&*medium, path)?;
        header.check_content(path, content_version)?;
        let layout = Layout::of(&header.geometry);
        let (seal, damaged_seals) = load::newest_seal(&*medium, path, &layout)?;
        let mut image = Image::on(medium, path, header, read_only);
        image.header_is_damaged = header_is_damaged;
        image.damaged_copies = damaged_seals + u64::from(header_is_damaged);
        image.seal = seal;
        Ok(image)
    }

    fn on(medium: Box<dyn Medium>, path: &Path, header: Header, read_only: bool) -> Image {
        let mut blocks = Vec::new();
        blocks.resize_with(header.geometry.blocks() as usize, Block::default);
        Image {
            file: Backlog::new(medium, path, read_only),
            layout: Layout::of(&header.geometry),
            header,
            header_is_damaged: false,
            boot: seal::this_boot(),
            seal: Seal::default(),
            number: 0,
            sum: 0,
            age: AgeRecord::default(),
            blocks,
            erased: BTreeSet::new(),
            damaged_copies: 0,
            rolled_back: false,
            process: std::process::id(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The geometry the image was made for.
    pub fn geometry(&self) -> &Geometry {
        &self.header.geometry
    }

    /// The text given when the image was made.
    pub fn text(&self) -> &str {
        &self.header.text
    }

    /// As if another host had opened it.
    #[cfg(test)]
    pub(in crate::nand) fn on_another_host(mut self) -> Image {
        self.boot = [0xAB; 16];
        self
    }

    pub(super) fn check_geometry(&self, asked: &Geometry) -> Result<(), StorageError> {
        let image = layout::geometry_fields(self.geometry());
        let asked = layout::geometry_fields(asked);
        let differs = image
            .iter()
            .zip(&asked)
            .find(|(image, asked)| image != asked);
        match differs {
            None => Ok(()),
            Some((&(key, image), &(_, asked))) => Err(StorageError::OtherGeometry {
                path: self.path().to_owned(),
                key,
                image,
                asked,
            }),
        }
    }

    /// Reads all of a page and compares its checksum.
    fn read_page(
        &self,
        page: PageAddress,
        check: u32,
        data: &mut [u8],
    ) -> Result<(), StorageError> {
        let at = self.layout.data_at(page);
        self.file.read(data, at, "a page")?;
        if crc32(&[data]) == check {
            return Ok(());
        }
        Err(StorageError::Damaged {
            path: self.path().to_owned(),
            what: format!("page {} of block {}", page.page, page.block.0),
            at,
        })
    }
}

impl BitStore for Image {
    fn holds_data(&self) -> bool {
        true
    }

    fn write(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError> {
        self.make_room()?;
        self.begin_block(page.block);
        let data = words.as_bytes();
        let pages = self.header.geometry.pages_per_block_max();
        let block = &mut self.blocks[page.block.0 as usize];
        *block.content_mut(page, pages) = Content::Data(crc32(&[data]), Place::default());
        self.file.write(data, self.layout.data_at(page), "a page");
        Ok(())
    }

    fn read(
        &self,
        page: PageAddress,
        range: Range<usize>,
        into: &mut [u64],
    ) -> Result<(), StorageError> {
        let Content::Data(check, place) = self.blocks[page.block.0 as usize].content(page) else {
            into.fill(0);
            return Ok(());
        };
        let at = self.layout.in_place(page, place);
        let words = self.geometry().page_words();
        if range.len() == words {
            return self.read_page(at, check, into.as_mut_bytes());
        }
        // The checksum is over all of it.
        let mut all = vec![0u64; words];
        self.read_page(at, check, all.as_mut_bytes())?;
        into.copy_from_slice(&all[range]);
        Ok(())
    }

    fn raise(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError> {
        self.raise_page(page, words.as_bytes())
    }

    fn make_room(&mut self) -> Result<(), StorageError> {
        match self.file.is_full() {
            true => self.file.drain(),
            false => Ok(()),
        }
    }

    fn erase(&mut self, block: BlockId) -> Result<(), StorageError> {
        self.erased.insert(block.0);
        Ok(())
    }

    fn record_page(&mut self, record: &PageRecord<'_>, _: &BlockState) -> Result<(), StorageError> {
        let block = record.page.block;
        self.begin_block(block);
        let now = self.blocks[block.0 as usize].now;
        if now.life == 0 {
            let life = self.number + 1;
            self.change_block(block, BlockVersion { life, ..now });
        }
        self.change_page(record);
        Ok(())
    }

    fn record_block(&mut self, block: BlockId, state: &BlockState) -> Result<(), StorageError> {
        let known = &mut self.blocks[block.0 as usize];
        let life = match state.mode {
            Some(_) => known.now.life,
            None => {
                known.pages = None;
                0
            }
        };
        let change = BlockVersion {
            number: 0,
            life,
            erase_count: state.erase_count,
            condition: condition_code(state.condition),
        };
        self.change_block(block, change);
        Ok(())
    }

    fn record_age(&mut self, age: &DriveAge) -> Result<(), StorageError> {
        self.change_age(age);
        Ok(())
    }

    fn age(&self) -> Result<DriveAge, StorageError> {
        Ok(self.age.now.age)
    }

    fn load(&mut self, array: &mut Array) -> Result<(), StorageError> {
        self.load_into(array)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if self.file.is_read_only() {
            return Ok(());
        }
        self.file.drain()?;
        let removed = self.file.medium.is_removed();
        if removed.map_err(|source| io_error(self.path(), "look for the image", source))? {
            return Err(StorageError::Removed {
                path: self.path().to_owned(),
            });
        }
        if self.number != self.seal.number || !self.erased.is_empty() {
            self.seal_all();
        }
        self.file.drain()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if !self.file.is_read_only() && self.process == std::process::id() {
            // Nobody is left to hear of it; a drive that is closed was told.
            let _ = self.file.drain();
        }
    }
}

fn io_error(path: &Path, what: impl Into<String>, source: io::Error) -> StorageError {
    StorageError::Io {
        path: path.to_owned(),
        what: what.into(),
        source,
    }
}
