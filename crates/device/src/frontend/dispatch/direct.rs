//! Direct reads: reads of one page, by far the most frequent command, without a
//! slot that waits for them. The slot that fetched the command starts the read and
//! fetches on; the die that has read the page has the command completed.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Poll;

use nvme::command::{BlockRange, ReadWrite, opcode};
use nvme::{Command, DataPointer, IoCommand, Lba, NamespaceId, Status};
use sim::{Requester, TaskId, Time};

use super::piece::Piece;
use crate::cache::{Found, Lookup, ReadStamp};
use crate::frontend::Controller;
use crate::frontend::answer::{Answer, status_of};
use crate::frontend::transport::{FetchedCommand, Source};
use crate::ftl::Lpn;
use crate::memory::{BufferId, Held, Purpose};
use crate::schedule::{Fault, Notify, Origin};
use crate::slab::Slab;

/// A direct read under way.
struct DirectRead {
    source: Source,
    piece: Piece,
    /// There is room for it, of a command.
    buffer: BufferId,
    data: DataPointer,
    namespace: NamespaceId,
    lba: Lba,
    /// When flash was asked; nothing if the cache had the page.
    stamp: Option<ReadStamp>,
}

/// Direct reads that the cache had, on their way out of DRAM: number and arrival, in order.
pub(in crate::frontend) struct CachedReads {
    queue: RefCell<VecDeque<(Time, u32)>>,
    /// The task that completes them, while there is none.
    finisher: Cell<TaskId>,
}

impl CachedReads {
    pub(in crate::frontend) fn new() -> CachedReads {
        CachedReads {
            queue: RefCell::default(),
            finisher: Cell::new(TaskId::NONE),
        }
    }
}

/// All direct reads under way, by number.
#[derive(Default)]
pub(in crate::frontend) struct DirectReads(Slab<Option<DirectRead>>);

impl Controller {
    /// Starts `fetched` if it is a legal read within one page whose data pointer needs
    /// no fetching, and there is room for the page; false if a slot has to see to it.
    #[inline]
    pub(in crate::frontend) fn start_direct(
        self: &Rc<Controller>,
        fetched: &FetchedCommand,
    ) -> bool {
        let Ok(Command::Nvm(IoCommand::Read(read))) = &fetched.command else {
            return false;
        };
        let Some(piece) = self.direct_piece(read, fetched.origin) else {
            return false;
        };
        if read.force_unit_access && self.cache.is_volatile() {
            return false;
        }
        let Some(room) = self.buffers.try_room(Purpose::Command) else {
            return false;
        };
        let buffer = self.buffers.take();
        let found = self.cache.lookup(&piece.in_buffer(buffer.id()));
        let (stamp, cached) = match found {
            Lookup::Miss => (Some(self.cache.read_stamp(piece.lpn)), None),
            Lookup::Hit(found) => (None, Some(found)),
            Lookup::PartialHit(_) => return false,
        };
        let reads = &mut *self.direct_reads.borrow_mut();
        let (buffer, held) = (buffer.keep(), room.keep());
        debug_assert_eq!(held, Held::COMMAND, "what finishing gives back");
        let number = reads.insert(DirectRead {
            source: fetched.source(),
            piece,
            buffer,
            data: read.data,
            namespace: read.namespace,
            lba: read.blocks.start,
            stamp,
        });
        if let Some(found) = cached {
            self.wait_for_dram(number, piece.origin.requester(), found);
            return true;
        }
        let to = Notify::Reader(number);
        let queued = self.ftl.read(piece.in_buffer(buffer), to);
        if !queued {
            let direct = reads.take(number);
            self.finish_direct(direct, None);
        }
        true
    }

    /// Has direct read `number`, whose page was in the cache, completed when it has left DRAM.
    fn wait_for_dram(&self, number: u32, requester: Requester, found: Found) {
        let arrives = self.cache.post_hit(requester, found);
        let cached = &self.cached_reads;
        cached.queue.borrow_mut().push_back((arrives, number));
        let finisher = cached.finisher.replace(TaskId::NONE);
        if finisher != TaskId::NONE {
            self.sim.wake_at(arrives, finisher);
        }
    }

