//! Blocks that are lent to who knows by itself what lies where in them: for how long, and how they come back.

use media::nand::{BlockId, PageAddress, PlaneId, Ppa};

use super::spare::Content;
use super::{Ftl, FtlError};
use crate::memory::BufferId;
use crate::region::Owner;
use crate::schedule::{Erase, Notify, Origin};
use crate::tenants;

impl Ftl {
    /// Lends a free block of `plane`, if computing has any left there.
    pub fn lend_block(&self, owner: Owner, plane: PlaneId) -> Option<BlockId> {
        let block = self.blocks.borrow_mut().take_for_compute(plane, 0);
        self.lend(owner, plane, block)
    }

    /// Lends the most worn free block, for what was in one that is hardly ever erased.
    pub fn lend_worn_block(&self, owner: Owner, plane: PlaneId) -> Option<BlockId> {
        let block = self.blocks.borrow_mut().take_worn_for_compute(plane);
        self.lend(owner, plane, block)
    }

    fn lend(&self, owner: Owner, plane: PlaneId, block: Option<BlockId>) -> Option<BlockId> {
        if let Some(block) = block {
            self.region.borrow_mut().lent_mut().lend(owner, block);
        }
        self.collect(plane);
        block
    }

    /// The blocks of an owner that recovery found, which it uses or gives back; the second time there are none.
    pub fn adopt_blocks(&self, owner: Owner) -> Vec<BlockId> {
        self.region.borrow_mut().lent_mut().adopt(owner)
    }

    /// Whether blocks are lent, or being erased after that.
    pub fn has_lent_blocks(&self) -> bool {
        !self.region.borrow().lent().is_empty()
    }

    /// Blocks lent to an owner.
    pub fn lent_blocks(&self, owner: Owner) -> usize {
        self.region.borrow().lent().count(owner)
    }

    /// Whether a page is in a block that is lent to an owner.
    pub(super) fn is_lent(&self, owner: Owner, page: Ppa) -> bool {
        let block = self.geometry.page_address(page).block;
        self.region.borrow().lent().has(owner, block)
    }

    /// Asks an owner to move what lies in its block of `plane` that was erased the least, if that is so many erases behind the
    /// most worn.
    pub(super) fn level_lent(&self, owner: Owner, plane: PlaneId, threshold: u32) {
        let mut region = self.region.borrow_mut();
        if region.lent().cold().is_some() {
            return;
        }
        let blocks = self.blocks.borrow();
        let most = blocks.most_erases(plane);
        let of_plane = region
            .lent()
            .among(owner, self.geometry.blocks_of_plane(plane));
        let erases = of_plane.map(|block| (blocks.erases(block), block));
        if let Some((least, block)) = erases.min()
            && most - least > threshold
        {
            region.lent_mut().set_cold(Some(block));
            self.cold.announce();
        }
    }

    /// Waits for a block from which its owner is to move what lies there; there is no other until [`Ftl::levelled`].
    pub async fn next_cold_block(&self) -> BlockId {
        loop {
            let cold = self.region.borrow().lent().cold();
            match cold {
                Some(block) => return block,
                None => self.cold.next().await,
            }
        }
    }

    /// What lay in that block was moved, or cannot be.
    pub fn levelled(&self, moved: bool) {
        self.region.borrow_mut().lent_mut().set_cold(None);
        self.count(|counts| counts.wear_levelling_blocks += u64::from(moved));
    }

    /// Takes back a block that was lent and never programmed.
    pub fn return_blank_block(&self, block: BlockId) {
        self.region.borrow_mut().lent_mut().settle(block);
        self.blocks.borrow_mut().release_from_compute(block);
        self.add_free(block);
    }

    /// Erases a block that was lent, if anything is in it, and takes it back, unless a program failed in it: it is then out of
    /// use.
    ///
    /// # Errors
    /// The fault, if the erase failed; the block is then out of use, too.
    pub async fn take_back(&self, block: BlockId) -> Result<(), FtlError> {
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
        self.region.borrow_mut().lent_mut().settle(block);
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
