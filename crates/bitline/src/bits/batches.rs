//! Long vectors batch by batch: a batch of pages at a time crosses the link, and the host works on one
//! while the next are on their way (Flash-Cosmos 7: "in batches").

use std::collections::VecDeque;
use std::rc::Rc;

use device::bits::combine::count_ones;
use host::bits::Request;
use nvme::command::Engine;
use nvme::{Expression, Lba};
use sim::JoinHandle;

use super::computer::Loop;
use super::located::Located;
use crate::drive::Host;

/// Batches that are on their way at the same time: enough to keep dies and link busy while one ends
/// and the next begins.
pub(crate) const AHEAD: usize = 4;

/// A part of vectors, and of what is computed from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Its first page.
    pub(crate) page: u64,
    /// Its length in bits.
    pub(crate) bits: u64,
}

/// How vectors are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batches {
    page_bits: u64,
    pages: u64,
}

impl Batches {
    /// Into batches of as many pages of `page_bytes` as `batch_bytes` hold, at least one.
    pub(crate) fn new(page_bytes: u32, batch_bytes: u64) -> Batches {
        let page_bytes = u64::from(page_bytes);
        Batches {
            page_bits: page_bytes * 8,
            pages: (batch_bytes / page_bytes).max(1),
        }
    }

    /// The batches of a vector of `bits`, in order.
    pub(crate) fn of(self, bits: u64) -> impl Iterator<Item = Batch> {
        let step = self.pages * self.page_bits;
        (0..bits.div_ceil(step)).map(move |number| Batch {
            page: number * self.pages,
            bits: step.min(bits - number * step),
        })
    }
}

pub(super) type Arrival = JoinHandle<Result<Vec<u8>, host::Error>>;

impl Host {
    /// Begins to evaluate a batch in the drive and send it to the host.
    pub(super) fn begin_batch(
        &self,
        expression: &Rc<Expression<Lba>>,
        engine: Engine,
        batch: Batch,
    ) -> Arrival {
        let (host, expression) = (self.clone(), expression.clone());
        self.sim()
            .spawn(async move { host.batch(&expression, engine, batch).await })
    }

    /// A batch of a result: its bytes, or none if the drive keeps no data.
    async fn batch(
        &self,
        expression: &Expression<Lba>,
        engine: Engine,
        batch: Batch,
    ) -> Result<Vec<u8>, host::Error> {
        let bytes = batch.bits.div_ceil(8);
        let memory = host::Transport::memory(self.block.transport()).clone();
        let buffer = host::Buffer::new(&memory, bytes)?;
        let skipped = batch.page * u64::from(self.block.preferred_write_blocks());
        let expression = expression.map(|lba| Lba::new(lba.get() + skipped));
        self.bits
            .evaluate_into(Request::new(&expression, engine, batch.bits), &buffer)
            .await?;
        self.computer.receive(bytes);
        if !self.stores_data {
            return Ok(Vec::new());
        }
        let mut result = vec![0; bytes as usize];
        buffer.copy_to(&mut result)?;
        Ok(result)
    }

    /// Has the drive evaluate all batches one after the other, and counts the ones of each that
    /// arrives if `counting`.
    pub(super) async fn stream_from_drive(
        &self,
        located: &Located<'_>,
        engine: Engine,
        counting: bool,
    ) -> Result<u64, host::Error> {
        let expression = Rc::new(located.expression.clone());
        let mut batches = self.batches.of(located.bits);
        let mut flying: VecDeque<(Batch, Arrival)> = VecDeque::new();
        let mut ones = 0;
        loop {
            while flying.len() < AHEAD
                && let Some(batch) = batches.next()
            {
                let arrival = self.begin_batch(&expression, engine, batch);
                flying.push_back((batch, arrival));
            }
            let Some((batch, arrival)) = flying.pop_front() else {
                return Ok(ones);
            };
            let arrived = arrival.await?;
            // The next batch is asked for before this one is looked at.
            if let Some(batch) = batches.next() {
                let arrival = self.begin_batch(&expression, engine, batch);
                flying.push_back((batch, arrival));
            }
            if counting {
                self.computer.run(Loop::Count, batch.bits.div_ceil(8)).await;
                ones += count_ones(&arrived);
            }
        }
    }
}
