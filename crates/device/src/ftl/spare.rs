//! The out-of-band record of a page: what it holds, so that recovery can rebuild
//! the mapping table from the media alone.

use crate::schedule::SpareBytes;

use super::lpn::Lpn;

/// Bytes of the record of a data page, of which there are very many.
const SHORT: usize = 16;
/// Bytes of any other record.
const LONG: usize = 24;
const DATA_TAG: u8 = 0x44;
const TOMBSTONE_TAG: u8 = 0x54;
const JOURNAL_TAG: u8 = 0x4A;
const MAPPING_TAG: u8 = 0x4D;
const ROOT_TAG: u8 = 0x52;
/// Versions and sequence numbers have 40 bits: a thousand billion programs.
const NUMBER_MAX: u64 = (1 << 40) - 1;

/// What a page of the translation layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) content: Content,
    /// Rises with every change that the host asks for; a copy made by collection keeps it.
    pub(super) version: u64,
    /// Rises with every program; tells a copy from its original.
    pub(super) sequence: u64,
}

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Data of a logical page.
    Data(Lpn),
    /// Logical pages from `start` on were deallocated; no data.
    Tombstone { start: Lpn, count: u32 },
    /// A page of a group of facts.
    Journal {
        part: u16,
        parts: u16,
        /// The oldest group that was needed then; 0 for none but this.
        oldest: u64,
    },
    /// A mapping page.
    Mapping {
        number: u32,
        /// Deallocations of a lower version are in it.
        deallocated_below: u64,
    },
    /// A part of the root of a checkpoint.
    Root { part: u16, parts: u16 },
}

/// Writes numbers one after another, little-endian.
struct Writer(SpareBytes);

impl Writer {
    fn put(&mut self, width: usize, value: u64) -> &mut Writer {
        let kept = self.0.try_extend_from_slice(&value.to_le_bytes()[..width]);
        kept.expect("a record is shorter than the spare bytes that a program can carry");
        self
    }
}

/// Reads numbers one after another.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn get(&mut self, width: usize) -> u64 {
        let (number, rest) = self.0.split_at(width);
        self.0 = rest;
        let digits = number.iter().rev();
        digits.fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    }
}

impl Record {
    /// Tag, what it is about, version, sequence, zeroes, checksum.
    pub(super) fn encode(&self) -> SpareBytes {
        assert!(
            self.version <= NUMBER_MAX && self.sequence <= NUMBER_MAX,
            "the drive outlived its numbers"
        );
        let mut writer = Writer(SpareBytes::new());
        let length = match self.content {
            Content::Data(lpn) => return self.encode_data(lpn),
            Content::Tombstone { start, count } => {
                writer.put(1, TOMBSTONE_TAG.into());
                writer.put(4, start.0.into()).put(4, count.into());
                LONG
            }
            Content::Journal {
                part,
                parts,
                oldest,
            } => {
                writer.put(1, JOURNAL_TAG.into());
                writer.put(2, part.into()).put(2, parts.into());
                writer.put(5, oldest);
                LONG
            }
            Content::Mapping {
                number,
                deallocated_below,
            } => {
                writer.put(1, MAPPING_TAG.into()).put(4, number.into());
                writer.put(5, deallocated_below);
                LONG
            }
            Content::Root { part, parts } => {
                writer.put(1, ROOT_TAG.into());
                writer.put(2, part.into()).put(2, parts.into());
                LONG
            }
        };
        writer.put(5, self.version).put(5, self.sequence);
        let Writer(mut bytes) = writer;
        while bytes.len() < length - 1 {
            bytes.push(0);
        }
        bytes.push(checksum(&bytes));
        bytes
    }

    /// The same of a data page, of which there are very many, in a few instructions.
    fn encode_data(&self, lpn: Lpn) -> SpareBytes {
        let numbers = u128::from(self.version) << 40 | u128::from(self.sequence) << 80;
        let packed = u128::from(DATA_TAG) | u128::from(lpn.0) << 8 | numbers;
        let mut bytes = packed.to_le_bytes();
        bytes[SHORT - 1] = checksum(&bytes[..SHORT - 1]);
        SpareBytes::try_from(&bytes[..])
            .expect("a record is shorter than the spare bytes that a program can carry")
    }

    /// Whether these spare bytes, which hold a record, are those of a page of the journal.
    pub(super) fn is_of_journal(spare: &[u8]) -> bool {
        spare.first() == Some(&JOURNAL_TAG)
    }

    /// The record in these spare bytes; `None` if they hold none of this layer's.
    pub(super) fn decode(spare: &[u8]) -> Option<Record> {
        let (check, body) = spare.split_last()?;
        let length = match body.first()? {
            &DATA_TAG => SHORT,
            _ => LONG,
        };
        if spare.len() != length || *check != checksum(body) {
            return None;
        }
        let mut reader = Reader(&body[1..]);
        let content = match body[0] {
            DATA_TAG => Content::Data(Lpn(reader.get(4) as u32)),
            TOMBSTONE_TAG => Content::Tombstone {
                start: Lpn(reader.get(4) as u32),
                count: reader.get(4) as u32,
            },
            JOURNAL_TAG => Content::Journal {
                part: reader.get(2) as u16,
                parts: reader.get(2) as u16,
                oldest: reader.get(5),
            },
            MAPPING_TAG => Content::Mapping {
                number: reader.get(4) as u32,
                deallocated_below: reader.get(5),
            },
            ROOT_TAG => Content::Root {
                part: reader.get(2) as u16,
                parts: reader.get(2) as u16,
            },
            _ => return None,
        };
        Some(Record {
            content,
            version: reader.get(5),
            sequence: reader.get(5),
        })
    }
}

/// So that an erased or foreign spare area is told apart.
fn checksum(bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(0xA5, |sum: u8, byte| sum.rotate_left(1) ^ byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content() -> impl Strategy<Value = Content> {
        prop_oneof![
            any::<u32>().prop_map(|lpn| Content::Data(Lpn(lpn))),
            any::<(u32, u32)>().prop_map(|(start, count)| Content::Tombstone {
                start: Lpn(start),
                count
            }),
            (any::<(u16, u16)>(), 0..=NUMBER_MAX).prop_map(|((part, parts), oldest)| {
                Content::Journal {
                    part,
                    parts,
                    oldest,
                }
            }),
            (any::<u32>(), 0..=NUMBER_MAX).prop_map(|(number, deallocated_below)| {
                Content::Mapping {
                    number,
                    deallocated_below,
                }
            }),
            any::<(u16, u16)>().prop_map(|(part, parts)| Content::Root { part, parts }),
        ]
    }

    proptest! {
        #[test]
        fn records_survive_the_spare_area(
            content in content(),
            version in 0..=NUMBER_MAX,
            sequence in 0..=NUMBER_MAX,
        ) {
            let record = Record { content, version, sequence };
            prop_assert_eq!(Record::decode(&record.encode()), Some(record));
        }

        #[test]
        fn decoding_is_total(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Record::decode(&bytes);
        }
    }

    #[test]
    fn an_erased_spare_area_holds_no_record() {
        for length in [SHORT, LONG] {
            assert_eq!(Record::decode(&vec![0xFF; length]), None);
            assert_eq!(Record::decode(&vec![0; length]), None);
        }
    }
}
