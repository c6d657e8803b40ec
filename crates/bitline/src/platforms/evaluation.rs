//! How the host evaluates an expression (Flash-Cosmos 7, outside-storage processing): steps over a stack, for which vectors
//! are read ahead, batch after batch, each in the order of its first use. Who reads and computes is a [`Machine`]: the host
//! beside a drive, or what an estimate lives through.

use std::collections::{BTreeMap, VecDeque};

use device::bits::combine::{and_into, or_into, xor_into};
use nvme::{Expression, Operand};

use super::batches::{AHEAD, Batch, Batches};
use super::computer::Loop;

/// How an operator takes in one more operand.
pub(crate) type Apply = fn(&mut [u8], &[u8]);

/// A step, over a stack of batches of vectors.
enum Step {
    /// Of the vector with this number.
    Read(usize),
    Not,
    Combine(Apply),
}

/// Who reads vectors and computes with them.
pub(crate) trait Machine<V> {
    /// A vector's bits in a batch, or what has been made of some.
    type Bits: Clone;
    /// A read on its way.
    type Reading;
    /// Why there is no result.
    type Error;

    /// Begins to read a vector's share in a batch.
    fn read(&mut self, vector: V, batch: Batch) -> Self::Reading;

    /// Waits for a read that was begun.
    async fn arrival(&mut self, reading: Self::Reading) -> Result<Self::Bits, Self::Error>;

    /// Computes over so many bytes.
    async fn compute(&mut self, work: Loop, bytes: u64);

    /// What an inversion yields.
    fn invert(&mut self, bits: &mut Self::Bits);

    /// What a combination yields.
    fn combine(&mut self, apply: Apply, bits: &mut Self::Bits, operand: &Self::Bits);

    /// A batch of the result is there.
    async fn finish(&mut self, bits: Self::Bits, batch: Batch);
}

/// An expression, as the host evaluates it.
pub(crate) struct Evaluation<V> {
    steps: Vec<Step>,
    /// Vectors in the order of their first use, each with its number of uses.
    vectors: Vec<(V, usize)>,
}

impl<V: Operand> Evaluation<V> {
    pub(crate) fn of(expression: &Expression<V>) -> Evaluation<V> {
        let mut evaluation = Evaluation {
            steps: Vec::new(),
            vectors: Vec::new(),
        };
        evaluation.add(expression, &mut BTreeMap::new());
        evaluation
    }

    /// Adds the steps for an expression: operands are combined as they come.
    fn add(&mut self, expression: &Expression<V>, numbers: &mut BTreeMap<V, usize>) {
        let (operands, apply): (_, Apply) = match expression {
            Expression::Vector(vector) => {
                let number = *numbers.entry(*vector).or_insert(self.vectors.len());
                if number == self.vectors.len() {
                    self.vectors.push((*vector, 0));
                }
                self.vectors[number].1 += 1;
                return self.steps.push(Step::Read(number));
            }
            Expression::Not(inner) => {
                self.add(inner, numbers);
                return self.steps.push(Step::Not);
            }
            Expression::And(operands) => (operands, and_into),
            Expression::Or(operands) => (operands, or_into),
            Expression::Xor(operands) => (operands, xor_into),
        };
        for (index, operand) in operands.iter().enumerate() {
            self.add(operand, numbers);
            if index > 0 {
                self.steps.push(Step::Combine(apply));
            }
        }
    }

    /// The vectors that are read, in this order.
    pub(crate) fn vectors(&self) -> impl ExactSizeIterator<Item = V> {
        self.vectors.iter().map(|(vector, _)| *vector)
    }

    /// What is computed for each batch.
    pub(crate) fn loops(&self) -> impl Iterator<Item = Loop> {
        self.steps.iter().filter_map(|step| match step {
            Step::Read(_) => None,
            Step::Not => Some(Loop::Invert),
            Step::Combine(_) => Some(Loop::Combine),
        })
    }

    /// Evaluates it over vectors of so many bits.
    pub(crate) async fn run<M: Machine<V>>(
        &self,
        batches: Batches,
        bits: u64,
        machine: &mut M,
    ) -> Result<(), M::Error> {
        const BALANCED: &str = "every step finds the operands that steps before it left";
        let in_batch = |batch| (0..self.vectors.len()).map(move |number| (batch, number));
        let mut waiting = batches.of(bits).flat_map(in_batch);
        let mut reading = VecDeque::with_capacity(AHEAD);
        let mut read_ahead = |machine: &mut M, reading: &mut VecDeque<_>| {
            while reading.len() < AHEAD
                && let Some((batch, number)) = waiting.next()
            {
                let (vector, _) = self.vectors[number];
                reading.push_back((number, machine.read(vector, batch)));
            }
        };
        // What is there of this batch, and how often it is used still.
        let mut held: Vec<Option<(M::Bits, usize)>> = vec![None; self.vectors.len()];
        let mut stack: Vec<M::Bits> = Vec::new();
        for batch in batches.of(bits) {
            let bytes = batch.bits.div_ceil(8);
            for step in &self.steps {
                match *step {
                    Step::Read(wanted) => {
                        while held[wanted].is_none() {
                            read_ahead(machine, &mut reading);
                            let next = reading.pop_front();
                            let (number, next) = next.expect("every vector of a step is read");
                            let bits = machine.arrival(next).await?;
                            read_ahead(machine, &mut reading);
                            held[number] = Some((bits, self.vectors[number].1));
                        }
                        stack.push(used(&mut held[wanted]));
                    }
                    Step::Not => {
                        machine.compute(Loop::Invert, bytes).await;
                        machine.invert(stack.last_mut().expect(BALANCED));
                    }
                    Step::Combine(apply) => {
                        machine.compute(Loop::Combine, bytes).await;
                        let operand = stack.pop().expect(BALANCED);
                        machine.combine(apply, stack.last_mut().expect(BALANCED), &operand);
                    }
                }
            }
            machine.finish(stack.pop().expect(BALANCED), batch).await;
        }
        Ok(())
    }
}

/// What is held, for one of its uses; after the last nothing is.
fn used<B: Clone>(held: &mut Option<(B, usize)>) -> B {
    const HELD: &str = "it is held until it is used for the last time";
    let (bits, uses) = held.as_mut().expect(HELD);
    *uses -= 1;
    match *uses {
        0 => held.take().expect(HELD).0,
        _ => bits.clone(),
    }
}
