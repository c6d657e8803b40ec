//! Reading logical pages.

use media::nand::DieId;

use super::Ftl;
use super::mapping::{Lpn, Mapping};
use crate::buffer::BufferId;
use crate::schedule::{Notify, Origin, Read};

impl Ftl {
    /// Starts reading `bytes` bytes from `column` on of one logical page to that
    /// place in `buffer`; `notify` is told when it is over. A page without data
    /// reads as zeroes, at once and without telling: false.
    #[inline]
    pub fn read(
        &self,
        lpn: Lpn,
        column: u32,
        bytes: u32,
        buffer: BufferId,
        notify: Notify,
    ) -> bool {
        self.count(|counts| counts.host_page_reads += 1);
        if self.is_cached && !self.entry_for_read(lpn, column, bytes, buffer, notify) {
            return true;
        }
        let Some((die, read)) = self.page_to_read(lpn, column, bytes, buffer) else {
            return false;
        };
        self.schedule.push(die, read, notify);
        true
    }

    /// Reads a page whose entry had to be fetched.
    pub(super) fn read_expected(
        &self,
        lpn: Lpn,
        column: u32,
        bytes: u32,
        buffer: BufferId,
        notify: Notify,
    ) {
        match self.page_to_read(lpn, column, bytes, buffer) {
            Some((die, read)) => self.schedule.push_expected(die, read, notify),
            None => self.schedule.settle(notify, None),
        }
    }

    /// The transaction that reads a page; `None`, and zeroes, if it has no data.
    #[inline]
    fn page_to_read(
        &self,
        lpn: Lpn,
        column: u32,
        bytes: u32,
        buffer: BufferId,
    ) -> Option<(DieId, Read)> {
        let Mapping::Data(page) = self.lookup(lpn) else {
            self.buffers.with_mut(buffer, |page| {
                page[column as usize..(column + bytes) as usize].fill(0);
            });
            return None;
        };
        let page = self.geometry.page_address(page);
        let read = Read {
            page,
            column,
            bytes,
            into: buffer,
            origin: Origin::default(),
        };
        Some((self.geometry.die_of_block(page.block), read))
    }
}
