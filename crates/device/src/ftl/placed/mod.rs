//! Logical pages that are placed, as many together as make a flash page, a *chunk*: written with a handle, programmed with one bit a cell and margin (ESP), not
//! randomized and without a code (Flash-Cosmos 5), in blocks of the region ([`crate::region`]). Otherwise they are logical
//! pages as any: found through the one mapping, versioned, recovered, deallocated. [`emptying`] wins blocks for them,
//! [`at_once`] sets them up.

mod at_once;
mod emptying;

use media::nand::{BlockId, PageAddress, ProgramMode};

use super::lpn::Lpn;
use super::mapping::Mapping;
use super::spare::{Content, Record};
use super::unit::Slots;
use super::{Ftl, FtlError};
use crate::memory::BufferId;
use crate::planted::{Bug, is_planted};
use crate::region::{Handle, HandleError, Layout, Placement, Shape, Spot};
use crate::schedule::{Fault, Notify, Origin, Program};
pub use at_once::AtOnce;

/// A placed page whose program is under way.
#[derive(Clone, Copy, Debug)]
pub struct PlacedPage {
    /// The first of its logical pages.
    lpn: Lpn,
    page: PageAddress,
    placement: Placement,
    version: u64,
}

/// Where the content of a chunk of logical pages is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Nowhere: it reads as zeroes.
    Zeroes,
    /// In this page, which can be sensed together with others.
    Placed {
        /// The page.
        page: PageAddress,
        /// It holds the complement.
        inverse: bool,
    },
    /// In this page, if it is on flash at all, behind its code and randomized; or in several, of which this is one.
    Elsewhere(Option<PageAddress>),
}

impl Ftl {
    /// Opens a placement handle, or gives an open one another shape for later writes.
    ///
    /// # Errors
    /// A shape that cannot be.
    pub fn open_handle(&self, number: u16, shape: Shape) -> Result<(), HandleError> {
        let closed = self.region.borrow_mut().open(number, shape)?;
        closed
            .into_iter()
            .for_each(|block| self.look_at_region_block(block));
        Ok(())
    }

    /// Releases a placement handle; false if it was not open.
    pub fn release_handle(&self, number: u16) -> bool {
        self.region.borrow_mut().release(number)
    }

    /// An open handle.
    pub fn handle(&self, number: u16) -> Option<Handle> {
        self.region.borrow().handle(number).cloned()
    }

    /// How the handle that a block was written with spreads chunks over dies; over all of them if it is not open.
    pub fn layout_of(&self, block: BlockId) -> Layout {
        let region = self.region.borrow();
        let handle = region
            .held(block)
            .and_then(|held| region.handle(held.handle));
        handle.map_or(region.layout(), Handle::layout).clone()
    }

    /// The open handles, each with the blocks that hold pages written with it.
    pub fn handles(&self) -> Vec<(Handle, u32)> {
        let region = self.region.borrow();
        let handles = region.handles();
        handles
            .map(|(handle, blocks)| (handle.clone(), blocks))
            .collect()
    }

    /// Blocks that hold placed pages.
    pub fn compute_blocks(&self) -> usize {
        self.region.borrow().blocks()
    }

    /// Where the chunk is that begins with a logical page: in one page if all of it lies there in order.
    #[inline]
    pub fn stored(&self, lpn: Lpn) -> Stored {
        let Mapping::Data(first) = self.lookup(lpn) else {
            return match self.unit.is_page() {
                true => Stored::Zeroes,
                false => self.stored_apart(lpn),
            };
        };
        let page = self.unit.page(first);
        let in_order =
            |slot| self.lookup(Lpn(lpn.0 + slot)) == Mapping::Data(self.unit.at(page, slot));
        let is_chunk = self.unit.is_page() || self.unit.all().iter().all(in_order);
        let blocks = self.blocks.borrow();
        let address = self.geometry.page_address(page);
        if is_chunk && blocks.is_compute(address.block) {
            let inverse = blocks.is_inverse(page);
            Stored::Placed {
                page: address,
                inverse,
            }
        } else {
            Stored::Elsewhere(Some(address))
        }
    }

    /// Where a chunk is whose first logical page holds nothing.
    fn stored_apart(&self, lpn: Lpn) -> Stored {
        let lpns = self.unit.all().iter().map(|slot| Lpn(lpn.0 + slot));
        let mut places = lpns.map(|lpn| self.lookup(lpn));
        let some = places.find_map(|place| match place {
            Mapping::Data(at) => Some(self.geometry.page_address(self.unit.page(at))),
            _ => None,
        });
        some.map_or(Stored::Zeroes, |page| Stored::Elsewhere(Some(page)))
    }

    /// An evaluation senses pages of a block of the region: it is neither erased nor emptied until [`Ftl::unpin`].
    pub fn pin(&self, block: BlockId) {
        self.region.borrow_mut().pin(block);
    }

    /// The evaluation is over.
    pub fn unpin(&self, block: BlockId) {
        if self.region.borrow_mut().unpin(block) {
            self.unparked(block);
            self.look_at_region_block(block);
        }
    }

