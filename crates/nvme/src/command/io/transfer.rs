//! Read and Write, with a placement handle or without (NVM 3.3.4, 3.3.6).

use super::{
    DIRECTIVE_SPECIFIC_SHIFT, DIRECTIVE_TYPE_MASK, DIRECTIVE_TYPE_SHIFT, FORCE_UNIT_ACCESS_BIT,
    IoCommand, LIMITED_RETRY_BIT,
};
use crate::command::{HANDLE_MAX, PLACEMENT_DIRECTIVE, bit, join_dwords};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{Lba, NamespaceId};
use crate::status::Status;

/// Logical blocks in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRange {
    /// The first block (SLBA).
    pub start: Lba,
    /// How many blocks, 1 to 65536 (one more than NLB says).
    pub count: u32,
}

impl BlockRange {
    /// `count` blocks from `start`.
    pub const fn new(start: Lba, count: u32) -> BlockRange {
        BlockRange { start, count }
    }

    /// The block after the last one; none if that is past the highest address.
    pub fn end(&self) -> Option<Lba> {
        self.start
            .get()
            .checked_add(u64::from(self.count))
            .map(Lba::new)
    }

    /// The range that the entry of a Read, a Write or another command of blocks names.
    #[inline]
    pub fn decode(entry: &SubmissionEntry) -> BlockRange {
        BlockRange {
            start: Lba::new(join_dwords(entry.cdw10.get(), entry.cdw11.get())),
            count: (entry.cdw12.get() & 0xFFFF) + 1,
        }
    }

    /// Puts the range into CDW10 to CDW12, whose other bits are then zero.
    pub(super) fn encode_into(&self, entry: &mut SubmissionEntry) {
        assert!(
            (1..=0x1_0000).contains(&self.count),
            "a command covers 1 to 65536 blocks, not {}",
            self.count
        );
        let start = self.start.get();
        entry.cdw10.set(start as u32);
        entry.cdw11.set((start >> 32) as u32);
        entry.cdw12.set(self.count - 1);
    }
}

/// A Read or a Write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadWrite {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The blocks transferred.
    pub blocks: BlockRange,
    /// Durable before completion, or read from the medium (FUA).
    pub force_unit_access: bool,
    /// The drive may give up sooner (LR).
    pub limited_retry: bool,
    /// The host memory at the other end.
    pub data: DataPointer,
}

impl ReadWrite {
    #[inline]
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<ReadWrite, Status> {
        let cdw12 = entry.cdw12.get();
        Ok(ReadWrite {
            namespace: entry.namespace(),
            blocks: BlockRange::decode(entry),
            force_unit_access: bit(cdw12, FORCE_UNIT_ACCESS_BIT),
            limited_retry: bit(cdw12, LIMITED_RETRY_BIT),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        self.blocks.encode_into(&mut entry);
        entry.cdw12 |= u32::from(self.force_unit_access) << FORCE_UNIT_ACCESS_BIT
            | u32::from(self.limited_retry) << LIMITED_RETRY_BIT;
        self.data.encode_into(&mut entry);
        entry
    }
}

/// A Write with the placement directive: DTYPE Fh, in DSPEC bits 14:0 the handle, in bit 15 whether the inverse is
/// stored. What is read is what was written, whatever is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedWrite {
    /// Which blocks, and their data.
    pub write: ReadWrite,
    /// The handle, below 2^15.
    pub handle: u16,
    /// The complement is stored, so that one sense gives an OR by De Morgan (Flash-Cosmos 6.1).
    pub inverse: bool,
}

impl PlacedWrite {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<PlacedWrite, Status> {
        let kind = (entry.cdw12.get() & DIRECTIVE_TYPE_MASK) >> DIRECTIVE_TYPE_SHIFT;
        if kind != u32::from(PLACEMENT_DIRECTIVE) {
            return Err(Status::INVALID_FIELD);
        }
        let specific = (entry.cdw13.get() >> DIRECTIVE_SPECIFIC_SHIFT) as u16;
        Ok(PlacedWrite {
            write: ReadWrite::decode(entry)?,
            handle: specific & HANDLE_MAX,
            inverse: specific > HANDLE_MAX,
        })
    }

    pub(super) fn encode(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let mut entry = self.write.encode(entry);
        let inverse = u16::from(self.inverse) << 15;
        let specific = u32::from((self.handle & HANDLE_MAX) | inverse);
        entry.cdw12 |= u32::from(PLACEMENT_DIRECTIVE) << DIRECTIVE_TYPE_SHIFT;
        entry.cdw13.set(specific << DIRECTIVE_SPECIFIC_SHIFT);
        entry
    }
}

#[inline]
pub(in crate::command) fn decode_read(entry: &SubmissionEntry) -> Result<IoCommand, Status> {
    Ok(IoCommand::Read(ReadWrite::decode(entry)?))
}

/// # Errors
/// Invalid Field for unknown directives.
#[inline]
pub(in crate::command) fn decode_write(entry: &SubmissionEntry) -> Result<IoCommand, Status> {
    if entry.cdw12.get() & DIRECTIVE_TYPE_MASK != 0 {
        return Ok(IoCommand::WritePlaced(PlacedWrite::decode(entry)?));
    }
    Ok(IoCommand::Write(ReadWrite::decode(entry)?))
}
