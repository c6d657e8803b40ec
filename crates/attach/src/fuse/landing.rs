//! Where a request lands that comes from the kernel.

use std::io::IoSliceMut;

use super::data::{Data, DataPool, MUCH_BYTES, REQUEST_BYTES_MAX};
use super::wire::BEFORE_DATA;

/// What memory the kernel looks for at once.
const PAGE: usize = 4096;

/// Room for a request.
pub(super) struct Landing {
    /// Room for a whole one. Data begins with a page here: the kernel takes as long to find a page as to fill it.
    near: Box<[u8]>,
    start: usize,
    /// A buffer that the drive can be lent, for all data but what lies near.
    far: Box<[u8]>,
    bytes: usize,
    /// Data from here on lies in `far`.
    near_bytes: usize,
}

impl Landing {
    pub(super) fn new(pool: &DataPool) -> Landing {
        let most = REQUEST_BYTES_MAX as usize;
        let near = vec![0; PAGE + BEFORE_DATA + most].into_boxed_slice();
        let address = near.as_ptr() as usize;
        Landing {
            start: (address + BEFORE_DATA).next_multiple_of(PAGE) - BEFORE_DATA - address,
            near,
            far: pool.buffer(most),
            bytes: 0,
            near_bytes: 0,
        }
    }

    /// Room for a request, all of which is to lie near.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.near_bytes = REQUEST_BYTES_MAX as usize;
        &mut self.near[self.start..][..BEFORE_DATA + self.near_bytes]
    }

    /// Room for one of whose data much is to lie where the drive can be lent it.
    pub(super) fn rooms(&mut self) -> [IoSliceMut<'_>; 2] {
        self.near_bytes = MUCH_BYTES;
        let near = &mut self.near[self.start..][..BEFORE_DATA + self.near_bytes];
        let far = &mut self.far[self.near_bytes..];
        [IoSliceMut::new(near), IoSliceMut::new(far)]
    }

    /// A request of so many bytes has landed.
    pub(super) fn landed(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// All of it, if it lies near.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        let near = &self.near[self.start..][..BEFORE_DATA + self.near_bytes];
        near.get(..self.bytes)
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
        let near = &self.near[self.start + BEFORE_DATA..][..self.near_bytes];
        if let Some(data) = near.get(..bytes) {
            return pool.holding(data);
        }
        self.far[..near.len()].copy_from_slice(near);
        let other = pool.buffer(REQUEST_BYTES_MAX as usize);
        pool.adopt(std::mem::replace(&mut self.far, other), bytes)
    }
}
