//! Arrays, files and tables in simulated time: found, written and read as a whole, renamed and removed.

use host::volume::{Content, Kind, Object, VolumeError, check_name, write_content};

use super::Usage;
use super::vectors::undone;
use crate::error::Error;
use crate::host_end::Absent;
use crate::host_end::DriveVolume;
use crate::host_end::Host;
use crate::host_end::Using;

impl Host {
    /// Groups, arrays, files and tables, by name; none if the drive has no volume.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn objects(&self) -> Result<Vec<Object>, Error> {
        let list = async |volume: &mut DriveVolume| Ok(volume.objects().collect());
        let found = self.mount.with(self, Absent::Leave, list).await?;
        Ok(found.unwrap_or_default())
    }

    /// A group, array, file or table by its name.
    ///
    /// # Errors
    /// As [`Host::objects`].
    pub async fn object(&self, name: &str) -> Result<Option<Object>, Error> {
        let find = async |volume: &mut DriveVolume| Ok(volume.named(name));
        Ok(self.mount.with(self, Absent::Leave, find).await?.flatten())
    }

    /// As [`super::Volume::write`]. Other calls go on meanwhile; only the commit of its name is one's own.
    ///
    /// # Errors
    /// As [`super::Volume::write`].
    pub async fn write_object(
        &self,
        name: &str,
        content: Content,
        data: &[u8],
    ) -> Result<(), Error> {
        match content.kind() {
            Kind::Group | Kind::Vector => {
                let message = format!("{name:?}: groups and vectors are written through a group");
                return Err(host::Error::Usage(message).into());
            }
            Kind::Store => {
                let name = name.to_owned();
                return Err(VolumeError::Store { name }.into());
            }
            _ => {}
        }
        check_name(name)?;
        content.check()?;
        let (found, wanted) = (data.len() as u64, content.bytes());
        if found != wanted {
            let name = name.to_owned();
            return Err(VolumeError::Length {
                name,
                found,
                wanted,
            }
            .into());
        }
        let begin = async |volume: &mut DriveVolume| {
            check_kind(volume, name, content.kind())?;
            let reservation = volume.reserve(wanted)?;
            Ok(self.mount.reserved.hold(vec![reservation]))
        };
        let held = self.mount.with(self, Absent::Create, begin).await?;
        let held = held.expect("a volume is made where there is none");
        let written = write_content(&self.block, held.extents(0), data).await;
        if let Err(error) = written {
            return Err(self.given_back(held, error.into()).await);
        }
        let replaced = |volume: &DriveVolume| Ok(number_of(volume, name).into_iter().collect());
        let commit = async |volume: &mut DriveVolume| {
            let mut change = volume.change()?;
            let reservation = held.redeem(0)?;
            let made = match change.volume().named(name) {
                Some(old) => change.replace_from(old.id, content, reservation),
                None => change.create_from(name, content, reservation).map(drop),
            };
            if let Err(error) = made {
                return Err(undone(change, error.into()).await);
            }
            change.commit().await?;
            Ok(())
        };
        match self.mount.alone_with(self, replaced, commit).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(crate::host_end::erased()),
            Err(error) => Err(self.given_back(held, error).await),
        }
    }

    /// An array, file or table, and what it holds.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn read_object(&self, name: &str) -> Result<(Object, Vec<u8>), Error> {
        let (object, _using) = self.use_object(name).await?;
        let data = object.read_whole(&self.block).await?;
        Ok((object, data))
    }

    /// An object, which stays where it is until the second of both is dropped.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what opening the volume reports.
    pub(crate) async fn use_object(&self, name: &str) -> Result<(Object, Using<'_>), Error> {
        loop {
            let look = async |volume: &mut DriveVolume| {
                let object = volume.named(name).ok_or_else(|| not_found(name))?;
                let using = self.mount.uses.begin(vec![object.id.get()]);
                Ok(using.map(|using| (object, using)))
            };
            match self.mount.with(self, Absent::Leave, look).await? {
                Some(Some(used)) => return Ok(used),
                Some(None) => self.mount.uses.changed().await,
                None => return Err(not_found(name).into()),
            }
        }
    }

    /// As [`super::Volume::rename`].
    ///
    /// # Errors
    /// As [`super::Volume::rename`].
    pub async fn rename_object(&self, old: &str, new: &str) -> Result<(), Error> {
        let rename = async |volume: &mut DriveVolume| {
            let object = volume.named(old).ok_or_else(|| not_found(old))?;
            let mut change = volume.change()?;
            change.rename(object.id, new)?;
            change.commit().await?;
            self.mount.learn(|index| index.learn(volume, object.id));
            Ok(())
        };
        let renamed = self.mount.with(self, Absent::Leave, rename).await?;
        renamed.ok_or_else(|| not_found(old).into())
    }

    /// As [`super::Volume::remove`]: once nobody uses it, or a vector of it.
    ///
    /// # Errors
    /// As [`super::Volume::remove`].
    pub async fn remove_object(&self, name: &str) -> Result<(), Error> {
        let removed = |volume: &DriveVolume| {
            let number = number_of(volume, name).ok_or_else(|| not_found(name))?;
            let object = volume.find(number);
            let vectors = object
                .into_iter()
                .flat_map(|group| volume.vectors(group.id));
            let vectors = vectors.map(|vector| vector.id.get());
            Ok(vectors.chain([number]).collect())
        };
        let remove = async |volume: &mut DriveVolume| {
            let object = volume.named(name).ok_or_else(|| not_found(name))?;
            if object.content.kind() == Kind::Store {
                return Ok(volume.remove_store(object.id).await?);
            }
            let mut change = volume.change()?;
            change.remove(object.id)?;
            change.commit().await?;
            self.mount.learn(|index| index.forget_group(object.id));
            Ok(())
        };
        let removed = self.mount.alone_with(self, removed, remove).await?;
        removed.ok_or_else(|| not_found(name).into())
    }

    /// As [`super::Volume::usage`].
    ///
    /// # Errors
    /// As [`super::Volume::usage`].
    pub async fn volume_usage(&self) -> Result<Usage, Error> {
        let usage = async |volume: &mut DriveVolume| {
            Ok(Usage {
                first: volume.extent().first,
                blocks: volume.extent().blocks,
                free: volume.free_blocks(),
            })
        };
        let found = self.mount.with(self, Absent::Leave, usage).await?;
        Ok(found.unwrap_or_default())
    }
}

/// The number of the object of this name.
pub(crate) fn number_of(volume: &DriveVolume, name: &str) -> Option<u32> {
    volume.named(name).map(|object| object.id.get())
}

/// What has the name, if something has, is to be of this kind.
fn check_kind(volume: &DriveVolume, name: &str, wanted: Kind) -> Result<(), VolumeError> {
    let found = volume.named(name).map(|object| object.content.kind());
    match found.filter(|found| *found != wanted) {
        Some(found) => Err(VolumeError::WrongKind {
            name: name.to_owned(),
            found,
            wanted,
        }),
        None => Ok(()),
    }
}

pub(crate) fn not_found(name: &str) -> VolumeError {
    VolumeError::NotFound {
        what: format!("object {name:?}"),
    }
}
