//! Reading logical pages.

use super::Ftl;
use super::mapping::{Lpn, Mapping};
use crate::buffer::BufferId;
use crate::schedule::{Read, TicketId};

impl Ftl {
    /// Starts reading `bytes` bytes from `column` on of one logical page to that
    /// place in `buffer`; `ticket` waits for it. A page without data reads as
    /// zeroes, at once.
    #[inline]
    pub fn read(&self, lpn: Lpn, column: u32, bytes: u32, buffer: BufferId, ticket: TicketId) {
        self.count(|counts| counts.host_page_reads += 1);
        let Mapping::Data(page) = self.lookup(lpn) else {
            self.buffers.with_mut(buffer, |page| {
                page[column as usize..(column + bytes) as usize].fill(0);
            });
            return;
        };
        let page = self.geometry.page_address(page);
        let read = Read {
            page,
            column,
            bytes,
            into: buffer,
        };
        self.schedule
            .push(self.geometry.die_of_block(page.block), read, ticket);
    }
}
