//! Collections: what collectors (cameras, sensors) send over ports of their own, on its way to flash and to tasks without the host
//! (TH-iSSD 3.2, Figures 2 and 3).
//!
//! `arrivals` has packets that wait in the switch and drops or holds back those for which there is no room; `collection` cuts them into
//! pages, which go to the `extents` that the host has set aside, to a stream, or to both. `keep` has the journal know how far that has
//! come, as a `position`: after a power cut what lies before it is there, in order and without holes, as in a log-structured file system
//! (3.1).

mod arrivals;
mod claim;
mod collection;
mod config;
mod extents;
mod keep;
mod position;
mod told;
mod turns;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::collector::{CollectorRecord, Policy};
use nvme::{NamespaceId, Status};
use sim::resource::Broadcast;
use sim::{AccountId, Ledger, Sim};

use arrivals::Arrivals;
pub use arrivals::{Arrival, ArrivalCounts};
use claim::{Claim, Claimed};
use collection::Collection;
pub use config::CollectorConfig;
use extents::Extents;
use position::Position;
pub use told::CollectorCounts;
use turns::Turns;

use super::{StreamId, Streams};
use crate::backend::Backend;
use crate::ftl::{Ftl, FtlError};
use crate::memory::DramMap;
use crate::part::Part;
use crate::port::{Switch, Wire, Wiring};
use crate::schedule::Origin;
use crate::task::Data;
use crate::tx::{File, Transactions};

/// What names a collection: its namespace, and the port from which it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CollectorId {
    /// The namespace of its extents.
    pub namespace: NamespaceId,
    /// The port.
    pub port: u32,
}

/// What a collection is asked to be.
pub struct CollectRequest {
    /// What its owner calls it.
    pub identifier: u64,
    /// Where it goes; nowhere if it is for a task only.
    pub file: Option<File>,
    /// What becomes of packets for which there is no room.
    pub policy: Policy,
    /// Bytes that it may have in the switch; 0 is the drive's choice.
    pub share_bytes: u64,
    /// Bytes of room below which the host is told.
    pub low_bytes: u64,
    /// It goes on where the one of this identifier ended on this port, and does not begin anew.
    pub goes_on: bool,
}

/// What is known of a collection that is over.
#[derive(Clone, Copy)]
struct Known {
    position: Position,
    /// What was told of it at its end; nothing of one that a power cut has ended.
    told: Option<CollectorRecord>,
}

impl From<Position> for Known {
    fn from(position: Position) -> Known {
        let told = None;
        Known { position, told }
    }
}

/// How a collection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Bytes that are there.
    pub bytes: u64,
}

/// The collections of a drive.
pub struct Collectors {
    sim: Sim,
    config: CollectorConfig,
    page_bytes: u32,
    planes: u32,
    ftl: Rc<Ftl>,
    map: DramMap,
    switch: Rc<Switch>,
    transactions: Rc<Transactions>,
    streams: Rc<Streams>,
    /// Wires that were plugged in, by port.
    wires: RefCell<BTreeMap<u32, Wiring>>,
    open: RefCell<BTreeMap<CollectorId, Rc<Collection>>>,
    /// What the journal has.
    known: RefCell<BTreeMap<CollectorId, Known>>,
    /// What collections have, those that are about to be open included.
    claimed: Rc<Claimed>,
    turns: Rc<Turns>,
    /// The journal is being written.
    keeping: Cell<bool>,
    /// It will be, after a while.
    is_due: Cell<bool>,
    kept: Broadcast,
    /// Called when there is little room left somewhere.
    low_room: RefCell<Option<Rc<dyn Fn()>>>,
    /// What collections did that are over, and what all have given to tasks.
    counts: Cell<CollectorCounts>,
    /// What the ends of wires spend.
    ledger: Rc<Ledger>,
    wires_account: OnceCell<AccountId>,
}

