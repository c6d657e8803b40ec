//! I/O commands of the NVM command set, and the vendor's beside them (NVM 3): the table of them, and all
//! but Read and Write, which [`transfer`] has.

mod transfer;

use crate::command::bits::BitsCommand;
use crate::command::program::ExecuteProgram;
use crate::command::row::{CommandSet, Decoded, Field, Row, Usual, effect};
use crate::command::search::SearchCommand;
use crate::command::stream::StreamCommand;
use crate::command::{bit, join_dwords, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{CommandId, Lba, NamespaceId};
use crate::status::Status;
pub use transfer::{BlockRange, PlacedWrite, ReadWrite};
pub(super) use transfer::{decode_read, decode_write};

const FORCE_UNIT_ACCESS_BIT: u32 = 30;
const LIMITED_RETRY_BIT: u32 = 31;
const DEALLOCATE_ZEROES_BIT: u32 = 25;
/// DESFMT of a Copy.
const DESCRIPTOR_FORMAT_MASK: u32 = 0xF << 8;
/// Descriptor format 4: bytes of memory namespaces.
const MEMORY_FORMAT: u32 = 4 << 8;
const DIRECTIVE_TYPE_MASK: u32 = 0xF << 20;
const DIRECTIVE_TYPE_SHIFT: u32 = 20;
const DIRECTIVE_SPECIFIC_SHIFT: u32 = 16;

/// A decoded I/O command. Small and `Copy`: decoding is a few loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoCommand {
    /// Makes everything completed before it durable (Base 7.2).
    Flush {
        /// Which namespace; all of them if broadcast.
        namespace: NamespaceId,
    },
    /// Reads logical blocks into host memory (NVM 3.3.4).
    Read(ReadWrite),
    /// Writes logical blocks from host memory (NVM 3.3.6).
    Write(ReadWrite),
    /// Writes whole chunks of NPWG blocks where they can be sensed with those of their placement handle: a Write with
    /// the vendor's directive (Base 8.1.8).
    WritePlaced(PlacedWrite),
    /// Makes logical blocks read as zeroes (NVM 3.3.8).
    WriteZeroes(WriteZeroes),
    /// Says how ranges of blocks are used, foremost that they no longer are (NVM 3.3.3).
    DatasetManagement(DatasetManagement),
    /// Compares logical blocks with host memory (NVM 3.3.1).
    Compare(ReadWrite),
    /// Reads logical blocks without transferring them (NVM 3.3.5).
    Verify(BlockCommand),
    /// Makes reads of logical blocks fail until they are written (NVM 3.3.7).
    WriteUncorrectable(BlockCommand),
    /// Copies logical blocks within a namespace (NVM 3.3.2).
    Copy(CopyBlocks),
    /// An operation of in-flash computing.
    Bits(BitsCommand),
    /// An operation on names and values.
    Search(SearchCommand),
    /// Runs a program over files.
    Execute(ExecuteProgram),
    /// An operation on streams.
    Stream(StreamCommand),
}

/// A Verify or a Write Uncorrectable: blocks, and no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCommand {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The blocks it is about.
    pub blocks: BlockRange,
}

/// A Copy, its sources in descriptor format 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyBlocks {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The first block written (SDLBA).
    pub destination: Lba,
    /// How many source ranges the data holds, 1 to 256 (one more than NR says).
    pub range_count: u16,
    /// The ranges are bytes of a memory namespace ([`super::SourceRange`], descriptor format 4), not blocks of this one.
    pub from_memory: bool,
    /// Durable before completion (FUA).
    pub force_unit_access: bool,
    /// The drive may give up sooner (LR).
    pub limited_retry: bool,
    /// Where the source ranges lie, 32 bytes each.
    pub data: DataPointer,
}

/// A Write Zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteZeroes {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The blocks zeroed.
    pub blocks: BlockRange,
    /// The drive should deallocate the blocks, if they then read as zeroes (DEAC).
    pub deallocate: bool,
    /// Durable before completion (FUA).
    pub force_unit_access: bool,
}

