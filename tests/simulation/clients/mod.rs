//! Clients: each sends one random command after another on its queue.

mod blocks;
mod computing;
mod erasure;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bitline::Host;
use bitline::inside::InsideHost;
use bitline::inside::Queue;
use host::block::BlockDevice;
use media::nand::Nand;
use nvme::{NamespaceId, Status};
use sim::{Random, Span};

use crate::names::Slots;
use crate::oracle::Oracle;

/// Placement handles that clients open in each namespace.
const HANDLES: u64 = 3;
/// Operands of an expression at most, and their pages.
const OPERANDS_MAX: u64 = 5;
const PAGES_MAX: u64 = 5;

/// What the clients of one round share.
pub struct Shared {
    host: Host,
    oracle: Rc<RefCell<Oracle>>,
    nand: Rc<RefCell<Nand>>,
    /// Where others keep names, who have to be done before a format or a sanitize operation.
    slots: Rc<Slots>,
    /// The largest format: a logical page.
    block_bytes_max: u32,
    in_flight: Cell<u64>,
    /// A client is about to sanitize, or does: the others begin nothing.
    sanitizing: Cell<bool>,
    sanitized: Cell<u64>,
    computed: Cell<u64>,
    complaint: RefCell<Option<String>>,
}

impl Shared {
    pub fn new(
        host: Host,
        oracle: Rc<RefCell<Oracle>>,
        nand: Rc<RefCell<Nand>>,
        slots: Rc<Slots>,
        block_bytes_max: u32,
    ) -> Rc<Shared> {
        Rc::new(Shared {
            slots,
            block_bytes_max,
            host,
            oracle,
            nand,
            in_flight: Cell::new(0),
            sanitizing: Cell::new(false),
            sanitized: Cell::new(0),
            computed: Cell::new(0),
            complaint: RefCell::default(),
        })
    }

