//! Reading logical pages.

use media::nand::DieId;

use super::Ftl;
use super::lpn::Lpn;
use super::mapping::Mapping;
use crate::memory::BufferId;
use crate::schedule::{Notify, Origin, Read};

/// A slice of one logical page that is read or written, and the buffer in which it lies at that
/// place. The rest of the buffer is anybody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSlice {
    /// The page.
    pub lpn: Lpn,
    /// Its first byte.
    pub column: u32,
    /// Bytes.
    pub bytes: u32,
    /// Where they lie.
    pub buffer: BufferId,
    /// For whom.
    pub origin: Origin,
}

impl PageSlice {
    /// A slice that is the drive's own, of no stated priority.
    pub fn new(lpn: Lpn, column: u32, bytes: u32, buffer: BufferId) -> PageSlice {
        PageSlice {
            lpn,
            column,
            bytes,
            buffer,
            origin: Origin::default(),
        }
    }
}

impl Ftl {
    /// Has the processor fetch the entry of a page that a command under way names.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.mapping.borrow().prefetch(lpn);
    }

    /// Starts reading a slice of a logical page; `notify` is told when it is over. A page
    /// without data reads as zeroes, at once and without telling: false.
    #[inline]
    pub fn read(&self, slice: PageSlice, notify: Notify) -> bool {
        self.count(|counts| counts.host_page_reads += 1);
        if self.is_cached && !self.entry_for_read(slice, notify) {
            return true;
        }
        let Some((die, read)) = self.page_to_read(slice) else {
            return false;
        };
        self.schedule.push(die, read, notify);
        true
    }

    /// Reads a page whose entry had to be fetched.
    pub(super) fn read_expected(&self, slice: PageSlice, notify: Notify) {
        match self.page_to_read(slice) {
            Some((die, read)) => self.schedule.push_expected(die, read, notify),
            None => self.schedule.settle(notify, None),
        }
    }

    /// The transaction that reads a page; `None`, and zeroes, if it has no data.
    #[inline]
    fn page_to_read(&self, slice: PageSlice) -> Option<(DieId, Read)> {
        let PageSlice {
            lpn,
            column,
            bytes,
            buffer,
            origin,
        } = slice;
        let Mapping::Data(page) = self.lookup(lpn) else {
            self.count(|counts| counts.unmapped_page_reads += 1);
            self.buffers.with_mut(buffer, |page| {
                page[column as usize..(column + bytes) as usize].fill(0);
            });
            return None;
        };
        let inverse = self.blocks.borrow().is_inverse(page);
        let page = self.geometry.page_address(page);
        let read = Read {
            page,
            column,
            bytes,
            into: buffer,
            inverse,
            origin,
        };
        Some((self.geometry.die_of_block(page.block), read))
    }
}
