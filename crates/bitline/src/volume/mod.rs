//! Named objects of a drive: groups and their vectors, arrays, files, tables and name-value stores, in the volume that the
//! host library keeps on it.
//!
//! A drive's volume is made when something is first named, and found again by every process that opens the drive.

mod group;
mod information;
mod lookup;
mod moved;
mod objects;
mod parts;
mod place;
mod vectors;

pub use host::volume::{Array, Content, Extent, Kind, Object, ObjectId, VolumeError};

use crate::drive::Drive;
use crate::error::Error;
pub use group::{Group, Writer};
pub(crate) use information::usage;
pub use information::{GroupInfo, Rows, Vector};
pub use moved::Move;
pub(crate) use objects::{not_found, number_of};

/// The named objects of a drive.
pub struct Volume<'d>(&'d mut Drive);

/// How large a volume is, and how much of it is free; in logical blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The first block.
    pub first: u64,
    /// How many, catalogue included; 0 if the drive has no volume.
    pub blocks: u64,
    /// Of these, how many no object has.
    pub free: u64,
}

impl Volume<'_> {
    /// Groups, arrays, files and tables, by name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn objects(&mut self) -> Result<Vec<Object>, Error> {
        self.0.run(|host| async move { host.objects().await })?
    }

    /// An object by its name.
    ///
    /// # Errors
    /// As [`Volume::objects`].
    pub fn get(&mut self, name: &str) -> Result<Option<Object>, Error> {
        let name = name.to_owned();
        self.0.run(|host| async move { host.object(&name).await })?
    }

    /// Creates an array, file or table with its bytes, or replaces one of the same kind.
    ///
    /// # Errors
    /// [`Error::Volume`]; what the drive reports.
    pub fn write(&mut self, name: &str, content: Content, data: &[u8]) -> Result<(), Error> {
        let (name, data) = (name.to_owned(), data.to_vec());
        self.0
            .run(|host| async move { host.write_object(&name, content, &data).await })?
    }

    /// What an array, file or table holds.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>, Error> {
        let name = name.to_owned();
        self.0
            .run(|host| async move { Ok(host.read_object(&name).await?.1) })?
    }

    /// `bytes` bytes of an array, file or table from `offset` on; only the blocks that hold them are read.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Beyond`]; what the drive reports.
    pub fn read_at(&mut self, name: &str, offset: u64, bytes: u64) -> Result<Vec<u8>, Error> {
        let name = name.to_owned();
        self.0
            .run(|host| async move { host.read_object_at(&name, offset, bytes).await })?
    }

    /// Writes bytes of an array, file or table in place, from `offset` on: ordinary writes, of which a power cut may
    /// leave some blocks new and others old.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Beyond`]; what the drive reports.
    pub fn write_at(&mut self, name: &str, offset: u64, data: &[u8]) -> Result<(), Error> {
        let (name, data) = (name.to_owned(), data.to_vec());
        self.0
            .run(|host| async move { host.write_object_at(&name, offset, &data).await })?
    }

    /// Writes bytes behind the end of a file, table or array, of that whole rows. A power cut leaves it as it was, or with
    /// all of them.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Rows`], [`VolumeError::NoSpace`]; what the drive reports.
    pub fn append(&mut self, name: &str, data: &[u8]) -> Result<(), Error> {
        let (name, data) = (name.to_owned(), data.to_vec());
        self.0
            .run(|host| async move { host.append_to_object(&name, &data).await })?
    }

    /// Cuts a file, table or array to its first `bytes` bytes, an array to whole rows. A power cut leaves it as it was,
    /// or so. What was cut off is in none of its blocks then ([`host::volume::Change::shorten`]).
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Beyond`], [`VolumeError::Rows`]; what the drive reports.
    pub fn truncate(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        let name = name.to_owned();
        self.0
            .run(|host| async move { host.truncate_object(&name, bytes).await })?
    }

    /// Gives an object another name.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Name`], [`VolumeError::Taken`].
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), Error> {
        let (old, new) = (old.to_owned(), new.to_owned());
        self.0
            .run(|host| async move { host.rename_object(&old, &new).await })?
    }

    /// Removes an object; a group goes with its vectors.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        let name = name.to_owned();
        self.0
            .run(|host| async move { host.remove_object(&name).await })?
    }

    /// How large the volume is.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn usage(&mut self) -> Result<Usage, Error> {
        self.0
            .run(|host| async move { host.volume_usage().await })?
    }
}

impl Drive {
    /// The named objects of this drive.
    pub fn volume(&mut self) -> Volume<'_> {
        Volume(self)
    }

    /// A group of vectors by name; it is made when it is first written.
    ///
    /// # Errors
    /// [`VolumeError::Name`]; [`VolumeError::WrongKind`] if something else has the name; what the drive reports.
    pub fn group(&mut self, name: &str) -> Result<Group<'_>, Error> {
        Group::open(self, name)
    }

    /// The groups, by name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn groups(&mut self) -> Result<Vec<GroupInfo>, Error> {
        self.run(|host| async move { host.groups().await })?
    }
}
