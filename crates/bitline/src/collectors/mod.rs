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

mod attach;
mod ending;
mod opening;
mod operations;
mod sending;
mod source;
mod through_host;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use device::stream::Collectors as Ports;
use device::stream::collect::Arrival;
use device::task::Data;
use host::volume::Object;
use nvme::collector::CollectorRecord;
use sim::Random;
use sim::resource::{Broadcast, Semaphore};

pub use attach::Attach;
pub use device::port::Wiring;
pub use source::{Generator, Pace, Packet, Source, Timing};

use crate::drive::Drive;
use crate::driver::Driver;
use crate::error::Error;
use crate::host_end::{Collecting, Growth, Host};
use through_host::Received;

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
    fn collecting<'a>(&'a self, host: &'a Host) -> &'a Rc<Collecting> {
        match self {
            Taker::Drive(_) => &host.collecting,
            Taker::Host(_) => &host.receiver.collecting,
        }
    }

    /// Waits until packets are held back as the object of a port is full.
    async fn full(&self, port: u16) {
        match self {
            Taker::Drive(ports) => ports.full(port.into()).await,
            Taker::Host(received) => received.full().await,
        }
    }
}

/// A collector that is attached.
#[derive(Clone)]
pub struct Collector(Rc<Attached>);

struct Attached {
    port: u16,
    object: Option<Object>,
    /// Where it began.
    begun: u64,
    host: Host,
    taker: Taker,
    sources: Cell<u32>,
    /// One packet is on its way at a time, whoever sends it.
    line: Semaphore,
    /// Packets on their way to who takes them.
    delivering: Cell<u32>,
    /// Why a source of its has ended early.
    stopped: Cell<Option<&'static str>>,
    /// Its sources send no more.
    is_unplugged: Cell<bool>,
    /// Announced when one of both changes.
    changed: Broadcast,
    /// What was told of it at its end.
    ended: Cell<Option<CollectorRecord>>,
    /// What has become of ending it, and nobody has heard of.
    outcome: RefCell<Option<Result<CollectorRecord, Error>>>,
    /// In which life of the drive it is being ended.
    ending: RefCell<Option<Rc<Driver>>>,
}

impl Attached {
    fn new(
        (port, host): (u16, Host),
        (begun, object): (u64, Option<Object>),
        taker: Taker,
    ) -> Attached {
        Attached {
            port,
            object,
            begun,
            taker,
            sources: Cell::new(0),
            line: Semaphore::new(host.sim(), 1),
            delivering: Cell::new(0),
            stopped: Cell::new(None),
            is_unplugged: Cell::new(false),
            changed: Broadcast::new(host.sim()),
            ended: Cell::new(None),
            outcome: RefCell::default(),
            ending: RefCell::default(),
            host,
        }
    }

    fn collecting(&self) -> &Rc<Collecting> {
        self.taker.collecting(&self.host)
    }

