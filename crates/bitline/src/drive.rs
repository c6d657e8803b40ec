//! A drive in this process: power it up, talk to it, cut its power.

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use device::ftl::{History, Lpn, Precondition, Preconditioned};
use device::memory::Dumped;
use device::{CONTENT_VERSION, Device, MediaState, tenants};
use host::admin::Admin;
use host::bits::BitsDevice;
use host::block::BlockDevice;
use media::nand::{Image, ImageCheck, MediaError, Nand, Storage};
use nvme::log::sanitize_state;
use nvme::{NamespaceId, QueuePriority};
use sim::{JoinHandle, Sim, Simulation, Span, Stalled, Time};

use crate::bits::{Batches, Computer};
use crate::config::{Config, StorageKind};
use crate::driver::{Driver, Queue};
use crate::error::{Error, Unclosed};
use crate::footprint::memory_limit;
use crate::statistics::Statistics;
use crate::volume::{Kept, Slot};

const NAMESPACE: NamespaceId = NamespaceId::new(1);

/// Events of the simulation between two looks at the watch. An event may be as long as a command of 256 MiB
/// takes to be copied, and a look takes some nanoseconds.
const EVENTS_PER_LOOK: u64 = 4;

/// Asked again and again while a call lets simulated time pass, whether to go on.
///
/// What breaks off ends with [`Error::Interrupted`]. Commands that were sent by then are carried out in
/// the time of later calls, as after a host that has crashed; no further ones are sent. A power-up
/// that breaks off is a power cut.
pub type Watch = Rc<dyn Fn() -> ControlFlow<()>>;

/// Lets every call go on to its end.
fn unwatched() -> Watch {
    Rc::new(|| ControlFlow::Continue(()))
}

/// A drive, and the simulated time in which it and its host live.
///
/// The synchronous calls let simulated time pass until they are done. For many
/// requests in flight, [`Drive::run`] takes an async function that talks to the
/// drive through a [`Host`].
pub struct Drive {
    config: Config,
    nand: Rc<RefCell<Nand>>,
    powered: Option<Powered>,
    /// When the power was last cut, or the beginning.
    off_since: Time,
    /// What a capacitor saved when the power was last cut.
    dumped: Dumped,
    image: Option<PathBuf>,
    watch: Watch,
    /// The process that opened it. A fork of it has a copy, but the image is not the copy's to write.
    process: u32,
    /// How often it was powered up.
    lives: u64,
    /// What is known of its volume while it has no power.
    kept: Kept,
}

/// What is traced from a power-up on.
#[derive(Clone, Copy)]
enum Tracing {
    Off,
    Busiest,
    All,
}

struct Powered {
    host: Host,
    device: Device,
    since: Time,
    // Last, so that tasks go before what they refer to.
    simulation: Simulation,
}

/// The host's end of a powered drive, for code that runs in simulated time.
/// Cheap to clone.
#[derive(Clone)]
pub struct Host {
    sim: Sim,
    driver: Rc<Driver>,
    block: BlockDevice<Queue>,
    bits: BitsDevice<Queue>,
    /// The drive's volume and what is in it.
    pub(crate) names: Rc<Slot>,
    /// Logical blocks that are for vectors.
    area: Range<u64>,
    /// Dies of the drive.
    pub(crate) dies: u32,
    pub(crate) computer: Rc<Computer>,
    /// How vectors are divided into batches.
    pub(crate) batches: Batches,
    /// Whether the drive keeps data, or only time.
    pub(crate) stores_data: bool,
}

impl Host {
    /// The clock, for sleeping, spawning and randomness.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// The block device, on the first queue pair.
    pub fn block(&self) -> &BlockDevice<Queue> {
        &self.block
    }

    /// The computing interface beneath groups and queries, on the first queue pair: placement handles, and expressions over
    /// logical blocks.
    pub fn bits(&self) -> &BitsDevice<Queue> {
        &self.bits
    }

    /// The logical blocks that are for vectors, after those for ordinary data.
    pub fn area(&self) -> Range<u64> {
        self.area.clone()
    }

