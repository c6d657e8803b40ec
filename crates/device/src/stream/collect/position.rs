//! How far a collection has come, as the journal keeps it: what lies before is on flash, in order and without holes.

use nvme::NamespaceId;

use super::CollectorId;
use crate::journal::{FactKey, FactKind};

/// Positions, by namespace and port.
pub(super) const POSITIONS: FactKind = FactKind::COLLECTIONS;

const VERSION: u8 = 1;
const BYTES: usize = 17;

/// What is known of a collection for all lives of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// What its owner calls it.
    pub(super) identifier: u64,
    /// Bytes collected.
    pub(super) bytes: u64,
}

/// The key of a collection. There are at most 1024 namespaces, and 65,536 ports.
pub(super) fn key(id: CollectorId) -> FactKey {
    POSITIONS.key(id.namespace.get() << 16 | id.port)
}

pub(super) fn encode(position: Position) -> Vec<u8> {
    let mut fact = Vec::with_capacity(BYTES);
    fact.push(VERSION);
    fact.extend(position.identifier.to_le_bytes());
    fact.extend(position.bytes.to_le_bytes());
    fact
}

/// The position that a fact is, if it is one.
pub(super) fn decode(key: u32, fact: &[u8]) -> Option<(CollectorId, Position)> {
    let fact: &[u8; BYTES] = fact.try_into().ok()?;
    let (head, bytes) = fact.split_last_chunk()?;
    let (version, identifier) = head.split_first()?;
    let id = CollectorId {
        namespace: NamespaceId::new(key >> 16),
        port: key & 0xFFFF,
    };
    let position = Position {
        identifier: u64::from_le_bytes(identifier.try_into().ok()?),
        bytes: u64::from_le_bytes(*bytes),
    };
    (*version == VERSION).then_some((id, position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_what_it_was_and_nothing_else_is_one() {
        let id = CollectorId {
            namespace: NamespaceId::new(3),
            port: 0xFFFE,
        };
        let position = Position {
            identifier: u64::MAX - 1,
            bytes: 1 << 50,
        };
        let fact = encode(position);
        let number = key(id).key;
        assert_eq!(decode(number, &fact), Some((id, position)));
        for bytes in 0..fact.len() {
            assert_eq!(decode(number, &fact[..bytes]), None, "{bytes} bytes");
        }
        let longer = [&fact[..], &[0]].concat();
        assert_eq!(decode(number, &longer), None);
        let mut newer = fact;
        newer[0] += 1;
        assert_eq!(decode(number, &newer), None);
    }
}
