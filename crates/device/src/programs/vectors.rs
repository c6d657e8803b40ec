//! Bulk bitwise expressions of tasks: evaluated in the flash array as long as what is stored there is what the run sees, else by
//! the controller's accelerator on what the run reads.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use media::core::Work;
use nvme::Expression;
use sim::join_all;

use super::ends::told;
use crate::bits::combine::{and_into, count_ones, invert, mask_tail, or_into, xor_into};
use crate::bits::{
    Bits, Evaluator, ExecuteError, NotReceived, Objective, Receive, Receiving, Wanted, Within,
};
use crate::cores::Cores;
use crate::ftl::Lpn;
use crate::memory::BufferId;
use crate::schedule::Origin;
use crate::task::{FileError, errno};
use crate::tx::{Transaction, TxError};

/// Bytes of operands that are read and combined at a time; a page of each at least.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// A file of a run as an operand, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Operand(u32);

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}", self.0)
    }
}

impl nvme::Operand for Operand {
    fn code(self) -> u64 {
        self.0.into()
    }

    fn from_code(code: u64) -> Operand {
        // There are not so many files.
        Operand(u32::try_from(code).unwrap_or(u32::MAX))
    }
}

/// What evaluates the expressions of a run.
#[derive(Clone)]
pub(super) struct Vectors {
    pub(super) transaction: Rc<Transaction>,
    pub(super) bits: Rc<Bits>,
    pub(super) cores: Rc<Cores>,
    pub(super) origin: Origin,
    /// Whether the drive keeps data, or only time.
    pub(super) has_data: bool,
}

/// An expression of a run.
struct Asked {
    expression: Expression<Operand>,
    bits: u64,
    /// The file that the result goes to; else its ones are counted.
    to: Option<u32>,
}

impl Asked {
    /// Bytes of each operand, and of the result.
    fn bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// What the task is told, of a result with so many ones.
    fn answer(&self, ones: u64) -> u64 {
        match self.to {
            Some(_) => self.bytes(),
            None => ones,
        }
    }
}

impl Vectors {
    /// Evaluates an expression, as [`crate::task::Files::evaluate`] has it.
    ///
    /// # Errors
    /// What the task is told that asks for what cannot be; why its run cannot go on.
    pub(super) async fn evaluate(
        &self,
        expression: &[u8],
        bits: u64,
        to: Option<u32>,
    ) -> Result<u64, FileError> {
        let asked = self.asked(expression, bits, to)?;
        // The array is not left in the middle of it, even if the run is stopped.
        let (vectors, running) = (self.clone(), self.transaction.run_on());
        let evaluated = self.cores.sim().spawn(async move {
            let _running = running;
            vectors.carry_out(&asked).await
        });
        evaluated.await
    }

    fn asked(&self, expression: &[u8], bits: u64, to: Option<u32>) -> Result<Asked, FileError> {
        let files = self.transaction.files();
        let expression = Expression::<Operand>::decode(expression);
        let expression = expression.map_err(|_| FileError::refused(errno::EINVAL))?;
        let mut shortest = u64::MAX;
        for operand in expression.vectors() {
            let file = files.get(operand.0 as usize);
            let file = file.ok_or(FileError::refused(errno::EBADF))?;
            shortest = shortest.min(file.bytes());
        }
        let bits = if bits == 0 { shortest * 8 } else { bits };
        if bits == 0 || bits.div_ceil(8) > shortest {
            return Err(FileError::refused(errno::EINVAL));
        }
        let room = to.and_then(|to| files.get(to as usize));
        if room.is_some_and(|file| file.bytes() < bits.div_ceil(8)) {
            return Err(FileError::refused(errno::EFBIG));
        }
        Ok(Asked {
            expression,
            bits,
            to,
        })
    }

    async fn carry_out(&self, asked: &Asked) -> Result<u64, FileError> {
        self.cores.work(self.origin, Work::Plan).await;
        let failed = |error: TxError| told(&error, &self.transaction);
        for operand in asked.expression.vectors() {
            let noted = self.transaction.note_operand(operand.0, asked.bytes());
            noted.map_err(failed)?;
        }
        if let Some(to) = asked.to {
            let taken = self.transaction.take(to, asked.bytes()).await;
            taken.map_err(failed)?;
        }
        match self.in_the_array(asked).await? {
            Some(answer) => Ok(answer),
            None => self.by_reading(asked).await.map_err(failed),
        }
    }

