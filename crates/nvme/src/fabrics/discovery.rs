//! The discovery log page: which subsystems there are, and where (Base 5.1.12.3.1).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{DYNAMIC_CONTROLLER, nqn_field};

/// The name that every discovery subsystem answers to (Base 4.5).
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// TRTYPE 3: TCP.
pub const TRANSPORT_TCP: u8 = 3;

/// The port that IANA keeps for NVMe/TCP (TCP 3.1.1).
pub const NVME_TCP_PORT: u16 = 4420;

/// ADRFAM: what the address is.
pub mod address_family {
    /// IPv4.
    pub const IPV4: u8 = 1;
    /// IPv6.
    pub const IPV6: u8 = 2;
}

/// SUBTYPE: what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SubsystemType {
    /// A discovery subsystem elsewhere.
    Referral = 1,
    /// A subsystem with namespaces.
    Nvm = 2,
    /// This discovery subsystem.
    Current = 3,
}

/// What the page begins with.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DiscoveryHead {
    /// GENCTR: counts changes of the page.
    pub generation: U64,
    /// NUMREC: entries that follow.
    pub records: U64,
    /// RECFMT: 0.
    pub record_format: U16,
    reserved_18: [u8; 1006],
}

/// One entry.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DiscoveryEntry {
    /// TRTYPE: 3 is TCP.
    pub transport: u8,
    /// ADRFAM: see [`address_family`].
    pub address_family: u8,
    /// SUBTYPE: see [`SubsystemType`].
    pub subsystem_type: u8,
    /// TREQ: whether the channel is to be secure.
    pub requirements: u8,
    /// PORTID.
    pub port: U16,
    /// CNTLID: which controller to ask for.
    pub controller: U16,
    /// ASQSZ: the most entries of an admin queue.
    pub admin_queue_entries: U16,
    /// EFLAGS: bits of the entry.
    pub flags: U16,
    reserved_12: [u8; 20],
    /// TRSVCID: the port, decimal ASCII, spaces after it.
    pub service: [u8; 32],
    reserved_64: [u8; 192],
    /// SUBNQN.
    pub subsystem_nqn: [u8; 256],
    /// TRADDR: the address as ASCII, spaces after it.
    pub address: [u8; 256],
    /// TSAS: SECTYPE in the first byte, 0 is no security.
    pub transport_specific: [u8; 256],
}

const _: () = {
    assert!(size_of::<DiscoveryHead>() == 1024);
    assert!(size_of::<DiscoveryEntry>() == 1024);
    assert!(offset_of!(DiscoveryEntry, service) == 32);
    assert!(offset_of!(DiscoveryEntry, subsystem_nqn) == 256);
    assert!(offset_of!(DiscoveryEntry, address) == 512);
};

/// TREQ bits 1:0 = 10b: a secure channel is not required. Bit 2: hosts may switch flow control off.
const NO_SECURE_CHANNEL: u8 = 2 | 1 << 2;

impl DiscoveryHead {
    /// What a page of so many entries begins with.
    pub fn new(generation: u64, records: u64) -> DiscoveryHead {
        let mut head = DiscoveryHead::new_zeroed();
        head.generation.set(generation);
        head.records.set(records);
        head
    }
}

impl DiscoveryEntry {
    /// A subsystem that listens to TCP at an address and a port, without security.
    pub fn tcp(
        subsystem_type: SubsystemType,
        subsystem_nqn: &str,
        address: core::net::SocketAddr,
        admin_queue_entries: u16,
    ) -> DiscoveryEntry {
        let mut entry = DiscoveryEntry::new_zeroed();
        entry.transport = TRANSPORT_TCP;
        entry.address_family = match address.is_ipv4() {
            true => address_family::IPV4,
            false => address_family::IPV6,
        };
        entry.subsystem_type = subsystem_type as u8;
        entry.requirements = NO_SECURE_CHANNEL;
        entry.port.set(1);
        entry.controller.set(DYNAMIC_CONTROLLER);
        entry.admin_queue_entries.set(admin_queue_entries);
        entry.service = crate::identify::ascii(&address.port().to_string());
        entry.subsystem_nqn = nqn_field(subsystem_nqn);
        entry.address = crate::identify::ascii(&address.ip().to_string());
        entry
    }

    /// Its address, without the spaces or zeroes after it.
    pub fn address(&self) -> &str {
        trimmed(&self.address)
    }

    /// Its port, likewise.
    pub fn service(&self) -> &str {
        trimmed(&self.service)
    }
}

fn trimmed(field: &[u8]) -> &str {
    let end = field.iter().position(|byte| *byte == 0);
    let field = &field[..end.unwrap_or(field.len())];
    std::str::from_utf8(field).unwrap_or("").trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabrics::nqn_of;

    #[test]
    fn an_entry_says_where_to_go() {
        let at = "127.0.0.1:4420".parse().expect("an address");
        let entry = DiscoveryEntry::tcp(SubsystemType::Nvm, "nqn.drive", at, 32);
        assert_eq!((entry.address(), entry.service()), ("127.0.0.1", "4420"));
        assert_eq!(nqn_of(&entry.subsystem_nqn), Some("nqn.drive"));
        assert_eq!(entry.as_bytes()[0..4], [3, 1, 2, 6]);
    }
}