impl Collectors {
    /// None goes on; how far earlier ones came is known.
    pub(crate) fn power_up(
        backend: &Backend,
        config: &CollectorConfig,
        (transactions, streams): (Rc<Transactions>, Rc<Streams>),
    ) -> Rc<Collectors> {
        let Backend { sim, ftl, .. } = backend;
        let map = backend.dram_map;
        let planes = backend.schedule.geometry().planes();
        let facts = ftl.facts_of(position::POSITIONS).into_iter();
        let known = facts.filter_map(|(key, fact)| position::decode(key, &fact));
        let known = known.map(|(id, position)| (id, Known::from(position)));
        Rc::new(Collectors {
            sim: sim.clone(),
            config: *config,
            page_bytes: ftl.unit().page_bytes(),
            planes,
            ftl: ftl.clone(),
            map,
            switch: Rc::new(Switch::new(sim, &backend.dram, map.collectors)),
            transactions,
            streams,
            wires: RefCell::default(),
            open: RefCell::default(),
            known: RefCell::new(known.collect()),
            claimed: Rc::default(),
            turns: Turns::new(sim, planes.saturating_mul(config.writes_per_plane)),
            keeping: Cell::new(false),
            is_due: Cell::new(false),
            kept: Broadcast::new(sim),
            low_room: RefCell::default(),
            counts: Cell::default(),
            ledger: backend.ledger.clone(),
            wires_account: OnceCell::new(),
        })
    }

    /// Plugs a wire into a port. It stays until another one is; a collection has the one that was there when it was opened.
    ///
    /// # Errors
    /// Why there can be no such wire.
    pub fn plug(&self, port: u32, wiring: Wiring) -> Result<(), String> {
        if port >= self.config.ports {
            let ports = self.config.ports;
            return Err(format!("port {port} of {ports} (collector.ports)"));
        }
        let most = u64::from(self.config.port_megabytes_per_second) * 1_000_000;
        let rate = wiring.bytes_per_second;
        if rate == 0 || rate > most || wiring.packet_bytes == 0 {
            return Err(format!(
                "a wire of {rate} bytes a second with packets of {} bytes: a port takes 1 to {most} bytes a second (collector.port_megabytes_per_second), and packets have bytes",
                wiring.packet_bytes
            ));
        }
        self.wires.borrow_mut().insert(port, wiring);
        Ok(())
    }

    /// Has `low_room` called whenever there is little room left for a collection.
    pub fn on_low_room(&self, low_room: Rc<dyn Fn()>) {
        *self.low_room.borrow_mut() = Some(low_room);
    }

    fn tell_of_low_room(&self) {
        let low_room = self.low_room.borrow().clone();
        if let Some(low_room) = low_room {
            low_room();
        }
    }

    /// Opens a collection, which takes what comes over its port from now on.
    ///
    /// # Errors
    /// Invalid Field for a port without a wire, a share or a file that cannot be, or where there is nothing to go on with; Collector In
    /// Use; Collector Limit Reached if the switch has no such share left.
    pub async fn open(
        self: &Rc<Collectors>,
        id: CollectorId,
        asked: CollectRequest,
        origin: Origin,
    ) -> Result<u64, Status> {
        let wiring = self.wires.borrow().get(&id.port).copied();
        let wiring = wiring.ok_or(Status::INVALID_FIELD)?;
        if self.claimed.has(id.port) {
            return Err(Status::COLLECTOR_IN_USE);
        }
        let page_bytes = u64::from(self.page_bytes);
        let share = match asked.share_bytes {
            0 => self.share_for(wiring),
            asked => asked,
        };
        let begin = match (asked.goes_on, self.known.borrow().get(&id)) {
            (true, Some(known)) if known.position.identifier == asked.identifier => {
                known.position.bytes
            }
            (true, _) => return Err(Status::INVALID_FIELD),
            (false, _) => 0,
        };
        let is_writable = asked.file.as_ref().is_none_or(File::is_writable);
        let has_room = asked.file.as_ref().is_none_or(|file| file.bytes() >= begin);
        if share < 2 * page_bytes || !is_writable || !has_room {
            return Err(Status::INVALID_FIELD);
        }
        if share > self.config.buffer_bytes - self.claimed.bytes() {
            return Err(Status::COLLECTOR_LIMIT_REACHED);
        }
        let claim = Claim::new(&self.claimed, id.port, share);
        let collection = self
            .begin(id, asked, (claim, begin), wiring, origin)
            .await?;
        self.open.borrow_mut().insert(id, collection.clone());
        self.known.borrow_mut().remove(&id);
        self.count(|counts| counts.opened += 1);
        let collectors = self.clone();
        self.sim.spawn_detached(collection.pump(collectors));
        Ok(begin)
    }