    /// Number of queue pairs.
    pub fn queue_pairs(&self) -> usize {
        self.driver.queue_pairs()
    }

    /// Queue pair `pair`, counted from zero, for raw commands.
    ///
    /// # Errors
    /// If there is no such pair.
    pub fn queue(&self, pair: usize) -> Result<Queue, host::Error> {
        Queue::new(self.driver.clone(), pair)
    }

    /// The same host, with blocks and expressions through queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair.
    pub(crate) async fn through(&self, pair: usize) -> Result<Host, host::Error> {
        if pair == 0 {
            return Ok(self.clone());
        }
        let block = self.block_on_queue(pair).await?;
        Ok(Host {
            bits: BitsDevice::new(block.clone()),
            block,
            ..self.clone()
        })
    }

    /// The block device on queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair.
    pub async fn block_on_queue(&self, pair: usize) -> Result<BlockDevice<Queue>, host::Error> {
        BlockDevice::open(self.queue(pair)?, NAMESPACE).await
    }

    /// A namespace as a block device, on queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair or namespace.
    pub async fn namespace(
        &self,
        pair: usize,
        namespace: NamespaceId,
    ) -> Result<BlockDevice<Queue>, host::Error> {
        BlockDevice::open(self.queue(pair)?, namespace).await
    }

    /// The drive's administration.
    pub fn admin(&self) -> Admin<Queue> {
        Admin::new(self.block.transport().clone())
    }
}

impl Drive {
    /// Opens a drive with its bits in memory, or nowhere, as the configuration says.
    ///
    /// # Errors
    /// If the configuration wants an image file, or makes no drive.
    pub fn open(config: Config) -> Result<Drive, Error> {
        Drive::open_watched(config, None, unwatched())
    }

    /// As [`Drive::open`], or with a path as [`Drive::open_image`]; `watch` looks on from the first
    /// event on, at this call and all later ones.
    ///
    /// # Errors
    /// As these; [`Error::Interrupted`].
    pub fn open_watched(
        config: Config,
        image: Option<&Path>,
        watch: Watch,
    ) -> Result<Drive, Error> {
        config.check_memory(memory_limit())?;
        match image {
            Some(path) => Drive::in_image(config, path, watch),
            None => Drive::in_memory(config, watch),
        }
    }

    fn in_memory(config: Config, watch: Watch) -> Result<Drive, Error> {
        let storage = match config.data.storage {
            StorageKind::Memory => Storage::Memory,
            StorageKind::None => Storage::None,
            StorageKind::Image => {
                return Err(crate::ConfigError::Value {
                    key: "data.storage".into(),
                    value: "image".into(),
                    reason: "an image needs a path: open the drive with one".into(),
                }
                .into());
            }
        };
        Drive::on(config, storage, MediaState::Blank, None, watch)
    }

    /// Opens the drive whose bits are in the image file at `path`, or makes a blank
    /// one there. What an earlier process left is recovered.
    ///
    /// # Errors
    /// A file that is no image, damaged, open elsewhere, or made with a
    /// configuration whose layout differs; it is left as it was.
    pub fn open_image(config: Config, path: &Path) -> Result<Drive, Error> {
        Drive::open_watched(config, Some(path), unwatched())
    }

    fn in_image(config: Config, path: &Path, watch: Watch) -> Result<Drive, Error> {
        if !path.exists() {
            let geometry = &config.device.nand.geometry;
            let image = Image::create(path, geometry, CONTENT_VERSION, &config.to_toml()?)
                .map_err(MediaError::from)?;
            return Drive::on(
                config,
                Storage::Image(image),
                MediaState::Blank,
                Some(path.to_owned()),
                watch,
            );
        }
        let image = Image::open(path, CONTENT_VERSION).map_err(MediaError::from)?;
        config.check_image(&Config::from_complete_toml(image.text())?, path)?;
        Drive::on(
            config,
            Storage::Image(image),
            MediaState::Used,
            Some(path.to_owned()),
            watch,
        )
    }