    /// The version of a write of a chunk that begins now, whose entries are at hand.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub(crate) async fn begin_placed_write(&self, lpn: Lpn) -> Result<u64, FtlError> {
        self.count(|counts| counts.host_page_writes += u64::from(self.unit.per_page()));
        if self.is_cached {
            for slot in self.unit.all().iter() {
                self.entry_for_write(Lpn(lpn.0 + slot)).await?;
            }
        }
        Ok(self.next_version())
    }

    /// Begins to program the chunk that begins with a logical page at a spot from a buffer, which holds what is to be stored; `None` if the spot's
    /// plane has no block for it.
    pub(crate) fn place(
        &self,
        (lpn, version): (Lpn, u64),
        spot: &Spot,
        inverse: bool,
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) -> Option<PlacedPage> {
        let page = self.allocate_placed(spot, 0)?;
        let placement = Placement {
            handle: spot.handle,
            inverse,
            column: spot.column,
        };
        let content = Content::Placed { lpn, placement };
        self.program_esp(page, (content, version), (from, origin), notify);
        Some(PlacedPage {
            lpn,
            page,
            placement,
            version,
        })
    }

    /// The program of a placed page is over: it takes the place of what the logical page was, or, false, is to be tried
    /// again.
    ///
    /// # Errors
    /// The flash refused.
    pub(crate) fn placed(
        &self,
        placed: &PlacedPage,
        outcome: Result<(), Fault>,
    ) -> Result<bool, FtlError> {
        match outcome {
            Ok(()) => {}
            Err(Fault::ProgramFailed(_)) => {
                self.give_up(placed.page);
                return Ok(false);
            }
            Err(fault) => {
                self.settle(placed.page, Slots::NONE);
                return Err(fault.into());
            }
        }
        let page = self.geometry.ppa(placed.page);
        self.settle(placed.page, self.unit.all());
        self.blocks
            .borrow_mut()
            .set_inverse(page, placed.placement.inverse);
        for slot in self.unit.all().iter() {
            let lpn = Lpn(placed.lpn.0 + slot);
            let old = self.replace(lpn, Mapping::Data(self.unit.at(page, slot)));
            let mapped = matches!(old, Mapping::Data(_));
            let whole = 0..self.unit.bytes();
            self.written.borrow_mut().note(lpn, mapped, whole);
            if self.is_cached {
                self.keep_entry(lpn);
            }
        }
        Ok(true)
    }

    /// The page's version, for another try.
    pub(crate) fn version_of(placed: &PlacedPage) -> (Lpn, u64) {
        (placed.lpn, placed.version)
    }

    /// The next page of a spot; computing may have so many blocks more than its share.
    fn allocate_placed(&self, spot: &Spot, more: u32) -> Option<PageAddress> {
        let mut took = false;
        let allocated = self.region.borrow_mut().allocate(spot, |plane| {
            let block = self.blocks.borrow_mut().take_for_compute(plane, more);
            took = block.is_some();
            block
        })?;
        self.blocks.borrow_mut().begin_program(allocated.page.block);
        if let Some(closed) = allocated.closed {
            self.look_at_region_block(closed);
        }
        if took {
            self.collect(spot.plane);
        }
        Some(allocated.page)
    }

    /// Where a copy of a placed page goes that is to keep its column and string.
    pub(super) fn copy_spot(
        &self,
        from: PageAddress,
        placement: &Placement,
    ) -> Option<PageAddress> {
        let mut spot = self.region.borrow().spot_of(from, placement);
        if is_planted(Bug::CollectionForgetsStrings) {
            spot.string = 0;
        }
        self.allocate_placed(&spot, 1)
    }

    /// The page of `target` with the number that a page has in its own block.
    pub(super) fn same_place(&self, from: PageAddress, target: BlockId) -> Option<PageAddress> {
        let held = self.region.borrow().held(target)?;
        if held.failed {
            return None;
        }
        self.blocks.borrow_mut().begin_program(target);
        Some(PageAddress {
            block: target,
            page: from.page,
        })
    }

    /// Begins to program a page with one bit a cell and margin.
    pub(super) fn program_esp(
        &self,
        page: PageAddress,
        (content, version): (Content, u64),
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) {
        let sequence = self.next_sequence();
        self.note_program(sequence);
        let record = Record {
            content,
            version,
            sequence,
        };
        let program = Program {
            page,
            mode: ProgramMode::Esp,
            from,
            bytes: self.geometry.page_bytes,
            spare: record.encode().into(),
            origin,
        };
        let die = self.geometry.die_of_block(page.block);
        self.schedule.push(die, program, notify);
    }

    /// Waits until the entries of `lpns` have been at hand, all asked for together: one read of a mapping page serves
    /// all that are in it.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub(crate) async fn entries_for(
        &self,
        lpns: impl Iterator<Item = Lpn>,
    ) -> Result<(), FtlError> {
        if self.is_cached {
            self.entries_for_lookup(lpns).await?;
        }
        Ok(())
    }
}
