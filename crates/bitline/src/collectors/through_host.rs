//! Collectors that are connected to the host, to compare with: what they send comes into its memory over a card's link, and the
//! host writes it to an object of the drive (Non-ISP and ISP-SC of TH-iSSD, Figure 2).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use device::port::{Wire, Wiring};
use device::stream::collect::Arrival;
use device::task::Data;
use host::volume::Object;
use nvme::collector::{CollectorRecord, CollectorState, Policy};
use sim::resource::Broadcast;
use sim::{JoinHandle, Name, Span, Time};

use super::Attach;
use crate::error::Error;
use crate::host_end::{Holder, Host};
use crate::placed::identifier_of;

/// The group of their lines in a trace.
const GROUP: &str = "host's collectors";

/// What the host collects of one port.
pub(super) struct Received {
    host: Host,
    port: u16,
    object: Object,
    wire: Wire,
    /// What came and is in no write yet, and when it is in memory.
    waiting: RefCell<VecDeque<(Time, Data)>>,
    /// Bytes that came and are not written.
    held: Cell<u64>,
    packets: Cell<u64>,
    taken: Cell<u64>,
    /// Bytes of the object that are being written, or are.
    begun: Cell<u64>,
    written: Cell<u64>,
    /// Writes that are over and those before them are not: where they begin, and their bytes.
    ahead: RefCell<BTreeMap<u64, u64>>,
    stalled: Cell<Span>,
    /// Packets that are held back.
    held_back: Cell<u32>,
    lost: Cell<u64>,
    /// Nothing more will come.
    is_closed: Cell<bool>,
    failure: RefCell<Option<Error>>,
    /// Announced when any of this changes.
    changed: Broadcast,
    writing: RefCell<Option<JoinHandle<()>>>,
}

/// # Errors
/// What a host's port cannot do.
fn check(asked: &Attach, ports: u32) -> Result<(), Error> {
    let refused = |text: String| Err(Error::usage(text));
    let Wiring {
        bytes_per_second,
        packet_bytes,
        ..
    } = asked.wiring;
    if u32::from(asked.port) >= ports {
        return refused(format!("port {} of {ports} (collector.ports)", asked.port));
    }
    if bytes_per_second == 0 || packet_bytes == 0 {
        return refused("a wire carries bytes, in packets that have some".into());
    }
    let may_lose = asked.policy != Policy::Stall;
    let may_grow = asked.grow_bytes > 0 || asked.low_bytes > 0;
    if may_lose || may_grow || asked.share_bytes > 0 || asked.goes_on {
        let text = "through the host, packets for which there is no room are held back, there are no shares, objects do not grow, and nothing is resumed";
        return refused(text.into());
    }
    if asked.object.is_none() {
        return refused(
            "through the host, a collector needs an object: streams read it then".into(),
        );
    }
    Ok(())
}

impl Received {
    /// Begins to collect.
    ///
    /// # Errors
    /// No object of that name; a port that is in use, or what only ports of the drive can do.
    pub(super) async fn open(
        host: &Host,
        asked: &Attach,
        ports: u32,
    ) -> Result<Rc<Received>, Error> {
        check(asked, ports)?;
        let holder = Holder::HostCollector(asked.port);
        let (object, held) = host.hold_collected(asked, holder).await?;
        host.check_ended(asked, Some(&object)).await?;
        if !host.receiver.take(asked.port) {
            return Err(Error::usage(format!(
                "port {} of the host is in use",
                asked.port
            )));
        }
        host.receiver.collecting.hold(asked.port, held);
        let track = host
            .sim
            .trace()
            .track(GROUP, Name::numbered("port", asked.port.into()));
        let received = Rc::new(Received {
            host: host.clone(),
            port: asked.port,
            object,
            wire: Wire::new(&host.sim, asked.wiring, track),
            waiting: RefCell::default(),
            held: Cell::new(0),
            packets: Cell::new(0),
            taken: Cell::new(0),
            begun: Cell::new(0),
            written: Cell::new(0),
            ahead: RefCell::default(),
            stalled: Cell::new(Span::ZERO),
            held_back: Cell::new(0),
            lost: Cell::new(0),
            is_closed: Cell::new(false),
            failure: RefCell::default(),
            changed: Broadcast::new(&host.sim),
            writing: RefCell::default(),
        });
        let writing = host.sim.spawn(received.clone().write_all());
        received.writing.replace(Some(writing));
        Ok(received)
    }

    /// Brings a packet into the host's memory, as soon as there is room for it.
    pub(super) async fn deliver(&self, packet: Data) -> Arrival {
        let bytes = u64::from(packet.bytes());
        self.wire.carry(packet.bytes()).await;
        let since = self.host.sim.now();
        let most = self.host.receiver.config().buffer_bytes;
        if self.held.get() + bytes > most {
            self.held_back.set(self.held_back.get() + 1);
            self.changed.announce();
            while self.held.get() + bytes > most && !self.is_over() {
                self.changed.next().await;
            }
            self.held_back.set(self.held_back.get() - 1);
        }
        let waited = self.host.sim.now().since(since);
        self.stalled.set(self.stalled.get() + waited);
        if self.is_over() {
            return Arrival::Closed;
        }
        let there = self.host.receiver.post(bytes);
        self.host.machine.memory_moves(bytes);
        self.held.set(self.held.get() + bytes);
        self.packets.set(self.packets.get() + 1);
        self.taken.set(self.taken.get() + bytes);
        self.waiting.borrow_mut().push_back((there, packet));
        self.changed.announce();
        Arrival::Taken
    }

    /// The most bytes that a packet may have.
    pub(super) fn packet_bytes_max(&self) -> u64 {
        self.host.receiver.config().buffer_bytes
    }

