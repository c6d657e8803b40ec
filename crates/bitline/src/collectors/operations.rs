//! Calls of collectors, at the host's end: collections that begin and grow.

use std::rc::Rc;

use host::collectors::{Collection, CollectorDevice};
use host::volume::{Content, Kind, Object};
use nvme::collector::{CollectorRecord, CollectorState};
use nvme::task::{Extent, File};
use nvme::{AsyncEvent, Lba};

use super::Attach;
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Absent, Collecting, DriveVolume, Growth, Held, Holder, Host, erased};
use crate::placed::{first_block_of, identifier_of};

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
        let Some(object) = &asked.object else {
            self.check_ended(asked, None).await?;
            let begin = self.open_at(asked, None).await?;
            return Ok((begin, None));
        };
        let holder = Holder::Collector(asked.port);
        if asked.placed.is_some() && asked.grow_bytes > 0 {
            return Err(Error::usage(format!(
                "{object:?} is no object of the volume, which cannot make it grow: have its file system make it longer"
            )));
        }
        let (object, held) = self.hold_collected(asked, holder).await?;
        self.check_ended(asked, Some(&object)).await?;
        let number = object.id.get();
        let (before, whole) = (object.content.bytes(), self.room_of(&object));
        let by = match asked.grow_bytes > 0 && before == 0 {
            true => asked.grow_bytes,
            false => 0,
        };
        let rounds_up = asked.grow_bytes > 0 && (by > 0 || before < whole);
        let object = match rounds_up {
            true => self.grow_object(number, by).await?.0,
            false => object,
        };
        match self.open_at(asked, Some(&object)).await {
            Ok(begin) => {
                self.collecting.hold(asked.port, held);
                Ok((begin, Some(object)))
            }
            Err(error) => {
                drop(held);
                if rounds_up {
                    self.truncate_object(&object.name, before).await?;
                }
                Err(error)
            }
        }
    }

    async fn open_at(&self, asked: &Attach, object: Option<&Object>) -> Result<u64, Error> {
        let file = object.map(|object| self.file_in_drive(object, true));
        let collection = Collection {
            identifier: identifier_of(object),
            file: file.transpose()?,
            policy: asked.policy,
            share_bytes: asked.share_bytes,
            low_bytes: asked.low_bytes,
            goes_on: asked.goes_on,
        };
        let device = self.collector_device();
        Ok(device.open(asked.port, &collection).await?)
    }

    /// Holds an object that a collector is to fill, which nobody else holds.
    ///
    /// # Errors
    /// There is none of that name; it is no file; [`Error::Held`].
    pub(super) async fn hold_collected(
        &self,
        asked: &Attach,
        holder: Holder,
    ) -> Result<(Object, Held), Error> {
        let name = asked.object.as_deref().unwrap_or_default();
        if let Some(placed) = &asked.placed {
            let object = placed.object(name);
            self.mount.uses.check(&object, |_| true)?;
            self.may_write_placed(&object).await?;
            let held = self.mount.uses.hold([&object], holder);
            return Ok((object, held));
        }
        let (object, _using) = self.use_object(name).await?;
        if object.content.kind() != Kind::File {
            return Err(Error::usage(format!(
                "{name:?} is no file: collectors fill files, such as those that are allocated for them"
            )));
        }
        self.mount.uses.check(&object, |_| true)?;
        let held = self.mount.uses.hold([&object], holder);
        Ok((object, held))
    }

    /// That what a power cut has ended at a port goes on, if that is asked for, and is not forgotten, if not; and that nothing of another
    /// port's is in the object. Ports of the host have nothing that has ended.
    pub(super) async fn check_ended(
        &self,
        asked: &Attach,
        object: Option<&Object>,
    ) -> Result<(), Error> {
        let port = asked.port;
        let is_here =
            |record: &CollectorRecord| !asked.through_host && record.port.get() == u32::from(port);
        let number = identifier_of(object);
        let mut over = None;
        for record in self
            .collector_device()
            .list()
            .await?
            .iter()
            .filter(|record| is_over(record))
        {
            if is_here(record) {
                over = Some(*record);
            } else if let Some(object) = object
                && record.identifier.get() == number
            {
                return Err(Error::usage(format!(
                    "{:?} has what was collected at port {} before the power was cut: settle that first",
                    object.name, record.port
                )));
            }
        }
        let Some(over) = over else {
            return match asked.goes_on {
                true => Err(Error::usage(format!(
                    "no collection has ended at port {port}: there is nothing to go on with"
                ))),
                false => Ok(()),
            };
        };
        if asked.goes_on && over.identifier.get() == number {
            let bytes = object.map_or(u64::MAX, |object| object.content.bytes());
            return match over.bytes.get() > bytes {
                true => Err(Error::usage(format!(
                    "of the {} bytes that were collected at port {port}, the object has only {bytes} now: settle it",
                    over.bytes
                ))),
                false => Ok(()),
            };
        }
        let gone_on = if asked.goes_on {
            ""
        } else {
            "go on with it, or "
        };
        match self.object_numbered(over.identifier.get()).await? {
            Some(other) => Err(Error::usage(format!(
                "the collection that has ended at port {port} went to {:?}: {gone_on}settle it first",
                other.name
            ))),
            None if let Some(first) = first_block_of(over.identifier.get()) => {
                Err(Error::usage(format!(
                    "the collection that has ended at port {port} went to the file that begins at block {first}: {gone_on}settle it first"
                )))
            }
            None if asked.goes_on => Err(Error::usage(format!(
                "the collection that has ended at port {port} went to an object that is gone: there is nothing to go on with"
            ))),
            None => Ok(()),
        }
    }

    /// Bytes that the pages of an object hold.
    fn room_of(&self, object: &Object) -> u64 {
        let blocks: u64 = object.extents.iter().map(|extent| extent.blocks).sum();
        blocks * u64::from(self.block.block_bytes())
    }

    /// The object of a number, if there is one.
    pub(super) async fn object_numbered(&self, number: u64) -> Result<Option<Object>, Error> {
        let Ok(number) = u32::try_from(number) else {
            return Ok(None);
        };
        let look = async |volume: &mut DriveVolume| Ok(volume.find(number));
        Ok(self.mount.with(self, Absent::Leave, look).await?.flatten())
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

    /// Makes an object longer: up to the end of its last page, and by as many pages as so many bytes take. They are all zero.
    /// Gives the object, and where the new pages lie.
    async fn grow_object(&self, number: u32, by: u64) -> Result<(Object, File), Error> {
        let block_bytes = u64::from(self.block.block_bytes());
        let grow = async |volume: &mut DriveVolume| {
            let object = volume.find(number).ok_or_else(erased)?;
            let page_bytes = u64::from(volume.page_blocks()) * block_bytes;
            let more = by.checked_next_multiple_of(page_bytes);
            let bytes = more.and_then(|more| self.room_of(&object).checked_add(more));
            let Some(bytes) = bytes else {
                return Err(Error::usage(format!(
                    "{:?} is to grow by {by} bytes",
                    object.name
                )));
            };
            let content = object.content.resized(&object.name, bytes)?;
            let reservation = volume.reserve_growth(object.id, bytes)?;
            let extents = reservation.extents().iter().map(|extent| Extent {
                first: Lba::new(extent.first),
                blocks: extent.blocks,
            });
            let extents: Vec<Extent> = extents.collect();
            let mut change = volume.change()?;
            change.grow(object.id, content, reservation)?;
            change.commit().await?;
            let blocks: u64 = extents.iter().map(|extent| extent.blocks).sum();
            let file = File {
                bytes: blocks * block_bytes,
                writable: true,
                extents,
            };
            Ok((volume.find(number).ok_or_else(erased)?, file))
        };
        let grown = self.mount.with(self, Absent::Leave, grow).await?;
        grown.ok_or_else(erased)
    }

    /// Gives a collection so many bytes more, or some more.
    pub(super) async fn extend_collector(
        &self,
        port: u16,
        object: u32,
        by: u64,
    ) -> Result<(), Error> {
        let (_, file) = self.grow_object(object, by).await?;
        Ok(self.collector_device().extend(port, file).await?)
    }

    /// Extends collections whenever the drive tells of low room, until it tells nothing more.
    pub(super) async fn extend_in_time(self, collecting: Rc<Collecting>) {
        let admin = host::admin::Admin::new(self.block.transport().clone());
        while let Ok(event) = admin.next_event().await {
            if event != AsyncEvent::COLLECTOR_LOW_ROOM {
                continue;
            }
            let Ok(records) = self.collector_device().list().await else {
                return;
            };
            for record in records {
                if let Some((port, Growth { object, by, .. })) = collecting.wanted(&record)
                    && let Err(error) = self.extend_collector(port, object, by).await
                {
                    collecting.failed(port, error);
                }
            }
        }
    }

    /// What the drive tells of the collection of a port.
    pub(super) async fn collector_record(
        &self,
        port: u16,
    ) -> Result<Option<CollectorRecord>, Error> {
        let records = self.collector_device().list().await?;
        let mut records = records.into_iter();
        Ok(records.find(|record| record.port.get() == u32::from(port)))
    }
}

/// Whether a collection goes on no more, and is not forgotten.
pub(super) fn is_over(record: &CollectorRecord) -> bool {
    CollectorState::of_code(record.state) == Some(CollectorState::Over)
}