    /// # Errors
    /// That it is detached, or about to be, or the power was cut since.
    fn check(&self, host: &Host) -> Result<(), Error> {
        let port = self.port;
        if self.ended.get().is_some() || self.is_unplugged.get() {
            return Err(Error::usage(format!(
                "the collector at port {port} is detached"
            )));
        }
        match Rc::ptr_eq(&self.host.driver, &host.driver) {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "the power was cut since the collector was attached to port {port}: attach it anew"
            ))),
        }
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
        plugged.map_err(Error::usage)?;
        let (inside, host) = (asked.clone(), self.0.host()?);
        let opened = self.run_host(|host| async move { opening::opened(host, inside).await })?;
        if let (Some(object), true) = (&opened.1, asked.grow_bytes > 0) {
            let (by, low) = (asked.grow_bytes, asked.low_bytes.into());
            let object = object.id.get();
            self.grow(asked.port, Growth { object, by, low })?;
        }
        let (port, asked_of) = (asked.port, ports.clone());
        let is_full = move || asked_of.is_full(port.into());
        host.collecting.ask(port, Rc::new(is_full));
        let taker = Taker::Drive(ports);
        let attached = Attached::new((asked.port, host), opened, taker);
        Ok(Collector(Rc::new(attached)))
    }

    fn attach_to_host(&mut self, asked: &Attach) -> Result<Collector, Error> {
        let (inside, host) = (asked.clone(), self.0.host()?);
        let ports = self.0.config().device.collector.ports;
        let open = async move |host: Host| Received::open(&host, &inside, ports).await;
        let received = self.run_host(|host| async move { open(host).await })?;
        let taker = Taker::Host(received);
        let attached = Attached::new((asked.port, host), (0, None), taker);
        Ok(Collector(Rc::new(attached)))
    }

    fn grow(&mut self, port: u16, growth: Growth) -> Result<(), Error> {
        let host = self.0.host()?;
        let collecting = host.collecting.clone();
        collecting.grow(port, growth);
        if !collecting.is_watched.replace(true) {
            let sim = host.sim().clone();
            sim.spawn_detached(host.extend_in_time(collecting));
        }
        Ok(())
    }

    /// Has a collector send what a source gives, from now on, as time passes.
    ///
    /// # Errors
    /// [`Error::NoPower`]; it is detached, or was attached before a power cut.
    pub fn send(
        &mut self,
        collector: &Collector,
        source: impl Source + 'static,
    ) -> Result<(), Error> {
        let attached = &collector.0;
        attached.check(&self.0.host()?)?;
        let (sim, keeps_data) = (attached.host.sim().clone(), attached.host.stores_data);
        attached.collecting().begin(attached.port);
        let sending = sending::send(sim.clone(), collector.clone(), Box::new(source), keeps_data);
        sim.spawn_detached(sending);
        Ok(())
    }

    /// Has a collector send so many random bytes at a pace, in packets of so many.
    ///
    /// # Errors
    /// As [`Collectors::send`].
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

    /// When packets of a source are sent that has no pace of its own.
    pub fn timing(&self, collector: &Collector, pace: Pace) -> Timing {
        let random = self.random(collector, "pace");
        collector.0.sources.set(collector.0.sources.get() + 1);
        Timing::new(pace, random)
    }

    /// Randomness of a collector's own, another one for each of its sources.
    fn random(&self, collector: &Collector, of: &str) -> Random {
        let (port, source) = (collector.0.port, collector.0.sources.get());
        let name = format!("collector {port}, source {source}, {of}");
        collector.0.host.sim().random(&name)
    }

    /// Lets time pass until a collector has sent everything. What streams make of it meanwhile is fetched, for who reads it later.
    ///
    /// # Errors
    /// As [`Collectors::send`]; packets are held back as the object is full, and it does not grow.
    pub fn run(&mut self, collector: &Collector) -> Result<(), Error> {
        let inside = collector.clone();
        self.run_host(|host| async move {
            inside.0.check(&host)?;
            sending::all_sent(&inside.0).await
        })
    }

    /// What the drive tells of a collector; of one that is detached, what it told at the end.
    ///
    /// # Errors
    /// What the drive reports; that its object could not grow; it was attached before a power cut.
    pub fn status(&mut self, collector: &Collector) -> Result<CollectorRecord, Error> {
        let attached = collector.0.clone();
        if let Some(ended) = attached.ended.get() {
            return Ok(ended);
        }
        let host = self.0.host()?;
        if let Taker::Host(received) = &attached.taker {
            attached.check(&host)?;
            return received.status();
        }
        if let Some(error) = host.collecting.take_failure(attached.port) {
            return Err(error);
        }
        self.run_host(|host| async move { host.record_of(&attached).await })
    }

    /// What the drive tells of all its collections: those that go on, and those that a power cut has ended.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn list(&mut self) -> Result<Vec<CollectorRecord>, Error> {
        self.run_host(|host| async move { Ok(host.collector_device().list().await?) })
    }

    /// Ends a collection: its sources send no more, what has come goes where it goes, for good, and the object has as many bytes as were
    /// collected. Gives how many; [`Collectors::status`] tells then what there was no room for. What fails can be tried again; what is
    /// broken off goes on, and is told the next time.
    ///
    /// # Errors
    /// [`Error::Held`] if a stream that is open needs the object as it is; what the drive reports: Internal Error if what came could
    /// not be written.
    pub fn detach(&mut self, collector: Collector) -> Result<u64, Error> {
        let ended = self.run_host(|host| async move { ending::ended(&host, &collector).await })?;
        Ok(ended.bytes.get())
    }

    /// Ends a collection that a power cut has ended, if its object is not to go on: the object has as many bytes as are there for
    /// good. Gives how many; none if the object was removed.
    ///
    /// # Errors
    /// Nothing has ended at that port; [`Error::Held`]; what the drive reports.
    pub fn settle(&mut self, port: u16) -> Result<u64, Error> {
        self.run_host(|host| async move { host.settle_port(port).await })
    }

    fn ports(&self) -> Result<Rc<Ports>, Error> {
        let device = self.0.device_for("a collector's wire")?;
        Ok(device.collectors.clone())
    }

    fn run_host<T: 'static, F>(&mut self, function: impl FnOnce(Host) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + 'static,
    {
        self.0.run(function)?
    }
}
