//! What blocks of the flash held when an erasure began, and whether it is gone.

use media::nand::{BlockCondition, BlockId, Nand, PageAddress, PageState, Ppa};

/// First bytes of the spare bytes of pages that may be there after a sanitize operation: the journal,
/// records of deallocation, mapping pages and roots of checkpoints.
const FIRMWARE: [u8; 4] = *b"JTMR";

/// How often each block had been erased, of those that were not blank.
pub struct Inventory(Vec<(BlockId, u32)>);

impl Inventory {
    pub fn take(nand: &Nand) -> Inventory {
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let blocks = blocks.filter(|block| !nand.is_erased(*block));
        let count = |block| (block, nand.block_state(block).erase_count);
        Inventory(blocks.map(count).collect())
    }

    /// # Errors
    /// A block that has not been erased since, or one that holds what is not the firmware's.
    pub fn check_erased(&self, nand: &Nand) -> Result<(), String> {
        for (block, erases) in &self.0 {
            let state = nand.block_state(*block);
            let erased =
                state.erase_count > *erases && state.condition != BlockCondition::NeedsErase;
            if !erased || (state.mode.is_none() && !nand.is_erased(*block)) {
                return Err(format!("block {} was not erased: {state:?}", block.0));
            }
        }
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let pages = blocks.flat_map(|block| {
            let pages = 0..nand.block_state(block).next_page;
            pages.map(move |page| PageAddress { block, page })
        });
        let is_hosts = |page: &Ppa| {
            let tag = nand.spare(*page).and_then(|spare| spare.first());
            nand.page_state(*page) == PageState::Programmed
                && !tag.is_some_and(|tag| FIRMWARE.contains(tag))
        };
        match pages.map(|page| nand.geometry().ppa(page)).find(is_hosts) {
            Some(page) => Err(format!("page {} holds what the host wrote", page.0)),
            None => Ok(()),
        }
    }
}
