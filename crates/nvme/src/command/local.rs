//! Commands of memory namespaces: bytes of the drive's own memory are read, written and copied (Subsystem Local Memory command set,
//! "SLM").
//!
//! Places and lengths are whole dwords. Memory Fill is left out: implementations disagree about its opcode.

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::row::{CommandSet, Decoded, Field, Row, Usual};
use super::{join_dwords, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{CommandId, Lba, NamespaceId};
use crate::status::Status;

/// What places and lengths are multiples of, in bytes.
const DWORD: u64 = 4;
const RANGES_MASK: u32 = 0xFF;
const FORMAT_SHIFT: u32 = 8;
const FORMAT_MASK: u32 = 0xF;
/// FCO: only if that is faster than reading and writing.
const FAST_ONLY: u16 = 1 << 15;

/// A decoded command of a memory namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryCommand {
    /// Copies to the namespace.
    Copy(MemoryCopy),
    /// Reads bytes.
    Read(MemoryTransfer),
    /// Writes bytes.
    Write(MemoryTransfer),
}

/// A Memory Read or Memory Write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTransfer {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The first byte (SB).
    pub start: u64,
    /// How many bytes, at least 4.
    pub bytes: u32,
    /// Where they lie, or go.
    pub data: DataPointer,
}

/// A Memory Copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCopy {
    /// The namespace copied to.
    pub namespace: NamespaceId,
    /// Bytes of all source ranges (LEN).
    pub bytes: u64,
    /// The first byte written (SDADDR).
    pub destination: u64,
    /// How many source ranges the data holds, 1 to 256 (one more than NR says).
    pub range_count: u16,
    /// What they are (CDFT).
    pub format: SourceFormat,
    /// Where they lie, [`SourceRange::BYTES`] each.
    pub data: DataPointer,
}

/// What a source range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    /// 2: logical blocks of a namespace of the NVM command set.
    Blocks,
    /// 4: bytes of a memory namespace.
    Memory,
}

/// A source range that names its namespace, as its 32 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SourceRange {
    /// SNSID.
    pub namespace: U32,
    reserved_4: [u8; 4],
    /// SLBA or SADDR.
    start: U64,
    /// NLB, logical blocks less one, in its low half; or NBYTE.
    count: U32,
    reserved_20: [u8; 2],
    /// SOPT.
    options: U16,
    reserved_24: [u8; 8],
}

const _: () = assert!(size_of::<SourceRange>() == SourceRange::BYTES);

impl SourceFormat {
    const fn code(self) -> u32 {
        match self {
            SourceFormat::Blocks => 2,
            SourceFormat::Memory => 4,
        }
    }
}

impl SourceRange {
    /// Bytes of a range.
    pub const BYTES: usize = 32;

    /// `blocks` logical blocks, 1 to 65536, from `start` of a namespace of the NVM command set.
    ///
    /// # Panics
    /// If `blocks` is none of these numbers.
    pub fn blocks(namespace: NamespaceId, start: Lba, blocks: u32) -> SourceRange {
        assert!(
            (1..=0x1_0000).contains(&blocks),
            "a range has 1 to 65536 blocks, not {blocks}"
        );
        let mut range = SourceRange::new_zeroed();
        range.namespace.set(namespace.get());
        range.start.set(start.get());
        range.count.set(blocks - 1);
        range
    }

    /// `bytes` bytes from `start` of a memory namespace.
    pub fn memory(namespace: NamespaceId, start: u64, bytes: u32) -> SourceRange {
        let mut range = SourceRange::new_zeroed();
        range.namespace.set(namespace.get());
        range.start.set(start);
        range.count.set(bytes);
        range
    }

    /// The same, which is copied only if that is faster than reading and writing.
    #[must_use]
    pub fn fast_only(mut self) -> SourceRange {
        self.options.set(FAST_ONLY);
        self
    }

    /// Whose it is.
    pub fn namespace(&self) -> NamespaceId {
        NamespaceId::new(self.namespace.get())
    }

    /// The first logical block, of a range of blocks.
    pub fn first(&self) -> Lba {
        Lba::new(self.start.get())
    }

    /// Logical blocks, 1 to 65536, of a range of them.
    pub fn block_count(&self) -> u32 {
        (self.count.get() & 0xFFFF) + 1
    }