    /// What a collector has of the switch that asks for nothing: what its wire brings in a while, of what is left.
    fn share_for(&self, wiring: Wiring) -> u64 {
        let least = self.config.share_bytes.max(4 * u64::from(self.page_bytes));
        let brings = u128::from(wiring.bytes_per_second) * u128::from(self.config.share_us);
        let brings = u64::try_from(brings / 1_000_000).unwrap_or(u64::MAX);
        let others =
            u64::from(self.config.ports).saturating_sub(1 + self.open.borrow().len() as u64);
        let left = self.config.buffer_bytes - self.claimed.bytes();
        // Half, for those that come after it.
        let more = left.saturating_sub((others + 1).saturating_mul(least)) / 2;
        least + brings.saturating_sub(least).min(more)
    }

    async fn begin(
        self: &Rc<Collectors>,
        id: CollectorId,
        asked: CollectRequest,
        (claim, begin): (Claim, u64),
        wiring: Wiring,
        origin: Origin,
    ) -> Result<Rc<Collection>, Status> {
        let extents = match asked.file {
            None => None,
            Some(file) => {
                let extents = Extents::new(&self.sim);
                extents.add(self.run_over(file, origin).await?);
                let fact = position::encode(Position {
                    identifier: asked.identifier,
                    bytes: begin,
                });
                // What was collected before is not taken for this one after a power cut.
                let put = self.ftl.put_fact(position::key(id), &fact).await;
                put.map_err(|error| unkept(&error))?;
                Some(extents)
            }
        };
        let wire = Wire::new(&self.sim, wiring, self.switch.track(id.port));
        Ok(Rc::new(Collection {
            sim: self.sim.clone(),
            id,
            identifier: asked.identifier,
            origin,
            arrivals: Arrivals::new(&self.sim, asked.policy, claim.share()),
            _claim: claim,
            wire,
            switch: self.switch.clone(),
            extents,
            low_bytes: asked.low_bytes,
            wants_room: Cell::new(false),
            told_of: Cell::new(0),
            page_bytes: self.page_bytes.into(),
            row_bytes: u64::from(self.page_bytes) * u64::from(self.planes),
            had: Cell::new(0),
            begun: begin,
            written: Cell::new(begin),
            durable: Cell::new(begin),
            stream: RefCell::default(),
            unread: Cell::new(0),
            is_busy: Cell::new(false),
            failure: RefCell::default(),
            is_over: Cell::new(false),
            changed: Broadcast::new(&self.sim),
        }))
    }

    async fn run_over(
        &self,
        file: File,
        origin: Origin,
    ) -> Result<Rc<crate::tx::Transaction>, Status> {
        let begun = self.transactions.open_beside(vec![file], origin).await;
        begun.map_err(|_| Status::CAPACITY_EXCEEDED)
    }

    /// Adds extents behind those that a collection has.
    ///
    /// # Errors
    /// No Such Collector; Command Sequence Error if it goes to a task only.
    pub async fn extend(&self, id: CollectorId, file: File, origin: Origin) -> Result<(), Status> {
        let collection = self.of(id)?;
        let Some(extents) = &collection.extents else {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        };
        if !file.is_writable() || file.bytes() == 0 {
            return Err(Status::INVALID_FIELD);
        }
        extents.add(self.run_over(file, origin).await?);
        Ok(())
    }

    /// Ends a collection: what has arrived goes where there is room for it, and it is durable that it is there. One that
    /// does not go on is forgotten.
    ///
    /// # Errors
    /// No Such Collector; Internal Error if what came could not be written.
    pub async fn close(&self, id: CollectorId) -> Result<Collected, Status> {
        let Ok(collection) = self.of(id) else {
            return self.forget(id).await;
        };
        collection.stop();
        while !collection.is_over.get() {
            collection.changed.next().await;
        }
        let is_same = self.of(id).is_ok_and(|open| Rc::ptr_eq(&open, &collection));
        if !is_same {
            // Another one closed it meanwhile.
            return Err(Status::NO_SUCH_COLLECTOR);
        }
        self.open.borrow_mut().remove(&id);
        self.count(|counts| counts.add(&collection));
        if collection.extents.is_some() {
            let position = Position {
                identifier: collection.identifier,
                bytes: collection.durable.get(),
            };
            let told = Some(collection.record());
            let known = Known { position, told };
            self.known.borrow_mut().insert(id, known);
        }
        match collection.failure.borrow().is_none() {
            true => Ok(Collected {
                bytes: collection.durable.get(),
            }),
            false => Err(Status::INTERNAL_ERROR),
        }
    }