    /// Evaluates an expression in the array; gives nothing if what the run sees of the operands is not what that would take.
    async fn in_the_array(&self, asked: &Asked) -> Result<Option<u64>, FileError> {
        let failed = |error: TxError| told(&error, &self.transaction);
        let operands = asked.expression.vectors();
        let mut first: Vec<Lpn> = Vec::with_capacity(operands.len());
        for operand in &operands {
            let begin = self.transaction.operand(operand.0, asked.bytes());
            match begin.map_err(failed)? {
                Some(begin) => first.push(begin),
                None => return Ok(None),
            }
        }
        let page_of = |operand| {
            let at = operands.binary_search(&operand);
            Ok(first[at.expect("every operand is named")])
        };
        let sees = |operand: &Operand| {
            let sees = self.transaction.sees_newest(operand.0, asked.bytes());
            sees == Ok(true)
        };
        let receiver = asked.to.map(|file| {
            Rc::new(IntoFile {
                transaction: self.transaction.clone(),
                file,
                failed: RefCell::default(),
            })
        });
        let result = match &receiver {
            Some(receiver) => Within::Pages(receiver.clone()),
            None => Within::Count,
        };
        let wanted = Wanted {
            bits: asked.bits,
            by: Evaluator::Best(Objective::Time),
            check: false,
        };
        let evaluated = self.bits.evaluate_within(
            &asked.expression,
            wanted,
            (result, self.origin),
            page_of,
            || operands.iter().all(sees),
        );
        let ones = match evaluated.await {
            Ok(Some(ones)) => ones,
            Ok(None) | Err(ExecuteError::Buffers { .. }) => return Ok(None),
            Err(error) => {
                let refused = receiver.and_then(|receiver| receiver.failed.take());
                let reason = || error.to_string();
                let device = || FileError::Device { reason: reason() };
                return Err(refused.map_or_else(device, failed));
            }
        };
        // What lies outside of the region was read as it was by then.
        for operand in &operands {
            let unchanged = self.transaction.is_unchanged(operand.0, asked.bytes());
            if !unchanged.map_err(failed)? {
                return self.begin_anew(asked);
            }
        }
        Ok(Some(asked.answer(ones)))
    }

    /// What the array took is not what the run sees. Evaluated by reading, the result takes the place of that which was taken;
    /// where it has the place of an operand, that cannot be read any more.
    ///
    /// # Errors
    /// The run is to begin anew.
    fn begin_anew(&self, asked: &Asked) -> Result<Option<u64>, FileError> {
        let to = asked.to.map(Operand);
        match to.is_some_and(|to| asked.expression.vectors().contains(&to)) {
            true => Err(FileError::Conflict {
                reason: format!(
                    "a vector was changed by somebody else while the run evaluated {}",
                    asked.expression
                ),
            }),
            false => Ok(None),
        }
    }

    /// Evaluates an expression on what the run reads.
    async fn by_reading(&self, asked: &Asked) -> Result<u64, TxError> {
        let operands = asked.expression.vectors();
        let page_bytes = self.bits.chunk_bytes();
        let each = BYTES_AT_ONCE / operands.len() as u64;
        let at_once = (each / page_bytes * page_bytes).max(page_bytes);
        let mut ones = 0;
        for start in (0..asked.bytes()).step_by(at_once as usize) {
            let bytes = at_once.min(asked.bytes() - start) as u32;
            let reads = operands.iter();
            let reads = reads.map(|operand| self.transaction.read(operand.0, start, bytes));
            let read: Result<Vec<Vec<u8>>, TxError> = join_all(reads).await.into_iter().collect();
            let read = read?;
            let taken_in = u64::from(bytes) * read.len() as u64;
            self.bits.combine_bytes(self.origin, taken_in).await;
            let page_of = |operand: Operand| {
                let at = operands.binary_search(&operand);
                &read[at.expect("every operand is named")][..]
            };
            let mut value = value_of(&asked.expression, &page_of);
            mask_tail(&mut value, asked.bits - start * 8);
            match asked.to {
                None => ones += count_ones(&value),
                Some(file) => {
                    let data = self.has_data.then_some(&value[..]);
                    self.transaction.write(file, start, bytes, data).await?;
                }
            }
        }
        Ok(asked.answer(ones))
    }
}

/// A page is combined with another, and has the result.
type Combine = fn(&mut [u8], &[u8]);

/// The value of an expression over pages. How deep it nests was looked at when it was decoded.
fn value_of<'a>(
    expression: &Expression<Operand>,
    page_of: &impl Fn(Operand) -> &'a [u8],
) -> Vec<u8> {
    let (combine, operands): (Combine, _) = match expression {
        Expression::Vector(operand) => return page_of(*operand).to_vec(),
        Expression::Not(inner) => {
            let mut value = value_of(inner, page_of);
            invert(&mut value);
            return value;
        }
        Expression::And(operands) => (and_into, operands),
        Expression::Or(operands) => (or_into, operands),
        Expression::Xor(operands) => (xor_into, operands),
    };
    let mut value = value_of(&operands[0], page_of);
    for operand in &operands[1..] {
        match operand {
            Expression::Vector(operand) => combine(&mut value, page_of(*operand)),
            other => combine(&mut value, &value_of(other, page_of)),
        }
    }
    value
}

/// Puts the pages of a result into a file.
struct IntoFile {
    transaction: Rc<Transaction>,
    file: u32,
    /// Why a page was not taken, the first that was not.
    failed: RefCell<Option<TxError>>,
}

impl Receive for IntoFile {
    fn receive(self: Rc<Self>, offset: u64, bytes: u32, page: BufferId) -> Receiving {
        Box::pin(async move {
            let written = self
                .transaction
                .write_buffer(self.file, offset, bytes, page);
            written.await.map_err(|error| {
                self.failed.borrow_mut().get_or_insert(error);
                NotReceived
            })
        })
    }
}
