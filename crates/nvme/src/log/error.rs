//! Error Information (Base 5.1.12.1.2).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// An entry of the Error Information page, newest first. All zero is none.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ErrorEntry {
    /// Counts errors over the drive's life; 0 is no entry.
    pub count: U64,
    /// SQID of the command.
    pub queue: U16,
    /// CID of the command.
    pub command: U16,
    /// The status field in bits 15:1.
    pub status: U16,
    /// Which bit of the command is wrong; all ones if it is none in particular.
    pub location: U16,
    /// The first logical block in error.
    pub lba: U64,
    /// The namespace.
    pub namespace: U32,
    /// Vendor specific log page with more of it; 0 is none.
    pub vendor: u8,
    /// TRTYPE: the transport; 0 is not told.
    pub transport: u8,
    /// CSI: the command set.
    pub command_set: u8,
    /// OPC of the command.
    pub opcode: u8,
    /// Specific to the command.
    pub specific: U64,
    /// Specific to the transport.
    pub transport_specific: U16,
    reserved: [u8; 21],
    /// LPVER: 1, which says that the opcode is told.
    pub version: u8,
}

impl ErrorEntry {
    /// Bytes of an entry.
    pub const BYTES: usize = 64;

    /// No entry.
    pub const NONE: ErrorEntry = ErrorEntry {
        count: U64::ZERO,
        queue: U16::ZERO,
        command: U16::ZERO,
        status: U16::ZERO,
        location: U16::ZERO,
        lba: U64::ZERO,
        namespace: U32::ZERO,
        vendor: 0,
        transport: 0,
        command_set: 0,
        opcode: 0,
        specific: U64::ZERO,
        transport_specific: U16::ZERO,
        reserved: [0; 21],
        version: 0,
    };
}

const _: () = {
    assert!(size_of::<ErrorEntry>() == ErrorEntry::BYTES);
    assert!(offset_of!(ErrorEntry, lba) == 16);
    assert!(offset_of!(ErrorEntry, opcode) == 31);
    assert!(offset_of!(ErrorEntry, specific) == 32);
    assert!(offset_of!(ErrorEntry, version) == 63);
};