    /// The first byte, of a range of memory.
    pub fn start(&self) -> u64 {
        self.start.get()
    }

    /// Bytes, of a range of memory.
    pub fn bytes(&self) -> u32 {
        self.count.get()
    }

    /// Whether it is to be copied only if that is faster.
    pub fn is_fast_only(&self) -> bool {
        self.options.get() & FAST_ONLY != 0
    }

    /// The ranges that a command's data holds.
    pub fn parse(bytes: &[u8]) -> &[SourceRange] {
        let whole = bytes.len() / SourceRange::BYTES * SourceRange::BYTES;
        <[SourceRange]>::ref_from_bytes(&bytes[..whole]).unwrap_or_default()
    }
}

impl MemoryCommand {
    /// The namespace the command addresses.
    pub fn namespace(&self) -> NamespaceId {
        match self {
            MemoryCommand::Copy(copy) => copy.namespace,
            MemoryCommand::Read(transfer) | MemoryCommand::Write(transfer) => transfer.namespace,
        }
    }

    /// The entry that asks for this command under `command_id`.
    ///
    /// # Panics
    /// If a copy has no source ranges, or more than 256.
    pub fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let entry = |opcode| SubmissionEntry::new(opcode, command_id, self.namespace());
        match self {
            MemoryCommand::Copy(copy) => copy.encode(entry(opcode::MEMORY_COPY)),
            MemoryCommand::Read(read) => read.encode(entry(opcode::MEMORY_READ)),
            MemoryCommand::Write(write) => write.encode(entry(opcode::MEMORY_WRITE)),
        }
    }
}

impl MemoryTransfer {
    /// # Errors
    /// Invalid Field for no bytes, and for parts of dwords.
    fn decode(entry: &SubmissionEntry) -> Result<MemoryTransfer, Status> {
        let transfer = MemoryTransfer {
            namespace: entry.namespace(),
            start: join_dwords(entry.cdw10.get(), entry.cdw11.get()),
            bytes: entry.cdw12.get(),
            data: DataPointer::decode(entry)?,
        };
        let whole = are_dwords(transfer.start, transfer.bytes.into());
        match whole && transfer.bytes > 0 {
            true => Ok(transfer),
            false => Err(Status::INVALID_FIELD),
        }
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.start as u32);
        entry.cdw11.set((self.start >> 32) as u32);
        entry.cdw12.set(self.bytes);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl MemoryCopy {
    /// Bytes of the source ranges in host memory.
    pub fn data_bytes(&self) -> u64 {
        u64::from(self.range_count) * SourceRange::BYTES as u64
    }

    /// # Errors
    /// Invalid Field for no bytes, parts of dwords, and other descriptor formats.
    fn decode(entry: &SubmissionEntry) -> Result<MemoryCopy, Status> {
        let cdw12 = entry.cdw12.get();
        let copy = MemoryCopy {
            namespace: entry.namespace(),
            bytes: join_dwords(entry.cdw2[0].get(), entry.cdw2[1].get()),
            destination: join_dwords(entry.cdw10.get(), entry.cdw11.get()),
            range_count: (cdw12 & RANGES_MASK) as u16 + 1,
            format: match cdw12 >> FORMAT_SHIFT & FORMAT_MASK {
                2 => SourceFormat::Blocks,
                4 => SourceFormat::Memory,
                _ => return Err(Status::INVALID_FIELD),
            },
            data: DataPointer::decode(entry)?,
        };
        match are_dwords(copy.destination, copy.bytes) && copy.bytes > 0 {
            true => Ok(copy),
            false => Err(Status::INVALID_FIELD),
        }
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        assert!(
            (1..=256).contains(&self.range_count),
            "a command carries 1 to 256 ranges, not {}",
            self.range_count
        );
        entry.cdw2[0].set(self.bytes as u32);
        entry.cdw2[1].set((self.bytes >> 32) as u32);
        entry.cdw10.set(self.destination as u32);
        entry.cdw11.set((self.destination >> 32) as u32);
        let ranges = u32::from(self.range_count - 1);
        entry.cdw12.set(ranges | self.format.code() << FORMAT_SHIFT);
        self.data.encode_into(&mut entry);
        entry
    }
}

/// Whether a place and a length are whole dwords.
fn are_dwords(start: u64, bytes: u64) -> bool {
    start.is_multiple_of(DWORD) && bytes.is_multiple_of(DWORD)
}

/// Places in memory, some past its end.
const PLACES: Usual = Usual::OneOf(&[0, 4, 64, 4096, 65536, 1 << 40]);
const LENGTHS: Usual = Usual::OneOf(&[4, 64, 512, 4096, 6]);

const fn memory(opcode: u8, name: &'static str, label: &'static str) -> Row {
    Row::new(CommandSet::Memory, opcode, name, label, "SLM")
}

/// The commands of memory namespaces.
pub(super) const ROWS: [Decoded<MemoryCommand>; 3] = [
    memory(opcode::MEMORY_COPY, "Memory Copy", "memory copy")
        .fields(&[
            Field::new(2, 0, 64, "LEN", "bytes of all source ranges", LENGTHS),
            Field::new(10, 0, 64, "SDADDR", "first byte written", PLACES),
            Field::new(12, 0, 8, "NR", "source ranges, less one", Usual::Below(4)),
            Field::new(
                12,
                8,
                4,
                "CDFT",
                "format of ranges: 2 blocks of an NVM namespace, 4 bytes of a memory namespace",
                Usual::OneOf(&[2, 4]),
            ),
        ])
        .decoded_by(|entry| Ok(MemoryCommand::Copy(MemoryCopy::decode(entry)?))),
    memory(opcode::MEMORY_READ, "Memory Read", "memory read")
        .fields(&[
            Field::new(10, 0, 64, "SB", "first byte", PLACES),
            Field::new(12, 0, 32, "RL", "bytes", LENGTHS),
        ])
        .decoded_by(|entry| Ok(MemoryCommand::Read(MemoryTransfer::decode(entry)?))),
    memory(opcode::MEMORY_WRITE, "Memory Write", "memory write")
        .fields(&[
            Field::new(10, 0, 64, "SB", "first byte", PLACES),
            Field::new(12, 0, 32, "WL", "bytes", LENGTHS),
        ])
        .decoded_by(|entry| Ok(MemoryCommand::Write(MemoryTransfer::decode(entry)?))),
];

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: DataPointer = DataPointer::Sgl {
        address: 0x1000,
        length: 64,
    };

