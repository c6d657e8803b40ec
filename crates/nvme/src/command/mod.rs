//! Commands as typed values, decoded from submission queue entries and encoded into them.
//!
//! Decoding is total: any 64 bytes give a command or the status the standard asks for, and nothing
//! else happens. Reserved fields are ignored, as Base 1.4.2.3 permits; reserved values of defined
//! fields are refused. What depends on the drive's state (namespaces, queues, capacities) is for
//! the firmware to check.

mod admin;
mod bits;
mod compute;
mod copy;
mod dataset;
mod directive;
mod erase;
mod io;
mod local;
mod priority;
mod program;
mod row;
mod search;
mod stream;
mod table;

pub use crate::identify::MAX_DATASET_RANGES;
pub use admin::{
    Abort, AdminCommand, CreateCompletionQueue, CreateSubmissionQueue, FeatureId, FeatureSelect,
    GetFeatures, GetLogPage, Identify, LogPageId, SetFeatures,
};
pub use bits::{BitsCommand, Engine, FcRead, Home};
pub use compute::{
    ComputeCommand, ExecuteOverMemory, MemoryRange, MemoryRangeSets, RangeSetAction,
};
pub use copy::CopyRange;
pub use dataset::DatasetRange;
pub use directive::{
    DirectiveOperation, DirectiveQuery, DirectiveReceive, DirectiveSend, HANDLE_MAX,
    HandleAttributes, HandleRecord, IDENTIFY_DIRECTIVE, PLACEMENT_DIRECTIVE,
};
pub use erase::{FormatNvm, Sanitize, SanitizeAction, SecureErase};
pub use io::{
    BlockCommand, BlockRange, CopyBlocks, DatasetManagement, IoCommand, PlacedWrite, ReadWrite,
    WriteZeroes,
};
pub use local::{MemoryCommand, MemoryCopy, MemoryTransfer, SourceFormat, SourceRange};
pub use program::{ExecuteProgram, LoadProgram, ProgramActivation, WEB_ASSEMBLY};
pub use row::{CommandSet, Field, Row, Usual, effect};
pub use search::{
    Append, Delete, Lookup, LookupContinue, MAX_VALUE_BYTES, RegionAllocate, RegionDeallocate,
    RegionRecord, RegionReport, Returned, SIMPLE_NAME_BITS, SearchCommand, SimpleLookup, Update,
};
pub use stream::{
    CollectorClose, CollectorExtend, CollectorOpen, StreamClose, StreamCommand, StreamOpen,
    StreamRead, StreamWrite,
};
pub use table::{Command, commands, row};

use crate::entry::{Fuse, SubmissionEntry};
use crate::status::Status;

/// Opcodes, admin and I/O.
pub mod opcode {
    /// Admin: Delete I/O Submission Queue (Base 5.2.4).
    pub const DELETE_SUBMISSION_QUEUE: u8 = 0x00;
    /// Admin: Create I/O Submission Queue (Base 5.2.2).
    pub const CREATE_SUBMISSION_QUEUE: u8 = 0x01;
    /// Admin: Get Log Page (Base 5.1.12).
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Admin: Delete I/O Completion Queue (Base 5.2.3).
    pub const DELETE_COMPLETION_QUEUE: u8 = 0x04;
    /// Admin: Create I/O Completion Queue (Base 5.2.1).
    pub const CREATE_COMPLETION_QUEUE: u8 = 0x05;
    /// Admin: Identify (Base 5.1.13).
    pub const IDENTIFY: u8 = 0x06;
    /// Admin: Abort (Base 5.1.1).
    pub const ABORT: u8 = 0x08;
    /// Admin: Set Features (Base 5.1.25).
    pub const SET_FEATURES: u8 = 0x09;
    /// Admin: Get Features (Base 5.1.11).
    pub const GET_FEATURES: u8 = 0x0A;
    /// Admin: Asynchronous Event Request (Base 5.1.2).
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0C;
    /// Admin: Directive Send (Base 5.1.7).
    pub const DIRECTIVE_SEND: u8 = 0x19;
    /// Admin: Directive Receive (Base 5.1.6).
    pub const DIRECTIVE_RECEIVE: u8 = 0x1A;
    /// Admin: Format NVM (Base 5.1.10).
    pub const FORMAT_NVM: u8 = 0x80;
    /// Admin: Sanitize (Base 5.1.22).
    pub const SANITIZE: u8 = 0x84;
    /// Admin: Load Program (CP).
    pub const LOAD_PROGRAM: u8 = 0x85;
    /// Admin: Program Activation Management (CP).
    pub const PROGRAM_ACTIVATION: u8 = 0x88;
    /// Admin: Memory Range Set Management (CP).
    pub const MEMORY_RANGE_SETS: u8 = 0x89;

