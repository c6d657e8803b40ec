//! Expressions over vectors become expressions over the logical blocks where these are.

use std::ops::Range;

use device::bits::job::Question;
use device::bits::{Bits, Engine, Estimated, ExecuteError, Explained};
use device::cost::{Cost, Job};
use device::ftl::Lpn;
use nvme::{Expression, Lba, Status, VectorId};
use sim::resource::Permit;

use crate::drive::{Drive, Host, NAMESPACE};
use crate::error::Error;
use crate::volume::Slot;

/// An expression, and where its vectors are. They stay there until it is dropped.
pub(crate) struct Located<'a> {
    pub(crate) expression: Expression<Lba>,
    /// Length of the vectors, bits.
    pub(crate) bits: u64,
    _reading: Permit<'a>,
}

impl Host {
    /// Finds the vectors of an expression.
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`]; what opening the volume reports.
    pub(crate) async fn locate(&self, expression: &Expression) -> Result<Located<'_>, Error> {
        let reading = self.names.reading(self).await?;
        Ok(Located {
            bits: length(&self.names, expression)?,
            expression: expression.try_map(|id| {
                let place = self.names.place(id).ok_or(Error::NoVector(id))?;
                Ok::<_, Error>(Lba::new(place.first))
            })?,
            _reading: reading,
        })
    }
}

/// The length that all vectors of an expression have, in bits.
fn length(names: &Slot, expression: &Expression) -> Result<u64, Error> {
    let mut first: Option<u64> = None;
    for id in expression.vectors() {
        let found = names.place(id).ok_or(Error::NoVector(id))?.bits;
        let others = *first.get_or_insert(found);
        if others != found {
            return Err(Error::Lengths { others, found });
        }
    }
    Ok(first.unwrap_or(0))
}

impl Drive {
    /// Learns where vectors are, if that is not known since power-up.
    ///
    /// # Errors
    /// What reading the catalogue reports.
    pub(crate) fn know_vectors(&mut self) -> Result<(), Error> {
        self.run(|host| async move { host.names.know(&host).await })?
    }

    /// The logical pages of the first namespace.
    pub(crate) fn first_namespace(&self) -> Result<Range<u32>, Error> {
        let pages = self.device()?.controller.pages_of(NAMESPACE);
        Ok(pages.expect("a drive has a namespace"))
    }

    /// The length that all vectors of an expression have, in bits.
    pub(crate) fn length_of(&self, expression: &Expression) -> Result<u64, Error> {
        length(&self.host()?.names, expression)
    }

    /// How an expression over stored vectors would be evaluated; of `bits` bits, or as long as they are.
    pub(crate) fn explained(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: Option<u64>,
        count_only: bool,
    ) -> Result<Explained<VectorId>, Error> {
        let stored = self.length_of(expression)?;
        let bits = bits.map_or(stored, |bits| bits.min(stored));
        let page_of = self.pages()?;
        let bits_of_drive = &self.device()?.bits;
        Ok(bits_of_drive.explain(expression, engine, (bits, count_only), page_of)?)
    }

    /// What evaluating an expression over stored vectors takes and spends on an idle drive.
    pub(crate) fn cost_of(
        &self,
        expression: &Expression,
        engine: Engine,
        question: Question,
    ) -> Result<Cost, Error> {
        self.estimating(expression, engine, question, |bits, asked| bits.cost(asked))
    }

    /// What evaluating a part of it, from page `first` on, has the drive do.
    pub(crate) fn job_of(
        &self,
        expression: &Expression,
        engine: Engine,
        question: Question,
        first: u64,
    ) -> Result<Job, Error> {
        let ask = |bits: &Bits, asked: &Estimated<'_, VectorId>| {
            bits.job(asked, first, asked.question.bits)
        };
        self.estimating(expression, engine, question, ask)
    }

    fn estimating<T>(
        &self,
        expression: &Expression,
        engine: Engine,
        question: Question,
        ask: impl FnOnce(&Bits, &Estimated<'_, VectorId>) -> Result<T, ExecuteError>,
    ) -> Result<T, Error> {
        let stored = self.length_of(expression)?;
        let page_bits = u64::from(self.config().device.nand.geometry.page_bytes) * 8;
        let page_of = self.pages()?;
        let estimated = Estimated {
            expression,
            engine,
            question,
            stored_chunks: stored.div_ceil(page_bits),
            page_of: &page_of,
        };
        Ok(ask(&self.device()?.bits, &estimated)?)
    }

    /// The first logical page of a vector.
    fn pages(&self) -> Result<impl Fn(VectorId) -> Result<Lpn, Status> + use<>, Error> {
        let (start, host) = (self.first_namespace()?.start, self.host()?);
        let unit = self.device()?.ftl.unit();
        let page_blocks = unit.blocks(host.block().block_bytes());
        Ok(move |id| {
            // Their lengths were looked up before: there are none that are not there.
            let place = host.names.place(id).ok_or(Status::LBA_OUT_OF_RANGE)?;
            Ok(Lpn(start + (place.first / page_blocks) as u32))
        })
    }
}
