//! Collectors, as host and drive tell each other of them: what becomes of what they send (TH-iSSD, TECS 2023, 3.2).

use std::mem::size_of;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const VERSION: u8 = 1;

/// What becomes of packets for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// They are held back on their wire.
    #[default]
    Stall,
    /// They are dropped.
    DropNewest,
    /// Those that have waited the longest are dropped for them.
    DropOldest,
}

impl Policy {
    /// All there are, by code.
    pub const ALL: [Policy; 3] = [Policy::Stall, Policy::DropNewest, Policy::DropOldest];

    /// The code of it.
    pub fn code(self) -> u8 {
        match self {
            Policy::Stall => 0,
            Policy::DropNewest => 1,
            Policy::DropOldest => 2,
        }
    }

    /// The policy of a code.
    pub fn of_code(code: u8) -> Option<Policy> {
        Policy::ALL.get(usize::from(code)).copied()
    }
}

/// What a collection is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectorState {
    /// It takes what comes.
    Collecting,
    /// It was closed, or the power was cut: it is known how far it came.
    Over,
    /// What came could not be written.
    Failed,
}

impl CollectorState {
    /// The code of it.
    pub fn code(self) -> u8 {
        match self {
            CollectorState::Collecting => 0,
            CollectorState::Over => 1,
            CollectorState::Failed => 2,
        }
    }

    /// The state of a code.
    pub fn of_code(code: u8) -> Option<CollectorState> {
        match code {
            0 => Some(CollectorState::Collecting),
            1 => Some(CollectorState::Over),
            2 => Some(CollectorState::Failed),
            _ => None,
        }
    }
}

/// What is told of a collection.
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
pub struct CollectorRecord {
    /// The port from which it comes.
    pub port: U32,
    /// A [`CollectorState`].
    pub state: u8,
    reserved: [u8; 3],
    /// What its owner calls it.
    pub identifier: U64,
    /// Bytes collected: on flash, in order, without holes, and known to be there whatever becomes of the power.
    pub bytes: U64,
    /// Bytes that its extents have room for, from the first byte on.
    pub room_bytes: U64,
    /// Packets taken in.
    pub packets: U64,
    /// Bytes of these.
    pub packet_bytes: U64,
    /// Packets dropped as they came.
    pub newest: U64,
    /// Bytes of these.
    pub newest_bytes: U64,
    /// Packets dropped after they had waited.
    pub oldest: U64,
    /// Bytes of these.
    pub oldest_bytes: U64,
    /// Nanoseconds for which packets were held back on their wire.
    pub stalled_ns: U64,
    /// Bytes taken in for which there was no room where they go when it ended.
    pub lost_bytes: U64,
    /// Bytes for streams only that no stream took.
    pub unread_bytes: U64,
    /// Bytes that were there when it began.
    pub begun_bytes: U64,
    more: [U64; 2],
}

const _: () = assert!(size_of::<CollectorRecord>() == 128);

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    version: u8,
    reserved: [u8; 3],
    records: U32,
    more: [U64; 7],
}

/// The log page of the collections of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectorList {
    /// One for each, by port.
    pub records: Vec<CollectorRecord>,
}

impl CollectorList {
    /// The page.
    pub fn encode(&self) -> Vec<u8> {
        let head = Head {
            version: VERSION,
            reserved: [0; 3],
            records: (self.records.len() as u32).into(),
            more: [U64::ZERO; 7],
        };
        let mut page = head.as_bytes().to_vec();
        page.extend_from_slice(self.records.as_bytes());
        page
    }

    /// Bytes of a page that begins so.
    pub fn bytes(page: &[u8]) -> Option<u64> {
        let (head, _) = Head::read_from_prefix(page).ok()?;
        let records = u64::from(head.records.get()) * size_of::<CollectorRecord>() as u64;
        (head.version == VERSION).then(|| size_of::<Head>() as u64 + records)
    }

    /// What a page says.
    pub fn decode(page: &[u8]) -> Option<CollectorList> {
        let bytes = usize::try_from(CollectorList::bytes(page)?).ok()?;
        let records = page.get(size_of::<Head>()..bytes)?;
        let (records, _) = records.as_chunks::<{ size_of::<CollectorRecord>() }>();
        let records = records
            .iter()
            .map(|record| CollectorRecord::read_from_bytes(record).ok());
        Some(CollectorList {
            records: records.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_it_was_made_of() {
        let record = |port: u32| CollectorRecord {
            port: port.into(),
            state: CollectorState::Failed.code(),
            bytes: 77.into(),
            ..CollectorRecord::default()
        };
        for count in [0, 1, 5] {
            let list = CollectorList {
                records: (0..count).map(record).collect(),
            };
            let page = list.encode();
            assert_eq!(CollectorList::decode(&page), Some(list));
            for cut in 0..page.len() {
                assert_eq!(CollectorList::decode(&page[..cut]), None);
            }
        }
        assert!((0..=255).all(|code| {
            Policy::of_code(code).is_none_or(|policy| policy.code() == code)
                && CollectorState::of_code(code).is_none_or(|state| state.code() == code)
        }));
    }
}