    /// Opens the drive in an existing image file, with the configuration it was
    /// made with.
    ///
    /// # Errors
    /// As [`Drive::open_image`]; also if there is no file.
    pub fn open_existing_image(path: &Path) -> Result<Drive, Error> {
        Drive::open_existing_image_watched(path, unwatched())
    }

    /// As [`Drive::open_existing_image`], under a watch.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`]; [`Error::Interrupted`].
    pub fn open_existing_image_watched(path: &Path, watch: Watch) -> Result<Drive, Error> {
        let image = Image::open(path, CONTENT_VERSION).map_err(MediaError::from)?;
        Drive::on_existing(image, watch)
    }

    /// Opens the drive in an existing image file to look at it: the file is not written. What the drive
    /// does, its recovery included, is kept in memory and gone when it is closed. Several may look
    /// at an image at once.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`].
    pub fn open_image_read_only(path: &Path) -> Result<Drive, Error> {
        Drive::open_image_read_only_watched(path, unwatched())
    }

    /// As [`Drive::open_image_read_only`], under a watch.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`]; [`Error::Interrupted`].
    pub fn open_image_read_only_watched(path: &Path, watch: Watch) -> Result<Drive, Error> {
        let image = Image::open_read_only(path, CONTENT_VERSION).map_err(MediaError::from)?;
        Drive::on_existing(image, watch)
    }

    /// Looks through an image without opening the drive in it and without writing the file: its records,
    /// and the data of all programmed pages if `data` is set.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`].
    pub fn check_image(path: &Path, data: bool) -> Result<ImageCheck, Error> {
        let checked = Image::check(path, CONTENT_VERSION, data);
        Ok(checked.map_err(MediaError::from)?)
    }

    fn on_existing(image: Image, watch: Watch) -> Result<Drive, Error> {
        let config = Config::from_complete_toml(image.text())?;
        config.check_memory(memory_limit())?;
        let path = Some(image.path().to_owned());
        Drive::on(config, Storage::Image(image), MediaState::Used, path, watch)
    }

    fn on(
        config: Config,
        storage: Storage,
        media: MediaState,
        image: Option<PathBuf>,
        watch: Watch,
    ) -> Result<Drive, Error> {
        let nand = Nand::open(&config.device.nand, storage)?;
        let mut drive = Drive {
            nand: Rc::new(RefCell::new(nand)),
            powered: None,
            off_since: Time::ZERO,
            dumped: Dumped::default(),
            image,
            watch,
            process: std::process::id(),
            lives: 0,
            kept: Kept::default(),
            config,
        };
        drive.power_up_on(media, Tracing::Off)?;
        Ok(drive)
    }

    /// Powers up after a power cut; the drive recovers from its media. Does
    /// nothing to a drive that has power.
    ///
    /// # Errors
    /// None that did not already show when the drive was opened; [`Error::Interrupted`], after which
    /// the drive has no power.
    pub fn power_up(&mut self) -> Result<(), Error> {
        if self.powered.is_some() {
            return Ok(());
        }
        self.power_up_on(MediaState::Used, Tracing::Off)
    }

