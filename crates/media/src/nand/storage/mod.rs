//! Where the bits of the flash are kept: the extension point and its choice.
//!
//! A store keeps the data of programmed pages. One that outlives the process also keeps what the array
//! knows of blocks and pages (their states, spare bytes and erase counts), in the order that lets
//! it be killed at any moment.

mod image;
mod memory;
mod none;

use super::array::{Array, BlockState, PageState};
use super::cells::{Birth, DriveAge};
use super::geometry::{BlockId, Geometry, PageAddress};
use super::mode::ProgramMode;
use sim::memory::{Frame, Frames};
use std::io;
use std::ops::Range;
use std::path::PathBuf;

#[cfg(test)]
pub(in crate::nand) use image::Medium;
pub use image::{Image, ImageCheck, TEXT_BYTES_MAX};

/// Where the bits of a drive are to be kept.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a drive, and it is moved once"
)]
pub enum Storage {
    /// Nowhere: timing only. Spare bytes and page states are still kept.
    None,
    /// In memory, sparse.
    Memory,
    /// In an image file, sparse and durable.
    Image(Image),
}

/// A failure of the storage of bits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The operating system refused to read, write or open.
    #[error("{}: cannot {what}: {source}", path.display())]
    Io {
        /// The image.
        path: PathBuf,
        /// What was tried, and where in the file.
        what: String,
        /// What it said.
        source: io::Error,
    },
    /// Another drive, here or in another process, has the image open.
    #[error(
        "{}: the image is in use by another drive{}; one that is attached or served is reached at its address instead",
        path.display(),
        process.map_or(String::new(), |process| format!(" of process {process}"))
    )]
    Locked {
        /// The image.
        path: PathBuf,
        /// Who has it open, or one of those who read it, where the operating system tells.
        process: Option<u32>,
    },
    /// The file is something else.
    #[error("{}: not a Bitline image: it does not begin with \"BITLINE\"", path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
    },
    /// The image is of another version of the format.
    #[error("{}: image format version {found}, written by Bitline {writer}; this is Bitline {reader}, which reads \
        version {expected}: copy what the drive holds with the version that wrote it, and write it to a new image", path.display())]
    Version {
        /// The image.
        path: PathBuf,
        /// The version of the image.
        found: u32,
        /// The version that can be read.
        expected: u32,
        /// The version of Bitline that wrote it.
        writer: String,
        /// The version of Bitline that this is.
        reader: &'static str,
    },
    /// The pages of the image are laid out by another version of the firmware.
    #[error("{}: its pages have layout {found}, written by Bitline {writer}; this is Bitline {reader}, which reads \
        layout {expected}: copy what the drive holds with the version that wrote it, and write it to a new image", path.display())]
    Content {
        /// The image.
        path: PathBuf,
        /// The layout of the image.
        found: u32,
        /// The layout that can be read.
        expected: u32,
        /// The version of Bitline that wrote it.
        writer: String,
        /// The version of Bitline that this is.
        reader: &'static str,
    },
    /// The host's disk has no room for what a drive wrote.
    #[error("{}: the disk of this image is full: {bytes} bytes are not in the file yet and are kept in memory; \
        make room and flush or close the drive again ({source})", path.display())]
    DiskFull {
        /// The image.
        path: PathBuf,
        /// Bytes kept, about.
        bytes: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// The host does not take what a drive wrote.
    #[error("{}: cannot {what}: {source}; {bytes} bytes are not in the file yet and are kept in memory; \
        flush or close the drive again when that is mended", path.display())]
    Unsaved {
        /// The image.
        path: PathBuf,
        /// What was tried.
        what: String,
        /// Bytes kept, about.
        bytes: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// The image was deleted while a drive uses it.
    #[error("{}: the image file was removed while the drive uses it: what the drive holds is gone when it is \
        closed; copy it to another drive first", path.display())]
    Removed {
        /// The image.
        path: PathBuf,
    },
    /// Records are missing, or older than others tell.
    #[error("{}: damaged: records of blocks or pages are missing, damaged or too old in both of their copies; \
        what the drive held cannot be told from what it held before", path.display())]
    Inconsistent {
        /// The image.
        path: PathBuf,
    },
    /// Part of the image does not have the checksum it should.
    #[error("{}: damaged: {what} at byte {at} does not match its checksum", path.display())]
    Damaged {
        /// The image.
        path: PathBuf,
        /// Which part.
        what: String,
        /// Where it begins.
        at: u64,
    },
    /// The image ends too early.
    #[error("{}: truncated: it has {has} bytes, its geometry needs {needs}", path.display())]
    Truncated {
        /// The image.
        path: PathBuf,
        /// Bytes there are.
        has: u64,
        /// Bytes there should be.
        needs: u64,
    },
    /// Something follows the image in its file.
    #[error("{}: too long: it has {has} bytes, its geometry needs {needs}; something was appended to it", path.display())]
    TooLong {
        /// The image.
        path: PathBuf,
        /// Bytes there are.
        has: u64,
        /// Bytes there should be.
        needs: u64,
    },
    /// The image was made for another drive.
    #[error("{}: made for another geometry: {key} is {image} in the image, {asked} in the configuration", path.display())]
    OtherGeometry {
        /// The image.
        path: PathBuf,
        /// The first key that differs.
        key: &'static str,
        /// Its value in the image.
        image: u32,
        /// Its value in the configuration.
        asked: u32,
    },
    /// The caller's text does not fit into the header.
    #[error(
        "a text of {bytes} bytes does not fit into an image, which has room for {TEXT_BYTES_MAX}"
    )]
    TextTooLong {
        /// Its bytes.
        bytes: usize,
    },
}

