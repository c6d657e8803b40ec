//! Clients: each sends one random command after another on its queue.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bitline::{Drive, Host, Queue};
use host::bits::BitsDevice;
use host::block::BlockDevice;
use nvme::command::Engine;
use nvme::{Expression, NamespaceId, Status, VectorId};
use sim::Random;

use crate::oracle::{Oracle, Value, content, vector_content};

/// Groups of vectors that clients write, each with its length in bits.
const GROUPS: [(u32, u64); 3] = [(1, 5000), (2, 16384), (7, 40_001)];
const VECTORS_PER_GROUP: u64 = 4;

/// What the clients of one round share.
pub struct Shared {
    host: Host,
    oracle: Rc<RefCell<Oracle>>,
    in_flight: Cell<u64>,
    complaint: RefCell<Option<String>>,
}

impl Shared {
    pub fn new(host: Host, oracle: Rc<RefCell<Oracle>>) -> Rc<Shared> {
        Rc::new(Shared {
            host,
            oracle,
            in_flight: Cell::new(0),
            complaint: RefCell::default(),
        })
    }

    pub fn sim(&self) -> &sim::Sim {
        self.host.sim()
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight.get()
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

/// One client.
pub struct Client {
    shared: Rc<Shared>,
    random: Random,
}

impl Client {
    pub fn new(shared: Rc<Shared>, random: Random) -> Client {
        Client { shared, random }
    }

    /// Works for ever.
    pub async fn run(mut self) {
        let queue = self.random.below(self.shared.host.queue_pairs() as u64) as usize;
        let Ok(block) = self.shared.host.block_on_queue(queue).await else {
            return self
                .shared
                .complain("the namespace cannot be opened".into());
        };
        let bits = BitsDevice::new(block.transport().clone(), NamespaceId::new(1));
        loop {
            self.shared.in_flight.set(self.shared.in_flight.get() + 1);
            match self.random.below(20) {
                0..=8 => self.write(&block).await,
                9..=11 => self.read(&block).await,
                12 | 13 => self.deallocate(&block).await,
                14 => self.flush(&block).await,
                15 | 16 => self.write_vector(&bits).await,
                17 => self.delete_vectors(&bits).await,
                _ => self.evaluate(&bits).await,
            }
            self.shared.in_flight.set(self.shared.in_flight.get() - 1);
            self.shared.host.sim().yield_now().await;
        }
    }

    /// Claims some blocks that nobody else works on.
    fn claim_blocks(&mut self) -> Option<(u64, u64)> {
        let mut oracle = self.shared.oracle.borrow_mut();
        let blocks = oracle.blocks();
        let most = if self.random.chance(0.1) { 64 } else { 9 };
        let count = 1 + self.random.below(most).min(blocks - 1);
        let lba = self.random.below(blocks - count + 1);
        // Half of the traffic goes to a few blocks, so that they are overwritten often.
        let lba = if self.random.chance(0.5) {
            lba / 4
        } else {
            lba
        };
        oracle.claim(lba, count).then_some((lba, count))
    }

    async fn write(&mut self, block: &BlockDevice<Queue>) {
        let Some((lba, count)) = self.claim_blocks() else {
            return;
        };
        let value = self.shared.oracle.borrow_mut().fresh_value();
        let bytes = block.block_bytes() as usize;
        let data: Vec<u8> = (lba..lba + count)
            .flat_map(|lba| content(lba, value, bytes))
            .collect();
        self.shared.oracle.borrow_mut().begin(lba, count, value);
        let durable = self.random.chance(0.2);
        let outcome = if durable {
            block.write_durably(lba, &data).await
        } else {
            block.write(lba, &data).await
        };
        self.settle(outcome, lba, count, value, durable);
    }

    async fn deallocate(&mut self, block: &BlockDevice<Queue>) {
        let Some((lba, count)) = self.claim_blocks() else {
            return;
        };
        self.shared.oracle.borrow_mut().begin(lba, count, 0);
        if self.random.chance(0.5) {
            let outcome = block.write_zeroes(lba, count).await;
            self.settle(outcome, lba, count, 0, false);
        } else {
            // A hint: afterwards a block is zero or what it was. The next read tells.
            let outcome = block.deallocate(lba, count).await;
            self.expect_success(&outcome);
            self.observe(block, lba, count).await;
            self.shared.oracle.borrow_mut().release(lba, count);
        }
    }

    fn settle(
        &self,
        outcome: Result<(), host::Error>,
        lba: u64,
        count: u64,
        value: Value,
        durable: bool,
    ) {
        self.expect_success(&outcome);
        let mut oracle = self.shared.oracle.borrow_mut();
        if outcome.is_ok() {
            oracle.acknowledge(lba, count, value, durable);
        }
        oracle.release(lba, count);
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

    async fn read(&mut self, block: &BlockDevice<Queue>) {
        let Some((lba, count)) = self.claim_blocks() else {
            return;
        };
        self.observe(block, lba, count).await;
        self.shared.oracle.borrow_mut().release(lba, count);
    }

    async fn observe(&self, block: &BlockDevice<Queue>, lba: u64, count: u64) {
        match block.read(lba, count).await {
            Err(error) => self
                .shared
                .complain(format!("read of {count} blocks from {lba}: {error}")),
            Ok(data) => {
                let bytes = block.block_bytes() as usize;
                for (lba, seen) in (lba..).zip(data.chunks(bytes)) {
                    if let Err(wrong) = self.shared.oracle.borrow_mut().observe(lba, seen) {
                        self.shared.complain(wrong);
                    }
                }
            }
        }
    }

    async fn flush(&self, block: &BlockDevice<Queue>) {
        let began = self.shared.oracle.borrow_mut().flush_begins();
        let outcome = block.flush().await;
        self.expect_success(&outcome);
        if outcome.is_ok() {
            self.shared.oracle.borrow_mut().flushed(began);
        }
    }

    async fn write_vector(&mut self, device: &BitsDevice<Queue>) {
        let (group, bits) = GROUPS[self.random.below(3) as usize];
        if !self.shared.oracle.borrow_mut().claim_group(group) {
            return;
        }
        let name = (group, self.random.below(VECTORS_PER_GROUP) as u32);
        let value = self.shared.oracle.borrow_mut().fresh_value();
        self.shared.oracle.borrow_mut().begin_vector(name, value);
        let id = VectorId {
            group,
            vector: name.1,
        };
        let data = vector_content(name, value, bits);
        let outcome = device.write(id, bits, self.random.chance(0.5), &data).await;
        self.expect_success(&outcome);
        if outcome.is_ok() {
            self.shared
                .oracle
                .borrow_mut()
                .acknowledge_vector(name, value);
        }
        self.shared.oracle.borrow_mut().release_group(group);
    }

    async fn delete_vectors(&mut self, device: &BitsDevice<Queue>) {
        let (group, _) = GROUPS[self.random.below(3) as usize];
        if !self.shared.oracle.borrow_mut().claim_group(group) {
            return;
        }
        let one = self
            .random
            .chance(0.7)
            .then(|| self.random.below(VECTORS_PER_GROUP) as u32);
        let names = match one {
            Some(vector) => vec![(group, vector)],
            None => self.shared.oracle.borrow().vectors_of(group),
        };
        for name in &names {
            self.shared.oracle.borrow_mut().begin_vector(*name, 0);
        }
        let outcome = device.delete(group, one).await;
        let missing = matches!(&outcome, Err(host::Error::Status(error)) if error.status.is(Status::VECTOR_NOT_FOUND));
        if !missing {
            self.expect_success(&outcome);
        }
        if outcome.is_ok() || missing {
            for name in names {
                self.shared.oracle.borrow_mut().acknowledge_vector(name, 0);
            }
        }
        self.shared.oracle.borrow_mut().release_group(group);
    }

    /// Evaluates an AND, OR or XOR of vectors of a group, by whatever engine.
    async fn evaluate(&mut self, device: &BitsDevice<Queue>) {
        let (group, bits) = GROUPS[self.random.below(3) as usize];
        if !self.shared.oracle.borrow_mut().claim_group(group) {
            return;
        }
        let known: Vec<((u32, u32), Value)> = {
            let oracle = self.shared.oracle.borrow();
            let named = oracle.vectors_of(group).into_iter();
            named
                .filter_map(|name| {
                    Some((
                        name,
                        oracle.settled_vector(name).filter(|value| *value != 0)?,
                    ))
                })
                .collect()
        };
        if !known.is_empty() {
            let engine = [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage]
                [self.random.below(3) as usize];
            self.compare(device, &known, bits, engine).await;
        }
        self.shared.oracle.borrow_mut().release_group(group);
    }

    async fn compare(
        &mut self,
        device: &BitsDevice<Queue>,
        known: &[((u32, u32), Value)],
        bits: u64,
        engine: Engine,
    ) {
        let operands = || {
            known.iter().map(|((group, vector), _)| {
                Expression::from(VectorId {
                    group: *group,
                    vector: *vector,
                })
            })
        };
        let operator = self.random.below(3);
        let expression = match operator {
            0 => Expression::all(operands()),
            1 => Expression::any(operands()),
            _ => Expression::parity(operands()),
        };
        let expression = expression.expect("there is an operand");
        let expected = known
            .iter()
            .map(|(name, value)| vector_content(*name, *value, bits))
            .reduce(|mut left, right| {
                for (left, right) in left.iter_mut().zip(right) {
                    *left = match operator {
                        0 => *left & right,
                        1 => *left | right,
                        _ => *left ^ right,
                    };
                }
                left
            });
        match device.evaluate(&expression, engine, bits).await {
            Err(error) => self.shared.complain(format!("{expression}: {error}")),
            Ok(result) if Some(&result) != expected.as_ref() => {
                self.shared
                    .complain(format!("{engine:?} computes {expression} wrongly"));
            }
            Ok(_) => {}
        }
    }
}

fn is_want_of_space(error: &host::Error) -> bool {
    let wants = [
        Status::CAPACITY_EXCEEDED,
        Status::GROUP_FULL,
        Status::WRITE_FAULT,
    ];
    matches!(error, host::Error::Status(error) if wants.iter().any(|status| error.status.is(*status)))
}

/// Reads every vector and compares; gives how many exist.
pub fn check_vectors(drive: &mut Drive, oracle: &Rc<RefCell<Oracle>>) -> Result<u64, String> {
    let names = oracle.borrow().vectors();
    let oracle = oracle.clone();
    let checked = drive.run(|host| async move {
        let listed = host
            .bits()
            .list(None)
            .await
            .map_err(|error| error.to_string())?;
        if let Some(stranger) = listed
            .iter()
            .find(|vector| !names.contains(&(vector.id.group, vector.id.vector)))
        {
            return Err(format!("{:?} was never written", stranger.id));
        }
        for name in &names {
            let bits = GROUPS
                .iter()
                .find(|(group, _)| *group == name.0)
                .map_or(0, |(_, bits)| *bits);
            let id = VectorId {
                group: name.0,
                vector: name.1,
            };
            let seen = if listed.iter().any(|vector| vector.id == id) {
                let read = host
                    .bits()
                    .evaluate(&Expression::from(id), Engine::FlashCosmos, bits)
                    .await;
                Some(read.map_err(|error| format!("{name:?}: {error}"))?)
            } else {
                None
            };
            oracle
                .borrow_mut()
                .observe_vector(*name, bits, seen.as_deref())?;
        }
        Ok(listed.len() as u64)
    });
    checked.map_err(|error| error.to_string())?
}
