//! Vendor commands of in-flash bulk bitwise computing (Flash-Cosmos 6.3). Their fields are in [`ROWS`], and from there in
//! `docs/reference/commands.md`.
//!
//! Bit i of a vector is bit i mod 8, least significant first, of byte i / 8. The low two bits of
//! an opcode give the direction of its data, as everywhere in NVMe.

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::command::row::{CommandSet, Decoded, Field, Row, Usual};
use crate::command::{bit, join_dwords, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::expression::{MAX_ENCODED_BYTES, VectorId};
use crate::identifier::{CommandId, NamespaceId};
use crate::status::Status;

/// Stands for "all" where a group or a vector is named; no group or vector has this number.
const ALL: u32 = u32::MAX;

/// Bytes of a result that is only counted: one little-endian 64-bit number.
const COUNT_BYTES: u64 = 8;

/// An operation of in-flash computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorCommand {
    /// Writes one vector of a group.
    FcWrite(FcWrite),
    /// Evaluates an expression over vectors.
    FcRead(FcRead),
    /// Deletes a vector or a group.
    FcDelete(FcDelete),
    /// Lists the vectors the drive holds.
    FcList(FcList),
}

/// Writes one vector, where the vectors of its group meet in one sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcWrite {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The vector's name. Neither number may be all ones.
    pub vector: VectorId,
    /// Length in bits, at least 1.
    pub bits: u64,
    /// Store the complement, so that one sense gives an OR by De Morgan (Flash-Cosmos 6.1). What
    /// is read back is the vector as written all the same.
    pub store_inverse: bool,
    /// The dies that the vector's group lies on; the same for all vectors of a group.
    pub home: Home,
    /// The vector's bytes.
    pub data: DataPointer,
}

/// Dies over which the pages of a group's vectors are spread. Dies are counted channels first: die 0
/// is the first of channel 0, die 1 the first of channel 1; the last is followed by the first.
///
/// Vectors with the same home meet in the latches, page by page; others do not.
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

    fn decode(dword: u32) -> Home {
        Home {
            first: dword as u16,
            dies: (dword >> 16) as u16,
        }
    }

    fn encode(self) -> u32 {
        u32::from(self.first) | u32::from(self.dies) << 16
    }
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
}

/// Evaluates an expression over stored vectors of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcRead {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// Byte address in host memory of the encoded [`crate::Expression`].
    pub expression_address: u64,
    /// Its length in bytes, 1 to [`MAX_ENCODED_BYTES`].
    pub expression_bytes: u32,
    /// Who evaluates it.
    pub engine: Engine,
    /// Length of the result in bits, at least 1.
    pub bits: u64,
    /// Evaluate only a part of the vectors, `bits` long, that begins at this page of them; none for the
    /// whole vectors. A page is as long as the preferred write granularity (Identify Namespace, NPWG).
    pub part: Option<u32>,
    /// Return only how many bits are set, as 8 little-endian bytes; the result stays in the drive.
    pub count_only: bool,
    /// Evaluate the expression a second time by another plan, which senses every wordline by itself,
    /// and compare. The completion's DW0 is then the number of bits in which the two results
    /// differ, `u32::MAX` if there are more.
    pub check: bool,
    /// Where the result goes.
    pub data: DataPointer,
}

/// Deletes vectors; their group may be written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcDelete {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The group.
    pub group: u32,
    /// The vector, or none for the whole group.
    pub vector: Option<u32>,
}

/// Lists vectors in the order of group and vector number.
///
/// The completion's DW0 is the number of records written; fewer than fit means the list has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcList {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The group, or none for all groups.
    pub group: Option<u32>,
    /// Bytes of the buffer, a positive multiple of [`VectorRecord::BYTES`].
    pub buffer_bytes: u32,
    /// How many records to pass over.
    pub start: u32,
    /// Where the records go.
    pub data: DataPointer,
}

