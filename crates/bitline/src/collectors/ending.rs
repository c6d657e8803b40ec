//! How collections end: what has come is there, the object has as many bytes, and the drive forgets of it.

use std::rc::Rc;

use host::volume::Object;
use nvme::collector::{CollectorRecord, CollectorState};
use sim::select;

use super::operations::is_over;
use super::{Attached, Collector, Taker};
use crate::error::Error;
use crate::host_end::{Growth, Holder, Host, LOOK_AGAIN};
use crate::placed::{first_block_of, identifier_of};

/// Ends a collection; gives what is told of it at its end. If nobody waits for that any more, it goes on, and the next who asks is told.
pub(super) async fn ended(host: &Host, collector: &Collector) -> Result<CollectorRecord, Error> {
    let attached = &*collector.0;
    loop {
        match attached.outcome.take() {
            Some(Ok(ended)) => attached.ended.set(Some(ended)),
            Some(Err(error)) => return Err(error),
            None => {}
        }
        if let Some(ended) = attached.ended.get() {
            return Ok(ended);
        }
        let before = attached.ending.replace(Some(host.driver.clone()));
        if !before.is_some_and(|life| Rc::ptr_eq(&life, &host.driver)) {
            let (inside, collector) = (host.clone(), collector.clone());
            host.sim().spawn_detached(async move {
                let outcome = match &collector.0.taker {
                    Taker::Drive(_) => inside.end_collector(&collector).await,
                    Taker::Host(received) => match collector.0.check(&inside) {
                        Ok(()) => received.close().await,
                        Err(error) => Err(error),
                    },
                };
                collector.0.outcome.replace(Some(outcome));
                collector.0.ending.take();
                inside.collecting.announce();
            });
        }
        host.collecting.changed().await;
    }
}

impl Host {
    async fn end_collector(&self, collector: &Collector) -> Result<CollectorRecord, Error> {
        let attached = &*collector.0;
        let port = attached.port;
        let object = match &attached.object {
            Some(object) => self.same_object(object).await?,
            None => None,
        };
        if let Some(object) = &object {
            let own = Holder::Collector(port);
            let uses = &self.mount.uses;
            uses.check(object, |holder| holder != own)?;
        }
        attached.is_unplugged.set(true);
        let Some(record) = self.collector_record(port).await? else {
            // It went with its namespace, and what was collected with it.
            self.collecting.forget(port);
            let mut record = CollectorRecord::default();
            record.port.set(port.into());
            record.state = CollectorState::Over.code();
            return Ok(record);
        };
        let mut record = self.own_record(attached, Some(record))?;
        if !is_over(&record) {
            let _awaiting = self.collecting.wait(port);
            self.make_room(attached).await?;
            record = self.record_of(attached).await?;
            let closed = self.collector_device().close(port).await;
            self.collecting.forget(port);
            record.bytes.set(closed?);
            record.state = CollectorState::Over.code();
            if object.is_some() {
                record = self.record_of(attached).await?;
            }
        }
        if let Some(object) = object {
            let bytes = self.settle(port, &object, record.bytes.get()).await?;
            record.bytes.set(bytes);
        }
        Ok(record)
    }

    /// Has an object that grows grow until there is room for everything that has come, and that is on its way over the wire.
    async fn make_room(&self, attached: &Attached) -> Result<(), Error> {
        let port = attached.port;
        while let Some(Growth { object, by, .. }) = self.collecting.growth(port) {
            let record = self.record_of(attached).await?;
            let came = record.packet_bytes.get() - record.oldest_bytes.get();
            let wanted = attached.begun + came;
            let missing = wanted.saturating_sub(record.room_bytes.get());
            if CollectorState::of_code(record.state) != Some(CollectorState::Collecting) {
                break;
            }
            if missing > 0 {
                let by = by.max(missing);
                self.extend_collector(port, object, by).await?;
            } else if attached.delivering.get() == 0 {
                break;
            } else {
                select(attached.changed.next(), self.sim.sleep(LOOK_AGAIN)).await;
            }
        }
        Ok(())
    }

    /// What the drive tells of a collector.
    pub(super) async fn record_of(&self, attached: &Attached) -> Result<CollectorRecord, Error> {
        let record = self.collector_record(attached.port).await?;
        self.own_record(attached, record)
    }

    /// That a record is of a collector: of one that was attached before a power cut, only as long as nobody goes on with it.
    fn own_record(
        &self,
        attached: &Attached,
        record: Option<CollectorRecord>,
    ) -> Result<CollectorRecord, Error> {
        let number = identifier_of(attached.object.as_ref());
        let lives = Rc::ptr_eq(&attached.host.driver, &self.driver);
        let is_own = |record: &CollectorRecord| {
            record.identifier.get() == number && (lives || is_over(record))
        };
        record.filter(is_own).ok_or_else(|| {
            Error::usage(format!(
                "what was attached to port {} is attached no more",
                attached.port
            ))
        })
    }

    /// Ends a collection that a power cut has ended; gives how many bytes there are.
    pub(super) async fn settle_port(&self, port: u16) -> Result<u64, Error> {
        let record = self.collector_record(port).await?;
        let Some(record) = record.filter(is_over) else {
            return Err(Error::usage(format!(
                "no collection has ended at port {port}"
            )));
        };
        match self.object_numbered(record.identifier.get()).await? {
            Some(object) => self.settle(port, &object, record.bytes.get()).await,
            None => {
                self.collector_device().close(port).await?;
                // An object that is gone, and what was in it; or a file that is no object.
                let is_placed = first_block_of(record.identifier.get()).is_some();
                Ok(if is_placed { record.bytes.get() } else { 0 })
            }
        }
    }

    /// An object as it is now, if it is there; a file that is no object of the volume is always as it was said to be.
    pub(super) async fn same_object(&self, object: &Object) -> Result<Option<Object>, Error> {
        match object.is_placed() {
            true => Ok(Some(object.clone())),
            false => self.object_numbered(object.id.get().into()).await,
        }
    }

    /// Gives an object the bytes that were collected, and has the drive forget of them; how many they are.
    async fn settle(&self, port: u16, object: &Object, bytes: u64) -> Result<u64, Error> {
        let now = self.same_object(object).await?;
        // Somebody may have made it shorter.
        let has = now.as_ref().map_or(0, |now| now.content.bytes());
        if let Some(now) = now.filter(|now| bytes < has && !now.is_placed()) {
            self.truncate_object(&now.name, bytes).await?;
        }
        self.collector_device().close(port).await?;
        Ok(bytes.min(has))
    }
}