    /// Waits until packets are held back as the object is full.
    pub(super) async fn full(&self) {
        while self.begun.get() < self.object.content.bytes() || self.held_back.get() == 0 {
            self.changed.next().await;
        }
    }

    fn is_over(&self) -> bool {
        self.is_closed.get() || self.failure.borrow().is_some()
    }

    /// Writes what comes in stretches, several at a time, until nothing more will.
    async fn write_all(self: Rc<Self>) {
        let most = self.host.receiver.config().writes as usize;
        let mut writes: VecDeque<JoinHandle<()>> = VecDeque::new();
        while let Some(stretch) = self.stretch().await {
            let bytes = stretch.len() as u64;
            let offset = self.begun.replace(self.begun.get() + bytes);
            let write = self.clone().write_out(offset, stretch);
            writes.push_back(self.host.sim.spawn(write));
            while writes.len() >= most
                && let Some(first) = writes.pop_front()
            {
                first.await;
            }
        }
        for write in writes {
            write.await;
        }
    }

    async fn write_out(self: Rc<Self>, offset: u64, stretch: Vec<u8>) {
        let bytes = stretch.len() as u64;
        match self.write(offset, stretch).await {
            Ok(()) => {
                self.held.set(self.held.get() - bytes);
                let mut ahead = self.ahead.borrow_mut();
                ahead.insert(offset, bytes);
                while let Some(bytes) = ahead.remove(&self.written.get()) {
                    self.written.set(self.written.get() + bytes);
                }
            }
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
            }
        }
        self.changed.announce();
    }

    /// What is to be written next, once all of it is in memory; nothing at the end.
    async fn stretch(&self) -> Option<Vec<u8>> {
        let room = self.object.content.bytes() - self.begun.get();
        let most = self.host.receiver.config().write_bytes.min(room);
        let (mut stretch, mut there) = (Vec::new(), self.host.sim.now());
        while (stretch.len() as u64) < most || most == 0 {
            if self.failure.borrow().is_some() {
                return None;
            }
            let next = self.waiting.borrow_mut().pop_front();
            let Some((arrives, data)) = next else {
                if self.is_closed.get() {
                    break;
                }
                self.changed.next().await;
                continue;
            };
            there = there.max(arrives);
            if most == 0 {
                // The object is full: what comes is held back.
                self.waiting.borrow_mut().push_front((arrives, data));
                if self.is_closed.get() {
                    break;
                }
                self.changed.next().await;
                continue;
            }
            let left = (most - stretch.len() as u64) as u32;
            let (part, rest) = data.split(left);
            if rest.bytes() > 0 {
                self.waiting.borrow_mut().push_front((arrives, rest));
            }
            match part {
                Data::Bytes(bytes) => stretch.extend(bytes),
                Data::Untold(bytes) => stretch.resize(stretch.len() + bytes as usize, 0),
            }
        }
        self.host.sim.sleep_until(there).await;
        (!stretch.is_empty()).then_some(stretch)
    }

    /// A program of the host takes bytes from the card's driver and writes them.
    async fn write(&self, offset: u64, stretch: Vec<u8>) -> Result<(), Error> {
        let machine = &self.host.machine;
        let (bytes, config) = (stretch.len() as u64, machine.config());
        let calls = config.wake_ns + 2 * config.call_ns + config.request_ns;
        machine.memory_moves(3 * bytes);
        machine.kernel(calls + machine.copy_ns(bytes)).await;
        let written = self.object.write(&self.host.block, offset, &stretch);
        Ok(written.await?)
    }

    /// What is known of it.
    ///
    /// # Errors
    /// What the drive reported of a write.
    pub(super) fn status(&self) -> Result<CollectorRecord, Error> {
        if let Some(error) = self.failure.take() {
            self.is_closed.set(true);
            return Err(error);
        }
        let mut record = CollectorRecord::default();
        record.port.set(self.port.into());
        record.state = match self.is_closed.get() {
            true => CollectorState::Over.code(),
            false => CollectorState::Collecting.code(),
        };
        record.identifier.set(identifier_of(Some(&self.object)));
        record.bytes.set(self.written.get());
        record.room_bytes.set(self.object.content.bytes());
        record.packets.set(self.packets.get());
        record.packet_bytes.set(self.taken.get());
        record.lost_bytes.set(self.lost.get());
        record.stalled_ns.set(self.stalled.get().whole_ns());
        Ok(record)
    }

    /// Ends it: what has come is in the drive for good, as far as the object has room, which has as many bytes then. Gives what is told
    /// of it at its end.
    ///
    /// # Errors
    /// [`Error::Held`]; what the drive reports.
    pub(super) async fn close(&self) -> Result<CollectorRecord, Error> {
        let object = self.host.same_object(&self.object).await?;
        let own = Holder::HostCollector(self.port);
        if let Some(object) = &object {
            let uses = &self.host.mount.uses;
            uses.check(object, |holder| holder != own)?;
        }
        self.is_closed.set(true);
        self.changed.announce();
        let writing = self.writing.take();
        if let Some(writing) = writing {
            writing.await;
        }
        self.lost.set(self.taken.get() - self.begun.get());
        self.host.receiver.give_back(self.port);
        self.host.receiver.collecting.forget(self.port);
        let Some(object) = object else {
            // It went with the drive's volume, and what was collected with it.
            self.lost.set(self.taken.get());
            self.written.set(0);
            return self.status();
        };
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        self.host.block.flush().await?;
        let bytes = self.written.get();
        if bytes < object.content.bytes() && !object.is_placed() {
            self.host.truncate_object(&object.name, bytes).await?;
        }
        self.status()
    }
}