    #[test]
    fn commands_round_trip() {
        let namespace = NamespaceId::new(3);
        let transfer = MemoryTransfer {
            namespace,
            start: 0x1_0000_0004,
            bytes: 64,
            data: DATA,
        };
        let copy = MemoryCopy {
            namespace,
            bytes: 0x2_0000_0000,
            destination: 0x3_0000_0008,
            range_count: 2,
            format: SourceFormat::Blocks,
            data: DATA,
        };
        for command in [
            MemoryCommand::Read(transfer),
            MemoryCommand::Write(transfer),
            MemoryCommand::Copy(copy),
        ] {
            let entry = command.encode(CommandId::new(7));
            assert_eq!(MemoryCommand::decode(&entry), Ok(command));
        }
    }

    #[test]
    fn ranges_lie_as_the_descriptor_formats_say() {
        let range = SourceRange::memory(NamespaceId::new(0x0102), 0x0304_0506, 0x0708_090C);
        let bytes = range.fast_only();
        assert_eq!(bytes.as_bytes()[..4], [2, 1, 0, 0]);
        assert_eq!(bytes.as_bytes()[8..16], [6, 5, 4, 3, 0, 0, 0, 0]);
        assert_eq!(bytes.as_bytes()[16..24], [0xC, 9, 8, 7, 0, 0, 0, 0x80]);
        let blocks = SourceRange::blocks(NamespaceId::new(1), Lba::new(9), 0x1_0000);
        assert_eq!(blocks.as_bytes()[16..20], [0xFF, 0xFF, 0, 0]);
        assert_eq!(SourceRange::parse(blocks.as_bytes()), [blocks]);
        assert_eq!(blocks.block_count(), 0x1_0000);
    }

    #[test]
    fn parts_of_dwords_are_refused() {
        for (start, bytes) in [(2, 4), (4, 2), (0, 0)] {
            let transfer = MemoryTransfer {
                namespace: NamespaceId::new(3),
                start,
                bytes,
                data: DATA,
            };
            let entry = MemoryCommand::Read(transfer).encode(CommandId::new(0));
            let refused = MemoryCommand::decode(&entry);
            assert_eq!(refused, Err(Status::INVALID_FIELD));
        }
    }
}
