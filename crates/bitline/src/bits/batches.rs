//! Long vectors batch by batch: a batch of pages at a time crosses the link, and the host works on one
//! while the next are on their way (Flash-Cosmos 7: "in batches").

use std::collections::VecDeque;
use std::rc::Rc;

use device::bits::combine::count_ones;
use host::bits::Request;
use nvme::command::Engine;
use nvme::{Expression, Lba};
use sim::JoinHandle;

use super::located::Located;
use crate::host_end::Host;
use crate::platforms::{AHEAD, Batch, Loop};

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
        let mut ones = 0;
        let count = async |batch: Batch, arrived: Vec<u8>| {
            if counting {
                self.computer.run(Loop::Count, batch.bits.div_ceil(8)).await;
                ones += count_ones(&arrived);
            }
        };
        self.each_from_drive(located, engine, count).await?;
        Ok(ones)
    }

    /// Has the drive evaluate all batches one after the other, and does something with each as it arrives, in order.
    pub(super) async fn each_from_drive(
        &self,
        located: &Located<'_>,
        engine: Engine,
        mut take: impl AsyncFnMut(Batch, Vec<u8>),
    ) -> Result<(), host::Error> {
        let expression = Rc::new(located.expression.clone());
        let mut batches = self.batches.of(located.bits);
        let mut flying: VecDeque<(Batch, Arrival)> = VecDeque::new();
        loop {
            while flying.len() < AHEAD
                && let Some(batch) = batches.next()
            {
                let arrival = self.begin_batch(&expression, engine, batch);
                flying.push_back((batch, arrival));
            }
            let Some((batch, arrival)) = flying.pop_front() else {
                return Ok(());
            };
            let arrived = arrival.await?;
            // The next batch is asked for before this one is looked at.
            if let Some(batch) = batches.next() {
                let arrival = self.begin_batch(&expression, engine, batch);
                flying.push_back((batch, arrival));
            }
            take(batch, arrived).await;
        }
    }
}
