//! The vendor command of in-flash bulk bitwise computing (Flash-Cosmos 6.3, `fc_read`). What it computes with
//! are logical blocks, written by Write with a placement handle ([`super::PlacedWrite`]). Its fields are in [`ROWS`],
//! and from there in `docs/reference/commands.md`.
//!
//! An operand of the expression is the logical block it begins with, the first of a chunk of NPWG blocks; it is as many
//! bits from there on as the length says. Bit i of it is bit i mod 8, least significant first, of byte i / 8. The low two
//! bits of an opcode give the direction of its data, as everywhere in NVMe.

use crate::command::row::{CommandSet, Decoded, Field, Row, Usual};
use crate::command::{bit, join_dwords, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::expression::MAX_ENCODED_BYTES;
use crate::identifier::{CommandId, NamespaceId};
use crate::status::Status;

/// Bytes of a result that is only counted: one little-endian 64-bit number.
const COUNT_BYTES: u64 = 8;

/// An operation of in-flash computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitsCommand {
    /// Evaluates an expression over vectors.
    FcRead(FcRead),
}

/// Dies over which the pages of a group's vectors are spread. Dies are counted channels first: die 0
/// is the first of channel 0, die 1 the first of channel 1; the last is followed by the first.
///
/// Vectors with the same home are combined in the latches, page by page; others are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Home {
    /// The die of a vector's first page.
    pub first: u16,
    /// How many dies are used, that one and those after it; zero for all dies of the drive.
    pub dies: u16,
}

impl Home {
    /// All dies, beginning with the first.
    pub const ALL: Home = Home { first: 0, dies: 0 };
}

/// Who evaluates an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Multi-wordline sensing in the NAND array (Flash-Cosmos).
    #[default]
    FlashCosmos,
    /// One sense an operand, accumulated in the latches (ParaBit).
    ParaBit,
    /// The controller, on pages read over the channels (in-storage processing).
    InStorage,
    /// Whichever of these, or what mixture of them, the drive estimates to take the least time.
    Fastest,
    /// The same of what it estimates to spend the least energy.
    Thriftiest,
}

/// Evaluates an expression over stored vectors of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcRead {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// Byte address in host memory of the encoded [`crate::Expression`], over logical blocks.
    pub expression_address: u64,
    /// Its length in bytes, 1 to [`MAX_ENCODED_BYTES`].
    pub expression_bytes: u32,
    /// Who evaluates it.
    pub engine: Engine,
    /// Length of the result in bits, at least 1.
    pub bits: u64,
    /// Return only how many bits are set, as 8 little-endian bytes; the result stays in the drive.
    pub count_only: bool,
    /// Evaluate the expression a second time by another plan, which senses every wordline by itself,
    /// and compare. The completion's DW0 is then the number of bits in which the two results
    /// differ, `u32::MAX` if there are more.
    pub check: bool,
    /// Where the result goes.
    pub data: DataPointer,
}

impl BitsCommand {
    pub(super) fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let entry = |opcode| SubmissionEntry::new(opcode, command_id, self.namespace());
        match self {
            BitsCommand::FcRead(read) => read.encode(entry(opcode::FC_READ)),
        }
    }

    /// The namespace the command addresses.
    pub fn namespace(&self) -> NamespaceId {
        match self {
            BitsCommand::FcRead(command) => command.namespace,
        }
    }
}

/// The length in bits of CDW12 and CDW13, which is not zero.
fn decode_bits(entry: &SubmissionEntry) -> Result<u64, Status> {
    match join_dwords(entry.cdw12.get(), entry.cdw13.get()) {
        0 => Err(Status::INVALID_FIELD),
        bits => Ok(bits),
    }
}

fn encode_bits(entry: &mut SubmissionEntry, bits: u64) {
    entry.cdw12.set(bits as u32);
    entry.cdw13.set((bits >> 32) as u32);
}

impl Engine {
    fn from_code(code: u32) -> Option<Engine> {
        match code {
            0 => Some(Engine::FlashCosmos),
            1 => Some(Engine::ParaBit),
            2 => Some(Engine::InStorage),
            3 => Some(Engine::Fastest),
            4 => Some(Engine::Thriftiest),
            _ => None,
        }
    }

    fn code(self) -> u32 {
        self as u32
    }
}

impl FcRead {
    /// Bytes that go to host memory: the result, or its count.
    pub fn data_bytes(&self) -> u64 {
        if self.count_only {
            COUNT_BYTES
        } else {
            self.bits.div_ceil(8)
        }
    }

    fn decode(entry: &SubmissionEntry) -> Result<FcRead, Status> {
        let expression_bytes = entry.cdw10.get();
        if !(1..=MAX_ENCODED_BYTES as u32).contains(&expression_bytes) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(FcRead {
            namespace: entry.namespace(),
            expression_address: entry.metadata_pointer.get(),
            expression_bytes,
            engine: Engine::from_code(entry.cdw11.get()).ok_or(Status::INVALID_FIELD)?,
            bits: decode_bits(entry)?,
            count_only: bit(entry.cdw14.get(), 0),
            check: bit(entry.cdw14.get(), 2),
            data: DataPointer::decode(entry)?,
        })
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.metadata_pointer.set(self.expression_address);
        entry.cdw10.set(self.expression_bytes);
        entry.cdw11.set(self.engine.code());
        encode_bits(&mut entry, self.bits);
        let check = u32::from(self.check) << 2;
        entry.cdw14.set(u32::from(self.count_only) | check);
        self.data.encode_into(&mut entry);
        entry
    }
}

const BITS: Field = Field::new(
    12,
    0,
    64,
    "bits",
    "length in bits, at least 1",
    Usual::Below(1 << 16),
);

/// The commands of the family.
pub(super) const ROWS: [Decoded<BitsCommand>; 1] = [bits(opcode::FC_READ, "FcRead", "fc_read")
    .fields(&[
        Field::new(
            10,
            0,
            32,
            "length",
            "bytes of the expression, which lies at the metadata pointer",
            Usual::Below(40),
        ),
        Field::new(
            11,
            0,
            32,
            "engine",
            "who evaluates: 0 Flash-Cosmos, 1 ParaBit, 2 the controller, 3 whoever takes the least time, 4 the least energy",
            Usual::Below(5),
        ),
        BITS,
        Field::flag(14, 0, "count", "only how many bits are set"),
        Field::flag(14, 2, "check", "evaluate twice and compare"),
    ])
    .decoded_by(|entry| Ok(BitsCommand::FcRead(FcRead::decode(entry)?)))];

const fn bits(opcode: u8, name: &'static str, label: &'static str) -> Row {
    Row::new(CommandSet::Nvm, opcode, name, label, "Flash-Cosmos 6.3")
}
