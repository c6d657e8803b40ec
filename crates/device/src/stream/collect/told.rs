//! What is told of collections: to who asks for one, and what all of them did.

use std::collections::BTreeMap;

use nvme::NamespaceId;
use nvme::collector::{CollectorRecord, CollectorState};
use serde::{Deserialize, Serialize};
use sim::Energy;

use super::collection::Collection;
use super::extents::Extents;
use super::{CollectorId, Collectors};

/// What collectors have sent, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CollectorCounts {
    /// Collections begun.
    pub opened: u64,
    /// Packets taken in, those that were dropped later included.
    pub packets: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Packets dropped as they came.
    pub dropped_newest: u64,
    /// Bytes of these.
    pub dropped_newest_bytes: u64,
    /// Packets dropped after they had waited.
    pub dropped_oldest: u64,
    /// Bytes of these.
    pub dropped_oldest_bytes: u64,
    /// Bytes for which there was no room where they go when a collection ended.
    pub lost_bytes: u64,
    /// Nanoseconds for which packets were held back on their wires, of all ports together.
    pub stalled_ns: u64,
    /// Bytes written to flash.
    pub written_bytes: u64,
    /// Bytes given to tasks.
    pub task_bytes: u64,
    /// Bytes for a task that was not there.
    pub unread_bytes: u64,
}

impl CollectorCounts {
    /// Adds what a collection did; what went to tasks is counted as it goes there.
    pub(super) fn add(&mut self, collection: &Collection) {
        let counts = collection.arrivals.counts();
        self.packets += counts.packets;
        self.bytes += counts.bytes;
        self.dropped_newest += counts.newest;
        self.dropped_newest_bytes += counts.newest_bytes;
        self.dropped_oldest += counts.oldest;
        self.dropped_oldest_bytes += counts.oldest_bytes;
        self.lost_bytes += counts.lost_bytes;
        self.stalled_ns += counts.stalled.whole_ns();
        self.written_bytes += collection.written.get() - collection.begun;
    }
}

impl Collectors {
    pub(super) fn count(&self, change: impl FnOnce(&mut CollectorCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// What all collections of this life have done.
    pub fn counts(&self) -> CollectorCounts {
        let mut counts = self.counts.get();
        for collection in self.open.borrow().values() {
            counts.add(collection);
        }
        counts
    }

    /// The drive's end of a wire has received bytes.
    pub(super) fn spend_on_wire(&self, collection: &Collection, bytes: u32) {
        let account = self
            .wires_account
            .get_or_init(|| self.ledger.open("collectors", "wires"));
        let bytes = collection.wire.wiring().wire_bytes(bytes.into());
        let energy = Energy::from_pj(bytes * u64::from(self.config.wire_pj_per_byte));
        self.ledger
            .spend(*account, collection.origin.tenant, energy);
    }

    /// What is told of the collections of a namespace, those that are over and not forgotten included, by port.
    pub fn list(&self, namespace: NamespaceId) -> Vec<CollectorRecord> {
        let mut records = BTreeMap::new();
        for (id, known) in &*self.known.borrow() {
            let mut record = known.told.unwrap_or_default();
            record.port = id.port.into();
            record.state = CollectorState::Over.code();
            record.identifier = known.position.identifier.into();
            record.bytes = known.position.bytes.into();
            records.insert(*id, record);
        }
        for (id, collection) in &*self.open.borrow() {
            records.insert(*id, collection.record());
        }
        let of = |id: &CollectorId| id.namespace == namespace;
        let records = records.into_iter().filter(|(id, _)| of(id));
        records.map(|(_, record)| record).collect()
    }
}

impl Collection {
    pub(super) fn record(&self) -> CollectorRecord {
        let counts = self.arrivals.counts();
        let state = match self.failure.borrow().is_some() {
            true => CollectorState::Failed,
            false => CollectorState::Collecting,
        };
        let room = self.extents.as_ref().map_or(0, Extents::bytes);
        let mut record = CollectorRecord::default();
        record.port = self.id.port.into();
        record.state = state.code();
        record.identifier = self.identifier.into();
        record.bytes = self.durable.get().into();
        record.room_bytes = room.into();
        record.packets = counts.packets.into();
        record.packet_bytes = counts.bytes.into();
        record.newest = counts.newest.into();
        record.newest_bytes = counts.newest_bytes.into();
        record.oldest = counts.oldest.into();
        record.oldest_bytes = counts.oldest_bytes.into();
        record.begun_bytes = self.begun.into();
        record.unread_bytes = self.unread.get().into();
        record.lost_bytes = counts.lost_bytes.into();
        record.stalled_ns = counts.stalled.whole_ns().into();
        record
    }
}