/// One vector in the answer to [`FcList`], as its 32 bytes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct VectorRecord {
    /// The vector's group.
    pub group: U32,
    /// Its number in the group.
    pub vector: U32,
    /// Its length in bits.
    pub bits: U64,
    /// 1 if its complement is what is stored.
    pub inverse: u8,
    /// 1 if it has been written in full.
    pub complete: u8,
    /// Its group's home: the first die.
    pub home_first: U16,
    /// And the number of dies, zero for all.
    pub home_dies: U16,
    /// Zero.
    pub reserved: [u8; 10],
}

const _: () = assert!(size_of::<VectorRecord>() == 32);

impl VectorRecord {
    /// Bytes of a record.
    pub const BYTES: usize = 32;

    /// The record of a vector.
    pub fn new(id: VectorId, bits: u64, inverse: bool, complete: bool, home: Home) -> VectorRecord {
        VectorRecord {
            group: id.group.into(),
            vector: id.vector.into(),
            bits: bits.into(),
            inverse: inverse.into(),
            complete: complete.into(),
            home_first: home.first.into(),
            home_dies: home.dies.into(),
            reserved: [0; 10],
        }
    }

    /// The vector's name.
    pub fn id(&self) -> VectorId {
        VectorId {
            group: self.group.get(),
            vector: self.vector.get(),
        }
    }

    /// The home of its group.
    pub fn home(&self) -> Home {
        Home {
            first: self.home_first.get(),
            dies: self.home_dies.get(),
        }
    }

    /// The whole records that `bytes` begins with.
    pub fn parse(bytes: &[u8]) -> &[VectorRecord] {
        let whole = bytes.len() - bytes.len() % VectorRecord::BYTES;
        <[VectorRecord]>::ref_from_bytes(&bytes[..whole])
            .expect("records have no alignment and the length is a multiple of theirs")
    }
}

impl VendorCommand {
    pub(super) fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let entry = |opcode| SubmissionEntry::new(opcode, command_id, self.namespace());
        match self {
            VendorCommand::FcWrite(write) => write.encode(entry(opcode::FC_WRITE)),
            VendorCommand::FcRead(read) => read.encode(entry(opcode::FC_READ)),
            VendorCommand::FcDelete(delete) => delete.encode(entry(opcode::FC_DELETE)),
            VendorCommand::FcList(list) => list.encode(entry(opcode::FC_LIST)),
        }
    }

    /// The namespace the command addresses.
    pub fn namespace(&self) -> NamespaceId {
        match self {
            VendorCommand::FcWrite(command) => command.namespace,
            VendorCommand::FcRead(command) => command.namespace,
            VendorCommand::FcDelete(command) => command.namespace,
            VendorCommand::FcList(command) => command.namespace,
        }
    }
}

/// `value`, unless it stands for "all".
fn named(value: u32) -> Option<u32> {
    (value != ALL).then_some(value)
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

impl FcWrite {
    /// Bytes the vector takes in host memory.
    pub fn data_bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    fn decode(entry: &SubmissionEntry) -> Result<FcWrite, Status> {
        let group = named(entry.cdw10.get()).ok_or(Status::INVALID_FIELD)?;
        let vector = named(entry.cdw11.get()).ok_or(Status::INVALID_FIELD)?;
        Ok(FcWrite {
            namespace: entry.namespace(),
            vector: VectorId { group, vector },
            bits: decode_bits(entry)?,
            store_inverse: bit(entry.cdw14.get(), 0),
            home: Home::decode(entry.cdw15.get()),
            data: DataPointer::decode(entry)?,
        })
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.vector.group);
        entry.cdw11.set(self.vector.vector);
        encode_bits(&mut entry, self.bits);
        entry.cdw14.set(self.store_inverse.into());
        entry.cdw15.set(self.home.encode());
        self.data.encode_into(&mut entry);
        entry
    }
}

