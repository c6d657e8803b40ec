//! Expressions over vectors become expressions over the logical blocks where these are.

use device::bits::demand::Question;
use device::bits::{Bits, Estimated, Evaluator, ExecuteError, Explained};
use device::cost::{Cost, Demand};
use device::ftl::Lpn;
use nvme::command::Engine;
use nvme::{Expression, Lba, Status, VectorId};

use crate::drive::Drive;
use crate::error::Error;
use crate::host_end::Host;
use crate::host_end::{Index, Using};
use crate::logical_pages::LogicalPages;
use crate::platforms::Platform;

/// An expression, and where its vectors are. They stay there until it is dropped.
pub(crate) struct Located<'a> {
    pub(crate) expression: Expression<Lba>,
    /// Length of the vectors, bits.
    pub(crate) bits: u64,
    _using: Using<'a>,
}

impl Host {
    /// Finds the vectors of an expression, once none of them is about to go elsewhere.
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`]; what opening the volume reports.
    pub(crate) async fn locate(&self, expression: &Expression) -> Result<Located<'_>, Error> {
        loop {
            self.mount.know(self).await?;
            if !self.mount.is_known() {
                // A change has broken off meanwhile.
                continue;
            }
            let (expression, bits, numbers) = places(&self.mount.index(), expression)?;
            if let Some(using) = self.mount.uses.begin(numbers) {
                return Ok(Located {
                    expression,
                    bits,
                    _using: using,
                });
            }
            self.mount.uses.changed().await;
        }
    }
}

/// An expression over the first logical blocks of vectors, the length that all of them have, in bits, and their numbers.
fn places(
    index: &Index,
    expression: &Expression,
) -> Result<(Expression<Lba>, u64, Vec<u32>), Error> {
    let (mut bits, mut numbers) = (None, Vec::new());
    let expression = expression.try_map(|id| {
        let place = index.place(id).ok_or(Error::NoVector(id))?;
        let others = *bits.get_or_insert(place.bits);
        if others != place.bits {
            let found = place.bits;
            return Err(Error::Lengths { others, found });
        }
        numbers.push(id.vector);
        Ok(Lba::new(place.first))
    })?;
    Ok((expression, bits.unwrap_or(0), numbers))
}

impl Drive {
    /// Learns where vectors are, if that is not known since power-up.
    ///
    /// # Errors
    /// What reading the catalogue reports.
    pub(crate) fn know_vectors(&mut self) -> Result<(), Error> {
        self.run(|host| async move { host.mount.know(&host).await })?
    }

    /// The logical pages of the first namespace.
    pub(crate) fn first_namespace(&self) -> Result<LogicalPages, Error> {
        Ok(self.host()?.learned.pages)
    }

    /// The length that all vectors of an expression have, in bits.
    pub(crate) fn length_of(&self, expression: &Expression) -> Result<u64, Error> {
        Ok(places(&self.host()?.mount.index(), expression)?.1)
    }

    /// The engine that evaluates an expression for a platform; none if the host does.
    pub(crate) fn engine_for(
        &self,
        platform: Platform,
        expression: &Expression,
        (bits, count_only): (u64, bool),
    ) -> Result<Option<Engine>, Error> {
        let (host, stored) = (self.host()?, self.length_of(expression)?);
        let (expression, _, _) = places(&host.mount.index(), expression)?;
        host.outlooks
            .engine(platform, &expression, (bits, stored), count_only)
    }

    /// How an expression over stored vectors would be evaluated; of `bits` bits, or as long as they are.
    pub(crate) fn explained(
        &self,
        expression: &Expression,
        by: Evaluator,
        bits: Option<u64>,
        count_only: bool,
    ) -> Result<Explained<VectorId>, Error> {
        let stored = self.length_of(expression)?;
        let bits = bits.map_or(stored, |bits| bits.min(stored));
        let page_of = self.pages()?;
        let bits_of_drive = &self
            .device_for("how an expression would be evaluated")?
            .bits;
        Ok(bits_of_drive.explain(expression, by, (bits, count_only), page_of)?)
    }

    /// What evaluating an expression over stored vectors takes and spends on an idle drive.
    pub(crate) fn cost_of(
        &self,
        expression: &Expression,
        by: Evaluator,
        question: Question,
    ) -> Result<Cost, Error> {
        self.estimating(expression, by, question, |bits, asked| bits.cost(asked))
    }

    /// What evaluating a part of it, from page `first` on, has the drive do.
    pub(crate) fn demand_of(
        &self,
        expression: &Expression,
        by: Evaluator,
        question: Question,
        first: u64,
    ) -> Result<Demand, Error> {
        let ask = |bits: &Bits, asked: &Estimated<'_, VectorId>| {
            bits.demand(asked, first, asked.question.bits)
        };
        self.estimating(expression, by, question, ask)
    }

    fn estimating<T>(
        &self,
        expression: &Expression,
        by: Evaluator,
        question: Question,
        ask: impl FnOnce(&Bits, &Estimated<'_, VectorId>) -> Result<T, ExecuteError>,
    ) -> Result<T, Error> {
        let stored = self.length_of(expression)?;
        let page_bits = u64::from(self.config().device.nand.geometry.page_bytes) * 8;
        let page_of = self.pages()?;
        let estimated = Estimated {
            expression,
            by,
            question,
            stored_chunks: stored.div_ceil(page_bits),
            page_of: &page_of,
        };
        let device = self.device_for("an estimate of an evaluation")?;
        Ok(ask(&device.bits, &estimated)?)
    }

    /// The first logical page of a vector.
    fn pages(&self) -> Result<impl Fn(VectorId) -> Result<Lpn, Status> + use<>, Error> {
        let (pages, host) = (self.first_namespace()?, self.host()?);
        Ok(move |id| {
            // Their lengths were looked up before: there are none that are not there.
            let index = host.mount.index();
            let place = index.place(id).ok_or(Status::LBA_OUT_OF_RANGE)?;
            pages.page_of(place.first).ok_or(Status::LBA_OUT_OF_RANGE)
        })
    }
}