    /// I/O of a memory namespace: Memory Copy (SLM).
    pub const MEMORY_COPY: u8 = 0x01;
    /// I/O of a memory namespace: Memory Read (SLM).
    pub const MEMORY_READ: u8 = 0x02;
    /// I/O of a memory namespace: Memory Write (SLM).
    pub const MEMORY_WRITE: u8 = 0x05;
    /// I/O of a compute namespace: Execute Program (CP).
    pub const EXECUTE_OVER_MEMORY: u8 = 0x01;

    /// I/O: Flush (Base 7.2).
    pub const FLUSH: u8 = 0x00;
    /// I/O: Write (NVM 3.3.6).
    pub const WRITE: u8 = 0x01;
    /// I/O: Read (NVM 3.3.4).
    pub const READ: u8 = 0x02;
    /// I/O: Write Uncorrectable (NVM 3.3.7).
    pub const WRITE_UNCORRECTABLE: u8 = 0x04;
    /// I/O: Compare (NVM 3.3.1).
    pub const COMPARE: u8 = 0x05;
    /// I/O: Write Zeroes (NVM 3.3.8).
    pub const WRITE_ZEROES: u8 = 0x08;
    /// I/O: Dataset Management (NVM 3.3.3).
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    /// I/O: Verify (NVM 3.3.5).
    pub const VERIFY: u8 = 0x0C;
    /// I/O: Copy (NVM 3.3.2).
    pub const COPY: u8 = 0x19;

    /// I/O, vendor specific: evaluates a bitwise expression over vectors.
    pub const FC_READ: u8 = 0x82;
    /// I/O, vendor specific: allocates a search region.
    pub const REGION_ALLOCATE: u8 = 0x91;
    /// I/O, vendor specific: looks up a name of up to 127 bits, which the entry holds.
    pub const SIMPLE_LOOKUP: u8 = 0x92;
    /// I/O, vendor specific: deallocates a search region.
    pub const REGION_DEALLOCATE: u8 = 0x94;
    /// I/O, vendor specific: appends names and their values.
    pub const APPEND: u8 = 0x95;
    /// I/O, vendor specific: looks up by a query.
    pub const LOOKUP: u8 = 0x96;
    /// I/O, vendor specific: deletes and appends, both or nothing.
    pub const UPDATE: u8 = 0x99;
    /// I/O, vendor specific: goes on with a lookup.
    pub const LOOKUP_CONTINUE: u8 = 0x9A;
    /// I/O, vendor specific: deletes what a query finds.
    pub const DELETE: u8 = 0x9D;
    /// I/O, vendor specific: lists search regions.
    pub const REGION_REPORT: u8 = 0x9E;
    /// I/O, vendor specific: runs a program over files.
    pub const EXECUTE_PROGRAM: u8 = 0xA3;
    /// I/O, vendor specific: opens a stream.
    pub const STREAM_OPEN: u8 = 0xB1;
    /// I/O, vendor specific: fetches what a stream makes.
    pub const STREAM_READ: u8 = 0xB2;
    /// I/O, vendor specific: closes a stream.
    pub const STREAM_CLOSE: u8 = 0xB4;
    /// I/O, vendor specific: sends what a stream is to take.
    pub const STREAM_WRITE: u8 = 0xB5;
    /// Collector Open.
    pub const COLLECTOR_OPEN: u8 = 0xB9;
    /// Collector Close.
    pub const COLLECTOR_CLOSE: u8 = 0xBC;
    /// Collector Extend.
    pub const COLLECTOR_EXTEND: u8 = 0xBD;
}

/// Refuses halves of fused operations, which the drive does not support (FUSES is 0), and PSDT
/// values it cannot follow.
fn check_flags(entry: &SubmissionEntry) -> Result<(), Status> {
    if entry.fuse() != Fuse::Normal || entry.psdt() > 1 {
        return Err(Status::INVALID_FIELD);
    }
    Ok(())
}

/// Whether bit `index` of a dword is set.
const fn bit(dword: u32, index: u32) -> bool {
    dword >> index & 1 != 0
}

/// A dword's two halves, low first.
const fn halves(dword: u32) -> (u16, u16) {
    (dword as u16, (dword >> 16) as u16)
}

/// A dword of two halves.
const fn join_halves(low: u16, high: u16) -> u32 {
    low as u32 | (high as u32) << 16
}

/// A 64-bit value of two dwords.
const fn join_dwords(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}
