//! What is done to flash at rest, outside of simulated time: commands on what a capacitor holds, when the power went and no
//! task is left that could wait for one; and what a drive is given before it is used.

use std::ops::Range;

use media::nand::{
    BlockId, Command, Feature, NandError, Outcome, PageAddress, PageStatus, PlaneId, ProgramMode,
};
use sim::Time;

use super::Schedule;
use super::registers::{move_in, move_out};
use crate::memory::{BufferId, Work};

/// Commands to dies at rest, one after the other, and what they took.
pub(crate) struct AtRest<'a> {
    schedule: &'a Schedule,
    work: Work,
}

impl Schedule {
    /// Begins to command dies that are at rest: every task that could have done so is gone.
    pub(crate) fn at_rest(&self) -> AtRest<'_> {
        AtRest {
            schedule: self,
            work: Work::default(),
        }
    }

    /// Gives a page content as if it had been programmed, which takes neither time nor energy; zeroes without `words`.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    pub(crate) fn place_page(
        &self,
        page: PageAddress,
        mode: ProgramMode,
        spare: &[u8],
        words: Option<&[u64]>,
    ) -> Result<(), NandError> {
        let nand = &mut *self.nand.borrow_mut();
        nand.place_page(page, mode, spare, words)
    }

    /// Gives a block the age of so many erases, and its first pages these spare bytes, as if it had been used.
    ///
    /// # Errors
    /// Failures of the storage of bits.
    pub(crate) fn place_pages<S: AsRef<[u8]>>(
        &self,
        block: BlockId,
        erases: u32,
        mode: ProgramMode,
        spares: impl IntoIterator<Item = S>,
    ) -> Result<(), NandError> {
        let nand = &mut *self.nand.borrow_mut();
        nand.place_pages(block, erases, mode, spares)
    }
}

impl AtRest<'_> {
    /// What all commands have taken so far.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Reads a page into its register, again with lower references if need be; whether it could be corrected.
    pub(crate) fn read(&mut self, page: PageAddress, inverse: bool) -> bool {
        let retries_max = self.schedule.nand().config().ecc.retries_max;
        let plane = self.plane_of(page);
        let read = Command::Read {
            pages: [page].into_iter().collect(),
            inverse,
        };
        let (mut status, mut lowered) = (PageStatus::TooManyErrors, false);
        for level in 0..=retries_max {
            lowered |= level > 0;
            let set = level == 0 || self.lower_references(page, level).is_some();
            if !set || self.perform(page, &read).is_none() {
                return false;
            }
            let nand = self.schedule.nand();
            status = nand.page_status(plane).unwrap_or(PageStatus::Uncorrectable);
            if status != PageStatus::TooManyErrors {
                break;
            }
        }
        let restored = !lowered || self.lower_references(page, 0).is_some();
        status == PageStatus::Ok && restored
    }

    /// Moves bytes out of the register that `page` was read into, from `column` on, to a place in a buffer; false if the
    /// die refuses.
    pub(crate) fn move_out(
        &mut self,
        page: PageAddress,
        column: u32,
        (into, place): (BufferId, Range<usize>),
    ) -> bool {
        self.work.moved_bytes += place.len() as u64;
        let (nand, plane) = (self.schedule.nand(), self.plane_of(page));
        let from = (plane, column as usize);
        move_out(&nand, from, &self.schedule.buffers, (into, place)).is_ok()
    }

    /// Programs a page with what a buffer holds; nothing if the die refuses.
    pub(crate) fn program(
        &mut self,
        page: PageAddress,
        mode: ProgramMode,
        from: BufferId,
        spare: &[u8],
    ) -> Option<Outcome> {
        self.work.moved_bytes += u64::from(self.schedule.geometry.page_bytes);
        self.move_in(page, from, spare).ok()?;
        let program = Command::Program {
            pages: [page].into_iter().collect(),
            mode,
        };
        self.perform(page, &program)
    }

    fn move_in(&self, page: PageAddress, from: BufferId, spare: &[u8]) -> Result<(), NandError> {
        let plane = self.plane_of(page);
        let nand = &mut *self.schedule.nand.borrow_mut();
        move_in(nand, plane, &self.schedule.buffers, from)?;
        nand.set_spare(plane, spare)
    }

    fn lower_references(&mut self, page: PageAddress, level: u32) -> Option<Outcome> {
        let command = Command::SetFeature {
            feature: Feature::ReadReference,
            value: level,
        };
        self.perform(page, &command)
    }

    /// Has the die of a page carry out a command; nothing if it refuses.
    fn perform(&mut self, page: PageAddress, command: &Command) -> Option<Outcome> {
        let die = self.schedule.geometry.die_of_block(page.block);
        let nand = &mut *self.schedule.nand.borrow_mut();
        // Dies at rest do not look at the clock.
        let busy = nand.begin(die, command, Time::ZERO).ok()?;
        self.work.array += busy.energy;
        self.work.busy += busy.span;
        nand.finish(die, Time::ZERO + busy.span).ok()
    }

    fn plane_of(&self, page: PageAddress) -> PlaneId {
        self.schedule.geometry.plane_of_block(page.block)
    }
}