    fn power_up_on(&mut self, media: MediaState, tracing: Tracing) -> Result<(), Error> {
        let simulation = Simulation::starting_at(self.config.seed, self.off_since);
        let sim = simulation.handle();
        match tracing {
            Tracing::Off => {}
            Tracing::Busiest => sim.trace().enable_busiest(),
            Tracing::All => sim.trace().enable(),
        }
        let driver = Driver::new(&sim)?;
        let (config, nand) = (self.config.clone(), self.nand.clone());
        let since = simulation.now();
        let is_used = media == MediaState::Used;
        let task = simulation.handle().spawn(async move {
            let host_config = &config.host;
            let device = Device::power_up(
                &sim,
                &config.device,
                nand,
                media,
                driver.port(),
                driver.admin_queues(),
            )
            .await?;
            let classes = host_config.queue_priorities.iter();
            let priorities: Vec<QueuePriority> =
                classes.map(|class| QueuePriority::from(*class)).collect();
            let connected = driver.connect(
                device.controller.clone(),
                host_config.queue_pairs,
                host_config.queue_entries,
                &priorities,
            );
            connected.await?;
            let queue = Queue::new(driver.clone(), 0)?;
            let block = BlockDevice::open(queue, NAMESPACE).await?;
            let host = Host {
                bits: BitsDevice::new(block.clone()),
                names: Rc::new(Slot::new(&sim, is_used)),
                area: area(&device, &block),
                dies: device.schedule.geometry().dies(),
                block,
                computer: Rc::new(Computer::new(&sim, host_config, &device.ledger)),
                batches: Batches::new(
                    config.device.nand.geometry.page_bytes,
                    host_config.batch_bytes,
                ),
                stores_data: config.data.storage != StorageKind::None,
                driver,
                sim,
            };
            Ok::<_, Error>((device, host))
        });
        let (device, host) = match self.lived(&simulation, &task) {
            Ok(powered) => powered?,
            Err(error) => {
                // Whatever the recovery was programming or erasing is torn.
                self.off_since = simulation.now();
                simulation.cut();
                self.nand.borrow_mut().power_cut(self.off_since)?;
                return Err(error);
            }
        };
        self.lives += 1;
        host.names.take_up(std::mem::take(&mut self.kept));
        let dumped = std::mem::take(&mut self.dumped);
        if dumped.pages > 0 {
            // The capacitor's work is on the account of the life that it made possible.
            let account = device.ledger.open("capacitor", "dump");
            device.ledger.spend(account, tenants::DRIVE, dumped.energy);
        }
        self.powered = Some(Powered {
            host,
            device,
            since,
            simulation,
        });
        Ok(())
    }

    /// Cuts the power in this instant: whatever was not on flash is gone, unless a capacitor
    /// saves it, and what was being programmed or erased is torn. The media stays.
    ///
    /// # Errors
    /// If the image file cannot be written.
    pub fn power_cut(&mut self) -> Result<(), Error> {
        let Some(powered) = self.powered.take() else {
            return Ok(());
        };
        self.off_since = powered.simulation.now();
        powered.simulation.cut();
        self.kept = powered.host.names.take_kept();
        self.nand.borrow_mut().power_cut(self.off_since)?;
        self.dumped = powered.device.power_lost();
        Ok(())
    }

    /// Records a trace from now on: powers the drive down in order and up again
    /// with tracing on.
    ///
    /// # Errors
    /// As [`Drive::power_up`].
    pub fn restart_traced(&mut self) -> Result<(), Error> {
        self.restart_with(Tracing::All)
    }

    /// As [`Drive::restart_traced`], but keeps only the busiest [`sim::Trace::BUSIEST`], so that
    /// the trace's memory stays bounded.
    ///
    /// # Errors
    /// As [`Drive::power_up`].
    pub fn restart_traced_busiest(&mut self) -> Result<(), Error> {
        self.restart_with(Tracing::Busiest)
    }

    fn restart_with(&mut self, tracing: Tracing) -> Result<(), Error> {
        if self.powered.is_some() {
            let _ = self.write_back_cache()?;
        }
        self.power_cut()?;
        // The scan of a blank drive would fill the trace for nothing.
        let media = if self.is_blank() {
            MediaState::Blank
        } else {
            MediaState::Used
        };
        self.power_up_on(media, tracing)
    }

    /// Lets everything in flight finish, has what is cached written to flash and makes the image durable, as
    /// [`Drive::close`] begins with; the drive can be used on.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; what flash does not take, or the image file, such as on a full disk.
    pub fn settle(&mut self) -> Result<(), Error> {
        let Some(powered) = &self.powered else {
            return Ok(());
        };
        while (0..EVENTS_PER_LOOK).all(|_| powered.simulation.step()) {
            if (self.watch)().is_break() {
                return Err(Error::Interrupted);
            }
        }
        let written = self.write_back_cache()?;
        self.sync()?;
        // A capacitor saves what flash does not take, as when the power is cut.
        if self.image.is_some() && !self.config.device.cache.capacitor {
            written?;
        }
        let controller = self.powered()?.device.controller.clone();
        let down = self.run(|_| async move { controller.shut_down().await })?;
        // Counts that find no space on flash are lost; data is not concerned.
        let _ = down;
        Ok(())
    }

