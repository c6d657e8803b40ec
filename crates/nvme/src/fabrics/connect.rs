//! Connect: a queue of an association is made (Base 6.3).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{FABRICS_OPCODE, fabrics_type, nqn_field};
use crate::entry::SubmissionEntry;

/// CNTLID of a Connect of an admin queue: the subsystem chooses the controller.
pub const DYNAMIC_CONTROLLER: u16 = 0xFFFF;

/// The entry of a Connect command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ConnectCommand {
    /// OPC: [`FABRICS_OPCODE`].
    pub opcode: u8,
    /// FUSE and PSDT, as in any entry.
    pub flags: u8,
    /// CID.
    pub command_id: U16,
    /// FCTYPE: [`fabrics_type::CONNECT`].
    pub fabrics_type: u8,
    reserved_5: [u8; 19],
    /// SGL1: where the [`ConnectData`] is.
    pub sgl: [u8; 16],
    /// RECFMT: 0.
    pub record_format: U16,
    /// QID: 0 is the admin queue.
    pub queue: U16,
    /// SQSIZE: entries of the queue, less one.
    pub queue_size: U16,
    /// CATTR: see the constants.
    pub attributes: u8,
    reserved_47: u8,
    /// KATO: milliseconds; 0 is none. Of an admin queue only.
    pub keep_alive_ms: U32,
    reserved_52: [u8; 12],
}

/// What comes with a Connect: who connects to what.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ConnectData {
    /// HOSTID: the host's identifier, a UUID.
    pub host_id: [u8; 16],
    /// CNTLID: the controller, [`DYNAMIC_CONTROLLER`] to be given one.
    pub controller: U16,
    reserved_18: [u8; 238],
    /// SUBNQN: what it connects to, ended by zeroes.
    pub subsystem_nqn: [u8; 256],
    /// HOSTNQN: who it is, ended by zeroes.
    pub host_nqn: [u8; 256],
    reserved_768: [u8; 256],
}

const _: () = {
    assert!(size_of::<ConnectCommand>() == 64);
    assert!(offset_of!(ConnectCommand, sgl) == 24);
    assert!(offset_of!(ConnectCommand, keep_alive_ms) == 48);
    assert!(size_of::<ConnectData>() == ConnectData::BYTES);
    assert!(offset_of!(ConnectData, host_nqn) == 512);
};

impl ConnectCommand {
    /// CATTR bit 2: no flow control of the submission queue.
    pub const NO_FLOW_CONTROL: u8 = 1 << 2;

    /// A Connect of `queue`, which has `entries` entries.
    pub fn new(queue: u16, entries: u16, keep_alive_ms: u32) -> ConnectCommand {
        let mut command = ConnectCommand::new_zeroed();
        command.opcode = FABRICS_OPCODE;
        command.fabrics_type = fabrics_type::CONNECT;
        command.queue.set(queue);
        command.queue_size.set(entries.saturating_sub(1));
        command.keep_alive_ms.set(keep_alive_ms);
        command
    }

    /// What an entry says as one.
    pub fn of(entry: &SubmissionEntry) -> ConnectCommand {
        zerocopy::transmute!(entry.to_bytes())
    }

    /// The same as an entry.
    pub fn entry(self) -> SubmissionEntry {
        zerocopy::transmute!(self)
    }

    /// Whether the submission queue has no flow control.
    pub fn is_without_flow_control(&self) -> bool {
        self.attributes & ConnectCommand::NO_FLOW_CONTROL != 0
    }
}

impl ConnectData {
    /// Bytes of it.
    pub const BYTES: usize = 1024;

    /// What `host_nqn` says to connect to a controller of `subsystem_nqn`.
    pub fn new(
        host_id: [u8; 16],
        host_nqn: &str,
        subsystem_nqn: &str,
        controller: u16,
    ) -> ConnectData {
        let mut data = ConnectData::new_zeroed();
        data.host_id = host_id;
        data.controller.set(controller);
        data.subsystem_nqn = nqn_field(subsystem_nqn);
        data.host_nqn = nqn_field(host_nqn);
        data
    }
}

/// Dword 0 of a completion with Connect Invalid Parameters: which byte is wrong (IPO), and whether it is one of the data
/// (IATTR bit 0) or of the entry (Base 6.3).
pub fn connect_error(offset: usize, is_in_data: bool) -> u32 {
    offset as u32 | u32::from(is_in_data) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_standard_puts_them() {
        let bytes = ConnectCommand::new(3, 128, 5000).entry().to_bytes();
        assert_eq!((bytes[0], bytes[4]), (0x7F, 1));
        assert_eq!(bytes[40..46], [0, 0, 3, 0, 127, 0]);
        assert_eq!(bytes[48..52], 5000_u32.to_le_bytes());
        let data = ConnectData::new([7; 16], "nqn.host", "nqn.sub", 0xFFFF);
        let bytes = data.as_bytes();
        assert_eq!(bytes[16..18], [0xFF, 0xFF]);
        assert_eq!(bytes[256..264], *b"nqn.sub\0");
        assert_eq!(bytes[512..521], *b"nqn.host\0");
        assert_eq!(connect_error(256, true), 0x1_0100);
    }
}
