//! Where a request lands that comes from the kernel.

use std::io::IoSliceMut;

use bitline::inside::nvme::Pages;

use super::data::{Data, DataPool, MUCH_BYTES, REQUEST_BYTES_MAX, join};
use super::wire::BEFORE_DATA;

/// What memory the kernel looks for at once.
const PAGE: usize = 4096;

/// Room for a request.
pub(super) struct Landing {
    /// Room for a whole one. Data begins with a page here: the kernel takes as long to find a page as to fill it.
    near: Box<[u8]>,
    start: usize,
    /// Room that the drive can be lent, for all data but what lies near.
    far: Pages,
    /// Bytes of what has landed.
    bytes: usize,
    /// Its bytes from here on lie in `far`.
    near_bytes: usize,
}

impl Landing {
    pub(super) fn new(pool: &DataPool) -> Landing {
        let near = vec![0; PAGE + BEFORE_DATA + REQUEST_BYTES_MAX as usize].into_boxed_slice();
        let address = near.as_ptr() as usize;
        Landing {
            start: (address + BEFORE_DATA).next_multiple_of(PAGE) - BEFORE_DATA - address,
            near,
            far: pool.pages(),
            bytes: 0,
            near_bytes: 0,
        }
    }

    /// Room for a request, all of which is to lie near.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.near_bytes = BEFORE_DATA + REQUEST_BYTES_MAX as usize;
        &mut self.near[self.start..][..self.near_bytes]
    }

    /// Room for one whose data is to lie where the drive can be lent it.
    pub(super) fn rooms(&mut self) -> Vec<IoSliceMut<'_>> {
        self.near_bytes = BEFORE_DATA;
        let near = &mut self.near[self.start..][..self.near_bytes];
        let all = std::iter::once(near).chain(self.far.pages_mut());
        all.map(IoSliceMut::new).collect()
    }

    /// A request of so many bytes has landed.
    pub(super) fn landed(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// All of it.
    pub(super) fn whole(&mut self) -> &[u8] {
        let whole = &mut self.near[self.start..][..self.bytes];
        let far = &mut whole[self.near_bytes.min(self.bytes)..];
        join(self.far.stretches(0..far.len()), far);
        whole
    }

    /// What comes before its data.
    pub(super) fn beginning(&self) -> &[u8] {
        &self.near[self.start..][..self.bytes.min(BEFORE_DATA)]
    }

    /// Bytes of its data.
    pub(super) fn data_bytes(&self) -> usize {
        self.bytes.saturating_sub(BEFORE_DATA)
    }

    /// The first bytes of its data; they are no more than it has.
    pub(super) fn data(&mut self, bytes: usize, pool: &DataPool) -> Data {
        if self.near_bytes > BEFORE_DATA {
            return pool.holding(bytes, [&self.near[self.start + BEFORE_DATA..][..bytes]]);
        }
        if bytes <= MUCH_BYTES {
            return pool.holding(bytes, self.far.stretches(0..bytes));
        }
        pool.adopt(std::mem::replace(&mut self.far, pool.pages()), bytes)
    }
}
