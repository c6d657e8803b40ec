//! Pages behind all others: in the blocks that planes are filling.

use std::collections::BTreeMap;

use media::nand::{BlockId, PageAddress};

use super::super::Ftl;
use super::super::blocks::Stream;
use super::super::lpn::Lpn;
use super::super::mapping::Mapping;
use super::super::unit::Slots;
use super::{PreconditionError, RecordBytes, record_of};

impl Ftl {
    /// Places logical pages that hold nothing yet behind all that their planes hold, in the order given and each alone on a
    /// flash page, as if they had just been written; of each, a bit for each sector as for [`Ftl::occupy`].
    /// No block is collected for that, so that a drive which [`Ftl::occupy`] has set up stays in that state. Takes no
    /// simulated time. Gives how many were placed: those that hold something already stay as they are.
    ///
    /// # Errors
    /// Pages that the drive has not, planes without room, blocks that are partly written already, or media that
    /// cannot be written.
    pub fn append(&self, pages: &[(Lpn, u64)]) -> Result<u64, PreconditionError> {
        let mut blocks: BTreeMap<BlockId, Vec<RecordBytes>> = BTreeMap::new();
        let mut placed = 0;
        for (lpn, sectors) in pages {
            if lpn.0 >= self.logical_pages() {
                return Err(PreconditionError::Page(lpn.0, self.logical_pages()));
            }
            if self.lookup(*lpn) != Mapping::Unmapped {
                continue;
            }
            let plane = self.plane_for(*lpn);
            let allocated = self.blocks.borrow_mut().allocate(plane, Stream::Host);
            let PageAddress { block, page } =
                allocated.ok_or(PreconditionError::Space(plane.0))?.page;
            let records = blocks.entry(block).or_default();
            if records.len() != page as usize {
                return Err(PreconditionError::Used);
            }
            let version = self.next_version();
            let sequence = self.next_sequence();
            records.push(record_of(self.unit, &[(0, *lpn, version)], sequence));
            let page = PageAddress { block, page };
            self.blocks.borrow_mut().settle(page, Slots::NONE.and(0));
            let at = self.unit.at(self.geometry.ppa(page), 0);
            self.mapping.borrow_mut().set(*lpn, Mapping::Data(at));
            self.written.borrow_mut().set(*lpn, *sectors);
            placed += 1;
        }
        for (block, records) in blocks {
            let erases = self.blocks.borrow().erases(block);
            let mode = self.config.mode;
            self.schedule.place_pages(block, erases, mode, records)?;
        }
        Ok(placed)
    }
}