impl Engine {
    fn from_code(code: u32) -> Option<Engine> {
        match code {
            0 => Some(Engine::FlashCosmos),
            1 => Some(Engine::ParaBit),
            2 => Some(Engine::InStorage),
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
            part: bit(entry.cdw14.get(), 1).then(|| entry.cdw15.get()),
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
        let part = u32::from(self.part.is_some()) << 1;
        let check = u32::from(self.check) << 2;
        entry.cdw14.set(u32::from(self.count_only) | part | check);
        entry.cdw15.set(self.part.unwrap_or(0));
        self.data.encode_into(&mut entry);
        entry
    }
}

impl FcDelete {
    fn decode(entry: &SubmissionEntry) -> Result<FcDelete, Status> {
        Ok(FcDelete {
            namespace: entry.namespace(),
            group: named(entry.cdw10.get()).ok_or(Status::INVALID_FIELD)?,
            vector: named(entry.cdw11.get()),
        })
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.group);
        entry.cdw11.set(self.vector.unwrap_or(ALL));
        entry
    }
}

impl FcList {
    fn decode(entry: &SubmissionEntry) -> Result<FcList, Status> {
        let buffer_bytes = entry.cdw11.get();
        if buffer_bytes == 0 || !buffer_bytes.is_multiple_of(VectorRecord::BYTES as u32) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(FcList {
            namespace: entry.namespace(),
            group: named(entry.cdw10.get()),
            buffer_bytes,
            start: entry.cdw12.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.group.unwrap_or(ALL));
        entry.cdw11.set(self.buffer_bytes);
        entry.cdw12.set(self.start);
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
const GROUP: Field = Field::new(10, 0, 32, "group", "group", Usual::Below(16));
const VECTOR: Field = Field::new(11, 0, 32, "vector", "vector of the group", Usual::Below(16));
/// Where "all" may be meant.
const SOME_OR_ALL: Usual = Usual::OneOf(&[0, 1, 2, 3, ALL as u64]);

/// The commands of the family.
pub(super) const ROWS: [Decoded<VendorCommand>; 4] = [
    bits(opcode::FC_WRITE, "FcWrite", "fc_write")
        .fields(&[
            GROUP,
            VECTOR,
            BITS,
            Field::flag(14, 0, "inverse", "store the complement"),
            Field::new(
                15,
                0,
                16,
                "first die",
                "home: first die",
                Usual::OneOf(&[0, 1]),
            ),
            Field::new(
                15,
                16,
                16,
                "dies",
                "home: dies, zero for all",
                Usual::OneOf(&[0, 1]),
            ),
        ])
        .decoded_by(|entry| Ok(VendorCommand::FcWrite(FcWrite::decode(entry)?))),
    bits(opcode::FC_READ, "FcRead", "fc_read")
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
                "who evaluates: 0 Flash-Cosmos, 1 ParaBit, 2 the controller",
                Usual::Below(3),
            ),
            BITS,
            Field::flag(14, 0, "count", "only how many bits are set"),
            Field::flag(14, 1, "part", "a part of the vectors"),
            Field::flag(14, 2, "check", "evaluate twice and compare"),
            Field::new(15, 0, 32, "page", "first page of the part", Usual::Below(8)),
        ])
        .decoded_by(|entry| Ok(VendorCommand::FcRead(FcRead::decode(entry)?))),
    bits(opcode::FC_DELETE, "FcDelete", "fc_delete")
        .fields(&[
            GROUP,
            Field::new(
                11,
                0,
                32,
                "vector",
                "vector, all ones: the whole group",
                SOME_OR_ALL,
            ),
        ])
        .decoded_by(|entry| Ok(VendorCommand::FcDelete(FcDelete::decode(entry)?))),
    bits(opcode::FC_LIST, "FcList", "fc_list")
        .fields(&[
            Field::new(
                10,
                0,
                32,
                "group",
                "group, all ones: all groups",
                SOME_OR_ALL,
            ),
            Field::new(
                11,
                0,
                32,
                "length",
                "bytes of the buffer, a multiple of 32",
                Usual::OneOf(&[32, 64, 320, 100]),
            ),
            Field::new(12, 0, 32, "start", "records to pass over", Usual::Below(8)),
        ])
        .decoded_by(|entry| Ok(VendorCommand::FcList(FcList::decode(entry)?))),
];

const fn bits(opcode: u8, name: &'static str, label: &'static str) -> Row {
    Row::new(CommandSet::Nvm, opcode, name, label, "Flash-Cosmos 6.3")
}
