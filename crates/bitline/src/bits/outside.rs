//! Outside-storage processing (Flash-Cosmos 7, OSP): the host reads the operands batch by batch and
//! combines those that are there while the next are on their way.

use std::rc::Rc;

use device::bits::combine::{count_ones, invert, mask_tail};
use nvme::command::Engine;
use nvme::{Expression, Lba};

use super::batches::Arrival;
use super::located::Located;
use crate::host_end::Host;
use crate::platforms::{Apply, Batch, Evaluation, Loop, Machine};

/// What becomes of a result that the host has.
pub(super) enum Keep<'a> {
    /// It is put behind what was there before.
    Bytes(&'a mut Vec<u8>),
    /// Its ones are counted.
    Ones(&'a mut u64),
    /// Nothing.
    Nothing,
}

/// The host beside its drive.
struct Here<'a> {
    host: &'a Host,
    keep: Keep<'a>,
}

impl Machine<Lba> for Here<'_> {
    type Bits = Rc<Vec<u8>>;
    type Reading = Arrival;
    type Error = host::Error;

    fn read(&mut self, vector: Lba, batch: Batch) -> Arrival {
        let vector = Rc::new(Expression::Vector(vector));
        // A plain read: one sense of one wordline, whatever the engine is called.
        self.host.begin_batch(&vector, Engine::FlashCosmos, batch)
    }

    async fn arrival(&mut self, reading: Arrival) -> Result<Rc<Vec<u8>>, host::Error> {
        Ok(Rc::new(reading.await?))
    }

    async fn compute(&mut self, work: Loop, bytes: u64) {
        self.host.computer.run(work, bytes).await;
    }

    fn invert(&mut self, bits: &mut Rc<Vec<u8>>) {
        invert(Rc::make_mut(bits).as_mut_slice());
    }

    fn combine(&mut self, apply: Apply, bits: &mut Rc<Vec<u8>>, operand: &Rc<Vec<u8>>) {
        apply(Rc::make_mut(bits).as_mut_slice(), operand);
    }

    async fn finish(&mut self, bits: Rc<Vec<u8>>, batch: Batch) {
        let mut result = Rc::unwrap_or_clone(bits);
        mask_tail(&mut result, batch.bits);
        match &mut self.keep {
            Keep::Bytes(bytes) => bytes.extend_from_slice(&result),
            Keep::Ones(ones) => {
                let computer = &self.host.computer;
                computer.run(Loop::Count, batch.bits.div_ceil(8)).await;
                **ones += count_ones(&result);
            }
            Keep::Nothing => {}
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
        keep: Keep<'_>,
    ) -> Result<(), host::Error> {
        // What the drive would refuse is refused here as well; it bounds the depth, too.
        expression
            .encode()
            .map_err(|error| host::Error::Usage(error.to_string()))?;
        let evaluation = Evaluation::of(expression);
        let mut here = Here { host: self, keep };
        evaluation.run(self.batches, *bits, &mut here).await
    }
}
