//! Outside-storage processing (Flash-Cosmos 7, OSP): the host reads the operands batch by batch and
//! combines those that are there while the next are on their way.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use device::bits::combine::{count_ones, invert, mask_tail};
use nvme::command::Engine;
use nvme::{Expression, Lba};

use super::batches::Arrival;
use super::located::Located;
use crate::host_end::Host;
use crate::platforms::{AHEAD, Batch, Loop, Step, steps_of};

/// What becomes of a result that the host has.
pub(super) enum Keep<'a> {
    /// It is put behind what was there before.
    Bytes(&'a mut Vec<u8>),
    /// Its ones are counted.
    Ones(&'a mut u64),
    /// Nothing.
    Nothing,
}

/// The operands of the host, read ahead batch after batch, each in the order of first use.
struct Operands {
    host: Host,
    waiting: Box<dyn Iterator<Item = (Batch, Lba)>>,
    reading: VecDeque<(Lba, Arrival)>,
    /// Uses of each vector in one evaluation.
    uses: BTreeMap<Lba, usize>,
    held: BTreeMap<Lba, (Rc<Vec<u8>>, usize)>,
}

impl Operands {
    fn new(host: &Host, bits: u64, steps: &[Step<Lba>]) -> Operands {
        let mut uses = BTreeMap::new();
        let mut order: Vec<Lba> = Vec::new();
        for step in steps {
            if let Step::Read(id) = *step {
                let count = uses.entry(id).or_insert(0);
                *count += 1;
                if *count == 1 {
                    order.push(id);
                }
            }
        }
        let of_batch = move |batch| order.clone().into_iter().map(move |id| (batch, id));
        Operands {
            waiting: Box::new(host.batches.of(bits).flat_map(of_batch)),
            host: host.clone(),
            reading: VecDeque::new(),
            uses,
            held: BTreeMap::new(),
        }
    }

    /// Waits for a vector's share in the batch that is under way.
    async fn next(&mut self, id: Lba) -> Result<Rc<Vec<u8>>, host::Error> {
        while !self.held.contains_key(&id) {
            self.read_ahead();
            let Some((id, arrival)) = self.reading.pop_front() else {
                unreachable!("every vector of a step was entered for reading")
            };
            let data = arrival.await?;
            self.read_ahead();
            self.held.insert(id, (Rc::new(data), self.uses[&id]));
        }
        const HELD: &str = "the loop ends when it is held";
        let (data, uses) = self.held.get_mut(&id).expect(HELD);
        *uses -= 1;
        Ok(match *uses {
            0 => self.held.remove(&id).expect(HELD).0,
            _ => data.clone(),
        })
    }

    fn read_ahead(&mut self) {
        while self.reading.len() < AHEAD
            && let Some((batch, id)) = self.waiting.next()
        {
            let vector = Rc::new(Expression::Vector(id));
            // A plain read: one sense of one wordline, whatever the engine is called.
            let arrival = self.host.begin_batch(&vector, Engine::FlashCosmos, batch);
            self.reading.push_back((id, arrival));
        }
    }
}

impl Host {
    /// Reads the operands batch by batch and combines them meanwhile.
    pub(super) async fn evaluate_here(
        &self,
        Located {
            expression, bits, ..
        }: &Located<'_>,
        mut keep: Keep<'_>,
    ) -> Result<(), host::Error> {
        // What the drive would refuse is refused here as well; it bounds the depth, too.
        expression
            .encode()
            .map_err(|error| host::Error::Usage(error.to_string()))?;
        let mut steps = Vec::new();
        steps_of(expression, &mut steps);
        let mut operands = Operands::new(self, *bits, &steps);
        for batch in self.batches.of(*bits) {
            let mut result = self.combine(&steps, batch, &mut operands).await?;
            mask_tail(&mut result, batch.bits);
            match &mut keep {
                Keep::Bytes(bytes) => bytes.extend_from_slice(&result),
                Keep::Ones(ones) => {
                    self.computer.run(Loop::Count, batch.bits.div_ceil(8)).await;
                    **ones += count_ones(&result);
                }
                Keep::Nothing => {}
            }
        }
        Ok(())
    }

    /// One batch of the result.
    async fn combine(
        &self,
        steps: &[Step<Lba>],
        batch: Batch,
        operands: &mut Operands,
    ) -> Result<Vec<u8>, host::Error> {
        const BALANCED: &str = "every step finds the operands that steps before it left";
        let bytes = batch.bits.div_ceil(8);
        let mut stack: Vec<Rc<Vec<u8>>> = Vec::new();
        for step in steps {
            match step {
                Step::Read(id) => stack.push(operands.next(*id).await?),
                Step::Not => {
                    self.computer.run(Loop::Invert, bytes).await;
                    let top = stack.last_mut().expect(BALANCED);
                    invert(Rc::make_mut(top).as_mut_slice());
                }
                Step::Combine(apply) => {
                    self.computer.run(Loop::Combine, bytes).await;
                    let operand = stack.pop().expect(BALANCED);
                    let top = stack.last_mut().expect(BALANCED);
                    apply(Rc::make_mut(top).as_mut_slice(), &operand);
                }
            }
        }
        Ok(Rc::unwrap_or_clone(stack.pop().expect(BALANCED)))
    }
}
