//! Vectors that are there from the beginning: they are set up at once, as earlier writes would have left them ("the data set
//! is initially stored in the SSD", Flash-Cosmos 7).

use std::ops::{ControlFlow, Range};

use device::bits::job::Question;
use device::bits::{Bits, Engine, Estimated, ExecuteError, Explained};
use device::cost::{Cost, Job};
use device::ftl::{AtOnce, Lpn};
use device::region::Shape;
use media::nand::NandError;
use nvme::command::Home;
use nvme::{Expression, NamespaceId, Status, VectorId};
use serde::Serialize;
use thiserror::Error;

use crate::drive::Drive;
use crate::error::Error;

/// Why vectors cannot be set up at once.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// They do not fit their group.
    #[error("vector {vector} of group {group}: {status}", vector = .0.vector, group = .0.group, status = .1)]
    Group(VectorId, Status),
    /// Vectors of a group are equally long.
    #[error(
        "vector {vector} of group {group} has {bits} bits where {required} are required",
        vector = .id.vector, group = .id.group
    )]
    Length {
        /// The vector.
        id: VectorId,
        /// Its length.
        bits: u64,
        /// That of the others.
        required: u64,
    },
    /// The drive has no such dies.
    #[error(transparent)]
    Home(#[from] device::region::HandleError),
    /// There is no room.
    #[error("group {group} cannot grow: plane {plane} has no free block")]
    OutOfBlocks {
        /// The group.
        group: u32,
        /// The plane without a free block (global index).
        plane: u32,
    },
    /// No addresses are left.
    #[error("group {0} cannot grow: no addresses are left for vectors")]
    OutOfAddresses(u32),
    /// The media refused.
    #[error(transparent)]
    Media(#[from] NandError),
    /// Numbers of vectors beyond what a group can count.
    #[error(
        "{count} vectors from number {first} on: a group numbers its vectors below {}",
        u32::MAX
    )]
    Numbers {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
    },
}

/// What was set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlacedVectors {
    /// Vectors.
    pub vectors: u32,
    /// Flash pages programmed for them.
    pub pages: u64,
}

impl Drive {
    /// Sets up vectors one after another.
    pub(super) fn set_up_vectors(
        &self,
        home: Home,
        first: VectorId,
        count: u32,
        (bits, inverse): (u64, bool),
        mut observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<PlacedVectors, Error> {
        let end = first.vector.checked_add(count);
        if end.is_none() || first.group == u32::MAX {
            let first = first.vector;
            return Err(PlaceError::Numbers { first, count }.into());
        }
        let mut placed = PlacedVectors::default();
        for vector in (first.vector..).take(count as usize) {
            let id = VectorId { vector, ..first };
            placed.pages += self.set_up_vector(home, id, bits, inverse)?;
            placed.vectors += 1;
            if observe(placed.vectors).is_break() {
                break;
            }
        }
        Ok(placed)
    }

    fn set_up_vector(
        &self,
        home: Home,
        id: VectorId,
        bits: u64,
        inverse: bool,
    ) -> Result<u64, Error> {
        let (ftl, table) = (&self.device()?.ftl, self.vector_table()?);
        let others = table.borrow().length_of(id.group);
        if let Some(required) = others.filter(|required| *required != bits) {
            return Err(PlaceError::Length { id, bits, required }.into());
        }
        let row = table.borrow_mut().place(home, id, bits, inverse);
        let (pages, handle, home) = row.map_err(|status| match status {
            Status::GROUP_FULL => PlaceError::OutOfAddresses(id.group),
            status => PlaceError::Group(id, status),
        })?;
        let scope = self.first_namespace()?;
        let shape = Shape {
            anchor: scope.start + table.borrow().area().start as u32,
            pitch: (pages.end - pages.start) as u32,
            home,
            scope: scope.clone(),
        };
        let lpns = scope.start + pages.start as u32..scope.start + pages.end as u32;
        let count = pages.end - pages.start;
        let set_up = || -> Result<(), PlaceError> {
            ftl.open_handle(handle, shape)?;
            let handle = ftl.handle(handle).expect("it was opened just now");
            let go_on = |_| ControlFlow::Continue(());
            match ftl.place_at_once(&handle, lpns, inverse, go_on)? {
                AtOnce::Done => Ok(()),
                AtOnce::Full(plane) => Err(PlaceError::OutOfBlocks {
                    group: id.group,
                    plane: plane.0,
                }),
            }
        };
        if let Err(error) = set_up() {
            table.borrow_mut().unplace(id);
            return Err(error.into());
        }
        Ok(count)
    }

    /// The logical pages of the first namespace.
    fn first_namespace(&self) -> Result<Range<u32>, Error> {
        let pages = self.device()?.controller.pages_of(NamespaceId::new(1));
        Ok(pages.expect("a drive has a namespace"))
    }

    /// How an expression over stored vectors would be evaluated; of `bits` bits, or as long as they are.
    pub(crate) fn explained(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: Option<u64>,
        count_only: bool,
    ) -> Result<Explained<VectorId>, Error> {
        let first = self.first_namespace()?.start;
        let stored = self.lengths(expression)?;
        let bits = bits.map_or(stored, |bits| bits.min(stored));
        let table = self.vector_table()?.borrow();
        let page_of = |id| {
            let (page, _) = table.find(id).ok_or(Status::VECTOR_NOT_FOUND)?;
            Ok(Lpn(first + page as u32))
        };
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
        let start = self.first_namespace()?.start;
        let stored = self.lengths(expression)?;
        let table = self.vector_table()?.borrow();
        let page_of = |id| {
            let (page, _) = table.find(id).ok_or(Status::VECTOR_NOT_FOUND)?;
            Ok(Lpn(start + page as u32))
        };
        let page_bits = u64::from(self.config().device.nand.geometry.page_bytes) * 8;
        let estimated = Estimated {
            expression,
            engine,
            question,
            stored_chunks: stored.div_ceil(page_bits),
            page_of: &page_of,
        };
        Ok(ask(&self.device()?.bits, &estimated)?)
    }

    /// The length that all vectors of an expression have, in bits.
    pub(crate) fn lengths(&self, expression: &Expression) -> Result<u64, Error> {
        let table = self.vector_table()?.borrow();
        let refused = |status| {
            let command = "fc_read";
            Error::Host(host::StatusError { command, status }.into())
        };
        let mut length = None;
        for id in expression.vectors() {
            let found = table.find(id);
            let (_, bits) = found.ok_or_else(|| refused(Status::VECTOR_NOT_FOUND))?;
            if *length.get_or_insert(bits) != bits {
                return Err(refused(Status::VECTOR_LENGTH_MISMATCH));
            }
        }
        Ok(length.unwrap_or(0))
    }
}
