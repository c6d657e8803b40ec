//! Files that lie where somebody else says: a file system on the drive, which has no objects of the volume.

use host::tasks::file_of;
use host::volume::{Extent, Object};
use nvme::task;
use sim::resource::Permit;

use crate::error::Error;
use crate::host_end::{Host, Plain};

/// The mark of what a collection is called that goes to a placed file; objects have numbers of 32 bits.
const PLACED: u64 = 1 << 63;

/// Where a file lies that is no object of the volume, and how long it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed {
    /// Its length in bytes; at most what its blocks hold.
    pub bytes: u64,
    /// Its logical blocks, in its order.
    pub extents: Vec<Extent>,
}

impl Placed {
    /// A file of so many bytes in these blocks.
    pub fn new(bytes: u64, extents: Vec<Extent>) -> Placed {
        Placed { bytes, extents }
    }

    /// As an object that no volume has.
    pub(crate) fn object(&self, name: &str) -> Object {
        Object::placed(name, self.bytes, self.extents.clone())
    }
}

/// What a collection is called that goes to an object: its number, or of a placed one where it begins.
pub(crate) fn identifier_of(object: Option<&Object>) -> u64 {
    match object {
        None => 0,
        Some(object) if object.is_placed() => {
            PLACED | object.extents.first().map_or(0, |extent| extent.first)
        }
        Some(object) => object.id.get().into(),
    }
}

/// The first block of the placed file that a collection of this name goes to; `None` if it goes to none.
pub(crate) fn first_block_of(identifier: u64) -> Option<u64> {
    (identifier & PLACED != 0).then_some(identifier & !PLACED)
}

impl Host {
    /// An object as the drive is told of it that is to work on it.
    ///
    /// # Errors
    /// A placed file does not lie in whole logical pages, which is what the drive maps and what a run sees as it was when it began.
    pub(crate) fn file_in_drive(
        &self,
        object: &Object,
        is_writable: bool,
    ) -> Result<task::File, Error> {
        let per_page = self.learned.pages.blocks();
        let parted = |extent: &&Extent| {
            let whole = |blocks: u64| blocks.is_multiple_of(per_page);
            !(whole(extent.first) && whole(extent.blocks))
        };
        let of_placed = object.extents.iter().filter(|_| object.is_placed());
        match of_placed.clone().find(parted) {
            None => Ok(file_of(object, is_writable)),
            Some(Extent { first, blocks }) => {
                let block_bytes = u64::from(self.block.block_bytes());
                Err(Error::usage(format!(
                    "{:?}: its {blocks} blocks from {first} on are parts of logical pages of {} bytes, and the drive works on whole \
                     ones: make a drive that maps blocks of the file system (ftl.mapping_unit_bytes = 4096), as `bitline attach` does \
                     where there is no image yet",
                    object.name,
                    per_page * block_bytes,
                )))
            }
        }
    }

    /// That placed blocks may be written as far as the drive's volume is concerned. They may as long as the result is held.
    ///
    /// # Errors
    /// [`Error::InVolume`]; what opening the volume reports.
    pub(crate) async fn may_write_placed(&self, object: &Object) -> Result<Vec<Permit<'_>>, Error> {
        self.mount.know(self).await?;
        let mut permits = Vec::new();
        if self.mount.catalogue().is_empty() {
            // There is no volume, and none is made as long as somebody writes.
            loop {
                match self.mount.begin_plain() {
                    Some(permit) => return Ok(vec![permit]),
                    None => self.mount.plain_may_begin().await,
                }
            }
        }
        for extent in &object.extents {
            let blocks = extent.first..extent.first.saturating_add(extent.blocks);
            // What is beyond the namespace is refused by whoever is asked to work on it.
            if blocks.end <= self.block.blocks() {
                permits.push(self.check_plain(blocks, Plain::Place).await?);
            }
        }
        Ok(permits)
    }
}
