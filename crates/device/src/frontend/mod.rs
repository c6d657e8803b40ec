//! The front end: fetches commands, has them carried out, and posts completions.
//!
//! Slots are tasks that fetch and carry out one command after another.

mod admin;
mod direct;
mod fetch;
mod identify;
mod io;
mod queues;
mod slot;
mod transfer;
mod vendor;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use media::link::Link;
use nvme::{Dma, QueueId};
use serde::{Deserialize, Serialize};
use sim::resource::Broadcast;
use sim::{Sim, TaskId, Time};

use crate::bits::Bits;
use crate::buffer::Buffers;
use crate::cache::Cache;
use crate::ftl::Ftl;
use direct::{CachedReads, DirectReads, Room};
use queues::Queues;
use slot::Slots;
pub use transfer::HostTransfer;

/// Bytes of a doorbell write.
const DOORBELL_BYTES: u64 = 4;

/// How the front end is configured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontendConfig {
    /// I/O queue pairs that may exist.
    pub io_queues: u16,
    /// Largest queue, in entries.
    pub queue_entries: u32,
    /// Commands fetched and not completed, over all queues.
    pub commands_in_flight: u32,
    /// Size of a logical block, in bytes; divides the page size.
    pub block_bytes: u32,
}

/// The host's side of a controller: what a driver gives it.
#[derive(Clone)]
pub struct HostPort {
    /// Memory that the controller reads and writes.
    pub memory: Rc<RefCell<dyn Dma>>,
    /// Called when a completion for this completion queue is sent, with the instant
    /// at which it arrives; the host must not act on it before.
    pub interrupt: Rc<dyn Fn(QueueId, Time)>,
}

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

/// A doorbell on its way over the link.
#[derive(Clone, Copy)]
struct Doorbell {
    arrives: Time,
    queue: QueueId,
    tail: u16,
}

/// Counts of the front end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
    host: HostPort,
    page_bytes: u32,
    blocks_per_page: u32,
    blocks: u64,
    queues: RefCell<Queues>,
    doorbells: RefCell<VecDeque<Doorbell>>,
    /// The fetching task, while it waits for a doorbell to be rung.
    fetcher: Cell<TaskId>,
    /// When the entry that the last doorbell announced arrives, if its fetch was
    /// put on the link with the doorbell.
    fetch_under_way: Cell<Option<Time>>,
    completions_taken: Broadcast,
    slots: RefCell<Slots>,
    direct_reads: RefCell<DirectReads>,
    cached_reads: CachedReads,
    room: Room,
    counts: RefCell<FrontendCounts>,
    transfer: Rc<HostTransfer>,
    bits: Rc<Bits>,
}

impl Controller {
    /// A controller with its admin queues, ready for commands.
    ///
    /// # Errors
    /// The status of creating the admin queues, if their size is not possible.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another part of the drive, of its own type"
    )]
    pub fn enable(
        sim: &Sim,
        config: &FrontendConfig,
        link: Rc<Link>,
        ftl: Rc<Ftl>,
        cache: Rc<Cache>,
        buffers: Rc<Buffers>,
        page_bytes: u32,
        host: HostPort,
        admin: AdminQueues,
        transfer: Rc<HostTransfer>,
        bits: Rc<Bits>,
    ) -> Result<Rc<Controller>, nvme::Status> {
        let mut queues = Queues::new(config.io_queues);
        let zero = QueueId::new(0);
        queues.create_completion(zero, admin.completion, admin.entries)?;
        queues.create_submission(zero, admin.submission, admin.entries, zero)?;
        let blocks_per_page = page_bytes / config.block_bytes;
        let logical_pages = ftl.logical_pages();
        let controller = Rc::new(Controller {
            sim: sim.clone(),
            config: config.clone(),
            link,
            ftl,
            cache,
            buffers,
            host,
            page_bytes,
            blocks_per_page,
            blocks: u64::from(logical_pages) * u64::from(blocks_per_page),
            queues: RefCell::new(queues),
            doorbells: RefCell::default(),
            fetcher: Cell::new(TaskId::NONE),
            fetch_under_way: Cell::new(None),
            completions_taken: Broadcast::new(sim),
            slots: RefCell::default(),
            direct_reads: RefCell::default(),
            cached_reads: CachedReads::new(),
            room: Room::new(config.commands_in_flight),
            counts: RefCell::default(),
            transfer,
            bits,
        });
        let weak = Rc::downgrade(&controller);
        controller.ftl.set_sink(Box::new(move |number, fault| {
            if let Some(controller) = weak.upgrade() {
                controller.page_read(number, fault);
            }
        }));
        if controller.cache.is_on() {
            sim.spawn_detached(controller.clone().finish_cached_reads());
        }
        controller.pass_lead();
        Ok(controller)
    }

    /// The host writes a submission queue's tail doorbell.
    #[inline]
    pub fn ring_submission(&self, queue: QueueId, tail: u16) {
        let arrives = self.link.down.post(DOORBELL_BYTES);
        self.doorbells.borrow_mut().push_back(Doorbell {
            arrives,
            queue,
            tail,
        });
        let fetcher = self.fetcher.replace(TaskId::NONE);
        if fetcher != TaskId::NONE {
            self.sim.wake_at(self.expect_fetch(arrives), fetcher);
        }
    }

    /// The host writes a completion queue's head doorbell. Nothing waits for it
    /// unless the queue was full, so it takes effect as it is sent.
    #[inline]
    pub fn ring_completion(&self, queue: QueueId, head: u16) {
        self.link.down.post(DOORBELL_BYTES);
        let moved = self
            .queues
            .borrow_mut()
            .completion_mut(queue)
            .map(|queue| queue.ring.set_head(head));
        if !matches!(moved, Some(Ok(_))) {
            self.count(|counts| counts.invalid_doorbells += 1);
        }
        self.completions_taken.announce();
    }

    /// Logical blocks of the namespace.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Size of a logical block, in bytes.
    pub fn block_bytes(&self) -> u32 {
        self.config.block_bytes
    }

    /// What happened so far.
    pub fn counts(&self) -> FrontendCounts {
        *self.counts.borrow()
    }

    #[inline]
    fn count(&self, change: impl FnOnce(&mut FrontendCounts)) {
        change(&mut self.counts.borrow_mut());
    }
}
