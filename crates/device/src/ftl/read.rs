//! Reading logical pages.

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
        let Mapping::Data(page) = self.lookup(lpn) else {
            self.buffers.with_mut(buffer, |page| {
                page[column as usize..(column + bytes) as usize].fill(0);
            });
            return false;
        };
        let page = self.geometry.page_address(page);
        let read = Read {
            page,
            column,
            bytes,
            into: buffer,
            origin: Origin::default(),
        };
        self.schedule
            .push(self.geometry.die_of_block(page.block), read, notify);
        true
    }
}
