//! Collectors: cameras and sensors that feed the drive over ports of their own, without the host (TH-iSSD 3.2, Figures 2 and 3).
//!
//! ```
//! use bitline::{Attach, Config, Drive, Pace, Wiring};
//!
//! let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
//! drive.collectors().allocate("frames", 1 << 20)?;
//! let camera = Attach::to(0, "frames").wired(Wiring {
//!     bytes_per_second: 125_000_000,
//!     packet_bytes: 1500,
//!     overhead_bytes: 38,
//! });
//! let collector = drive.collectors().attach(&camera)?;
//! drive.collectors().generate(&collector, Pace::even(10e6), 4096, 100_000)?;
//! drive.collectors().run(&collector)?;
//! assert_eq!(drive.collectors().detach(collector)?, 100_000);
//! assert_eq!(drive.volume().read("frames")?.len(), 100_000);
//! # Ok::<(), bitline::Error>(())
//! ```

mod operations;
mod source;
mod through_host;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use device::stream::Collectors as Ports;
use device::stream::collect::Arrival;
use device::task::Data;
use host::tasks::TaskError;
use host::volume::Object;
use nvme::collector::{CollectorRecord, CollectorState, Policy};
use sim::resource::Broadcast;
use sim::{Random, Sim};

pub use device::port::Wiring;
pub use source::{Generator, Handed, HandedOver, Pace, Packet, Source, Timing};

use crate::drive::{Drive, InsideDrive};
use crate::error::Error;
use crate::host_end::{Collecting, Host};
use through_host::Received;

/// Bytes that are on their way over a wire at a time where a packet has more than the switch has room for.
const PART_BYTES: u32 = 16 << 10;

/// What a collector is attached with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attach {
    /// The port.
    pub port: u16,
    /// What its wire is.
    pub wiring: Wiring,
    /// The object that it goes to; none if it is for a stream only.
    pub object: Option<String>,
    /// What becomes of packets for which there is no room.
    pub policy: Policy,
    /// Bytes that it may have in the drive's memory; 0 is the drive's choice.
    pub share_bytes: u32,
    /// Bytes of room in the object below which more is added.
    pub low_bytes: u32,
    /// Bytes that are added then; 0 adds none.
    pub grow_bytes: u64,
    /// It goes on where the last one of this object ended on this port.
    pub goes_on: bool,
    /// It is connected to the host, which writes what comes to the drive, to compare with; the port is one of the host's then.
    pub through_host: bool,
}

impl Attach {
    /// To an object, over 10 Gigabit Ethernet with frames of 1500 bytes.
    pub fn to(port: u16, object: impl Into<String>) -> Attach {
        Attach {
            object: Some(object.into()),
            ..Attach::for_streams(port)
        }
    }

    /// To streams only, which take what comes as their input.
    pub fn for_streams(port: u16) -> Attach {
        Attach {
            port,
            wiring: Wiring {
                bytes_per_second: 1_250_000_000,
                packet_bytes: 1500,
                overhead_bytes: 38,
            },
            object: None,
            policy: Policy::Stall,
            share_bytes: 0,
            low_bytes: 0,
            grow_bytes: 0,
            goes_on: false,
            through_host: false,
        }
    }

    /// Over this wire.
    pub fn wired(mut self, wiring: Wiring) -> Attach {
        self.wiring = wiring;
        self
    }

    /// What becomes of packets for which there is no room.
    pub fn policy(mut self, policy: Policy) -> Attach {
        self.policy = policy;
        self
    }

    /// Bytes that it may have in the drive's memory.
    pub fn share(mut self, bytes: u32) -> Attach {
        self.share_bytes = bytes;
        self
    }

    /// Has the object grow by so many bytes whenever there is room for less than `low` bytes.
    pub fn growing(mut self, low: u32, by: u64) -> Attach {
        self.low_bytes = low;
        self.grow_bytes = by;
        self
    }

    /// Goes on where the last one of this object ended on this port.
    pub fn going_on(mut self) -> Attach {
        self.goes_on = true;
        self
    }

    /// Connected to the host, which writes what comes to the drive.
    pub fn through_host(mut self) -> Attach {
        self.through_host = true;
        self
    }
}

/// Who takes what a collector sends.
#[derive(Clone)]
enum Taker {
    Drive(Rc<Ports>),
    Host(Rc<Received>),
}

impl Taker {
    async fn deliver(&self, port: u16, packet: Data) -> Arrival {
        match self {
            Taker::Drive(ports) => ports.deliver(port.into(), packet).await,
            Taker::Host(received) => received.deliver(packet).await,
        }
    }

    /// The most bytes that a packet may have; none if nobody takes any.
    fn packet_bytes_max(&self, port: u16) -> Option<u64> {
        match self {
            Taker::Drive(ports) => ports.packet_bytes_max(port.into()),
            Taker::Host(received) => Some(received.packet_bytes_max()),
        }
    }

    /// What is known of who sends.
    fn collecting<'a>(&self, host: &'a Host) -> &'a Collecting {
        match self {
            Taker::Drive(_) => &host.collecting,
            Taker::Host(_) => &host.receiver.collecting,
        }
    }
}