/// A Dataset Management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetManagement {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// How many ranges the data holds, 1 to 256 (one more than NR says).
    pub range_count: u16,
    /// The ranges hold nothing of worth any more (AD).
    pub deallocate: bool,
    /// Hint: the ranges are about to be read as a whole (IDR).
    pub integral_read: bool,
    /// Hint: the ranges are about to be written as a whole (IDW).
    pub integral_write: bool,
    /// Where the ranges lie, 16 bytes each.
    pub data: DataPointer,
}

impl IoCommand {
    /// The entry that asks for this command under `command_id`.
    ///
    /// # Panics
    /// If a block count is not in 1 to 65536, or a range count not in 1 to 256.
    pub fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let entry = |opcode| SubmissionEntry::new(opcode, command_id, self.namespace());
        match self {
            IoCommand::Flush { .. } => entry(opcode::FLUSH),
            IoCommand::Read(read) => read.encode(entry(opcode::READ)),
            IoCommand::Write(write) => write.encode(entry(opcode::WRITE)),
            IoCommand::WritePlaced(placed) => placed.encode(entry(opcode::WRITE)),
            IoCommand::WriteZeroes(zeroes) => zeroes.encode(entry(opcode::WRITE_ZEROES)),
            IoCommand::DatasetManagement(ranges) => {
                ranges.encode(entry(opcode::DATASET_MANAGEMENT))
            }
            IoCommand::Compare(compare) => compare.encode(entry(opcode::COMPARE)),
            IoCommand::Verify(verify) => verify.encode(entry(opcode::VERIFY)),
            IoCommand::WriteUncorrectable(mark) => mark.encode(entry(opcode::WRITE_UNCORRECTABLE)),
            IoCommand::Copy(copy) => copy.encode(entry(opcode::COPY)),
            IoCommand::Bits(bits) => bits.encode(command_id),
            IoCommand::Search(search) => search.encode(command_id),
            IoCommand::Execute(execute) => execute.encode(command_id),
            IoCommand::Stream(stream) => stream.encode(command_id),
        }
    }

    /// The logical blocks that it reads or writes, if it names them in its entry.
    #[inline]
    pub fn blocks(&self) -> Option<BlockRange> {
        match self {
            IoCommand::Read(command) | IoCommand::Write(command) | IoCommand::Compare(command) => {
                Some(command.blocks)
            }
            IoCommand::WritePlaced(command) => Some(command.write.blocks),
            IoCommand::Verify(command) | IoCommand::WriteUncorrectable(command) => {
                Some(command.blocks)
            }
            IoCommand::WriteZeroes(command) => Some(command.blocks),
            _ => None,
        }
    }

    /// The namespace the command addresses.
    pub fn namespace(&self) -> NamespaceId {
        match self {
            IoCommand::Flush { namespace } => *namespace,
            IoCommand::Read(command) | IoCommand::Write(command) | IoCommand::Compare(command) => {
                command.namespace
            }
            IoCommand::WritePlaced(command) => command.write.namespace,
            IoCommand::Verify(command) | IoCommand::WriteUncorrectable(command) => {
                command.namespace
            }
            IoCommand::Copy(command) => command.namespace,
            IoCommand::WriteZeroes(command) => command.namespace,
            IoCommand::DatasetManagement(command) => command.namespace,
            IoCommand::Bits(command) => command.namespace(),
            IoCommand::Search(command) => command.namespace(),
            IoCommand::Execute(command) => command.namespace,
            IoCommand::Stream(command) => command.namespace(),
        }
    }
}

impl BlockCommand {
    fn decode(entry: &SubmissionEntry) -> BlockCommand {
        BlockCommand {
            namespace: entry.namespace(),
            blocks: BlockRange::decode(entry),
        }
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        self.blocks.encode_into(&mut entry);
        entry
    }
}

impl CopyBlocks {
    /// Bytes of the source ranges in host memory.
    pub fn data_bytes(&self) -> u64 {
        u64::from(self.range_count) * super::CopyRange::BYTES as u64
    }

