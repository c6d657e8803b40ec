//! Memory range sets.

use std::mem::size_of;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::command::{halves, join_halves};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::NamespaceId;
use crate::status::Status;

const SELECT_MASK: u16 = 0xF;
const RANGES_MASK: u32 = 0xFF;

/// Memory Range Set Management (CP). DW0 of the completion of one that makes a set is its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRangeSets {
    /// The compute namespace whose programs see the set.
    pub namespace: NamespaceId,
    /// What is to be done.
    pub action: RangeSetAction,
    /// Where the ranges of a new set lie, [`MemoryRange::BYTES`] each.
    pub data: DataPointer,
}

/// What is to be done about memory range sets (SEL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSetAction {
    /// Makes one.
    Create {
        /// Its ranges (NUMR).
        ranges: u8,
    },
    /// Removes one.
    Delete {
        /// Its identifier (RSID).
        set: u16,
    },
}

/// A memory range, as its 32 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct MemoryRange {
    namespace: U32,
    bytes: U32,
    start: U64,
    reserved: [u8; 16],
}

const _: () = assert!(size_of::<MemoryRange>() == MemoryRange::BYTES);

impl MemoryRange {
    /// Bytes of a range's record.
    pub const BYTES: usize = 32;

    /// `bytes` bytes from `start` of a memory namespace.
    pub fn new(namespace: NamespaceId, start: u64, bytes: u32) -> MemoryRange {
        let mut range = MemoryRange::new_zeroed();
        range.namespace.set(namespace.get());
        range.bytes.set(bytes);
        range.start.set(start);
        range
    }

    /// The memory namespace.
    pub fn namespace(&self) -> NamespaceId {
        NamespaceId::new(self.namespace.get())
    }

    /// Its first byte.
    pub fn start(&self) -> u64 {
        self.start.get()
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u32 {
        self.bytes.get()
    }

    /// The ranges that data holds.
    pub fn parse(bytes: &[u8]) -> &[MemoryRange] {
        let whole = bytes.len() / MemoryRange::BYTES * MemoryRange::BYTES;
        <[MemoryRange]>::ref_from_bytes(&bytes[..whole]).unwrap_or_default()
    }
}

impl MemoryRangeSets {
    /// # Errors
    /// Invalid Field for a selection that is neither.
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<MemoryRangeSets, Status> {
        let (select, set) = halves(entry.cdw10.get());
        Ok(MemoryRangeSets {
            namespace: entry.namespace(),
            action: match select & SELECT_MASK {
                0 => RangeSetAction::Create {
                    ranges: (entry.cdw11.get() & RANGES_MASK) as u8,
                },
                1 => RangeSetAction::Delete { set },
                _ => return Err(Status::INVALID_FIELD),
            },
            data: DataPointer::decode(entry)?,
        })
    }

    pub(in crate::command) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        match self.action {
            RangeSetAction::Create { ranges } => entry.cdw11.set(ranges.into()),
            RangeSetAction::Delete { set } => entry.cdw10.set(join_halves(1, set)),
        }
        self.data.encode_into(&mut entry);
        entry
    }
}
