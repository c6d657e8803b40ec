//! Moving a command's data between host memory and page buffers.

use std::ops::Range;

use media::link::READ_REQUEST_BYTES;
use nvme::{DataPointer, SegmentList, Status};

use super::Controller;
use crate::buffer::BufferId;

impl Controller {
    /// Where a command's data lies in host memory. A PRP list is itself read over
    /// the link.
    #[inline]
    pub(super) async fn locate(
        &self,
        data: &DataPointer,
        bytes: u64,
    ) -> Result<SegmentList, Status> {
        let list_bytes = data.list_bytes(bytes);
        if list_bytes > 0 {
            self.fetch_bytes(list_bytes).await;
        }
        data.segments(bytes, &*self.host.memory.borrow())
    }

    /// The link's part of reading `bytes` of host memory: a request up, data down.
    pub(super) async fn fetch_bytes(&self, bytes: u64) {
        self.link.up.transfer(READ_REQUEST_BYTES).await;
        self.link.down.transfer(bytes).await;
        self.ledger.spend(
            self.link_up_account,
            self.link.up.energy_of(READ_REQUEST_BYTES),
        );
        self.ledger
            .spend(self.link_down_account, self.link.down.energy_of(bytes));
    }

    /// Copies a stretch of a command's data, at `offset` in it, into part of a buffer.
    pub(super) fn copy_in(
        &self,
        segments: &SegmentList,
        offset: u64,
        buffer: BufferId,
        part: Range<usize>,
    ) -> Result<(), Status> {
        let memory = self.host.memory.borrow();
        let copied = self.buffers.with_mut(buffer, |page| {
            for_each_stretch(segments, offset, part, |address, place| {
                Ok(memory.read(address, &mut page[place])?)
            })
        });
        copied.unwrap_or(Ok(()))
    }

    /// Copies part of a buffer to a stretch of a command's data, at `offset` in it.
    #[inline]
    pub(super) fn copy_out(
        &self,
        segments: &SegmentList,
        offset: u64,
        buffer: BufferId,
        part: Range<usize>,
    ) -> Result<(), Status> {
        let copied = self.buffers.with(buffer, |page| {
            let mut memory = self.host.memory.borrow_mut();
            for_each_stretch(segments, offset, part, |address, place| {
                Ok(memory.write(address, &page[place])?)
            })
        });
        copied.unwrap_or(Ok(()))
    }
}

/// Cuts `part` of a buffer, which is at `offset` in a transfer, along the borders
/// of the transfer's segments; calls `act` with the address and place of each cut.
fn for_each_stretch(
    segments: &SegmentList,
    offset: u64,
    part: Range<usize>,
    mut act: impl FnMut(u64, Range<usize>) -> Result<(), Status>,
) -> Result<(), Status> {
    let mut skip = offset;
    let mut place = part.start;
    for segment in segments.iter() {
        if skip >= segment.length {
            skip -= segment.length;
            continue;
        }
        let length = (segment.length - skip).min((part.end - place) as u64) as usize;
        act(segment.address + skip, place..place + length)?;
        place += length;
        skip = 0;
        if place == part.end {
            return Ok(());
        }
    }
    Err(Status::DATA_TRANSFER_ERROR)
}
