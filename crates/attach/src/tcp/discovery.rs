//! The discovery log page: where this server's subsystem is (Base 5.1.12.3.1).

use std::net::SocketAddr;

use nvme::fabrics::{DISCOVERY_NQN, DiscoveryEntry, DiscoveryHead, SubsystemType};
use zerocopy::IntoBytes;

/// The page. Places that are no address on a network are not in it: who knows their path needs no discovery. Hosts are told the
/// address that they came to, as one that stands for all of a machine's means nothing to them.
pub(super) fn page(
    subsystem_nqn: &str,
    addresses: &[SocketAddr],
    reached_at: Option<SocketAddr>,
    queue_entries: u16,
) -> Vec<u8> {
    let told = |address: &SocketAddr| match reached_at {
        Some(reached) if address.ip().is_unspecified() && reached.port() == address.port() => {
            reached
        }
        _ => *address,
    };
    let entries = addresses.iter().flat_map(|address| {
        let address = told(address);
        let entry = |kind, nqn| DiscoveryEntry::tcp(kind, nqn, address, queue_entries);
        [
            entry(SubsystemType::Current, DISCOVERY_NQN),
            entry(SubsystemType::Nvm, subsystem_nqn),
        ]
    });
    let entries: Vec<DiscoveryEntry> = entries.collect();
    let head = DiscoveryHead::new(1, entries.len() as u64);
    [head.as_bytes(), entries.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_where_they_came_to() {
        let any = "0.0.0.0:4420".parse().expect("an address");
        let reached = "192.0.2.7:4420".parse().expect("an address");
        let page = page("nqn.drive", &[any], Some(reached), 32);
        assert_eq!(page.len(), 3 * 1024);
        assert_eq!(page[8], 2, "two records");
        assert!(page[1024 + 512..].starts_with(b"192.0.2.7 "));
    }
}