    /// Lets everything in flight finish, has what is cached written to flash, makes the image durable and
    /// lets go of it. Dropping a drive without closing it is a power cut.
    ///
    /// # Errors
    /// What flash does not take, or the image file, such as on a full disk. Nothing is lost then: the drive
    /// comes back with the error, to be closed again. Dropped instead, it loses what the error tells of.
    pub fn close(mut self) -> Result<(), Unclosed> {
        self.power_down().map_err(|error| Unclosed {
            drive: Box::new(self),
            error,
        })
    }

    fn power_down(&mut self) -> Result<(), Error> {
        self.settle()?;
        self.power_cut()?;
        self.sync()
    }

    /// Waits until the cache holds nothing that flash does not; the drive's own doing, without a
    /// command.
    fn write_back_cache(&mut self) -> Result<Result<(), device::ftl::FtlError>, Error> {
        let cache = self.powered()?.device.cache.clone();
        self.run(|_| async move { cache.flush().await })
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(self.nand.borrow_mut().sync()?)
    }

    /// Runs an async function in simulated time, until it returns.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Stalled`] if it waits for what never happens.
    pub fn run<T: 'static, F>(&mut self, function: impl FnOnce(Host) -> F) -> Result<T, Error>
    where
        F: Future<Output = T> + 'static,
    {
        let powered = self.powered()?;
        let task = powered.host.sim.spawn(function(powered.host.clone()));
        self.lived(&powered.simulation, &task)
    }

    /// Lets time pass until `task` has finished.
    pub(crate) fn live_until<T>(&self, task: &JoinHandle<T>) -> Result<(), Error> {
        self.live_on(&self.powered()?.simulation, task)
    }

    fn live_on<T>(&self, simulation: &Simulation, task: &JoinHandle<T>) -> Result<(), Error> {
        while !simulation.advance(task, EVENTS_PER_LOOK)? {
            if (self.watch)().is_break() {
                return Err(Error::Interrupted);
            }
        }
        Ok(())
    }

    /// Lets time pass until `task` has finished. If it does not, or is broken off, it is dropped.
    fn lived<T>(&self, simulation: &Simulation, task: &JoinHandle<T>) -> Result<T, Error> {
        if let Err(error) = self.live_on(simulation, task) {
            task.abort();
            return Err(error);
        }
        let at = simulation.now();
        task.take().ok_or_else(|| Stalled { at }.into())
    }

