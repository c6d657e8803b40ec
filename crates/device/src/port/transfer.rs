//! Moving a command's data between host memory and page buffers.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use media::link::{Carries, Link, READ_REQUEST_BYTES};
use nvme::{DataPointer, Dma, Segment, SegmentList, Status};
use sim::{Requester, Sim, Tenant, Time};

use crate::memory::{BufferId, Buffers};

/// The drive's way to host memory: the link, what it costs, and the page buffers at this end.
pub struct HostTransfer {
    sim: Sim,
    link: Rc<Link>,
    memory: Rc<RefCell<dyn Dma>>,
    buffers: Rc<Buffers>,
}

/// The link's part of reading `bytes` of host memory: a request up, data down.
#[inline]
pub(crate) async fn fetch_over(
    link: &Link,
    sim: &Sim,
    requester: Requester,
    carries: Carries,
    bytes: u64,
) {
    let Link { up, down, .. } = link;
    if up.is_idle() {
        // The answer's turn is known already: one wait for both.
        let fetch = post_fetch(link, requester.tenant, sim.now(), bytes);
        fetch.trace(link, requester, carries, bytes);
        sim.sleep_until(fetch.arrives).await;
    } else {
        up.transfer(requester, Carries::Request, READ_REQUEST_BYTES)
            .await;
        down.transfer(requester, carries, bytes).await;
    }
}

/// A read of host memory that is on its way.
#[derive(Clone, Copy)]
pub(crate) struct Fetch {
    /// When the host has the request.
    asked: Time,
    /// When the data is here.
    pub(crate) arrives: Time,
}

impl Fetch {
    /// Has the trace show it, as it is known now for whom it is.
    #[inline]
    pub(crate) fn trace(self, link: &Link, requester: Requester, carries: Carries, bytes: u64) {
        let Link { up, down, .. } = link;
        up.trace_answer(requester, Carries::Request, READ_REQUEST_BYTES, self.asked);
        down.trace_answer(requester, carries, bytes, self.arrives);
    }
}

/// As [`fetch_over`] an idle link, asked for at `from`, without waiting, and not in the trace yet.
#[inline]
pub(crate) fn post_fetch(link: &Link, tenant: Tenant, from: Time, bytes: u64) -> Fetch {
    let asked = link.up.post_answer(tenant, from, READ_REQUEST_BYTES);
    let arrives = link.down.post_answer(tenant, asked, bytes);
    Fetch { asked, arrives }
}

impl HostTransfer {
    /// The way over `link` to `memory`.
    pub fn new(
        sim: &Sim,
        link: Rc<Link>,
        memory: Rc<RefCell<dyn Dma>>,
        buffers: Rc<Buffers>,
    ) -> HostTransfer {
        HostTransfer {
            sim: sim.clone(),
            link,
            memory,
            buffers,
        }
    }

    /// The link that it leads over.
    #[inline]
    pub fn link(&self) -> &Rc<Link> {
        &self.link
    }

    /// Where a command's data lies in host memory. A PRP list is itself read over
    /// the link, for `requester`.
    ///
    /// # Errors
    /// What is wrong with the pointer.
    #[inline]
    pub async fn locate(
        &self,
        requester: impl Into<Requester>,
        data: &DataPointer,
        bytes: u64,
    ) -> Result<SegmentList, Status> {
        let list_bytes = data.list_bytes(bytes);
        if list_bytes > 0 {
            self.fetch_bytes(requester, Carries::PointerList, list_bytes)
                .await;
        }
        data.segments(bytes, &*self.memory.borrow())
    }

    /// Checks that both ends of every segment are in host memory: what goes there in several parts is then refused
    /// before the first of them, as a die's share of a result does not know of the others.
    ///
    /// # Errors
    /// Data Transfer Error if one is not.
    pub fn check(&self, segments: &SegmentList) -> Result<(), Status> {
        let memory = self.memory.borrow();
        for &Segment { address, length } in segments.iter() {
            for address in [address, address + (length - 1)] {
                memory.read(address, &mut [0])?;
            }
        }
        Ok(())
    }

    /// The link's part of reading `bytes` of host memory: a request up, data down.
    #[inline]
    pub async fn fetch_bytes(&self, requester: impl Into<Requester>, carries: Carries, bytes: u64) {
        fetch_over(&self.link, &self.sim, requester.into(), carries, bytes).await;
    }

