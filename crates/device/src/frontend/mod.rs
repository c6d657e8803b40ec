//! The front end: fetches commands, has them carried out, and posts completions.
//!
//! `transport` brings commands in and takes completions out; `dispatch` hands a command, by its command set and
//! opcode, to the job that carries it out; `admin` carries out those of the admin queue itself.

mod admin;
mod answer;
mod config;
mod dispatch;
mod local;
mod namespace;
mod note;
mod transport;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use media::link::Link;
use nvme::{MEMORY_PAGE_BYTES, NamespaceId, QueueId, QueuePriority};
use serde::{Deserialize, Serialize};
use sim::resource::Broadcast;
use sim::{Sim, TaskId, Tenant};

use crate::backend::Backend;
use crate::bits::Bits;
use crate::cache::Cache;
use crate::cores::Cores;
use crate::ftl::{Ftl, MappingUnit};
use crate::local_memory::LocalMemory;
use crate::memory::Buffers;
use crate::part::Part;
use crate::port::{Fetch, HostPort, HostTransfer};
use crate::programs::Programs;
use crate::search::Search;
use crate::served::{Served, ServedFor};
use crate::stream::{Collectors, Streams};
use admin::{Events, Features, Health, Sanitizing, Told};
pub use admin::{HealthConfig, Teller};
pub use config::{EntryFetch, FrontendConfig, FrontendConfigError};
use dispatch::{CachedReads, DirectReads, Executing, Fetching, Marks};
use local::Local;
use namespace::Namespaces;
pub use namespace::{NAMESPACES_MAX, NamespaceConfig, NamespaceError};
pub use transport::Arbitration;
use transport::{Activity, Arbiter, Doorbell, Queues, Room, Slots};

/// What Identify and the log of firmware slots call the firmware.
const FIRMWARE_REVISION: &str = env!("CARGO_PKG_VERSION");

/// Where the admin queues lie, as the AQA, ASQ and ACQ registers say
/// (NVMe Base 2.1, 3.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdminQueues {
    /// Address of the submission queue.
    pub submission: u64,
    /// Address of the completion queue.
    pub completion: u64,
    /// Entries of each.
    pub entries: u32,
}

/// Counts of the front end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrontendCounts {
    /// Commands completed, admin commands included.
    pub commands: u64,
    /// Of these, with a status other than success.
    pub failed_commands: u64,
    /// Doorbells with a value that is no slot of their queue, or of no queue.
    pub invalid_doorbells: u64,
    /// Entries that could not be fetched from host memory.
    pub fetch_errors: u64,
}

/// The controller: everything a command passes on its way.
pub struct Controller {
    sim: Sim,
    config: FrontendConfig,
    link: Rc<Link>,
    ftl: Rc<Ftl>,
    cache: Rc<Cache>,
    buffers: Rc<Buffers>,
    cores: Rc<Cores>,
    host: HostPort,
    /// What an entry of the mapping table stands for.
    unit: MappingUnit,
    /// The most data of one command, bytes.
    transfer_bytes_max: u64,
    dies: u32,
    namespaces: Namespaces,
    queues: RefCell<Queues>,
    doorbells: RefCell<VecDeque<Doorbell>>,
    /// The fetching task, while it waits for a doorbell to be rung.
    fetcher: Cell<TaskId>,
    /// The fetching task, while nothing can be fetched: a completion may change that.
    fetcher_held_back: Cell<TaskId>,
    /// The fetch of the entry that the last doorbell announced, if it was put on the link with the
    /// doorbell.
    fetch_under_way: Cell<Option<Fetch>>,
    completions_taken: Broadcast,
    slots: RefCell<Slots>,
    direct_reads: RefCell<DirectReads>,
    cached_reads: CachedReads,
    room: Room,
    activity: Rc<Activity>,
    counts: RefCell<FrontendCounts>,
    /// Commands completed.
    served: ServedFor<1>,
    features: Features,
    events: RefCell<Events>,
    health: Health,
    marks: Marks,
    sanitize: Sanitizing,
    /// Namespaces whose attributes changed since the host last asked.
    changed_namespaces: RefCell<BTreeSet<NamespaceId>>,
    /// Abort commands under way.
    aborts: Cell<u8>,
    executing: Executing,
    fetching: Fetching,
    told: Told,
    port: Rc<HostTransfer>,
    bits: Rc<Bits>,
    search: Rc<Search>,
    programs: Rc<Programs>,
    streams: Rc<Streams>,
    collectors: Rc<Collectors>,
    /// The memory and the compute namespace, if there are any.
    local: Option<Local>,
}

/// What commands are handed to.
pub struct Jobs {
    /// The data cache.
    pub cache: Rc<Cache>,
    /// Bulk bitwise computing.
    pub bits: Rc<Bits>,
    /// Name-value lookup.
    pub search: Rc<Search>,
    /// Programs and their runs.
    pub programs: Rc<Programs>,
    /// Memory that programs and the host share.
    pub local_memory: Rc<LocalMemory>,
    /// Streams.
    pub streams: Rc<Streams>,
    /// Collections.
    pub collectors: Rc<Collectors>,
}

