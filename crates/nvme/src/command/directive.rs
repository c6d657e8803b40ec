//! Directives (Base 8.1.8): Directive Send and Receive, and what the vendor's directive sends with them.
//!
//! The vendor's directive, type Fh, is *placement*: a handle describes a matrix of chunks of NPWG blocks, a flash page each, that
//! are to be sensed together. Row r, chunk c begins with the block `anchor + r x pitch + c x NPWG`; what is of one column
//! shares planes, blocks and strings. A Write names a handle ([`super::PlacedWrite`]). Handles are volatile, as streams are.

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Home;
use crate::command::{halves, join_halves};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{Lba, NamespaceId};
use crate::status::Status;

/// DTYPE of the Identify directive.
pub const IDENTIFY_DIRECTIVE: u8 = 0x0;
/// DTYPE of the vendor's directive: placement.
pub const PLACEMENT_DIRECTIVE: u8 = 0xF;
/// The largest placement handle.
pub const HANDLE_MAX: u16 = 0x7FFF;

/// A Directive Send (opcode 19h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectiveSend {
    /// The namespace whose blocks it is about.
    pub namespace: NamespaceId,
    /// What is done.
    pub operation: DirectiveOperation,
    /// DSPEC: the handle.
    pub handle: u16,
    /// Where the parameters lie.
    pub data: DataPointer,
}

/// What a Directive Send does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveOperation {
    /// Opens a handle, of [`HandleAttributes`] in the data; an open one takes others for later writes.
    Open,
    /// Releases a handle; what was written with it stays as it is.
    Release,
}

/// A Directive Receive (opcode 1Ah).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectiveReceive {
    /// The namespace that is asked about.
    pub namespace: NamespaceId,
    /// What is asked for.
    pub query: DirectiveQuery,
    /// Dwords of data that are wanted, 1 to 2^32.
    pub dwords: u64,
    /// Where they go.
    pub data: DataPointer,
}

/// What a Directive Receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveQuery {
    /// Which directives there are (Base 8.1.8.2.1).
    Parameters,
    /// The open placement handles of the namespace, a [`HandleRecord`] each. The completion's DW0 is how many
    /// there are.
    Handles,
}

/// What a placement handle is, as its 32 bytes.
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
pub struct HandleAttributes {
    /// The first block of row 0, which begins a chunk of NPWG blocks.
    pub anchor: U64,
    /// From row to row, in logical blocks: whole chunks of NPWG blocks.
    pub pitch: U64,
    /// The home: the first die.
    pub home_first: U16,
    /// And the number of dies, zero for all.
    pub home_dies: U16,
    reserved: [u8; 12],
}

/// An open handle, in the answer to [`DirectiveQuery::Handles`], as its 32 bytes.
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
pub struct HandleRecord {
    /// The first block of row 0.
    pub anchor: U64,
    /// From row to row, in logical blocks.
    pub pitch: U64,
    /// The home: the first die.
    pub home_first: U16,
    /// And the number of dies, zero for all.
    pub home_dies: U16,
    /// The handle.
    pub handle: U16,
    reserved: [u8; 2],
    /// Flash blocks that hold pages written with it.
    pub flash_blocks: U32,
    reserved_too: [u8; 4],
}

const _: () = assert!(size_of::<HandleAttributes>() == 32 && size_of::<HandleRecord>() == 32);

impl HandleAttributes {
    /// Bytes of the attributes.
    pub const BYTES: usize = 32;

    /// Rows `pitch` blocks apart from `anchor` on, on the dies of `home`.
    pub fn new(anchor: Lba, pitch: u64, home: Home) -> HandleAttributes {
        HandleAttributes {
            anchor: anchor.get().into(),
            pitch: pitch.into(),
            home_first: home.first.into(),
            home_dies: home.dies.into(),
            reserved: [0; 12],
        }
    }

    /// The home.
    pub fn home(&self) -> Home {
        Home {
            first: self.home_first.get(),
            dies: self.home_dies.get(),
        }
    }
}

impl HandleRecord {
    /// Bytes of a record.
    pub const BYTES: usize = 32;

    /// Handle `handle`, and how many flash blocks it has.
    pub fn new(handle: u16, attributes: &HandleAttributes, flash_blocks: u32) -> HandleRecord {
        HandleRecord {
            anchor: attributes.anchor,
            pitch: attributes.pitch,
            home_first: attributes.home_first,
            home_dies: attributes.home_dies,
            handle: handle.into(),
            flash_blocks: flash_blocks.into(),
            ..HandleRecord::default()
        }
    }

    /// The whole records that `bytes` begins with.
    pub fn parse(bytes: &[u8]) -> &[HandleRecord] {
        let whole = bytes.len() - bytes.len() % HandleRecord::BYTES;
        <[HandleRecord]>::ref_from_bytes(&bytes[..whole])
            .expect("records have no alignment and the length is a multiple of theirs")
    }
}

const OPEN: u8 = 0x01;
const RELEASE: u8 = 0x02;
const QUERY: u8 = 0x01;

/// DOPER and DTYPE, from CDW11.
fn operation_of(entry: &SubmissionEntry) -> (u8, u8, u16) {
    let (low, specific) = halves(entry.cdw11.get());
    (low as u8, (low >> 8) as u8, specific)
}

fn encode_operation(entry: &mut SubmissionEntry, operation: u8, kind: u8, specific: u16) {
    let low = u16::from(operation) | u16::from(kind) << 8;
    entry.cdw11.set(join_halves(low, specific));
}

impl DirectiveSend {
    /// # Errors
    /// Invalid Field for other directives and operations, and for handles above [`HANDLE_MAX`].
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<DirectiveSend, Status> {
        let (operation, kind, handle) = operation_of(entry);
        let operation = match (kind, operation) {
            (PLACEMENT_DIRECTIVE, OPEN) => DirectiveOperation::Open,
            (PLACEMENT_DIRECTIVE, RELEASE) => DirectiveOperation::Release,
            _ => return Err(Status::INVALID_FIELD),
        };
        if handle > HANDLE_MAX {
            return Err(Status::INVALID_FIELD);
        }
        Ok(DirectiveSend {
            namespace: entry.namespace(),
            operation,
            handle,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let (operation, dwords) = match self.operation {
            DirectiveOperation::Open => (OPEN, HandleAttributes::BYTES as u32 / 4 - 1),
            DirectiveOperation::Release => (RELEASE, 0),
        };
        entry.cdw10.set(dwords);
        encode_operation(&mut entry, operation, PLACEMENT_DIRECTIVE, self.handle);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl DirectiveReceive {
    /// # Errors
    /// Invalid Field for other directives and operations.
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<DirectiveReceive, Status> {
        let (operation, kind, _) = operation_of(entry);
        let query = match (kind, operation) {
            (IDENTIFY_DIRECTIVE, QUERY) => DirectiveQuery::Parameters,
            (PLACEMENT_DIRECTIVE, QUERY) => DirectiveQuery::Handles,
            _ => return Err(Status::INVALID_FIELD),
        };
        Ok(DirectiveReceive {
            namespace: entry.namespace(),
            query,
            dwords: u64::from(entry.cdw10.get()) + 1,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let last = u32::try_from(self.dwords.wrapping_sub(1));
        entry
            .cdw10
            .set(last.expect("1 to 2^32 dwords, as documented"));
        let kind = match self.query {
            DirectiveQuery::Parameters => IDENTIFY_DIRECTIVE,
            DirectiveQuery::Handles => PLACEMENT_DIRECTIVE,
        };
        encode_operation(&mut entry, QUERY, kind, 0);
        self.data.encode_into(&mut entry);
        entry
    }
}