    /// # Errors
    /// Invalid Field for other descriptor formats and directives.
    fn decode(entry: &SubmissionEntry) -> Result<CopyBlocks, Status> {
        let cdw12 = entry.cdw12.get();
        if cdw12 & DIRECTIVE_TYPE_MASK != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let from_memory = match cdw12 & DESCRIPTOR_FORMAT_MASK {
            0 => false,
            MEMORY_FORMAT => true,
            _ => return Err(Status::INVALID_FIELD),
        };
        Ok(CopyBlocks {
            from_memory,
            namespace: entry.namespace(),
            destination: Lba::new(join_dwords(entry.cdw10.get(), entry.cdw11.get())),
            range_count: (cdw12 & 0xFF) as u16 + 1,
            force_unit_access: bit(cdw12, FORCE_UNIT_ACCESS_BIT),
            limited_retry: bit(cdw12, LIMITED_RETRY_BIT),
            data: DataPointer::decode(entry)?,
        })
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        assert!(
            (1..=256).contains(&self.range_count),
            "a command carries 1 to 256 ranges, not {}",
            self.range_count
        );
        let start = self.destination.get();
        entry.cdw10.set(start as u32);
        entry.cdw11.set((start >> 32) as u32);
        entry.cdw12.set(
            u32::from(self.range_count - 1)
                | u32::from(self.force_unit_access) << FORCE_UNIT_ACCESS_BIT
                | u32::from(self.limited_retry) << LIMITED_RETRY_BIT
                | if self.from_memory { MEMORY_FORMAT } else { 0 },
        );
        self.data.encode_into(&mut entry);
        entry
    }
}

impl WriteZeroes {
    fn decode(entry: &SubmissionEntry) -> WriteZeroes {
        let cdw12 = entry.cdw12.get();
        WriteZeroes {
            namespace: entry.namespace(),
            blocks: BlockRange::decode(entry),
            deallocate: bit(cdw12, DEALLOCATE_ZEROES_BIT),
            force_unit_access: bit(cdw12, FORCE_UNIT_ACCESS_BIT),
        }
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        self.blocks.encode_into(&mut entry);
        entry.cdw12 |= u32::from(self.deallocate) << DEALLOCATE_ZEROES_BIT
            | u32::from(self.force_unit_access) << FORCE_UNIT_ACCESS_BIT;
        entry
    }
}

impl DatasetManagement {
    /// Bytes of the ranges in host memory.
    pub fn data_bytes(&self) -> u64 {
        u64::from(self.range_count) * super::DatasetRange::BYTES as u64
    }

    fn decode(entry: &SubmissionEntry) -> Result<DatasetManagement, Status> {
        let attributes = entry.cdw11.get();
        Ok(DatasetManagement {
            namespace: entry.namespace(),
            range_count: (entry.cdw10.get() & 0xFF) as u16 + 1,
            integral_read: bit(attributes, 0),
            integral_write: bit(attributes, 1),
            deallocate: bit(attributes, 2),
            data: DataPointer::decode(entry)?,
        })
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        assert!(
            (1..=super::MAX_DATASET_RANGES as u16).contains(&self.range_count),
            "a command carries 1 to 256 ranges, not {}",
            self.range_count
        );
        entry.cdw10.set(u32::from(self.range_count - 1));
        let attributes = u32::from(self.integral_read)
            | u32::from(self.integral_write) << 1
            | u32::from(self.deallocate) << 2;
        entry.cdw11.set(attributes);
        self.data.encode_into(&mut entry);
        entry
    }
}

const START: Field = Field::new(10, 0, 64, "SLBA", "first logical block", Usual::Block);
const COUNT: Field = Field::new(
    12,
    0,
    16,
    "NLB",
    "logical blocks, less one",
    Usual::Below(40),
);
const PLACEMENT: u64 = crate::command::PLACEMENT_DIRECTIVE as u64;
const DIRECTIVE: Field = Field::new(12, 20, 4, "DTYPE", "directive: none", Usual::OneOf(&[0]));
const FORCE: Field = Field::flag(
    12,
    FORCE_UNIT_ACCESS_BIT as u8,
    "FUA",
    "durable before completion, or from the medium",
);
const LIMITED: Field = Field::flag(
    12,
    LIMITED_RETRY_BIT as u8,
    "LR",
    "the drive may give up sooner",
);

