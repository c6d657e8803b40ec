//! Long vectors part by part: a batch of pages at a time crosses the link, and the host works on one
//! while the next are on their way (Flash-Cosmos 7: "in batches").

use std::collections::VecDeque;
use std::rc::Rc;

use nvme::Expression;
use nvme::command::Engine;
use sim::JoinHandle;

use super::computer::Loop;
use super::table::Part;
use crate::drive::Host;
use device::bits::combine::count_ones;

/// Parts that are on their way at the same time: enough to keep dies and link busy while one ends
/// and the next begins.
pub(crate) const AHEAD: usize = 4;

/// How vectors are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    page_bits: u64,
    pages: u64,
}

impl Cut {
    /// Into batches of as many pages of `page_bytes` as `batch_bytes` hold, at least one.
    pub(crate) fn new(page_bytes: u32, batch_bytes: u64) -> Cut {
        let page_bytes = u64::from(page_bytes);
        Cut {
            page_bits: page_bytes * 8,
            pages: (batch_bytes / page_bytes).max(1),
        }
    }

    /// The parts of a vector of `bits`, in order.
    pub(crate) fn parts(self, bits: u64) -> impl Iterator<Item = Part> {
        let step = self.pages * self.page_bits;
        (0..bits.div_ceil(step)).map(move |number| Part {
            page: (number * self.pages) as u32,
            bits: step.min(bits - number * step),
        })
    }
}

pub(super) type Arrival = JoinHandle<Result<Vec<u8>, host::Error>>;

impl Host {
    /// Begins to evaluate a part in the drive and send it to the host.
    pub(super) fn begin_part(
        &self,
        expression: &Rc<Expression>,
        engine: Engine,
        part: Part,
    ) -> Arrival {
        let (host, expression) = (self.clone(), expression.clone());
        self.sim()
            .spawn(async move { host.part(&expression, engine, part).await })
    }

    /// A part of a result: its bytes, or none if the drive keeps no data.
    async fn part(
        &self,
        expression: &Expression,
        engine: Engine,
        part: Part,
    ) -> Result<Vec<u8>, host::Error> {
        let bytes = part.bits.div_ceil(8);
        let memory = host::Transport::memory(&self.queue(0)?).clone();
        let buffer = host::Buffer::new(&memory, bytes)?;
        self.bits()
            .evaluate_part_into(expression, engine, part, &buffer)
            .await?;
        self.computer.receive(bytes);
        if !self.stores_data {
            return Ok(Vec::new());
        }
        let mut result = vec![0; bytes as usize];
        buffer.copy_to(&mut result)?;
        Ok(result)
    }

    /// Has the drive evaluate all parts one after the other, and counts the ones of each that
    /// arrives if `counting`.
    pub(super) async fn stream_from_drive(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
        counting: bool,
    ) -> Result<u64, host::Error> {
        let expression = Rc::new(expression.clone());
        let mut parts = self.cut.parts(bits);
        let mut flying: VecDeque<(Part, Arrival)> = VecDeque::new();
        let mut ones = 0;
        loop {
            while flying.len() < AHEAD
                && let Some(part) = parts.next()
            {
                let arrival = self.begin_part(&expression, engine, part);
                flying.push_back((part, arrival));
            }
            let Some((part, arrival)) = flying.pop_front() else {
                return Ok(ones);
            };
            let arrived = arrival.await?;
            // The next part is asked for before this one is looked at.
            if let Some(part) = parts.next() {
                let arrival = self.begin_part(&expression, engine, part);
                flying.push_back((part, arrival));
            }
            if counting {
                self.computer.run(Loop::Count, part.bits.div_ceil(8)).await;
                ones += count_ones(&arrived);
            }
        }
    }
}