/// What a store that outlives the process keeps of a page.
pub(crate) struct PageRecord<'a> {
    pub(crate) page: PageAddress,
    pub(crate) state: PageState,
    pub(crate) mode: ProgramMode,
    pub(crate) birth: Birth,
    pub(crate) spare: &'a [u8],
}

/// Where the data of programmed pages is.
pub(crate) trait BitStore {
    /// Whether data is kept at all; if not, latches need no room either.
    fn holds_data(&self) -> bool;

    /// Keeps the words of a page that is about to be programmed. An image that its disk takes no more of
    /// keeps a limited amount in memory; beyond that this fails, and nothing has changed.
    fn write(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError>;

    /// As [`BitStore::write`], of words in a frame, which a store in memory has no need to copy.
    fn keep(&mut self, page: PageAddress, frame: Frame) -> Result<(), StorageError> {
        self.write(page, frame.words())
    }

    /// A page that was written, where it is kept; `None` if that is not memory.
    fn frame(&self, _: PageAddress) -> Option<&Frame> {
        None
    }

    /// The words `range` of a page that was written, where they are kept; `None` if that is not memory.
    fn words(&self, page: PageAddress, range: Range<usize>) -> Option<&[u64]> {
        self.frame(page).map(|frame| &frame.words()[range])
    }

    /// Copies the words `range` of a page that was written into `into`, which is as long; zeroes of one that
    /// was programmed without ([`super::Nand::place_page`]).
    ///
    /// # Errors
    /// If the words are damaged or cannot be read: never others than were written.
    fn read(
        &self,
        page: PageAddress,
        range: Range<usize>,
        into: &mut [u64],
    ) -> Result<(), StorageError>;

    /// Keeps `words` in the place of those of a page that was programmed, which differ in cells that were raised since:
    /// whoever is killed meanwhile has either all of these or all of those.
    ///
    /// # Errors
    /// If what is kept of the page is damaged; nothing has changed then.
    fn raise(&mut self, page: PageAddress, words: &[u64]) -> Result<(), StorageError>;

    /// Makes sure that a page more can be kept, as [`BitStore::write`] does.
    ///
    /// # Errors
    /// As those of [`BitStore::write`].
    fn make_room(&mut self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Forgets the data of a block.
    fn erase(&mut self, block: BlockId) -> Result<(), StorageError>;

    /// Keeps what became of a page after [`BitStore::write`]. `block` is the state of its block before.
    fn record_page(&mut self, _: &PageRecord<'_>, _block: &BlockState) -> Result<(), StorageError> {
        Ok(())
    }

    /// Keeps the state of a block after its erase or after it was marked; if erased, its
    /// pages are so too.
    fn record_block(&mut self, _: BlockId, _: &BlockState) -> Result<(), StorageError> {
        Ok(())
    }

    /// Keeps how old the drive is from now on.
    fn record_age(&mut self, _: &DriveAge) -> Result<(), StorageError> {
        Ok(())
    }

    /// How old the drive was when that was last kept.
    fn age(&self) -> Result<DriveAge, StorageError> {
        Ok(DriveAge::default())
    }

    /// Brings the array to the state that was kept.
    fn load(&mut self, _: &mut Array) -> Result<(), StorageError> {
        Ok(())
    }

    /// Returns when everything kept so far would survive the host losing power.
    fn sync(&mut self) -> Result<(), StorageError> {
        Ok(())
    }
}

impl Storage {
    /// The store, ready for pages of `geometry`.
    pub(crate) fn open(
        self,
        geometry: &Geometry,
        frames: &Frames,
    ) -> Result<Box<dyn BitStore>, StorageError> {
        Ok(match self {
            Storage::None => Box::new(none::NoStore),
            Storage::Memory => Box::new(memory::MemoryStore::new(geometry, frames)),
            Storage::Image(image) => {
                image.check_geometry(geometry)?;
                Box::new(image)
            }
        })
    }
}
