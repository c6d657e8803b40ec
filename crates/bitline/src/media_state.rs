//! What the media of a drive holds, and how worn it is, as only the process sees that has the drive.

use device::Device;
use device::ftl::{Ftl, Lpn, Mapping};
use media::nand::{BlockCondition, BlockId, Nand};
use serde::{Deserialize, Serialize};

/// Whether a logical page has data on flash.
pub(crate) fn is_mapped(ftl: &Ftl, page: u32) -> bool {
    matches!(ftl.lookup(Lpn(page)), Mapping::Data(_))
}

/// What only the process sees that has the drive: of the inventory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Media {
    pub(crate) page_bytes: u32,
    pub(crate) logical_page_bytes: u32,
    pub(crate) logical_pages: u64,
    pub(crate) data_pages: u64,
    /// Of the vectors, too.
    pub(crate) mapped_pages: u64,
    pub(crate) compute_blocks: u64,
    pub(crate) flash_blocks: u64,
    pub(crate) flash_blocks_used: u64,
    pub(crate) flash_blocks_unusable: u64,
    pub(crate) erase_count_min: u32,
    pub(crate) erase_count_mean: f64,
    pub(crate) erase_count_max: u32,
}

impl Media {
    pub(crate) fn of(device: &Device, nand: &Nand) -> Media {
        let (ftl, wear) = (&device.ftl, Wear::of(nand));
        let pages = 0..ftl.logical_pages();
        Media {
            page_bytes: nand.geometry().page_bytes,
            logical_page_bytes: ftl.unit().bytes(),
            logical_pages: pages.end.into(),
            data_pages: ftl.data_pages().into(),
            mapped_pages: pages.filter(|page| is_mapped(ftl, *page)).count() as u64,
            compute_blocks: ftl.compute_blocks() as u64,
            flash_blocks: wear.blocks,
            flash_blocks_used: wear.used,
            flash_blocks_unusable: wear.unusable,
            erase_count_min: wear.least,
            erase_count_mean: wear.mean(),
            erase_count_max: wear.most,
        }
    }
}

/// Sums over all flash blocks.
pub(crate) struct Wear {
    pub(crate) blocks: u64,
    pub(crate) used: u64,
    pub(crate) unusable: u64,
    pub(crate) least: u32,
    pub(crate) most: u32,
    sum: u64,
}

impl Wear {
    pub(crate) fn of(nand: &Nand) -> Wear {
        let blocks = nand.geometry().blocks();
        let mut wear = Wear {
            blocks: u64::from(blocks),
            used: 0,
            unusable: 0,
            least: u32::MAX,
            most: 0,
            sum: 0,
        };
        for block in (0..blocks).map(BlockId) {
            let state = nand.block_state(block);
            wear.used += u64::from(state.mode.is_some());
            wear.unusable += u64::from(state.condition != BlockCondition::Good);
            wear.least = wear.least.min(state.erase_count);
            wear.most = wear.most.max(state.erase_count);
            wear.sum += u64::from(state.erase_count);
        }
        wear
    }

    /// Erases of a block on average.
    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / self.blocks.max(1) as f64
    }
}
