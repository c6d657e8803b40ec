//! The out-of-band record of a page: what it holds, so that recovery can rebuild
//! the mapping table from the media alone.

use crate::schedule::SpareBytes;

use super::mapping::Lpn;

/// Bytes of a record.
const BYTES: usize = 16;
const DATA_TAG: u8 = 0x44;
const TOMBSTONE_TAG: u8 = 0x54;
/// Versions and sequence numbers have 40 bits: a thousand billion programs.
const NUMBER_MAX: u64 = (1 << 40) - 1;

/// What a page of the translation layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// Data of a logical page.
    Data {
        lpn: Lpn,
        /// Rises with every host write; a copy made by collection keeps it.
        version: u64,
        /// Rises with every program; tells a copy from its original.
        sequence: u64,
    },
    /// Logical pages from `start` on were deallocated; no data.
    Tombstone {
        start: Lpn,
        count: u32,
        version: u64,
    },
}

impl Record {
    pub(super) fn encode(&self) -> SpareBytes {
        let mut bytes = [0u8; BYTES];
        let mut put = |at: usize, width: usize, value: u64| {
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        };
        match *self {
            Record::Data {
                lpn,
                version,
                sequence,
            } => {
                assert!(
                    version <= NUMBER_MAX && sequence <= NUMBER_MAX,
                    "the drive outlived its numbers"
                );
                put(0, 1, u64::from(DATA_TAG));
                put(1, 4, u64::from(lpn.0));
                put(5, 5, version);
                put(10, 5, sequence);
            }
            Record::Tombstone {
                start,
                count,
                version,
            } => {
                assert!(version <= NUMBER_MAX, "the drive outlived its numbers");
                put(0, 1, u64::from(TOMBSTONE_TAG));
                put(1, 4, u64::from(start.0));
                put(5, 5, version);
                put(10, 4, u64::from(count));
            }
        }
        bytes[BYTES - 1] = checksum(&bytes);
        bytes.into_iter().collect()
    }

    /// The record in these spare bytes; `None` if they hold none of this layer's.
    pub(super) fn decode(spare: &[u8]) -> Option<Record> {
        let bytes: &[u8; BYTES] = spare.try_into().ok()?;
        if bytes[BYTES - 1] != checksum(bytes) {
            return None;
        }
        let get = |at: usize, width: usize| {
            bytes[at..at + width]
                .iter()
                .rev()
                .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
        };
        match bytes[0] {
            DATA_TAG => Some(Record::Data {
                lpn: Lpn(get(1, 4) as u32),
                version: get(5, 5),
                sequence: get(10, 5),
            }),
            TOMBSTONE_TAG => Some(Record::Tombstone {
                start: Lpn(get(1, 4) as u32),
                count: get(10, 4) as u32,
                version: get(5, 5),
            }),
            _ => None,
        }
    }
}

/// All bytes but the last, so that an erased or foreign spare area is told apart.
fn checksum(bytes: &[u8; BYTES]) -> u8 {
    bytes[..BYTES - 1]
        .iter()
        .fold(0xA5, |sum: u8, byte| sum.rotate_left(1) ^ byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_survive_the_spare_area(lpn: u32, count: u32, version in 0..=NUMBER_MAX, sequence in 0..=NUMBER_MAX) {
            let data = Record::Data { lpn: Lpn(lpn), version, sequence };
            prop_assert_eq!(Record::decode(&data.encode()), Some(data));
            let tombstone = Record::Tombstone { start: Lpn(lpn), count, version };
            prop_assert_eq!(Record::decode(&tombstone.encode()), Some(tombstone));
        }

        #[test]
        fn decoding_is_total(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Record::decode(&bytes);
        }
    }

    #[test]
    fn an_erased_spare_area_holds_no_record() {
        assert_eq!(Record::decode(&[0xFF; BYTES]), None);
        assert_eq!(Record::decode(&[0; BYTES]), None);
    }
}
