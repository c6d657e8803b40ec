//! Vectors that are there from the beginning: they are set up at once, on the media and in the
//! tables, as earlier writes would have left them ("the data set is initially stored in the SSD",
//! Flash-Cosmos 7).

use std::ops::ControlFlow;

use media::nand::{NandError, ProgramMode};
use nvme::VectorId;
use serde::Serialize;
use thiserror::Error;

use super::{Bits, Blocks};
use crate::bits::BitsError;
use crate::bits::placement::{Home, PendingWrite, VectorSpare};

/// Why vectors cannot be placed.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// They do not fit their group, or there is no room.
    #[error(transparent)]
    Bits(#[from] BitsError),
    /// The media refused.
    #[error(transparent)]
    Media(#[from] NandError),
    /// Numbers of vectors beyond what a record can state.
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

impl Bits {
    /// Sets up `count` vectors of `bits` zeroes each, from `first` on, on the dies of `home`, where writing them one after the
    /// other would put them: in the same strings, with the same records, so that a power cut right
    /// after it recovers them. Takes no simulated time. After each vector `observe` is told how
    /// many there are; if it breaks off, the others are not set up.
    ///
    /// # Errors
    /// What keeps a vector from being placed; those before it are stored.
    pub fn place_vectors(
        &self,
        home: Home,
        first: VectorId,
        count: u32,
        bits: u64,
        inverse: bool,
        mut observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<PlacedVectors, PlaceError> {
        let end = first.vector.checked_add(count);
        if end.is_none() || first.group == u32::MAX {
            let first = first.vector;
            return Err(PlaceError::Numbers { first, count });
        }
        let mut placed = PlacedVectors::default();
        for vector in (first.vector..).take(count as usize) {
            let id = VectorId { vector, ..first };
            let write = self.groups.borrow_mut().place_at(
                &mut Blocks(&self.ftl),
                home,
                id,
                bits,
                inverse,
            )?;
            let chunks = write.chunks;
            match self.place_pages(&write) {
                Ok(()) => self.groups.borrow_mut().commit(write),
                Err(error) => {
                    self.groups.borrow_mut().abandon(write);
                    return Err(error.into());
                }
            }
            placed.vectors += 1;
            placed.pages += chunks;
            if observe(placed.vectors).is_break() {
                break;
            }
        }
        Ok(placed)
    }

    /// Programs the pages of a vector of zeroes, or of ones if its inverse is stored.
    fn place_pages(&self, write: &PendingWrite) -> Result<(), NandError> {
        let groups = self.groups.borrow();
        let mut nand = self.schedule.nand().borrow_mut();
        let inverted = write.placement.inverse && nand.holds_data();
        let ones = inverted.then(|| vec![u64::MAX; nand.geometry().page_words()]);
        let record = groups.record(write, 0);
        let pages = groups.pages(&write.placement, write.chunks);
        for (chunk, page) in (0..).zip(pages) {
            let page = page.expect("the strings of a reserved layer have all their blocks");
            let spare = VectorSpare { chunk, ..record }.encode();
            nand.place_page(page, ProgramMode::Esp, &spare, ones.as_deref())?;
        }
        Ok(())
    }
}
