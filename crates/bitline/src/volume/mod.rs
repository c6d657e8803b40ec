//! Named objects of a drive: groups and their vectors, arrays, files and tables, in the volume that the host library
//! keeps on it.
//!
//! A drive's volume is made when something is first named, and found again by every process that opens the drive.

mod group;
mod slot;
mod store;

use host::volume::{Content, Object, Volume, VolumeError};
use nvme::VectorId;

use crate::drive::{Drive, Host};
use crate::driver::Queue;
use crate::error::Error;
pub use group::{Group, GroupInfo, Rows, Vector};
use slot::Absent;
pub(crate) use slot::Slot;

/// The named objects of a drive.
pub struct Objects<'d>(&'d mut Drive);

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

impl Objects<'_> {
    /// Groups, arrays, files and tables, by name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn list(&mut self) -> Result<Vec<Object>, Error> {
        self.0.run(|host| async move { host.objects().await })?
    }

    /// An object by its name.
    ///
    /// # Errors
    /// As [`Objects::list`].
    pub fn get(&mut self, name: &str) -> Result<Option<Object>, Error> {
        Ok(self.list()?.into_iter().find(|object| object.name == name))
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
    pub fn volume(&mut self) -> Objects<'_> {
        Objects(self)
    }

    /// A group of vectors by name; it is made when it is first written.
    pub fn group(&mut self, name: &str) -> Group<'_> {
        Group::new(self, name)
    }

    /// The groups, by name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn groups(&mut self) -> Result<Vec<GroupInfo>, Error> {
        self.run(|host| async move { host.groups().await })?
    }
}

impl Host {
    /// Groups, arrays, files and tables, by name; none if the drive has no volume.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn objects(&self) -> Result<Vec<Object>, Error> {
        let list = async |volume: &mut Volume<Queue>| Ok::<_, Error>(volume.objects().collect());
        let found = self.volume.with(self, Absent::Leave, list).await?;
        Ok(found.unwrap_or_default())
    }

    /// As [`Objects::write`].
    ///
    /// # Errors
    /// As [`Objects::write`].
    pub async fn write_object(
        &self,
        name: &str,
        content: Content,
        data: &[u8],
    ) -> Result<(), Error> {
        let write = async |volume: &mut Volume<Queue>| {
            let mut change = volume.change()?;
            let id = match change.volume().named(name) {
                Some(old) => change.replace(old.id, content).map(|()| old.id),
                None => change.create(name, content),
            }?;
            change.write(id, data).await?;
            change.commit().await?;
            Ok::<_, Error>(())
        };
        self.volume.with(self, Absent::Create, write).await?;
        Ok(())
    }

    /// An array, file or table, and what it holds.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn read_object(&self, name: &str) -> Result<(Object, Vec<u8>), Error> {
        let not_found = || not_found(name);
        let read = async |volume: &mut Volume<Queue>| {
            let object = volume.named(name).ok_or_else(not_found)?;
            let data = volume.read(object.id).await?;
            Ok::<_, Error>((object, data))
        };
        let found = self.volume.with(self, Absent::Leave, read).await?;
        found.ok_or_else(|| not_found().into())
    }

    /// As [`Objects::remove`].
    ///
    /// # Errors
    /// As [`Objects::remove`].
    pub async fn remove_object(&self, name: &str) -> Result<(), Error> {
        let not_found = || not_found(name);
        let remove = async |volume: &mut Volume<Queue>| {
            let object = volume.named(name).ok_or_else(not_found)?;
            let mut change = volume.change()?;
            change.remove(object.id)?;
            change.commit().await?;
            Ok::<_, Error>(())
        };
        let removed = self.volume.with(self, Absent::Leave, remove).await?;
        removed.ok_or_else(|| not_found().into())
    }

    /// As [`Objects::usage`].
    ///
    /// # Errors
    /// As [`Objects::usage`].
    pub async fn volume_usage(&self) -> Result<Usage, Error> {
        let usage = async |volume: &mut Volume<Queue>| {
            Ok::<_, Error>(Usage {
                first: volume.extent().first,
                blocks: volume.extent().blocks,
                free: volume.free_blocks(),
            })
        };
        let found = self.volume.with(self, Absent::Leave, usage).await?;
        Ok(found.unwrap_or_default())
    }

    /// Learns where vectors that have names are, if that is not known since power-up: before they are evaluated.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn know_names(&self) -> Result<(), Error> {
        Ok(self.volume.know(self).await?)
    }

    /// The length of a vector that has a name, bits; `None` if it has none.
    pub(crate) async fn bits_of(&self, id: VectorId) -> Result<Option<u64>, Error> {
        let Some(handle) = store::handle(id.group) else {
            return Ok(None);
        };
        let find = async |volume: &mut Volume<Queue>| {
            let group = volume.with_handle(handle).map(|group| group.id);
            let vector = group.and_then(|group| volume.numbered(group, id.vector));
            Ok::<_, Error>(vector.and_then(|vector| match vector.content {
                Content::Vector(vector) => Some(vector.bits),
                _ => None,
            }))
        };
        Ok(self.volume.with(self, Absent::Leave, find).await?.flatten())
    }
}

fn not_found(name: &str) -> VolumeError {
    VolumeError::NotFound {
        what: format!("object {name:?}"),
    }
}