    /// The simulation, to step it event by event.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn simulation(&self) -> Result<&Simulation, Error> {
        Ok(&self.powered()?.simulation)
    }

    /// The host's end, for tasks spawned on the simulation.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn host(&self) -> Result<Host, Error> {
        Ok(self.powered()?.host.clone())
    }

    fn powered(&self) -> Result<&Powered, Error> {
        self.powered.as_ref().ok_or(Error::NoPower)
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The image file, if it has one.
    pub fn image(&self) -> Option<&Path> {
        self.image.as_deref()
    }

    /// Whether this is the copy, in a forked process, of a drive whose image the process that opened it
    /// goes on using: nothing may be done with it but to drop it.
    pub fn is_foreign(&self) -> bool {
        self.image.is_some() && self.process != std::process::id()
    }

    /// Which of its lives this is, from power-up to power cut.
    pub(crate) fn life(&self) -> u64 {
        self.lives
    }

    /// The powered device, to look inside.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn device(&self) -> Result<&Device, Error> {
        Ok(&self.powered()?.device)
    }

    /// The flash packages, which outlive power cuts.
    pub fn nand(&self) -> &Rc<RefCell<Nand>> {
        &self.nand
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.powered
            .as_ref()
            .map_or(self.off_since, |powered| powered.simulation.now())
    }

    /// Bytes of a logical block.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn block_bytes(&self) -> Result<u32, Error> {
        Ok(self.powered()?.host.block.block_bytes())
    }

    /// Logical blocks.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn blocks(&self) -> Result<u64, Error> {
        Ok(self.powered()?.host.block.blocks())
    }

    /// Logical blocks that are for ordinary data: those before the area where vectors are.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn data_blocks(&self) -> Result<u64, Error> {
        Ok(self.powered()?.host.area.start)
    }

    /// Reads `blocks` logical blocks from `lba` on.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn read(&mut self, lba: u64, blocks: u64) -> Result<Vec<u8>, Error> {
        Ok(self.run(|host| async move { host.block.read(lba, blocks).await })??)
    }

    /// Writes whole logical blocks from `lba` on.
    ///
    /// # Errors
    /// What the drive reports, a range outside of the namespace, or data that is
    /// no whole number of blocks.
    pub fn write(&mut self, lba: u64, data: &[u8]) -> Result<(), Error> {
        let data = data.to_vec();
        Ok(self.run(|host| async move { host.block.write(lba, &data).await })??)
    }

    /// Makes everything written so far durable, in the image file too.
    ///
    /// # Errors
    /// What the drive reports, or if the image file cannot be written, such as on a full disk. Nothing is lost
    /// then: the drive keeps it in memory, and flushing again tries again.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.run(|host| async move { host.block.flush().await })??;
        // A cache that a capacitor protects need not be flushed for the drive's sake, but the
        // image has only what is on flash.
        let written = self.write_back_cache()?;
        self.sync()?;
        if self.image.is_some() {
            written?;
        }
        Ok(())
    }

    /// Deallocates logical blocks: those that fill whole pages then read as zeroes.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn deallocate(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        Ok(self.run(|host| async move { host.block.deallocate(lba, blocks).await })??)
    }

    /// Makes logical blocks read as zeroes.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn write_zeroes(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        Ok(self.run(|host| async move { host.block.write_zeroes(lba, blocks).await })??)
    }

    /// Sets up at once what earlier writes would have left on a drive that was never written:
    /// mapping, needed and replaced pages, worn blocks. It takes no simulated time, and a
    /// power cut right after it loses nothing. The pages read as zeroes.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Precondition`] for shares that make no sense, a drive that was
    /// written before, or media that cannot be written.
    pub fn precondition(&mut self, plan: &Precondition) -> Result<Preconditioned, Error> {
        self.precondition_while(plan, |_| ControlFlow::Continue(()))
    }

    /// The same, telling `observe` now and then the share of the drive that is set up. If that
    /// breaks off, the rest of the drive stays blank.
    ///
    /// # Errors
    /// As [`Drive::precondition`].
    pub fn precondition_while(
        &mut self,
        plan: &Precondition,
        observe: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Preconditioned, Error> {
        let powered = self.powered()?;
        let mut random = powered.host.sim().random("precondition");
        let ftl = &powered.device.ftl;
        Ok(ftl.precondition(plan, &mut random, observe)?)
    }

    /// Compares whole logical blocks from `lba` on with `data`, inside the drive.
    ///
    /// # Errors
    /// Compare Failure if they differ; as [`Drive::write`].
    pub fn compare(&mut self, lba: u64, data: &[u8]) -> Result<(), Error> {
        let data = data.to_vec();
        Ok(self.run(|host| async move { host.block.compare(lba, &data).await })??)
    }

    /// Has the drive read logical blocks without sending them.
    ///
    /// # Errors
    /// Unrecovered Read Error if one of them is lost, or a range outside of the namespace.
    pub fn verify(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        Ok(self.run(|host| async move { host.block.verify(lba, blocks).await })??)
    }

    /// Makes reads of logical blocks fail until they are written.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn write_uncorrectable(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        Ok(self.run(|host| async move { host.block.write_uncorrectable(lba, blocks).await })??)
    }

    /// Copies ranges of logical blocks, each a first block and a number of blocks, one after
    /// another to `destination` on, inside the drive.
    ///
    /// # Errors
    /// What the drive reports, such as Command Size Limit Exceeded.
    pub fn copy(&mut self, sources: &[(u64, u32)], destination: u64) -> Result<(), Error> {
        let sources = sources.to_vec();
        Ok(self.run(|host| async move { host.block.copy(&sources, destination).await })??)
    }

    /// Gives a namespace blocks of `block_bytes` and erases it.
    ///
    /// # Errors
    /// What the drive reports, such as Invalid Format.
    pub fn format(&mut self, namespace: u32, block_bytes: u32) -> Result<(), Error> {
        let namespace = NamespaceId::new(namespace);
        let block = self.run(|host| async move {
            host.admin().format(namespace, block_bytes).await?;
            host.block_on_queue(0).await
        })??;
        if let Some(powered) = &mut self.powered {
            let host = &mut powered.host;
            if namespace == NAMESPACE {
                host.names.forget();
            }
            host.area = area(&powered.device, &block);
            host.bits = BitsDevice::new(block.clone());
            host.block = block;
        }
        self.sync()
    }

    /// Erases everything on the drive, beyond recovery, and waits until that is done.
    ///
    /// # Errors
    /// What the drive reports; [`Error::Host`] if the operation failed.
    pub fn sanitize(&mut self) -> Result<(), Error> {
        self.run(|host| async move { sanitize(&host).await })??;
        self.powered()?.host.names.forget();
        // An image gives up what was erased when it is durable that it was.
        self.sync()
    }

    /// Sets up a drive on which `pages` hold data; each with a bit for each sector of 512 bytes
    /// that was written.
    ///
    /// # Errors
    /// As [`Drive::precondition`].
    pub fn occupy(
        &mut self,
        pages: &[(Lpn, u64)],
        history: History,
    ) -> Result<Preconditioned, Error> {
        let powered = self.powered()?;
        let mut random = powered.host.sim().random("precondition");
        Ok(powered.device.ftl.occupy(pages, history, &mut random)?)
    }

    /// Everything counted since power-up.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn statistics(&self) -> Result<Statistics, Error> {
        let powered = self.powered()?;
        Ok(Statistics::of(
            &powered.device,
            powered.since,
            powered.simulation.now(),
        ))
    }
}