    pub fn sim(&self) -> &sim::Sim {
        self.host.sim()
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    /// Sanitize operations that clients saw to their end.
    pub fn sanitized(&self) -> u64 {
        self.sanitized.get()
    }

    /// Expressions computed and compared.
    pub fn computed(&self) -> u64 {
        self.computed.get()
    }

    /// # Errors
    /// What a client found to be wrong.
    pub fn complaint(&self) -> Result<(), String> {
        self.complaint.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Whether a client sanitizes the drive, or is about to.
    pub fn is_sanitizing(&self) -> bool {
        self.sanitizing.get()
    }

    pub fn complain(&self, what: String) {
        self.complaint.borrow_mut().get_or_insert(what);
    }
}

/// Blocks that a client has claimed.
struct Range {
    device: BlockDevice<Queue>,
    space: usize,
    lba: u64,
    count: u64,
}

/// One client.
pub struct Client {
    pub shared: Rc<Shared>,
    pub random: Random,
    /// Namespaces that this client has opened.
    devices: Vec<Option<BlockDevice<Queue>>>,
}

impl Client {
    pub fn new(shared: Rc<Shared>, random: Random) -> Client {
        let spaces = shared.oracle.borrow().spaces();
        Client {
            shared,
            random,
            devices: vec![None; spaces],
        }
    }

    /// Works for ever.
    pub async fn run(mut self) {
        let queue = self.random.below(self.shared.host.queue_pairs() as u64) as usize;
        loop {
            while self.shared.sanitizing.get() {
                self.shared.sim().sleep(Span::from_us(100)).await;
            }
            self.shared.in_flight.set(self.shared.in_flight.get() + 1);
            match self.random.below(2000) {
                0 => self.sanitize().await,
                1..=399 => self.compute(queue).await,
                _ => self.work_on_blocks(queue).await,
            }
            self.shared.in_flight.set(self.shared.in_flight.get() - 1);
            self.shared.host.sim().yield_now().await;
        }
    }

    /// One command for the blocks of a namespace.
    async fn work_on_blocks(&mut self, queue: usize) {
        let spaces = self.shared.oracle.borrow().spaces() as u64;
        let space = self.random.below(spaces) as usize;
        if self.random.chance(0.02) {
            return self.format(space).await;
        }
        let Some((lba, count)) = self.claim_blocks(space) else {
            return;
        };
        // Nobody formats a namespace of which blocks are claimed.
        match self.device(queue, space).await {
            Err(error) => self
                .shared
                .complain(format!("namespace {} cannot be opened: {error}", space + 1)),
            Ok(device) => {
                let range = Range {
                    device,
                    space,
                    lba,
                    count,
                };
                self.work_on(&range).await;
            }
        }
        self.shared.oracle.borrow_mut().release(space, lba, count);
    }

    /// The namespace, opened again if it was formatted.
    pub async fn device(
        &mut self,
        queue: usize,
        space: usize,
    ) -> Result<BlockDevice<Queue>, host::Error> {
        let block_bytes = self.shared.oracle.borrow().block_bytes(space);
        let opened = self.devices[space].clone();
        if let Some(device) = opened.filter(|device| device.block_bytes() == block_bytes) {
            return Ok(device);
        }
        let id = NamespaceId::new(space as u32 + 1);
        let device = self.shared.host.namespace(queue, id).await?;
        self.devices[space] = Some(device.clone());
        Ok(device)
    }

    async fn work_on(&mut self, range: &Range) {
        match self.random.below(20) {
            0..=5 => self.write(range).await,
            6..=8 => self.place(range).await,
            9..=11 => self.observe(range).await,
            12 | 13 => self.deallocate(range).await,
            14 => self.flush(range).await,
            15 => self.mark(range).await,
            16 => self.compare_blocks(range).await,
            17 => self.verify(range).await,
            _ => self.copy(range).await,
        }
    }

    /// Claims some blocks that nobody else works on.
    fn claim_blocks(&mut self, space: usize) -> Option<(u64, u64)> {
        let mut oracle = self.shared.oracle.borrow_mut();
        let blocks = oracle.blocks(space);
        let most = if self.random.chance(0.1) { 64 } else { 9 };
        let count = (1 + self.random.below(most)).min(blocks);
        let lba = self.random.below(blocks - count + 1);
        // Half of the traffic goes to a few blocks, so that they are overwritten often.
        let lba = if self.random.chance(0.5) {
            lba / 4
        } else {
            lba
        };
        oracle.claim(space, lba, count).then_some((lba, count))
    }

    /// Commands may fail only for want of space, which worn-out flash brings about.
    pub fn expect_success<T>(&self, outcome: &Result<T, host::Error>) {
        if let Err(error) = outcome
            && !is_want_of_space(error)
        {
            self.shared
                .complain(format!("a legal command failed: {error}"));
        }
    }
}

pub fn is_want_of_space(error: &host::Error) -> bool {
    let wants = [
        Status::CAPACITY_EXCEEDED,
        Status::GROUP_FULL,
        Status::WRITE_FAULT,
    ];
    matches!(error, host::Error::Status(error) if wants.iter().any(|status| error.status.is(*status)))
}

/// Another namespace is being formatted.
fn is_busy(error: &host::Error) -> bool {
    matches!(error, host::Error::Status(error) if error.status.is(Status::FORMAT_IN_PROGRESS))
}

/// A priority for what is about blocks from there on.
pub fn priority_of(lba: u64) -> u32 {
    [0, 0, 1, 2_000, u32::MAX][lba as usize % 5]
}

/// Reads blocks and compares, one by one if some of them cannot be read.
///
/// # Errors
/// What is wrong.
pub async fn observe(
    device: &BlockDevice<Queue>,
    oracle: &RefCell<Oracle>,
    space: usize,
    lba: u64,
    count: u64,
) -> Result<(), String> {
    let unreadable = |error: &host::Error| {
        let status = Status::UNRECOVERED_READ_ERROR;
        matches!(error, host::Error::Status(error) if error.status.is(status))
    };
    let bytes = device.block_bytes() as usize;
    // Of all kinds, some of which go before others where the drive ranks requests.
    let ranked = device.clone().with_priority(priority_of(lba));
    match ranked.read(lba, count).await {
        Ok(data) => (lba..)
            .zip(data.chunks(bytes))
            .try_for_each(|(lba, seen)| oracle.borrow_mut().observe(space, lba, Some(seen))),
        Err(error) if unreadable(&error) && count == 1 => {
            oracle.borrow_mut().observe(space, lba, None)
        }
        Err(error) if unreadable(&error) => {
            let half = count / 2;
            Box::pin(observe(device, oracle, space, lba, half)).await?;
            Box::pin(observe(device, oracle, space, lba + half, count - half)).await
        }
        Err(error) => Err(format!("read of {count} blocks from {lba}: {error}")),
    }
}