    /// The link's part of writing `bytes` of a command's data to host memory, which nobody has to
    /// wait for; gives the instant of their arrival.
    pub fn post_bytes(&self, requester: impl Into<Requester>, bytes: u64) -> Time {
        self.link.up.post(requester, Carries::Data, bytes)
    }

    /// Reads host memory at `address`, whose transfer was paid for.
    ///
    /// # Errors
    /// Data Transfer Error if there is no such memory.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Status> {
        Ok(self.memory.borrow().read(address, into)?)
    }

    /// Writes the beginning of a command's data.
    ///
    /// # Errors
    /// Data Transfer Error if there is no such memory.
    pub fn write(&self, segments: &SegmentList, bytes: &[u8]) -> Result<(), Status> {
        Ok(segments.write(&mut *self.memory.borrow_mut(), bytes)?)
    }

    /// Writes bytes of a command's data, at `offset` in it.
    ///
    /// # Errors
    /// Data Transfer Error if there is no such memory.
    pub fn write_at(
        &self,
        segments: &SegmentList,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Status> {
        let mut memory = self.memory.borrow_mut();
        for_each_stretch(segments, offset, 0..bytes.len(), |address, place| {
            Ok(memory.write(address, &bytes[place])?)
        })
    }

    /// Copies a stretch of a command's data, at `offset` in it, into part of a buffer.
    ///
    /// # Errors
    /// Data Transfer Error if it is not in host memory.
    pub fn copy_in(
        &self,
        segments: &SegmentList,
        offset: u64,
        buffer: BufferId,
        range: Range<usize>,
    ) -> Result<(), Status> {
        let memory = self.memory.borrow();
        let copied = self.buffers.with_mut(buffer, |page| {
            for_each_stretch(segments, offset, range, |address, place| {
                Ok(memory.read(address, &mut page[place])?)
            })
        });
        copied.unwrap_or(Ok(()))
    }

    /// The same of data that the command does not need in host memory any more: what was lent as a page that fills the buffer is
    /// taken, not copied.
    ///
    /// # Errors
    /// As above.
    pub fn take_in(
        &self,
        segments: &SegmentList,
        offset: u64,
        buffer: BufferId,
        range: Range<usize>,
    ) -> Result<(), Status> {
        let bytes = range.len();
        let is_taken = match segments.stretches(offset, bytes).next() {
            Some((address, stretch)) if stretch.len() == bytes => {
                let mut memory = self.memory.borrow_mut();
                let page = memory.lent_page(address, bytes as u64);
                page.is_some_and(|page| self.buffers.exchange(buffer, page))
            }
            _ => false,
        };
        match is_taken {
            true => Ok(()),
            false => self.copy_in(segments, offset, buffer, range),
        }
    }

    /// Copies part of a buffer to a stretch of a command's data, at `offset` in it.
    ///
    /// # Errors
    /// Data Transfer Error if it is not in host memory.
    #[inline]
    pub fn copy_out(
        &self,
        segments: &SegmentList,
        offset: u64,
        buffer: BufferId,
        range: Range<usize>,
    ) -> Result<(), Status> {
        let copied = self.buffers.with(buffer, |page| {
            let mut memory = self.memory.borrow_mut();
            for_each_stretch(segments, offset, range, |address, place| {
                Ok(memory.write(address, &page[place])?)
            })
        });
        copied.unwrap_or(Ok(()))
    }
}

/// Calls `act` with each stretch of host memory that `range` of a buffer, which is at `offset` in a transfer, lies in:
/// its address, and its place in the buffer.
#[inline]
fn for_each_stretch(
    segments: &SegmentList,
    offset: u64,
    range: Range<usize>,
    mut act: impl FnMut(u64, Range<usize>) -> Result<(), Status>,
) -> Result<(), Status> {
    let mut done = range.start;
    for (address, of_range) in segments.stretches(offset, range.len()) {
        let place = done..range.start + of_range.end;
        done = place.end;
        act(address, place)?;
    }
    if done == range.end {
        Ok(())
    } else {
        Err(Status::DATA_TRANSFER_ERROR)
    }
}
