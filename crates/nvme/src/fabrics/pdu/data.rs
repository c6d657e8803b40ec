//! Commands, their completions and their data: CapsuleCmd, CapsuleResp, H2CData, C2HData, R2T (TCP 3.6.2.6 to 3.6.2.10).

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::CommonHeader;
use crate::entry::{CompletionEntry, SubmissionEntry};

/// CapsuleCmd.
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
pub struct CapsuleCommand {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// CCSQE: the command.
    pub entry: SubmissionEntry,
}

/// CapsuleResp.
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
pub struct CapsuleResponse {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// RCCQE: the completion, without a phase.
    pub entry: CompletionEntry,
}

/// H2CData.
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
pub struct H2cData {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// CCCID: the command's identifier.
    pub command_id: U16,
    /// TTAG: that of the R2T which it answers.
    pub tag: U16,
    /// DATAO: where in the command's data it begins.
    pub offset: U32,
    /// DATAL: its bytes.
    pub length: U32,
    /// Reserved.
    pub reserved_20: U32,
}

/// C2HData.
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
pub struct C2hData {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// CCCID: the command's identifier.
    pub command_id: U16,
    /// Reserved.
    pub reserved_10: U16,
    /// DATAO: where in the command's data it begins.
    pub offset: U32,
    /// DATAL: its bytes.
    pub length: U32,
    /// Reserved.
    pub reserved_20: U32,
}

/// R2T.
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
pub struct ReadyToTransfer {
    /// What every PDU begins with.
    pub header: CommonHeader,
    /// CCCID: the command's identifier.
    pub command_id: U16,
    /// TTAG: what the answering data is to carry.
    pub tag: U16,
    /// R2TO: where in the command's data it is to begin.
    pub offset: U32,
    /// R2TL: its bytes.
    pub length: U32,
    /// Reserved.
    pub reserved_20: U32,
}

const _: () = {
    assert!(size_of::<CapsuleCommand>() == 72);
    assert!(size_of::<CapsuleResponse>() == 24);
    assert!(size_of::<H2cData>() == 24);
    assert!(size_of::<C2hData>() == 24);
    assert!(size_of::<ReadyToTransfer>() == 24);
};