    /// Completes the direct reads that the cache had, for ever.
    pub(in crate::frontend) async fn finish_cached_reads(self: Rc<Controller>) {
        loop {
            let (arrives, number) = self.next_cached_read().await;
            self.sim.sleep_until(arrives).await;
            self.page_read(number, None);
        }
    }

    fn next_cached_read(&self) -> impl Future<Output = (Time, u32)> + '_ {
        std::future::poll_fn(|_| match self.cached_reads.queue.borrow_mut().pop_front() {
            Some(next) => Poll::Ready(next),
            None => {
                self.cached_reads.finisher.set(self.sim.current());
                Poll::Pending
            }
        })
    }

    #[inline]
    fn direct_piece(&self, read: &ReadWrite, origin: Origin) -> Option<Piece> {
        let namespace = self.namespaces.get(read.namespace).ok()?;
        if !namespace.plain.get() {
            return None;
        }
        let range = namespace.byte_range(&read.blocks).ok()?;
        let bytes = range.end - range.start;
        let (page, column) = self.unit.locate(range.start);
        if u64::from(column) + bytes > u64::from(self.unit.bytes())
            || bytes > self.transfer_bytes_max
        {
            return None;
        }
        let piece = Piece {
            lpn: namespace.lpn(page),
            column,
            bytes: bytes as u32,
            offset: 0,
            base: 0,
            origin,
        };
        if read.data.list_bytes(bytes) > 0 {
            return None;
        }
        // Only whether it can be delivered; where to is worked out when it is.
        let deliverable = read
            .data
            .segments(bytes, &*self.host.memory.borrow())
            .is_ok();
        deliverable.then_some(piece)
    }

    /// The logical page in which `blocks` begin, if the namespace has them.
    #[inline]
    pub(in crate::frontend) fn first_page_of(
        &self,
        namespace: NamespaceId,
        blocks: &BlockRange,
    ) -> Option<Lpn> {
        let namespace = self.namespaces.get(namespace).ok()?;
        let (page, _) = self.unit.locate(namespace.byte_range(blocks).ok()?.start);
        Some(namespace.lpn(page))
    }

    /// The page of direct read `number` is in its buffer, or lost.
    pub(in crate::frontend) fn page_read(self: &Rc<Controller>, number: u32, fault: Option<Fault>) {
        let direct = self.direct_reads.borrow_mut().take(number);
        self.finish_direct(direct, fault);
    }

    #[inline]
    fn finish_direct(self: &Rc<Controller>, direct: Option<DirectRead>, fault: Option<Fault>) {
        let Some(direct) = direct else { return };
        if let (Some(stamp), None) = (direct.stamp, fault) {
            self.cache
                .keep(direct.piece.in_buffer(direct.buffer), stamp);
        }
        let answer = match self.deliver_direct(&direct, fault) {
            Ok(()) => {
                self.health.read(u64::from(direct.piece.bytes));
                Answer {
                    data_bytes: u64::from(direct.piece.bytes),
                    ..Answer::DONE
                }
            }
            Err(status) => {
                let DirectRead {
                    source,
                    namespace,
                    lba,
                    ..
                } = direct;
                self.log_failure(source, opcode::READ, namespace, lba, status);
                status.into()
            }
        };
        self.buffers.give_back(direct.buffer);
        self.buffers.release(Held::COMMAND);
        self.give_room(direct.source.queue());
        // If the completion queue is full, somebody has to wait for the host.
        self.complete_soon(direct.source, answer);
    }

    #[inline]
    fn deliver_direct(&self, direct: &DirectRead, fault: Option<Fault>) -> Result<(), Status> {
        if let Some(fault) = fault {
            return Err(status_of(fault.into(), true));
        }
        let Piece { bytes, offset, .. } = direct.piece;
        if !self.buffers.stores_data() {
            return Ok(());
        }
        let segments = direct
            .data
            .segments(u64::from(bytes), &*self.host.memory.borrow())?;
        self.port
            .copy_out(&segments, offset, direct.buffer, direct.piece.place())
    }
}

impl DirectReads {
    /// Gives a read its number.
    #[inline]
    fn insert(&mut self, read: DirectRead) -> u32 {
        self.0.insert(Some(read))
    }

    #[inline]
    fn take(&mut self, number: u32) -> Option<DirectRead> {
        let direct = self.0[number].take();
        if direct.is_some() {
            self.0.release(number);
        }
        direct
    }
}
