//! Calls of collectors, at the host's end.

use std::rc::Rc;

use host::collectors::{Collection, CollectorDevice};
use host::tasks::file_of;
use host::volume::{Content, Object};
use nvme::collector::CollectorRecord;
use nvme::task::{Extent, File};
use nvme::{AsyncEvent, Lba};

use super::Attach;
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Absent, Collecting, Host, erased};
use crate::host_end::{DriveVolume, NAMESPACE};
use crate::volume::not_found;

impl Host {
    /// The collections of the first namespace.
    pub(super) fn collector_device(&self) -> CollectorDevice<Queue> {
        CollectorDevice::new(self.block.clone())
    }

    /// Opens a collection; gives where it begins, and what it works on.
    pub(super) async fn open_collector(
        &self,
        asked: &Attach,
    ) -> Result<(u64, Option<Object>), Error> {
        let object = match &asked.object {
            Some(name) => {
                let (object, using) = self.use_object(name).await?;
                self.mount.uses.begin_use(&[object.id.get()]);
                drop(using);
                Some(object)
            }
            None => None,
        };
        let file = object.as_ref().map(|object| file_of(object, true));
        let collection = Collection {
            identifier: object.as_ref().map_or(0, |object| object.id.get().into()),
            file,
            policy: asked.policy,
            share_bytes: asked.share_bytes,
            low_bytes: asked.low_bytes,
            goes_on: asked.goes_on,
        };
        match self.collector_device().open(asked.port, &collection).await {
            Ok(begin) => Ok((begin, object)),
            Err(error) => {
                self.end_collecting(object.as_ref());
                Err(error.into())
            }
        }
    }

    /// An object is free to be moved again.
    pub(super) fn end_collecting(&self, object: Option<&Object>) {
        if let Some(object) = object {
            self.mount.uses.end_use(&[object.id.get()]);
        }
    }

    /// Makes an object that has room for so many bytes, which are all zero (fallocate).
    pub(super) async fn allocate_object(&self, name: &str, bytes: u64) -> Result<(), Error> {
        let create = async |volume: &mut DriveVolume| {
            let mut change = volume.change()?;
            change.create(name, Content::File { bytes })?;
            change.commit().await?;
            Ok(())
        };
        let created = self.mount.with(self, Absent::Create, create).await?;
        created.ok_or_else(erased)
    }

    /// Makes an object longer by so many bytes, which are all zero; gives it, and where the new ones lie.
    async fn grow_object(&self, name: &str, by: u64) -> Result<File, Error> {
        let block_bytes = u64::from(self.block.block_bytes());
        let grow = async |volume: &mut DriveVolume| {
            let object = volume.named(name).ok_or_else(|| not_found(name))?;
            let before = object.content.bytes();
            let content = object.content.resized(name, before + by)?;
            let reservation = volume.reserve_growth(object.id, before + by)?;
            let extents = reservation.extents().iter().map(|extent| Extent {
                first: Lba::new(extent.first),
                blocks: extent.blocks,
            });
            let extents: Vec<Extent> = extents.collect();
            let mut change = volume.change()?;
            change.grow(object.id, content, reservation)?;
            change.commit().await?;
            let blocks: u64 = extents.iter().map(|extent| extent.blocks).sum();
            Ok(File {
                bytes: blocks * block_bytes,
                writable: true,
                extents,
            })
        };
        let grown = self.mount.with(self, Absent::Leave, grow).await?;
        grown.ok_or_else(erased)
    }

    /// Gives a collection so many bytes more.
    pub(super) async fn extend_collector(
        &self,
        port: u16,
        name: &str,
        by: u64,
    ) -> Result<(), Error> {
        let file = self.grow_object(name, by).await?;
        Ok(self.collector_device().extend(port, file).await?)
    }

    /// Extends collections whenever the drive tells of low room, until it tells nothing more.
    pub(super) async fn extend_in_time(self, growing: Rc<Collecting>) {
        let admin = host::admin::Admin::new(self.block.transport().clone());
        while let Ok(event) = admin.next_event().await {
            if event != AsyncEvent::COLLECTOR_LOW_ROOM {
                continue;
            }
            let Ok(records) = self.collector_device().list().await else {
                return;
            };
            for record in records {
                let wanted = growing.of(&record);
                if let Some((port, name, by)) = wanted
                    && let Err(error) = self.extend_collector(port, &name, by).await
                {
                    growing.failed(port, error);
                }
            }
        }
    }

    /// What the drive tells of the collection of a port.
    pub(super) async fn collector_record(
        &self,
        port: u16,
    ) -> Result<Option<CollectorRecord>, Error> {
        debug_assert_eq!(self.block.namespace(), NAMESPACE);
        let records = self.collector_device().list().await?;
        let mut records = records.into_iter();
        Ok(records.find(|record| record.port.get() == u32::from(port)))
    }
}
