//! How collections end: what has come is there, the object has as many bytes, and the drive forgets of it.

use std::rc::Rc;

use host::volume::Object;
use nvme::collector::{CollectorRecord, CollectorState};
use sim::{Span, select};

use super::operations::{is_over, usage};
use super::{Attached, Collector, Taker};
use crate::error::Error;
use crate::host_end::{Growth, Holder, Host, held};

/// How long until it is looked again whether there is room for everything that came.
const LOOK_AGAIN: Span = Span::from_us(100);

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
            Some(object) => self.object_numbered(object.id.get().into()).await?,
            None => None,
        };
        if let Some(object) = &object {
            self.check_sole(object, Holder::Collector(port))?;
        }
        attached.is_unplugged.set(true);
        if self.collector_record(port).await?.is_none() {
            // It went with its namespace, and what was collected with it.
            self.collecting.let_go(port);
            let mut record = CollectorRecord::default();
            record.port.set(port.into());
            record.state = CollectorState::Over.code();
            return Ok(record);
        }
        let mut record = self.record_of(attached).await?;
        if !is_over(&record) {
            let _awaiting = self.collecting.wait(port);
            self.make_room(attached).await?;
            record = self.record_of(attached).await?;
            let closed = self.collector_device().close(port).await;
            self.collecting.grow_no_more(port);
            self.collecting.let_go(port);
            record.bytes.set(closed?);
            record.state = CollectorState::Over.code();
            if object.is_some() {
                record = self.record_of(attached).await?;
            }
        }
        if let Some(object) = object {
            self.settle(port, &object, record.bytes.get()).await?;
        }
        Ok(record)
    }

    /// # Errors
    /// [`Error::Held`] if others keep an object as it is.
    pub(super) fn check_sole(&self, object: &Object, own: Holder) -> Result<(), Error> {
        let is_other = |holder| holder != own;
        match self.mount.uses.holder(object.id.get(), is_other) {
            Some(holder) => Err(held(&object.name, holder)),
            None => Ok(()),
        }
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

    /// What the drive tells of a collector: of one that was attached before a power cut, only as long as nobody goes on with it.
    pub(super) async fn record_of(&self, attached: &Attached) -> Result<CollectorRecord, Error> {
        let record = self.collector_record(attached.port).await?;
        let number = attached.object.as_ref();
        let number = number.map_or(0, |object| u64::from(object.id.get()));
        let lives = Rc::ptr_eq(&attached.host.driver, &self.driver);
        match record {
            Some(record) if record.identifier.get() == number && (lives || is_over(&record)) => {
                Ok(record)
            }
            _ => usage(format!(
                "what was attached to port {} is attached no more",
                attached.port
            )),
        }
    }

    /// Ends a collection that a power cut has ended; gives how many bytes there are.
    pub(super) async fn settle_port(&self, port: u16) -> Result<u64, Error> {
        let record = self.collector_record(port).await?;
        let Some(record) = record.filter(is_over) else {
            return usage(format!("no collection has ended at port {port}"));
        };
        match self.object_numbered(record.identifier.get()).await? {
            Some(object) => {
                // Somebody may have made it shorter.
                let bytes = record.bytes.get().min(object.content.bytes());
                self.settle(port, &object, bytes).await?;
                Ok(bytes)
            }
            None => {
                // Its object is gone, and what was in it.
                self.collector_device().close(port).await?;
                Ok(0)
            }
        }
    }

    /// Gives an object the bytes that were collected, and has the drive forget of them.
    async fn settle(&self, port: u16, object: &Object, bytes: u64) -> Result<(), Error> {
        let now = self.object_numbered(object.id.get().into()).await?;
        if let Some(now) = now.filter(|now| bytes < now.content.bytes()) {
            self.truncate_object(&now.name, bytes).await?;
        }
        self.collector_device().close(port).await?;
        Ok(())
    }
}
