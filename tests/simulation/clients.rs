//! Clients: each sends one random command after another on its queue.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bitline::{Host, Queue};
use host::bits::{BitsDevice, Handle};
use host::block::BlockDevice;
use media::nand::Nand;
use nvme::command::{Engine, Home};
use nvme::log::sanitize_state;
use nvme::{Expression, Lba, NamespaceId, Status};
use sim::{Random, Span};

use crate::inventory::Inventory;
use crate::oracle::{Oracle, UNCORRECTABLE, Value};

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
    in_flight: Cell<u64>,
    /// A client is about to sanitize, or does: the others begin nothing.
    sanitizing: Cell<bool>,
    sanitized: Cell<u64>,
    computed: Cell<u64>,
    complaint: RefCell<Option<String>>,
}

impl Shared {
    pub fn new(host: Host, oracle: Rc<RefCell<Oracle>>, nand: Rc<RefCell<Nand>>) -> Rc<Shared> {
        Rc::new(Shared {
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

    fn complain(&self, what: String) {
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
    shared: Rc<Shared>,
    random: Random,
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
    async fn device(
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

    fn begin(&self, range: &Range, value: Value) {
        let mut oracle = self.shared.oracle.borrow_mut();
        oracle.begin(range.space, range.lba, range.count, value);
    }

    async fn write(&mut self, range: &Range) {
        let value = self.shared.oracle.borrow_mut().fresh_value();
        let bytes = range.device.block_bytes() as usize;
        let data: Vec<u8> = (range.lba..range.lba + range.count)
            .flat_map(|lba| self.shared.oracle.borrow().content(lba, value, bytes))
            .collect();
        self.begin(range, value);
        let durable = self.random.chance(0.2);
        let outcome = if durable {
            range.device.write_durably(range.lba, &data).await
        } else {
            range.device.write(range.lba, &data).await
        };
        self.settle(&outcome, range, value, durable);
    }

    /// Writes the pages that the range covers with a placement handle, if it covers any.
    async fn place(&mut self, range: &Range) {
        let per_page = u64::from(range.device.page_blocks());
        let first = range.lba.next_multiple_of(per_page);
        let end = (range.lba + range.count) / per_page * per_page;
        if first >= end {
            return self.write(range).await;
        }
        let bits = BitsDevice::new(range.device.clone());
        let handle = self.handle(range.space, &range.device);
        let opened = bits.open_handle(&handle).await;
        if let Err(error) = opened {
            return self.shared.complain(format!("{handle:?}: {error}"));
        }
        let range = &Range {
            device: range.device.clone(),
            space: range.space,
            lba: first,
            count: end - first,
        };
        let value = self.shared.oracle.borrow_mut().fresh_value();
        let bytes = range.device.block_bytes() as usize;
        let data: Vec<u8> = (first..end)
            .flat_map(|lba| self.shared.oracle.borrow().content(lba, value, bytes))
            .collect();
        self.begin(range, value);
        let inverse = self.random.chance(0.5);
        let outcome = bits.write(handle.number, inverse, first, &data).await;
        self.settle(&outcome, range, value, true);
    }

    /// One of the handles of a namespace, now and then of another shape.
    fn handle(&mut self, space: usize, device: &BlockDevice<Queue>) -> Handle {
        let number = self.random.below(HANDLES);
        let pages = device.blocks() / u64::from(device.page_blocks());
        let (pitch, anchor, dies) = if self.random.chance(0.8) {
            (number + 1, 0, 0)
        } else {
            (
                1 + self.random.below(8),
                self.random.below(pages),
                self.random.below(2),
            )
        };
        Handle {
            number: (space as u64 * HANDLES + number) as u16,
            anchor: anchor * u64::from(device.page_blocks()),
            pitch: pitch * u64::from(device.page_blocks()),
            home: Home {
                first: 0,
                dies: dies as u16,
            },
        }
    }

    async fn deallocate(&mut self, range: &Range) {
        self.begin(range, 0);
        if self.random.chance(0.5) {
            let outcome = range.device.write_zeroes(range.lba, range.count).await;
            self.settle(&outcome, range, 0, false);
        } else {
            // A hint: afterwards a block is zero or what it was. The next read tells.
            let outcome = range.device.deallocate(range.lba, range.count).await;
            self.expect_success(&outcome);
            self.observe(range).await;
        }
    }

    /// Makes blocks unreadable.
    async fn mark(&mut self, range: &Range) {
        self.begin(range, UNCORRECTABLE);
        let outcome = range
            .device
            .write_uncorrectable(range.lba, range.count)
            .await;
        self.settle(&outcome, range, UNCORRECTABLE, true);
    }

    fn settle(
        &self,
        outcome: &Result<(), host::Error>,
        range: &Range,
        value: Value,
        durable: bool,
    ) {
        self.expect_success(outcome);
        if outcome.is_ok() {
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.acknowledge(range.space, range.lba, range.count, value, durable);
        }
    }

    /// Commands may fail only for want of space, which worn-out flash brings about.
    fn expect_success<T>(&self, outcome: &Result<T, host::Error>) {
        if let Err(error) = outcome
            && !is_want_of_space(error)
        {
            self.shared
                .complain(format!("a legal command failed: {error}"));
        }
    }

    async fn observe(&self, range: &Range) {
        let Range { device, space, .. } = range;
        let seen = observe(device, &self.shared.oracle, *space, range.lba, range.count).await;
        if let Err(wrong) = seen {
            self.shared.complain(wrong);
        }
    }

    /// What blocks hold, unless somebody's command may still change it.
    fn settled(&self, range: &Range) -> Option<Vec<Value>> {
        let mut oracle = self.shared.oracle.borrow_mut();
        oracle.settled(range.space, range.lba, range.count)
    }

    /// Compares with what blocks hold, or with something else.
    async fn compare_blocks(&mut self, range: &Range) {
        let Some(values) = self.settled(range) else {
            return;
        };
        let bytes = range.device.block_bytes() as usize;
        let mut data: Vec<u8> = (range.lba..)
            .zip(&values)
            .flat_map(|(lba, value)| self.shared.oracle.borrow().content(lba, *value, bytes))
            .collect();
        let differs = self.random.chance(0.3);
        if differs {
            let place = self.random.below(data.len() as u64) as usize;
            data[place] ^= 1 << self.random.below(8);
        }
        let expected = if values.contains(&UNCORRECTABLE) {
            Status::UNRECOVERED_READ_ERROR
        } else if differs {
            Status::COMPARE_FAILURE
        } else {
            Status::SUCCESS
        };
        let outcome = range.device.compare(range.lba, &data).await;
        self.expect("compare", &outcome, expected);
    }

    async fn verify(&mut self, range: &Range) {
        let Some(values) = self.settled(range) else {
            return;
        };
        let expected = if values.contains(&UNCORRECTABLE) {
            Status::UNRECOVERED_READ_ERROR
        } else {
            Status::SUCCESS
        };
        let outcome = range.device.verify(range.lba, range.count).await;
        self.expect("verify", &outcome, expected);
    }

    fn expect(&self, what: &str, outcome: &Result<(), host::Error>, expected: Status) {
        let seen = match outcome {
            Ok(()) => Status::SUCCESS,
            Err(host::Error::Status(error)) => error.status,
            Err(error) => return self.shared.complain(format!("{what}: {error}")),
        };
        if !seen.is(expected) {
            self.shared
                .complain(format!("{what} ends with {seen}, expected {expected}"));
        }
    }

    /// Copies the range in one piece or two to where nobody else works.
    async fn copy(&mut self, range: &Range) {
        let Some(values) = self.settled(range) else {
            return;
        };
        let Range {
            device,
            space,
            lba,
            count,
        } = range;
        let to = self.random.below(device.blocks() - count + 1);
        if !self.shared.oracle.borrow_mut().claim(*space, to, *count) {
            return;
        }
        let first = 1 + self.random.below(*count);
        let mut sources = vec![(*lba, first as u32)];
        if first < *count {
            sources.push((lba + first, (count - first) as u32));
        }
        let readable = !values.contains(&UNCORRECTABLE);
        let mut copies = Vec::new();
        for (number, value) in (0..).zip(values).filter(|_| readable) {
            let mut oracle = self.shared.oracle.borrow_mut();
            let copy = oracle.copied_value(lba + number, value);
            oracle.begin(*space, to + number, 1, copy);
            copies.push(copy);
        }
        let outcome = device.copy(&sources, to).await;
        if readable {
            self.expect_success(&outcome);
        } else {
            self.expect("copy", &outcome, Status::UNRECOVERED_READ_ERROR);
        }
        let mut oracle = self.shared.oracle.borrow_mut();
        for (number, copy) in (0..).zip(copies).filter(|_| outcome.is_ok()) {
            oracle.acknowledge(*space, to + number, 1, copy, false);
        }
        oracle.release(*space, to, *count);
    }

    /// Flushes the namespace of the range.
    async fn flush(&self, range: &Range) {
        let began = self.shared.oracle.borrow_mut().flush_begins();
        let outcome = range.device.flush().await;
        self.expect_success(&outcome);
        if outcome.is_ok() {
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.flushed(range.space, began);
        }
    }

    /// Formats a namespace on which nobody works.
    async fn format(&mut self, space: usize) {
        let blocks = self.shared.oracle.borrow().blocks(space);
        if !self.shared.oracle.borrow_mut().claim(space, 0, blocks) {
            return;
        }
        let block_bytes = 512 << self.random.below(3);
        self.shared
            .oracle
            .borrow_mut()
            .begin_format(space, block_bytes);
        let admin = self.shared.host.admin();
        let id = NamespaceId::new(space as u32 + 1);
        // A format that fails leaves the namespace unusable: then it stays claimed.
        loop {
            match admin.format(id, block_bytes).await {
                Ok(()) => {
                    let mut oracle = self.shared.oracle.borrow_mut();
                    return oracle.acknowledge_format(space, block_bytes);
                }
                Err(error) if is_want_of_space(&error) || is_busy(&error) => {
                    let pause = Span::from_us(500);
                    self.shared.host.sim().sleep(pause).await;
                }
                Err(error) => return self.shared.complain(format!("format: {error}")),
            }
        }
    }

    /// Sanitizes the drive when nobody works on it, and looks at the flash.
    async fn sanitize(&mut self) {
        let pause = Span::from_us(100);
        if self.shared.sanitizing.replace(true) {
            return;
        }
        while !self.claim_everything() {
            self.shared.sim().sleep(pause).await;
        }
        self.shared.oracle.borrow_mut().begin_sanitize();
        let before = Inventory::take(&self.shared.nand.borrow());
        let admin = self.shared.host.admin();
        // One that fails, which it may for want of space only, leaves the drive unusable: then all
        // stays claimed.
        loop {
            match admin.sanitize().await {
                Ok(()) => break,
                Err(error) if is_want_of_space(&error) => self.shared.sim().sleep(pause).await,
                Err(error) => return self.shared.complain(format!("sanitize: {error}")),
            }
        }
        self.shared.oracle.borrow_mut().acknowledge_sanitize();
        loop {
            match admin.sanitize_status().await {
                Ok(page) if page.is_in_progress() => self.shared.sim().sleep(pause * 10).await,
                Ok(page) if page.state.get() == sanitize_state::COMPLETED => break,
                Ok(_) => return,
                Err(error) => return self.shared.complain(format!("sanitize status: {error}")),
            }
        }
        if let Err(left) = before.check_erased(&self.shared.nand.borrow()) {
            self.shared.complain(left);
        }
        self.shared.sanitized.set(self.shared.sanitized.get() + 1);
        self.shared.oracle.borrow_mut().release_all();
        self.shared.sanitizing.set(false);
    }

    /// Claims all blocks; false, and none are claimed, if another client has some.
    fn claim_everything(&self) -> bool {
        let mut oracle = self.shared.oracle.borrow_mut();
        let spaces = oracle.spaces();
        for space in 0..spaces {
            let blocks = oracle.blocks(space);
            if !oracle.claim(space, 0, blocks) {
                for claimed in 0..space {
                    let blocks = oracle.blocks(claimed);
                    oracle.release(claimed, 0, blocks);
                }
                return false;
            }
        }
        true
    }

    /// Computes an AND, OR or XOR of pages of a namespace that nobody works on, by whatever engine.
    async fn compute(&mut self, queue: usize) {
        let spaces = self.shared.oracle.borrow().spaces() as u64;
        let space = self.random.below(spaces) as usize;
        let Ok(device) = self.device(queue, space).await else {
            // Its format is changing.
            return;
        };
        let per_page = u64::from(device.page_blocks());
        let pages = device.blocks() / per_page;
        let length = (1 + self.random.below(PAGES_MAX)).min(pages);
        if length == 0 || device.block_bytes() != self.shared.oracle.borrow().block_bytes(space) {
            return;
        }
        let mut operands = Vec::new();
        for _ in 0..1 + self.random.below(OPERANDS_MAX) {
            let lba = self.random.below(pages - length + 1) / 2 * per_page;
            let blocks = length * per_page;
            if self.shared.oracle.borrow_mut().claim(space, lba, blocks) {
                operands.push(lba);
            }
        }
        if !operands.is_empty() {
            self.compare_computed(&device, space, &operands, length * per_page)
                .await;
        }
        for lba in operands {
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.release(space, lba, length * per_page);
        }
    }

    async fn compare_computed(
        &mut self,
        device: &BlockDevice<Queue>,
        space: usize,
        operands: &[u64],
        blocks: u64,
    ) {
        let bytes = device.block_bytes() as usize;
        let bits = blocks * bytes as u64 * 8 - self.random.below(2000);
        let mut contents: Vec<Vec<u8>> = Vec::new();
        let mut readable = true;
        for lba in operands {
            let mut oracle = self.shared.oracle.borrow_mut();
            let Some(values) = oracle.settled(space, *lba, blocks) else {
                return;
            };
            readable &= !values.contains(&UNCORRECTABLE);
            let of_block = |(lba, value)| oracle.content(lba, value, bytes);
            contents.push((*lba..).zip(values).flat_map(of_block).collect());
        }
        let operator = self.random.below(3);
        let names = operands.iter().map(|lba| Lba::new(*lba));
        let expression = match operator {
            0 => Expression::all(names),
            1 => Expression::any(names),
            _ => Expression::parity(names),
        };
        let expression: Expression<Lba> = expression.expect("there is an operand");
        let engines = [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage];
        let engine = engines[self.random.below(3) as usize];
        let evaluated = BitsDevice::new(device.clone())
            .evaluate(&expression, engine, bits)
            .await;
        let expected = combined(&contents, operator, bits);
        match evaluated {
            // A drive with few page buffers refuses what takes more at a time.
            Err(host::Error::Status(error))
                if error.status.is(Status::COMMAND_SIZE_LIMIT_EXCEEDED) => {}
            Err(host::Error::Status(error))
                if !readable && error.status.is(Status::UNRECOVERED_READ_ERROR) => {}
            Err(error) => self.shared.complain(format!("{expression}: {error}")),
            Ok(result) if readable && result == expected => {
                self.shared.computed.set(self.shared.computed.get() + 1);
            }
            Ok(_) => self
                .shared
                .complain(format!("{engine:?} computes {expression} wrongly")),
        }
    }
}

/// The first `bits` bits of what an operator makes of contents.
fn combined(contents: &[Vec<u8>], operator: u64, bits: u64) -> Vec<u8> {
    let mut result = contents[0].clone();
    for other in &contents[1..] {
        for (left, right) in result.iter_mut().zip(other) {
            *left = match operator {
                0 => *left & right,
                1 => *left | right,
                _ => *left ^ right,
            };
        }
    }
    result.truncate(bits.div_ceil(8) as usize);
    if let (Some(last), used @ 1..) = (result.last_mut(), bits % 8) {
        *last &= (1 << used) - 1;
    }
    result
}

fn is_want_of_space(error: &host::Error) -> bool {
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
    match device.read(lba, count).await {
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