/// The commands of the NVM command set.
pub(super) const ROWS: [Decoded<IoCommand>; 9] = [
    nvm(opcode::FLUSH, "Flush", "flush", "Base 7.2").decoded_by(|entry| {
        Ok(IoCommand::Flush {
            namespace: entry.namespace(),
        })
    }),
    nvm(opcode::WRITE, "Write", "write", "NVM 3.3.6")
        .effects(effect::CHANGES_BLOCKS)
        .fields(&[
            START,
            COUNT,
            Field::new(
                12,
                20,
                4,
                "DTYPE",
                "directive: 0 none, Fh placement",
                Usual::OneOf(&[0, PLACEMENT]),
            ),
            FORCE,
            LIMITED,
            Field::new(
                13,
                16,
                15,
                "handle",
                "placement handle (DSPEC)",
                Usual::Below(4),
            ),
            Field::flag(
                13,
                31,
                "inverse",
                "placed: the complement is stored (DSPEC)",
            ),
        ])
        .decoded_by(decode_write),
    nvm(opcode::READ, "Read", "read", "NVM 3.3.4")
        .fields(&[START, COUNT, FORCE, LIMITED])
        .decoded_by(decode_read),
    nvm(
        opcode::WRITE_UNCORRECTABLE,
        "Write Uncorrectable",
        "write uncorrectable",
        "NVM 3.3.7",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[START, COUNT])
    .decoded_by(|entry| {
        let mark = BlockCommand::decode(entry);
        Ok(IoCommand::WriteUncorrectable(mark))
    }),
    nvm(opcode::COMPARE, "Compare", "compare", "NVM 3.3.1")
        .fields(&[START, COUNT, FORCE, LIMITED])
        .decoded_by(|entry| Ok(IoCommand::Compare(ReadWrite::decode(entry)?))),
    nvm(
        opcode::WRITE_ZEROES,
        "Write Zeroes",
        "write zeroes",
        "NVM 3.3.8",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[
        START,
        COUNT,
        Field::flag(
            12,
            DEALLOCATE_ZEROES_BIT as u8,
            "DEAC",
            "deallocate, if the blocks then read as zeroes",
        ),
        FORCE,
    ])
    .decoded_by(|entry| Ok(IoCommand::WriteZeroes(WriteZeroes::decode(entry)))),
    nvm(
        opcode::DATASET_MANAGEMENT,
        "Dataset Management",
        "deallocate",
        "NVM 3.3.3",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[
        Field::new(10, 0, 8, "NR", "ranges, less one", Usual::Below(40)),
        Field::flag(11, 0, "IDR", "hint: read as a whole soon"),
        Field::flag(11, 1, "IDW", "hint: written as a whole soon"),
        Field::flag(11, 2, "AD", "deallocate"),
    ])
    .decoded_by(|entry| {
        let dataset = DatasetManagement::decode(entry)?;
        Ok(IoCommand::DatasetManagement(dataset))
    }),
    nvm(opcode::VERIFY, "Verify", "verify", "NVM 3.3.5")
        .fields(&[START, COUNT])
        .decoded_by(|entry| Ok(IoCommand::Verify(BlockCommand::decode(entry)))),
    nvm(opcode::COPY, "Copy", "copy", "NVM 3.3.2")
        .effects(effect::CHANGES_BLOCKS)
        .fields(&[
            Field::new(10, 0, 64, "SDLBA", "first block written", Usual::Block),
            Field::new(12, 0, 8, "NR", "source ranges, less one", Usual::Below(40)),
            Field::new(
                12,
                8,
                4,
                "DESFMT",
                "format of ranges: 0 blocks of this namespace, 4 bytes of a memory namespace",
                Usual::OneOf(&[0, 0, 4]),
            ),
            DIRECTIVE,
            FORCE,
            LIMITED,
        ])
        .decoded_by(|entry| Ok(IoCommand::Copy(CopyBlocks::decode(entry)?))),
];

const fn nvm(opcode: u8, name: &'static str, label: &'static str, source: &'static str) -> Row {
    Row::new(CommandSet::Nvm, opcode, name, label, source)
}
