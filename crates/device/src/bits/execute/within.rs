//! Evaluations for somebody within the drive: nothing crosses the link.

use std::rc::Rc;

use nvme::{Expression, Status};

use super::operands::{Wanted, number};
use super::receive::Receive;
use super::stage::Sink;
use super::{Bits, ExecuteError};
use crate::ftl::Lpn;
use crate::schedule::Origin;

/// What becomes of a result that stays within the drive.
#[derive(Clone)]
pub enum Within {
    /// Its ones are counted, and nothing is left of it.
    Count,
    /// Its pages are given to somebody.
    Pages(Rc<dyn Receive>),
}

impl Bits {
    /// Evaluates an expression, its operands as they are when `may` is asked, which looks at them in this instant and may
    /// refuse. Operands that lie outside of the region are read when the evaluation comes to them. Gives the ones, if they
    /// are counted; nothing if it was refused.
    ///
    /// # Errors
    /// Operands that cannot be, flash that lost data, or [`ExecuteError::NotReceived`].
    pub async fn evaluate_within<V: nvme::Operand>(
        self: &Rc<Bits>,
        expression: &Expression<V>,
        wanted: Wanted,
        (result, origin): (Within, Origin),
        page_of: impl Fn(V) -> Result<Lpn, Status>,
        may: impl FnOnce() -> bool,
    ) -> Result<Option<u64>, ExecuteError> {
        let asked = number(expression, page_of)?;
        self.entries_for(&asked, wanted).await?;
        if !may() {
            return Ok(None);
        }
        let (classes, _pins) = self.pinned(&asked, wanted);
        let sink = match result {
            Within::Count => Sink::Count,
            Within::Pages(receiver) => Sink::Within(receiver),
        };
        let count_only = matches!(sink, Sink::Count);
        let planned = self.planned(&asked, classes, wanted, count_only);
        let counted = self.carry_out_counted(planned, wanted, (sink, origin));
        Ok(Some(counted.await?.ones))
    }

    /// Bytes of a page of flash, in which vectors are worked on.
    pub fn chunk_bytes(&self) -> u64 {
        self.page_bytes()
    }

    /// Has the accelerator take in bytes that are combined, as those of operands that were read.
    pub async fn combine_bytes(&self, origin: Origin, bytes: u64) {
        self.count(|counts| counts.accelerator_bytes += bytes);
        self.accelerator.take_in(origin.tenant, bytes).await;
    }
}
