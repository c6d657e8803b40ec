//! Who is best for an evaluation: the drive, in whatever way it chooses, or the host itself.

use std::rc::Rc;

use device::bits::demand::Question;
use device::bits::{Bits, Engine, Estimated, Evaluator, Objective};
use nvme::command::Engine as Asked;
use nvme::{Expression, Lba, Status};

use super::outside::{Outside, read_of};
use super::{Batch, Platform};
use crate::config::Config;
use crate::error::Error;
use crate::logical_pages::LogicalPages;

/// What is known before an evaluation of what it will take, on a drive that does nothing else.
pub(crate) struct Outlooks {
    /// None of a drive elsewhere, which does not tell: what it is asked to choose it chooses inside.
    bits: Option<Rc<Bits>>,
    outside: Outside,
    page_bits: u64,
    /// The logical pages of the first namespace.
    pages: LogicalPages,
}

impl Outlooks {
    /// Those of a drive, whose first namespace has these logical pages; `bits` estimates, if the drive is in this process.
    pub(crate) fn of(bits: Option<Rc<Bits>>, config: &Config, pages: LogicalPages) -> Outlooks {
        Outlooks {
            bits,
            outside: Outside::of(config),
            page_bits: u64::from(config.device.nand.geometry.page_bytes) * 8,
            pages,
        }
    }

    /// The engine that evaluates an expression for a platform, of vectors of so many bits, that many of them stored; none if
    /// the host does.
    ///
    /// # Errors
    /// An operand that is nowhere.
    pub(crate) fn engine(
        &self,
        platform: Platform,
        expression: &Expression<Lba>,
        (bits, stored): (u64, u64),
        count_only: bool,
    ) -> Result<Option<Asked>, Error> {
        let objective = match platform {
            Platform::Fastest => Objective::Time,
            Platform::Thriftiest => Objective::Energy,
            named => return Ok(named.engine()),
        };
        let Some(bits_of_drive) = &self.bits else {
            return Ok(platform.engine());
        };
        // What is too long for the drive is too long for the host: the command says so.
        let Ok(encoded) = expression.encode() else {
            return Ok(platform.engine());
        };
        let question = Question {
            bits,
            expression_bytes: encoded.len() as u64,
            count_only,
        };
        let asked = (expression, objective, question);
        let is_host = self.is_for_host(bits_of_drive, asked, stored)?;
        Ok(platform.engine().filter(|_| !is_host))
    }

    /// Whether the host is better than whatever the drive would do.
    fn is_for_host(
        &self,
        bits: &Bits,
        (expression, objective, question): (&Expression<Lba>, Objective, Question),
        stored: u64,
    ) -> Result<bool, Error> {
        let page_of = |lba: Lba| {
            let page = self.pages.page_of(lba.get());
            page.ok_or(Status::LBA_OUT_OF_RANGE)
        };
        let stored_chunks = stored.div_ceil(self.page_bits);
        let inside = bits.outlook(&Estimated {
            expression,
            by: Evaluator::Best(objective),
            question,
            stored_chunks,
            page_of: &page_of,
        })?;
        let least = self.outside.least(expression, question).max(inside.reading);
        if objective == Objective::Time && inside.time <= least {
            return Ok(false);
        }
        let demand_of = |lba: Lba, batch: Batch| {
            let vector = Expression::Vector(lba);
            let estimated = Estimated {
                expression: &vector,
                by: Engine::FlashCosmos.into(),
                question: read_of(batch),
                stored_chunks,
                page_of: &page_of,
            };
            Ok(bits.demand(&estimated, batch.page, batch.bits)?)
        };
        let outside = self
            .outside
            .estimate(expression, question, &demand_of, true)?;
        Ok(match objective {
            Objective::Time => outside.time_ns < inside.time.as_ns(),
            Objective::Energy => {
                let received = self.outside.received(question);
                outside.energy_pj < (inside.energy + received).as_pj()
            }
        })
    }
}