/// A collector that is attached.
#[derive(Clone)]
pub struct Collector(Rc<Attached>);

struct Attached {
    port: u16,
    object: Option<Object>,
    host: Host,
    taker: Taker,
    changed: Broadcast,
    sources: Cell<u32>,
}

impl Attached {
    fn collecting(&self) -> &Collecting {
        self.taker.collecting(&self.host)
    }
}

impl Collector {
    /// Its port.
    pub fn port(&self) -> u16 {
        self.0.port
    }
}

/// The collectors of a drive.
pub struct Collectors<'a>(&'a mut Drive);

impl Drive {
    /// The collectors of this drive.
    pub fn collectors(&mut self) -> Collectors<'_> {
        Collectors(self)
    }
}

impl Collectors<'_> {
    /// Makes an object that has room for so many bytes, all zero: extents that are set aside for collectors (fallocate).
    ///
    /// # Errors
    /// There is one of that name; no space.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        let name = name.to_owned();
        self.run_host(|host| async move { host.allocate_object(&name, bytes).await })
    }

    /// Attaches a collector: what is sent to its port is collected from now on.
    ///
    /// # Errors
    /// A port or a wire that the drive does not have; no object of that name; what the drive reports: Collector In Use, Collector Limit
    /// Reached; Invalid Field where there is nothing to go on with.
    pub fn attach(&mut self, asked: &Attach) -> Result<Collector, Error> {
        if asked.through_host {
            return self.attach_to_host(asked);
        }
        let ports = self.ports()?;
        let plugged = ports.plug(asked.port.into(), asked.wiring);
        plugged.map_err(|reason| Error::Task(TaskError::Usage(reason)))?;
        let (inside, host) = (asked.clone(), self.0.host()?);
        let opened = self.run_host(|host| async move { host.open_collector(&inside).await })?;
        let (_, object) = opened;
        if let (Some(name), true) = (&asked.object, asked.grow_bytes > 0) {
            self.grow(asked.port, name, (asked.grow_bytes, asked.low_bytes.into()))?;
        }
        Ok(Collector(Rc::new(Attached {
            port: asked.port,
            object,
            taker: Taker::Drive(ports),
            changed: Broadcast::new(host.sim()),
            host,
            sources: Cell::new(0),
        })))
    }

    fn attach_to_host(&mut self, asked: &Attach) -> Result<Collector, Error> {
        let (inside, host) = (asked.clone(), self.0.host()?);
        let ports = self.0.config().device.collector.ports;
        let open = async move |host: Host| Received::open(&host, &inside, ports).await;
        let received = self.run_host(|host| async move { open(host).await })?;
        Ok(Collector(Rc::new(Attached {
            port: asked.port,
            object: None,
            taker: Taker::Host(received),
            changed: Broadcast::new(host.sim()),
            host,
            sources: Cell::new(0),
        })))
    }

    fn grow(&mut self, port: u16, name: &str, (by, low): (u64, u64)) -> Result<(), Error> {
        let growing = self.0.host()?.collecting.clone();
        let entry = (name.to_owned(), by, low);
        growing.objects.borrow_mut().insert(port, entry);
        growing.failures.borrow_mut().remove(&port);
        if !growing.is_watched.replace(true) {
            let host = self.0.host()?;
            let sim = host.sim().clone();
            sim.spawn_detached(host.extend_in_time(growing));
        }
        Ok(())
    }

    /// Has a collector send what a source gives, from now on, as time passes.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn send(
        &mut self,
        collector: &Collector,
        source: impl Source + 'static,
    ) -> Result<(), Error> {
        // That there is power.
        self.0.host()?;
        let attached = &collector.0;
        let (sim, keeps_data) = (attached.host.sim().clone(), attached.host.stores_data);
        attached.collecting().begin(attached.port);
        let sending = send(sim.clone(), collector.clone(), Box::new(source), keeps_data);
        sim.spawn_detached(sending);
        Ok(())
    }

    /// Has a collector send so many random bytes at a pace, in packets of so many.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn generate(
        &mut self,
        collector: &Collector,
        pace: Pace,
        packet_bytes: u32,
        bytes: u64,
    ) -> Result<(), Error> {
        let random = (
            self.random(collector, "pace"),
            self.random(collector, "content"),
        );
        let keeps_data = collector.0.host.stores_data;
        let generator = Generator::new((pace, packet_bytes, bytes), random, keeps_data);
        collector.0.sources.set(collector.0.sources.get() + 1);
        self.send(collector, generator)
    }

    /// When packets of a collector are sent that are handed over, at a pace.
    pub fn timing(&self, collector: &Collector, pace: Pace) -> Rc<RefCell<Timing>> {
        let random = self.random(collector, "pace");
        collector.0.sources.set(collector.0.sources.get() + 1);
        Rc::new(RefCell::new(Timing::new(pace, random)))
    }

    /// Randomness of a collector's own, another one for each of its sources.
    fn random(&self, collector: &Collector, of: &str) -> Random {
        let (port, source) = (collector.0.port, collector.0.sources.get());
        let name = format!("collector {port}, source {source}, {of}");
        collector.0.host.sim().random(&name)
    }

    /// Lets time pass until a collector has sent everything.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn run(&mut self, collector: &Collector) -> Result<(), Error> {
        let inside = collector.clone();
        self.run_host(|_| async move {
            while inside.0.collecting().sends(inside.0.port) {
                inside.0.changed.next().await;
            }
            Ok(())
        })
    }

    /// What the drive tells of a collector.
    ///
    /// # Errors
    /// What the drive reports; that its object could not grow.
    pub fn status(&mut self, collector: &Collector) -> Result<CollectorRecord, Error> {
        let port = collector.0.port;
        if let Taker::Host(received) = &collector.0.taker {
            return received.status();
        }
        let failed = self
            .0
            .host()?
            .collecting
            .failures
            .borrow_mut()
            .remove(&port);
        if let Some(error) = failed {
            return Err(error);
        }
        let record = self.run_host(|host| async move { host.collector_record(port).await })?;
        record.ok_or_else(|| {
            Error::Task(TaskError::Usage(format!(
                "nothing is collected at port {port}"
            )))
        })
    }

    /// What the drive tells of all its collections: those that go on, and those that a power cut has ended.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn list(&mut self) -> Result<Vec<CollectorRecord>, Error> {
        self.run_host(|host| async move { Ok(host.collector_device().list().await?) })
    }

    /// Ends a collection: what has come goes where it goes, for good, and the object has as many bytes as were collected. Gives how many.
    ///
    /// # Errors
    /// What the drive reports: Internal Error if what came could not be written.
    pub fn detach(&mut self, collector: Collector) -> Result<u64, Error> {
        let port = collector.0.port;
        if let Taker::Host(received) = collector.0.taker.clone() {
            return self.run_host(|_| async move { received.close().await });
        }
        self.0.host()?.collecting.objects.borrow_mut().remove(&port);
        let inside = collector.clone();
        self.run_host(|host| async move {
            let closed = host.collector_device().close(port).await;
            host.end_collecting(inside.0.object.as_ref());
            let bytes = closed?;
            host.settle(port, inside.0.object.as_ref(), bytes).await?;
            Ok(bytes)
        })
    }

    /// Ends a collection that a power cut has ended, if its object is not to go on: the object has as many bytes as are there for
    /// good. Gives how many.
    ///
    /// # Errors
    /// Nothing was collected at that port; what the drive reports.
    pub fn settle(&mut self, port: u16) -> Result<u64, Error> {
        self.run_host(|host| async move {
            let record = host.collector_record(port).await?;
            let over = record.filter(|record| {
                CollectorState::of_code(record.state) == Some(CollectorState::Over)
            });
            let record = over.ok_or_else(|| {
                Error::Task(TaskError::Usage(format!(
                    "no collection has ended at port {port}"
                )))
            })?;
            let objects = host.objects().await?;
            let mut objects = objects.into_iter();
            let object =
                objects.find(|object| u64::from(object.id.get()) == record.identifier.get());
            host.settle(port, object.as_ref(), record.bytes.get())
                .await?;
            Ok(record.bytes.get())
        })
    }

    fn ports(&self) -> Result<Rc<Ports>, Error> {
        Ok(self.0.device()?.collectors.clone())
    }

    fn run_host<T: 'static, F>(&mut self, function: impl FnOnce(Host) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + 'static,
    {
        self.0.run(function)?
    }
}

