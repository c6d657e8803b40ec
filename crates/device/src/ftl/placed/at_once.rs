//! Placed pages that are set up at once, without simulated time.

use std::ops::{ControlFlow, Range};

use media::nand::{NandError, PageAddress, PlaneId, ProgramMode};

use crate::ftl::mapping::Mapping;
use crate::ftl::spare::{Content, Record};
use crate::ftl::{Ftl, Lpn};
use crate::region::{Handle, Placement, Spot};

/// What setting up placed pages at once has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// They are there.
    Done,
    /// This plane has no block left for them: none is there.
    Full(PlaneId),
}

impl Ftl {
    /// Sets up a run of whole chunks of logical pages of zeroes at once, where writing them one after the other with `handle` would put
    /// them, with the same records: a power cut right after it recovers them. Takes no simulated time.
    ///
    /// # Errors
    /// The media refused.
    pub fn place_at_once(
        &self,
        handle: &Handle,
        lpns: Range<u32>,
        inverse: bool,
        mut observe: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<AtOnce, NandError> {
        let holds_data = self.schedule.nand().holds_data();
        let words = self.schedule.nand().geometry().page_words();
        let ones = (inverse && holds_data).then(|| vec![u64::MAX; words]);
        let rows = handle.rows(lpns);
        if let Some(plane) = self.plane_without_room(handle, &rows) {
            return Ok(AtOnce::Full(plane));
        }
        let mut done = 0;
        for (chunks, first) in rows {
            for (chunk, lpn) in chunks.zip((first..).step_by(self.unit.per_page() as usize)) {
                let spot = handle.spot(chunk);
                let page = self.allocate_placed(&spot, 0);
                let page = page.expect("there are blocks for all of them");
                self.place_page_at_once(Lpn(lpn), page, &spot, inverse, ones.as_deref())?;
                done += 1;
            }
            if observe(done).is_break() {
                break;
            }
        }
        Ok(AtOnce::Done)
    }

    /// A plane that has not as many blocks as rows would take, if there is one.
    fn plane_without_room(&self, handle: &Handle, rows: &[(Range<u64>, u32)]) -> Option<PlaneId> {
        let (region, blocks) = (self.region.borrow(), self.blocks.borrow());
        let chunks = rows.iter().flat_map(|(chunks, _)| chunks.clone());
        let needed = region.blocks_needed(chunks.map(|chunk| handle.spot(chunk)));
        let mut needed = needed.into_iter();
        needed.find_map(|(plane, needed)| {
            let plane = PlaneId(plane);
            (blocks.claimable(plane) < needed as usize).then_some(plane)
        })
    }

    fn place_page_at_once(
        &self,
        lpn: Lpn,
        page: PageAddress,
        spot: &Spot,
        inverse: bool,
        words: Option<&[u64]>,
    ) -> Result<(), NandError> {
        let placement = Placement {
            handle: spot.handle,
            inverse,
            column: spot.column,
        };
        let record = Record {
            content: Content::Placed { lpn, placement },
            version: self.next_version(),
            sequence: self.next_sequence(),
        };
        let placed = self
            .schedule
            .place_page(page, ProgramMode::Esp, &record.encode(), words);
        self.settle(page, self.whole_if(placed.is_ok()));
        placed?;
        let page = self.geometry.ppa(page);
        self.blocks.borrow_mut().set_inverse(page, inverse);
        for slot in self.unit.all().iter() {
            self.replace(Lpn(lpn.0 + slot), Mapping::Data(self.unit.at(page, slot)));
        }
        Ok(())
    }
}
