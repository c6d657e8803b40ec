//! Commands that create and delete queues (Base 5.2).

use crate::command::{halves, join_halves};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{QueueId, QueuePriority};
use crate::memory::MEMORY_PAGE_BYTES;
use crate::status::Status;

/// Create I/O Submission Queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateSubmissionQueue {
    /// The queue to be (QID).
    pub queue: QueueId,
    /// Its entries, 1 to 65536 (one more than QSIZE says); 1 is for the firmware to refuse.
    pub size: u32,
    /// PRP1 is the queue itself rather than a list of its pages (PC).
    pub contiguous: bool,
    /// Its class under weighted arbitration.
    pub priority: QueuePriority,
    /// Where its commands complete (CQID).
    pub completion_queue: QueueId,
    /// PRP Entry 1: page-aligned base address.
    pub base: u64,
}

/// Create I/O Completion Queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateCompletionQueue {
    /// The queue to be (QID).
    pub queue: QueueId,
    /// Its entries, 1 to 65536 (one more than QSIZE says); 1 is for the firmware to refuse.
    pub size: u32,
    /// PRP1 is the queue itself rather than a list of its pages (PC).
    pub contiguous: bool,
    /// Completions raise an interrupt (IEN).
    pub interrupts: bool,
    /// Which one (IV).
    pub interrupt_vector: u16,
    /// PRP Entry 1: page-aligned base address.
    pub base: u64,
}

impl CreateSubmissionQueue {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<CreateSubmissionQueue, Status> {
        let (queue, size) = decode_queue_size(entry);
        let (flags, completion_queue) = halves(entry.cdw11.get());
        Ok(CreateSubmissionQueue {
            queue,
            size,
            contiguous: flags & 1 != 0,
            priority: QueuePriority::from_code((flags >> 1) as u8),
            completion_queue: QueueId::new(completion_queue),
            base: decode_queue_base(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        encode_queue(&mut entry, self.queue, self.size, self.base);
        let flags = u16::from(self.contiguous) | u16::from(self.priority.code()) << 1;
        entry
            .cdw11
            .set(join_halves(flags, self.completion_queue.get()));
        entry
    }
}

impl CreateCompletionQueue {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<CreateCompletionQueue, Status> {
        let (queue, size) = decode_queue_size(entry);
        let (flags, interrupt_vector) = halves(entry.cdw11.get());
        Ok(CreateCompletionQueue {
            queue,
            size,
            contiguous: flags & 1 != 0,
            interrupts: flags & 2 != 0,
            interrupt_vector,
            base: decode_queue_base(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        encode_queue(&mut entry, self.queue, self.size, self.base);
        let flags = u16::from(self.contiguous) | u16::from(self.interrupts) << 1;
        entry.cdw11.set(join_halves(flags, self.interrupt_vector));
        entry
    }
}

pub(super) fn with_queue(mut entry: SubmissionEntry, queue: QueueId) -> SubmissionEntry {
    entry.cdw10.set(u32::from(queue.get()));
    entry
}

/// PRP Entry 1 as the base of a queue or of the list of its pages; either is page-aligned
/// (Base 5.2.1, 5.2.2).
fn decode_queue_base(entry: &SubmissionEntry) -> Result<u64, Status> {
    match DataPointer::decode(entry)? {
        DataPointer::Prp { prp1, .. } if prp1.is_multiple_of(MEMORY_PAGE_BYTES) => Ok(prp1),
        DataPointer::Prp { .. } => Err(Status::INVALID_PRP_OFFSET),
        DataPointer::Sgl { .. } => Err(Status::INVALID_FIELD),
    }
}

/// QID, from CDW10.
pub(super) fn decode_queue(entry: &SubmissionEntry) -> QueueId {
    QueueId::new(halves(entry.cdw10.get()).0)
}

/// QID and the queue's size, from CDW10.
fn decode_queue_size(entry: &SubmissionEntry) -> (QueueId, u32) {
    let (queue, last) = halves(entry.cdw10.get());
    (QueueId::new(queue), u32::from(last) + 1)
}

/// Puts CDW10 and PRP Entry 1 of a queue creation.
fn encode_queue(entry: &mut SubmissionEntry, queue: QueueId, size: u32, base: u64) {
    assert!(
        (1..=0x1_0000).contains(&size),
        "a queue has 1 to 65536 entries, not {size}"
    );
    entry.cdw10.set(join_halves(queue.get(), (size - 1) as u16));
    DataPointer::Prp {
        prp1: base,
        prp2: 0,
    }
    .encode_into(entry);
}
