//! Named objects of a drive: groups and their vectors, arrays, files and tables, in the volume that the host library
//! keeps on it.
//!
//! A drive's volume is made when something is first named, and found again by every process that opens the drive.

mod group;
mod guard;
mod place;
mod slot;
mod vectors;

pub use host::volume::{Array, Content, Extent, Kind, Object, ObjectId, VolumeError};

use crate::drive::{Drive, Host};
use crate::error::Error;
pub use group::{Group, GroupInfo, Rows, Vector, Writer};
pub(crate) use guard::Plain;
pub use place::PlaceError;
use slot::Absent;
pub(crate) use slot::{DriveVolume, Kept, Slot};

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

impl Host {
    /// Groups, arrays, files and tables, by name; none if the drive has no volume.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn objects(&self) -> Result<Vec<Object>, Error> {
        let list = async |volume: &mut DriveVolume| Ok(volume.objects().collect());
        let found = self.names.with(self, Absent::Leave, list).await?;
        Ok(found.unwrap_or_default())
    }

    /// A group, array, file or table by its name.
    ///
    /// # Errors
    /// As [`Host::objects`].
    pub async fn object(&self, name: &str) -> Result<Option<Object>, Error> {
        let find = async |volume: &mut DriveVolume| Ok(volume.named(name));
        Ok(self.names.with(self, Absent::Leave, find).await?.flatten())
    }

    /// As [`Volume::write`].
    ///
    /// # Errors
    /// As [`Volume::write`].
    pub async fn write_object(
        &self,
        name: &str,
        content: Content,
        data: &[u8],
    ) -> Result<(), Error> {
        if matches!(content.kind(), Kind::Group | Kind::Vector) {
            let message = format!("{name:?}: groups and vectors are written through a group");
            return Err(host::Error::Usage(message).into());
        }
        let write = async |volume: &mut DriveVolume| {
            let mut change = volume.change()?;
            let id = match change.volume().named(name) {
                Some(old) => change.replace(old.id, content).map(|()| old.id),
                None => change.create(name, content),
            }?;
            if let Err(error) = change.write(id, data).await {
                return Err(vectors::undone(change, error.into()).await);
            }
            change.commit().await?;
            Ok(())
        };
        self.names.with(self, Absent::Create, write).await?;
        Ok(())
    }

    /// An array, file or table, and what it holds.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn read_object(&self, name: &str) -> Result<(Object, Vec<u8>), Error> {
        let read = async |volume: &mut DriveVolume| {
            let object = volume.named(name).ok_or_else(|| not_found(name))?;
            let data = volume.read(object.id).await?;
            Ok((object, data))
        };
        let found = self.names.with(self, Absent::Leave, read).await?;
        found.ok_or_else(|| not_found(name).into())
    }

    /// As [`Volume::rename`].
    ///
    /// # Errors
    /// As [`Volume::rename`].
    pub async fn rename_object(&self, old: &str, new: &str) -> Result<(), Error> {
        let rename = async |volume: &mut DriveVolume| {
            let object = volume.named(old).ok_or_else(|| not_found(old))?;
            let mut change = volume.change()?;
            change.rename(object.id, new)?;
            change.commit().await?;
            self.names.learn(volume, object.id);
            Ok(())
        };
        let renamed = self.names.with(self, Absent::Leave, rename).await?;
        renamed.ok_or_else(|| not_found(old).into())
    }

    /// As [`Volume::remove`].
    ///
    /// # Errors
    /// As [`Volume::remove`].
    pub async fn remove_object(&self, name: &str) -> Result<(), Error> {
        let remove = async |volume: &mut DriveVolume| {
            let object = volume.named(name).ok_or_else(|| not_found(name))?;
            let mut change = volume.change()?;
            change.remove(object.id)?;
            let _alone = self.names.alone().await;
            change.commit().await?;
            self.names.learn(volume, object.id);
            Ok(())
        };
        let removed = self.names.with(self, Absent::Leave, remove).await?;
        removed.ok_or_else(|| not_found(name).into())
    }

    /// As [`Volume::usage`].
    ///
    /// # Errors
    /// As [`Volume::usage`].
    pub async fn volume_usage(&self) -> Result<Usage, Error> {
        let usage = async |volume: &mut DriveVolume| {
            Ok(Usage {
                first: volume.extent().first,
                blocks: volume.extent().blocks,
                free: volume.free_blocks(),
            })
        };
        let found = self.names.with(self, Absent::Leave, usage).await?;
        Ok(found.unwrap_or_default())
    }
}

fn not_found(name: &str) -> VolumeError {
    VolumeError::NotFound {
        what: format!("object {name:?}"),
    }
}