/// The last blocks of the first namespace: as large a share of it as of the drive is what computing's share can hold.
fn area(device: &Device, block: &BlockDevice<Queue>) -> Range<u64> {
    let (all, data) = (device.ftl.logical_pages(), device.ftl.data_pages());
    let pages = device.controller.pages_of(NAMESPACE);
    let pages = pages.map_or(0, |pages| u64::from(pages.end - pages.start));
    let area = pages * u64::from(all - data) / u64::from(all.max(1));
    let page_blocks = u64::from(block.page_blocks());
    (pages - area) * page_blocks..pages * page_blocks
}

/// Sanitizes, and looks every millisecond whether that is over.
async fn sanitize(host: &Host) -> Result<(), host::Error> {
    let admin = host.admin();
    admin.sanitize().await?;
    loop {
        let status = admin.sanitize_status().await?;
        if !status.is_in_progress() {
            return match status.state.get() & 7 {
                sanitize_state::COMPLETED => Ok(()),
                _ => Err(host::StatusError {
                    command: "sanitize",
                    status: nvme::Status::SANITIZE_FAILED,
                }
                .into()),
            };
        }
        host.sim().sleep(Span::from_us(1000)).await;
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        // A capacitor still does its work; nobody is left to hear of an image that cannot be
        // written. After a panic nothing of the drive is to be touched, and its image not by a fork.
        if !std::thread::panicking() && !self.is_foreign() {
            let _ = self.power_cut();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a blank drive, and of one that has something to recover.
    #[test]
    fn parts_are_powered_up_in_one_order() {
        let config = Config::preset("flash-cosmos").expect("a preset");
        let mut drive = Drive::open(config).expect("a drive");
        for _ in 0..2 {
            let powered = drive.powered().expect("it has power");
            let order: Vec<_> = powered.device.parts().collect();
            assert_eq!(order, ["schedule", "ftl", "cache", "bits", "front end"]);
            drive.power_cut().expect("no image");
            drive.power_up().expect("it recovers");
        }
    }
}
