//! NVMe over Fabrics: what crosses a network between a host and a controller, as bytes. The commands of Base 6, the discovery
//! log page, and the PDUs of the NVMe over TCP Transport Specification 1.1 ("TCP").

mod connect;
mod discovery;
pub mod pdu;
mod property;
mod sgl;

pub use connect::{ConnectCommand, ConnectData, DYNAMIC_CONTROLLER, connect_error};
pub use discovery::{
    DISCOVERY_NQN, DiscoveryEntry, DiscoveryHead, NVME_TCP_PORT, SubsystemType, TRANSPORT_TCP,
    address_family,
};
pub use property::{Property, PropertyGet, PropertySet, capabilities, configuration, state};
pub use sgl::Sgl;

use crate::status::{Status, StatusType};

/// The opcode that all Fabrics commands share (Base 6).
pub const FABRICS_OPCODE: u8 = 0x7F;
/// The admin opcode of Keep Alive (Base 5.1.14).
pub const KEEP_ALIVE_OPCODE: u8 = 0x18;
/// Bytes of a capsule's command, which is a submission queue entry.
pub const CAPSULE_COMMAND_BYTES: usize = 64;
/// The log page of discovery (Base 5.1.12.3.1).
pub const DISCOVERY_LOG: u8 = 0x70;
/// The longest NVMe qualified name, without its zero (Base 4.5).
pub const NQN_BYTES_MAX: usize = 223;

/// Types of Fabrics commands (FCTYPE; Base 6), the fifth byte of the entry.
pub mod fabrics_type {
    /// Property Set.
    pub const PROPERTY_SET: u8 = 0x00;
    /// Connect.
    pub const CONNECT: u8 = 0x01;
    /// Property Get.
    pub const PROPERTY_GET: u8 = 0x04;
    /// Authentication Send.
    pub const AUTHENTICATION_SEND: u8 = 0x05;
    /// Authentication Receive.
    pub const AUTHENTICATION_RECEIVE: u8 = 0x06;
    /// Disconnect.
    pub const DISCONNECT: u8 = 0x08;
}

/// Statuses of Fabrics commands, specific to these (Base 6, figure *Fabrics Command Specific Status Values*).
pub mod fabrics_status {
    use super::{Status, StatusType};

    const fn specific(code: u8) -> Status {
        Status::new(StatusType::CommandSpecific, code)
    }

    /// The record format of a Connect is not known.
    pub const INCOMPATIBLE_FORMAT: Status = specific(0x80);
    /// The controller is connected to already, or there is none to be had.
    pub const CONTROLLER_BUSY: Status = specific(0x81);
    /// A parameter of a Connect is wrong; dword 0 says where ([`super::connect_error`]).
    pub const INVALID_PARAMETERS: Status = specific(0x82);
    /// The host should ask for the discovery log again.
    pub const RESTART_DISCOVERY: Status = specific(0x83);
    /// This host is not allowed here.
    pub const INVALID_HOST: Status = specific(0x84);
    /// The queue is not of the right type, for Disconnect.
    pub const INVALID_QUEUE_TYPE: Status = specific(0x85);

    /// What the standard calls one of these; other commands have other statuses of the same codes.
    pub fn name(status: Status) -> Option<&'static str> {
        const NAMES: [(Status, &str); 6] = [
            (INCOMPATIBLE_FORMAT, "Connect Incompatible Format"),
            (CONTROLLER_BUSY, "Connect Controller Busy"),
            (INVALID_PARAMETERS, "Connect Invalid Parameters"),
            (RESTART_DISCOVERY, "Connect Restart Discovery"),
            (INVALID_HOST, "Connect Invalid Host"),
            (INVALID_QUEUE_TYPE, "Invalid Queue Type"),
        ];
        let is_it = |known: Status| {
            (known.status_type(), known.code()) == (status.status_type(), status.code())
        };
        let found = NAMES.iter().find(|(known, _)| is_it(*known));
        found.map(|(_, name)| *name)
    }
}

/// The name in a field that zeroes end; none if it is no UTF-8, has no end, or is longer than a name may be.
pub fn nqn_of(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|byte| *byte == 0)?;
    if end > NQN_BYTES_MAX {
        return None;
    }
    std::str::from_utf8(&field[..end]).ok()
}

/// `name` as a field of `LENGTH` bytes, ended by zeroes; cut if it is too long.
pub fn nqn_field<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let mut field = [0; LENGTH];
    let length = name.len().min(LENGTH - 1);
    field[..length].copy_from_slice(&name.as_bytes()[..length]);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_a_zero() {
        let field: [u8; 256] = nqn_field("nqn.2014-08.org.nvmexpress.discovery");
        assert_eq!(nqn_of(&field), Some("nqn.2014-08.org.nvmexpress.discovery"));
        assert_eq!(nqn_of(&[b'n'; 256]), None, "no end");
        assert_eq!(nqn_of(&[0xFF, 0]), None, "no text");
        let long: [u8; 256] = nqn_field(&"n".repeat(300));
        assert_eq!(nqn_of(&long), None, "too long");
    }
}