    /// Forgets how far a collection came that is over.
    async fn forget(&self, id: CollectorId) -> Result<Collected, Status> {
        let known = self.known.borrow().get(&id).copied();
        let known = known.ok_or(Status::NO_SUCH_COLLECTOR)?;
        let gone = self.ftl.put_facts(vec![(position::key(id), None)]).await;
        gone.map_err(|error| unkept(&error))?;
        self.known.borrow_mut().remove(&id);
        Ok(Collected {
            bytes: known.position.bytes,
        })
    }

    /// Ends and forgets the collections of a namespace.
    pub async fn stop(&self, namespace: NamespaceId) {
        let open: Vec<CollectorId> = self.open.borrow().keys().copied().collect();
        let known: Vec<CollectorId> = self.known.borrow().keys().copied().collect();
        for id in open.iter().chain(&open).chain(&known) {
            if id.namespace == namespace {
                // The first time it is ended, the second time forgotten; one that is gone by then is gone.
                let _ = self.close(*id).await;
            }
        }
    }

    /// Has a stream take what comes over a port from now on.
    ///
    /// # Errors
    /// No Such Collector; Collector In Use if another one does.
    pub(crate) fn tap(&self, id: CollectorId, stream: StreamId) -> Result<(), Status> {
        let collection = self.of(id)?;
        let tap = &mut *collection.stream.borrow_mut();
        if tap.is_some_and(|tapping| self.streams.is_open(tapping)) {
            return Err(Status::COLLECTOR_IN_USE);
        }
        *tap = Some(stream);
        self.streams.set_coming(stream, collection.is_busy.get());
        Ok(())
    }

    /// A packet comes over the wire of a port, after those before it; returns when it is in the switch, or dropped.
    pub async fn deliver(&self, port: u32, packet: Data) -> Arrival {
        let Some(collection) = self.on(port) else {
            return Arrival::Closed;
        };
        let bytes = packet.bytes();
        collection.wire.carry(bytes).await;
        self.spend_on_wire(&collection, bytes);
        match collection.arrivals.admit(bytes.into()).await {
            Ok(admitted) => {
                self.switch.release(admitted.dropped);
                let requester = collection.origin.requester();
                self.switch.take_in(requester, bytes).await;
                admitted.put(packet);
                Arrival::Taken
            }
            Err(arrival) => arrival,
        }
    }

    /// Whether packets of a port are held back until its extents have more room.
    pub fn is_full(&self, port: u32) -> bool {
        self.on(port).is_some_and(|collection| collection.is_full())
    }

    /// Waits until they are.
    pub async fn full(&self, port: u32) {
        let Some(collection) = self.on(port) else {
            return std::future::pending().await;
        };
        while !collection.is_full() {
            collection.arrivals.changed().await;
        }
    }

    /// The most bytes that a packet of a collection may have; none if there is no such collection.
    pub fn packet_bytes_max(&self, port: u32) -> Option<u64> {
        let collection = self.on(port)?;
        Some(collection.arrivals.share() - collection.page_bytes)
    }

    /// What is collected from a port.
    fn on(&self, port: u32) -> Option<Rc<Collection>> {
        let open = self.open.borrow();
        let found = open.iter().find(|(id, _)| id.port == port);
        found.map(|(_, collection)| collection.clone())
    }

    /// # Errors
    /// No Such Collector.
    fn of(&self, id: CollectorId) -> Result<Rc<Collection>, Status> {
        let open = self.open.borrow();
        open.get(&id).cloned().ok_or(Status::NO_SUCH_COLLECTOR)
    }

    /// The most bytes that were in the switch at once.
    pub fn held_most(&self) -> u64 {
        self.switch.held_most()
    }
}

/// What is told of a position that the journal did not take.
fn unkept(error: &FtlError) -> Status {
    match error {
        FtlError::NoSpace => Status::CAPACITY_EXCEEDED,
        _ => Status::INTERNAL_ERROR,
    }
}

impl Part for Collectors {
    fn name(&self) -> &'static str {
        "collectors"
    }
}