impl Controller {
    /// A controller with its admin queues, and what an earlier life left on media that are not
    /// `blank`: formats, marks, saved features, counts, and what it had begun, which is ended.
    ///
    /// # Errors
    /// The status of creating the admin queues, if their size is not possible.
    pub async fn power_up(
        backend: &Backend,
        config: &FrontendConfig,
        jobs: Jobs,
        host: HostPort,
        admin: AdminQueues,
        blank: bool,
    ) -> Result<Rc<Controller>, nvme::Status> {
        let Backend { sim, ftl, .. } = backend;
        let Jobs {
            cache,
            bits,
            search,
            programs,
            local_memory,
            streams,
            collectors,
        } = jobs;
        let unit = ftl.unit();
        let has_memory = local_memory.bytes() > 0;
        let features = Features::new(config, cache.is_volatile(), has_memory);
        let queues = admin_queues(config, &features, admin)?;
        let logical_pages = ftl.logical_pages();
        let namespaces =
            Namespaces::new(&config.namespaces, config.block_bytes, logical_pages, unit);
        let local = Local::behind(namespaces.len(), local_memory);
        let controller = Rc::new(Controller {
            sim: sim.clone(),
            config: config.clone(),
            link: backend.port.link().clone(),
            ftl: ftl.clone(),
            cache,
            buffers: backend.buffers.clone(),
            cores: backend.cores.clone(),
            host,
            unit,
            transfer_bytes_max: match config.max_data_transfer {
                0 => u64::MAX,
                exponent => MEMORY_PAGE_BYTES << exponent,
            },
            dies: backend.schedule.geometry().dies(),
            namespaces,
            queues: RefCell::new(queues),
            doorbells: RefCell::default(),
            fetcher: Cell::new(TaskId::NONE),
            fetcher_held_back: Cell::new(TaskId::NONE),
            fetch_under_way: Cell::new(None),
            completions_taken: Broadcast::new(sim),
            slots: RefCell::default(),
            direct_reads: RefCell::default(),
            cached_reads: CachedReads::new(),
            room: Room::new(config.commands_in_flight),
            activity: Activity::new(sim, config.active_milliwatts, &backend.ledger),
            counts: RefCell::default(),
            served: ServedFor::new(),
            features,
            events: RefCell::default(),
            health: Health::new(sim.now()),
            marks: Marks::new(sim),
            sanitize: Sanitizing::default(),
            changed_namespaces: RefCell::default(),
            aborts: Cell::new(0),
            executing: Executing::default(),
            fetching: Fetching::default(),
            told: Told::default(),
            port: backend.port.clone(),
            bits,
            search,
            programs,
            streams,
            collectors,
            local,
        });
        controller.watch_collectors();
        controller.take_pages_read();
        controller.resume(blank).await;
        Ok(controller)
    }

    /// The translation layer tells it of pages that it read.
    fn take_pages_read(self: &Rc<Controller>) {
        let weak = Rc::downgrade(self);
        self.ftl.set_reader(Box::new(move |number, fault| {
            if let Some(controller) = weak.upgrade() {
                controller.page_read(number, fault);
            }
        }));
    }

    async fn resume(self: &Rc<Controller>, blank: bool) {
        if !blank {
            self.restore_features();
            self.restore_marks();
            self.look_for_obstacles();
            self.restore_formats().await;
            self.restore_sanitize();
        }
        self.restore_health(blank).await;
    }

    /// Makes the power ready to go: what is cached or counted is kept (Base 3.6.1). The host sends
    /// nothing more.
    ///
    /// # Errors
    /// If there is no space on flash.
    pub async fn shut_down(&self) -> Result<(), nvme::Status> {
        let flushed = self.cache.flush().await;
        self.keep_health().await?;
        flushed.map_err(|error| answer::status_of(error, false))
    }

    /// The logical pages of a namespace, if there is one of this identifier.
    pub fn pages_of(&self, namespace: NamespaceId) -> Option<std::ops::Range<u32>> {
        let namespace = self.namespaces.get(namespace).ok()?;
        Some(namespace.pages())
    }

    /// What happened so far.
    pub fn counts(&self) -> FrontendCounts {
        *self.counts.borrow()
    }

    /// Commands completed for `tenant`, from their entry's arrival to that of their completion.
    pub fn served(&self, tenant: Tenant) -> Served {
        let [commands] = self.served.of(tenant);
        commands
    }

    /// How many namespaces there are.
    pub fn namespace_count(&self) -> usize {
        let local = self.local.as_ref().map_or(0, |local| local.all().len());
        self.namespaces.len() + local
    }

    #[inline]
    fn count(&self, change: impl FnOnce(&mut FrontendCounts)) {
        change(&mut self.counts.borrow_mut());
    }
}

/// The queues of a controller, the admin queues among them.
fn admin_queues(
    config: &FrontendConfig,
    features: &Features,
    admin: AdminQueues,
) -> Result<Queues, nvme::Status> {
    let arbiter = Arbiter::new(
        config.arbitration,
        features.shares(),
        usize::from(config.io_queues) + 1,
    );
    let mut queues = Queues::new(config.io_queues, config.fetch_limit_per_queue, arbiter);
    let zero = QueueId::new(0);
    queues.create_completion(zero, admin.completion, admin.entries)?;
    let priority = QueuePriority::default();
    queues.create_submission(zero, admin.submission, admin.entries, zero, priority)?;
    Ok(queues)
}

impl Part for Controller {
    fn name(&self) -> &'static str {
        "front end"
    }

    /// Takes commands.
    fn serve(self: Rc<Controller>) {
        if self.cache.is_on() {
            let finisher = self.clone().finish_cached_reads();
            self.sim.spawn_detached(finisher);
        }
        self.pass_lead();
    }
}
