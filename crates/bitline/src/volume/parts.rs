//! Arrays, files and tables in parts: bytes read and written in place, and objects that become longer or shorter.

use host::volume::{Kind, Object, VolumeError, write_content};
use sim::resource::{Access, RangeGuard};

use super::objects::{not_found, number_of};
use super::vectors::undone;
use crate::error::Error;
use crate::host_end::Absent;
use crate::host_end::DriveVolume;
use crate::host_end::Holder;
use crate::host_end::Host;
use crate::host_end::erased;

impl Host {
    /// As [`super::Volume::read_at`].
    ///
    /// # Errors
    /// As [`super::Volume::read_at`].
    pub async fn read_object_at(
        &self,
        name: &str,
        offset: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, Error> {
        let (object, _using) = self.use_object(name).await?;
        Ok(object.read(&self.block, offset, bytes).await?)
    }

    /// As [`super::Volume::write_at`].
    ///
    /// # Errors
    /// As [`super::Volume::write_at`].
    pub async fn write_object_at(&self, name: &str, offset: u64, data: &[u8]) -> Result<(), Error> {
        let (object, _using) = self.use_object(name).await?;
        if object.content.kind() == Kind::Store {
            // Names would not tell of other values.
            let name = name.to_owned();
            return Err(VolumeError::Store { name }.into());
        }
        object.check_within(offset, data.len() as u64)?;
        self.mount.uses.check(&object, Holder::collects)?;
        let _blocks = self.sole_writer(&object, offset, data.len() as u64).await;
        Ok(object.write(&self.block, offset, data).await?)
    }

    /// As [`super::Volume::append`]. Others use the object meanwhile, as long as it was.
    ///
    /// # Errors
    /// As [`super::Volume::append`].
    pub async fn append_to_object(&self, name: &str, data: &[u8]) -> Result<(), Error> {
        let _resizing = self.resizing(name).await?;
        let (object, _using) = self.use_object(name).await?;
        self.mount.uses.check(&object, |_| true)?;
        let bytes = object.content.bytes() + data.len() as u64;
        let content = object.content.resized(name, bytes)?;
        content.check()?;
        let begin = async |volume: &mut DriveVolume| {
            let reservation = volume.reserve_growth(object.id, bytes)?;
            Ok(self.mount.reserved.hold(vec![reservation]))
        };
        let held = self.mount.with(self, Absent::Leave, begin).await?;
        let held = held.ok_or_else(erased)?;
        let write = async {
            let room = object.room(self.block.block_bytes());
            let _blocks = self
                .sole_writer(&object, object.content.bytes(), room.min(data.len() as u64))
                .await;
            let done = object.fill_up(&self.block, data).await?;
            write_content(&self.block, held.extents(0), &data[done..]).await
        };
        if let Err(error) = write.await {
            return Err(self.given_back(held, error.into()).await);
        }
        let commit = async |volume: &mut DriveVolume| {
            let mut change = volume.change()?;
            let grown = change.grow(object.id, content, held.redeem(0)?);
            if let Err(error) = grown {
                return Err(undone(change, error.into()).await);
            }
            change.commit().await?;
            Ok(())
        };
        match self.mount.with(self, Absent::Leave, commit).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(erased()),
            Err(error) => Err(self.given_back(held, error).await),
        }
    }

    /// As [`super::Volume::truncate`]: once nobody uses it.
    ///
    /// # Errors
    /// As [`super::Volume::truncate`].
    pub async fn truncate_object(&self, name: &str, bytes: u64) -> Result<(), Error> {
        let _resizing = self.resizing(name).await?;
        let mine = |volume: &DriveVolume| Ok(number_of(volume, name).into_iter().collect());
        let shorten = async |volume: &mut DriveVolume| {
            let object = volume.named(name).ok_or_else(|| not_found(name))?;
            object.check_within(0, bytes)?;
            let content = object.content.resized(name, bytes)?;
            let mut change = volume.change()?;
            if let Err(error) = change.shorten(object.id, content).await {
                return Err(undone(change, error.into()).await);
            }
            change.commit().await?;
            Ok(())
        };
        let shortened = self.mount.alone_with(self, mine, shorten).await?;
        shortened.ok_or_else(|| not_found(name).into())
    }

    /// Waits until nobody else changes an object's length.
    async fn resizing(&self, name: &str) -> Result<RangeGuard<'_>, Error> {
        self.locked(name, Access::Exclusive).await
    }

    /// An object's own lock, which those share who do not change what it is.
    ///
    /// # Errors
    /// [`host::volume::VolumeError::NotFound`]; what opening the volume reports.
    pub(crate) async fn locked(&self, name: &str, access: Access) -> Result<RangeGuard<'_>, Error> {
        loop {
            let object = self.object(name).await?;
            let number = u64::from(object.ok_or_else(|| not_found(name))?.id.get());
            let lock = &self.mount.resizing;
            let resizing = lock.lock(number..number + 1, access).await;
            // Another may have got the name meanwhile.
            let object = self.object(name).await?;
            if object.is_some_and(|object| u64::from(object.id.get()) == number) {
                return Ok(resizing);
            }
        }
    }

    /// Waits until nobody else writes the blocks that hold some bytes of an object in place.
    async fn sole_writer(&self, object: &Object, offset: u64, bytes: u64) -> RangeGuard<'_> {
        let extents = object.blocks_of(self.block.block_bytes(), offset, bytes);
        let blocks = extents.iter();
        let blocks = blocks.map(|extent| extent.first..extent.first + extent.blocks);
        let claims = blocks.map(|blocks| (blocks, Access::Exclusive));
        self.mount.in_place.lock_all(claims).await
    }
}