impl Host {
    /// Gives an object the bytes that were collected, and has the drive forget of them.
    async fn settle(&self, port: u16, object: Option<&Object>, bytes: u64) -> Result<(), Error> {
        let Some(object) = object else {
            return Ok(());
        };
        if bytes < object.content.bytes() || self.has_grown(object).await? {
            self.truncate_object(&object.name, bytes).await?;
        }
        self.collector_device().close(port).await?;
        Ok(())
    }

    async fn has_grown(&self, object: &Object) -> Result<bool, Error> {
        let now = self.object(&object.name).await?;
        Ok(now.is_some_and(|now| now.content.bytes() > object.content.bytes()))
    }
}

/// Sends what a source gives until its end, or until nobody collects any more.
async fn send(sim: Sim, collector: Collector, mut source: Box<dyn Source>, keeps_data: bool) {
    let (port, taker) = (collector.0.port, collector.0.taker.clone());
    let mut due = sim.now();
    while let Some(packet) = source.next() {
        due = (due + packet.after).max(sim.now());
        sim.sleep_until(due).await;
        let mut rest = match keeps_data {
            true => Data::Bytes(packet.data),
            false => Data::Untold(packet.data.len() as u32),
        };
        let fits = taker
            .packet_bytes_max(port)
            .is_some_and(|most| u64::from(rest.bytes()) <= most);
        let part_bytes = if fits { u32::MAX } else { PART_BYTES };
        let mut is_closed = false;
        while rest.bytes() > 0 && !is_closed {
            let (part, after) = rest.split(part_bytes);
            rest = after;
            is_closed = taker.deliver(port, part).await == Arrival::Closed;
        }
        if is_closed {
            break;
        }
    }
    collector.0.collecting().end(port);
    collector.0.changed.announce();
}
