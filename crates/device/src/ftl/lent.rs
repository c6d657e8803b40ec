//! Blocks that are lent: to an evaluation, for pages that it brings together, and how all that are lent come back.

use media::nand::{BlockId, PageAddress, PlaneId};

use super::spare::Content;
use super::{Ftl, FtlError};
use crate::memory::BufferId;
use crate::schedule::{Erase, Notify, Origin};
use crate::tenants;

impl Ftl {
    /// Whether blocks are lent to evaluations, or being erased after that.
    pub fn has_lent_blocks(&self) -> bool {
        self.lent.get() > 0
    }

    /// A free block of `plane` to be lent to an evaluation, if computing has any left there.
    pub fn take_compute_block(&self, plane: PlaneId) -> Option<BlockId> {
        let taken = self.blocks.borrow_mut().take_for_compute(plane, 0);
        self.lent.set(self.lent.get() + u32::from(taken.is_some()));
        self.collect(plane);
        taken
    }

    /// Takes back a block of [`Ftl::take_compute_block`] that was never programmed.
    pub fn return_blank_block(&self, block: BlockId) {
        self.lent.set(self.lent.get() - 1);
        self.blocks.borrow_mut().release_from_compute(block);
        self.add_free(block);
    }

    /// Erases a block of [`Ftl::take_compute_block`] and takes it back, unless a program failed in it: it is
    /// then out of use.
    ///
    /// # Errors
    /// The fault, if the erase failed; the block is then out of use, too.
    pub async fn return_compute_block(&self, block: BlockId) -> Result<(), FtlError> {
        self.take_back(block, || self.lent.set(self.lent.get() - 1))
            .await
    }

    /// Erases a block that was lent, if anything is in it, and takes it back, unless a program failed in it: it is then out of
    /// use. `settle` is called when it is empty, or out of use.
    ///
    /// # Errors
    /// The fault, if the erase failed; the block is then out of use, too.
    pub(super) async fn take_back(
        &self,
        block: BlockId,
        settle: impl FnOnce(),
    ) -> Result<(), FtlError> {
        let die = self.geometry.die_of_block(block);
        let state = self.schedule.nand().block_state(block);
        let worn = self.has_failed_page(block, state.next_page);
        let mut erased = Ok(());
        if state.next_page > 0 {
            let erase = Erase {
                block,
                origin: Origin::own(tenants::COLLECTION),
            };
            erased = self.schedule.perform(die, erase).await;
            self.count(|counts| counts.compute_blocks_erased += 1);
        }
        settle();
        self.region_changed.announce();
        let mut blocks = self.blocks.borrow_mut();
        blocks.release_from_compute(block);
        if worn || erased.is_err() {
            blocks.retire(block);
            self.schedule.mark_bad(block);
            self.count(|counts| counts.blocks_retired += 1);
            return Ok(erased?);
        }
        drop(blocks);
        self.add_free(block);
        self.planes[self.geometry.plane_of_block(block).0 as usize]
            .space
            .announce();
        Ok(())
    }

    /// Begins to program a page of a block that is lent to an evaluation.
    pub(crate) fn program_temporary(
        &self,
        page: PageAddress,
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) {
        self.program_esp(page, (Content::Temporary, 0), (from, origin), notify);
    }
}
