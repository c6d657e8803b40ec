//! The out-of-band record of a page: what it holds, so that recovery can rebuild
//! the mapping table from the media alone.
//!
//! A page of data lists its units, each with its version; what else there is takes a page as a whole. Placed units
//! follow one another, so that the first tells all of them.

use crate::region::{Owner, Placement};
use crate::schedule::SpareBytes;

use super::lpn::Lpn;
use super::unit::{MappingUnit, UNITS_PER_PAGE_MAX};

/// Bytes of a unit in the record of a data page: logical page and version.
const UNIT: usize = 4 + 5;
/// The other bytes of that record: owner, sequence, checksum.
const FRAME: usize = 1 + 5 + 1;
/// Bytes of the record of a data page with one unit, of which there are very many.
const SHORT: usize = UNIT + FRAME;
/// Bytes of any other record.
const LONG: usize = 24;
/// The most bytes of the record of a data page.
pub(super) const RECORD_BYTES_MAX: usize = FRAME + UNITS_PER_PAGE_MAX as usize * UNIT;
/// Stands for the logical page of a slot that holds nothing.
const NOTHING: u32 = u32::MAX;
/// Bit of the handle's number that says that the inverse is stored.
const INVERSE: u16 = 1 << 15;
/// Pages of a group of facts, at most: what the record of each has room for.
pub(super) const GROUP_PAGES_MAX: u32 = (1 << 24) - 1;
/// Versions and sequence numbers have 40 bits: a thousand billion programs.
const NUMBER_MAX: u64 = (1 << 40) - 1;

/// What a page of the translation layer holds, or a unit of it.
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
    /// Data of a logical page that is placed to be computed with.
    Placed { lpn: Lpn, placement: Placement },
    /// What one evaluation needs for its time.
    Temporary,
    /// Bits of the names of a row of a search region: which part of them.
    Search { region: u16, row: u32, slice: u8 },
    /// Logical pages from `start` on were deallocated; no data.
    Tombstone { start: Lpn, count: u32 },
    /// A page of a group of facts.
    Journal {
        index: u32,
        count: u32,
        /// The oldest group that was needed then; 0 for none but this.
        oldest: u64,
    },
    /// A mapping page.
    Mapping {
        number: u32,
        /// Deallocations of a lower version are in it.
        deallocated_below: u64,
    },
    /// A page of the root of a checkpoint.
    Root { index: u16, count: u16 },
}

/// The logical page whose data a page holds, by its spare bytes: for a trace.
pub(super) fn logical_page(spare: &[u8]) -> Option<u32> {
    let lpn = Record::decode(spare)?.content.lpn()?;
    Some(lpn.0)
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

impl Content {
    /// Whose the page is.
    pub(super) fn owner(&self) -> Owner {
        match self {
            Content::Data(_) => Owner::Data,
            Content::Placed { .. } => Owner::Compute,
            Content::Temporary => Owner::Temporary,
            Content::Search { .. } => Owner::Search,
            Content::Tombstone { .. } => Owner::Tombstone,
            Content::Journal { .. } => Owner::Journal,
            Content::Mapping { .. } => Owner::Mapping,
            Content::Root { .. } => Owner::Root,
        }
    }

    /// The same of a slot of its page: placed units follow one another.
    fn in_slot(self, slot: u32) -> Content {
        match self {
            Content::Placed { lpn, placement } => Content::Placed {
                lpn: Lpn(lpn.0.saturating_add(slot)),
                placement,
            },
            other => other,
        }
    }

    /// The logical page whose data it is.
    pub(super) fn lpn(&self) -> Option<Lpn> {
        match *self {
            Content::Data(lpn) | Content::Placed { lpn, .. } => Some(lpn),
            _ => None,
        }
    }
}

impl Record {
    /// Owner, what it is about, version, sequence, zeroes, checksum.
    pub(super) fn encode(&self) -> SpareBytes {
        assert!(
            self.version <= NUMBER_MAX && self.sequence <= NUMBER_MAX,
            "the drive outlived its numbers"
        );
        if let Content::Data(lpn) = self.content {
            return self.encode_data(lpn);
        }
        let mut writer = Writer(SpareBytes::new());
        writer.put(1, self.content.owner().code().into());
        match self.content {
            Content::Data(_) | Content::Temporary => {}
            Content::Placed { lpn, placement } => {
                let inverse = if placement.inverse { INVERSE } else { 0 };
                writer.put(4, lpn.0.into());
                writer.put(2, (placement.handle | inverse).into());
                writer.put(3, placement.column.into());
            }
            Content::Tombstone { start, count } => {
                writer.put(4, start.0.into()).put(4, count.into());
            }
            Content::Journal {
                index,
                count,
                oldest,
            } => {
                writer.put(3, index.into()).put(3, count.into());
                writer.put(5, oldest);
            }
            Content::Mapping {
                number,
                deallocated_below,
            } => {
                writer.put(4, number.into());
                writer.put(5, deallocated_below);
            }
            Content::Root { index, count } => {
                writer.put(2, index.into()).put(2, count.into());
            }
            Content::Search { region, row, slice } => {
                writer.put(2, region.into()).put(4, row.into());
                writer.put(1, slice.into());
            }
        }
        writer.put(5, self.version).put(5, self.sequence);
        let Writer(mut bytes) = writer;
        while bytes.len() < LONG - 1 {
            bytes.push(0);
        }
        bytes.push(checksum(&bytes));
        bytes
    }

    /// The same of a data page with one unit, of which there are very many, in a few instructions.
    fn encode_data(&self, lpn: Lpn) -> SpareBytes {
        let numbers = u128::from(self.version) << 40 | u128::from(self.sequence) << 80;
        let packed = u128::from(Owner::Data.code()) | u128::from(lpn.0) << 8 | numbers;
        let mut bytes = packed.to_le_bytes();
        bytes[SHORT - 1] = checksum(&bytes[..SHORT - 1]);
        SpareBytes::try_from(&bytes[..])
            .expect("a record is shorter than the spare bytes that a program can carry")
    }

    /// What [`Record::encode_data`] made, of which there are very many, too.
    #[inline]
    fn decode_data(spare: &[u8; SHORT]) -> Option<Record> {
        let [body @ .., check] = spare;
        let packed = u128::from_le_bytes(*spare);
        let lpn = (packed >> 8) as u32;
        let record = Record {
            content: Content::Data(Lpn(lpn)),
            version: (packed >> 40) as u64 & NUMBER_MAX,
            sequence: (packed >> 80) as u64 & NUMBER_MAX,
        };
        (*check == checksum(body) && lpn != NOTHING).then_some(record)
    }

    /// Whether these spare bytes, of a page that was programmed completely, are not those that any record was written as.
    /// Of a page whose program the power cut there are none.
    pub(super) fn is_damaged(spare: &[u8]) -> bool {
        let last = spare.split_last();
        last.is_some_and(|(check, body)| *check != checksum(body))
    }

    /// Whether these spare bytes, which hold a record, are those of a page of the journal.
    pub(super) fn is_of_journal(spare: &[u8]) -> bool {
        spare.first() == Some(&Owner::Journal.code())
    }

    /// Whether these spare bytes, which hold a record, are those of a page whose content is the firmware's own.
    pub(super) fn is_of_firmware(spare: &[u8]) -> bool {
        Record::is_of_journal(spare) || spare.first() == Some(&Owner::Mapping.code())
    }

    /// Whether these spare bytes, which hold a record, are those of a page of data that is not placed.
    pub(super) fn is_of_data(spare: &[u8]) -> bool {
        spare.first() == Some(&Owner::Data.code())
    }

    /// The records of what is in the slots of a page, by slot: of each unit of data, or, at the first, of what takes the
    /// page as a whole. Nothing if the spare bytes hold none of this layer's.
    pub(super) fn decode_slots(
        spare: &[u8],
        unit: MappingUnit,
    ) -> impl Iterator<Item = (u32, Record)> + '_ {
        let record = Record::decode(spare);
        let units = record
            .filter(|record| matches!(record.content, Content::Data(_)))
            .map(|record| units_of(spare, record.sequence));
        let whole = record.filter(|record| !matches!(record.content, Content::Data(_)));
        let slots = match whole.map(|record| record.content) {
            Some(Content::Placed { .. }) => unit.per_page(),
            _ => 1,
        };
        let whole = whole.into_iter().flat_map(move |record| {
            (0..slots).map(move |slot| {
                let content = record.content.in_slot(slot);
                (slot, Record { content, ..record })
            })
        });
        units.into_iter().flatten().chain(whole)
    }

    /// The record in these spare bytes; `None` if they hold none of this layer's. Of a data page with several units it is
    /// that of the first.
    pub(super) fn decode(spare: &[u8]) -> Option<Record> {
        if let Ok(spare) = <&[u8; SHORT]>::try_from(spare)
            && spare[0] == Owner::Data.code()
        {
            return Record::decode_data(spare);
        }
        let (check, body) = spare.split_last()?;
        let owner = Owner::from_code(*body.first()?)?;
        let fits = match owner {
            Owner::Data => spare.len() >= SHORT && (spare.len() - FRAME).is_multiple_of(UNIT),
            _ => spare.len() == LONG,
        };
        if !fits || *check != checksum(body) {
            return None;
        }
        if owner == Owner::Data {
            let (_, sequence) = body.split_at(body.len() - 5);
            let sequence = Reader(sequence).get(5);
            return units_of(spare, sequence).next().map(|(_, record)| record);
        }
        let mut reader = Reader(&body[1..]);
        let content = match owner {
            Owner::Data => unreachable!("a list of units, which was looked at"),
            Owner::Compute => {
                let lpn = Lpn(reader.get(4) as u32);
                let handle = reader.get(2) as u16;
                let placement = Placement {
                    handle: handle & !INVERSE,
                    inverse: handle & INVERSE != 0,
                    column: reader.get(3) as u32,
                };
                Content::Placed { lpn, placement }
            }
            Owner::Temporary => Content::Temporary,
            Owner::Search => Content::Search {
                region: reader.get(2) as u16,
                row: reader.get(4) as u32,
                slice: reader.get(1) as u8,
            },
            Owner::Tombstone => Content::Tombstone {
                start: Lpn(reader.get(4) as u32),
                count: reader.get(4) as u32,
            },
            Owner::Journal => Content::Journal {
                index: reader.get(3) as u32,
                count: reader.get(3) as u32,
                oldest: reader.get(5),
            },
            Owner::Mapping => Content::Mapping {
                number: reader.get(4) as u32,
                deallocated_below: reader.get(5),
            },
            Owner::Root => Content::Root {
                index: reader.get(2) as u16,
                count: reader.get(2) as u16,
            },
        };
        Some(Record {
            content,
            version: reader.get(5),
            sequence: reader.get(5),
        })
    }
}

/// The units that the record of a data page lists, by slot.
fn units_of(spare: &[u8], sequence: u64) -> impl Iterator<Item = (u32, Record)> + '_ {
    let units = spare[1..]
        .chunks_exact(UNIT)
        .take((spare.len() - FRAME) / UNIT);
    (0..).zip(units).filter_map(move |(slot, unit)| {
        let mut reader = Reader(unit);
        let (lpn, version) = (reader.get(4) as u32, reader.get(5));
        let record = Record {
            content: Content::Data(Lpn(lpn)),
            version,
            sequence,
        };
        (lpn != NOTHING).then_some((slot, record))
    })
}

impl MappingUnit {
    /// Bytes of the record of a page of data.
    pub fn record_bytes(self) -> u32 {
        data_record_bytes(self)
    }
}

/// Bytes of the record of a data page.
pub(super) fn data_record_bytes(unit: MappingUnit) -> u32 {
    FRAME as u32 + unit.per_page() * UNIT as u32
}

/// Writes the record of a data page with these units, the slot, logical page and version of each: owner, for each slot its
/// logical page and version, all ones where there is none, sequence, checksum.
pub(super) fn encode_units(
    into: &mut [u8],
    units: impl Iterator<Item = (u32, Lpn, u64)>,
    sequence: u64,
) {
    assert!(sequence <= NUMBER_MAX, "the drive outlived its numbers");
    into[0] = Owner::Data.code();
    let end = into.len() - 6;
    into[1..end].fill(u8::MAX);
    for (slot, lpn, version) in units {
        assert!(version <= NUMBER_MAX, "the drive outlived its numbers");
        let place = &mut into[1 + slot as usize * UNIT..][..UNIT];
        place[..4].copy_from_slice(&lpn.0.to_le_bytes());
        place[4..].copy_from_slice(&version.to_le_bytes()[..5]);
    }
    into[end..end + 5].copy_from_slice(&sequence.to_le_bytes()[..5]);
    into[end + 5] = checksum(&into[..end + 5]);
}

/// So that an erased or foreign spare area is told apart: from 0xA5 on, rotated by a bit before each byte is added.
#[inline]
fn checksum(bytes: &[u8]) -> u8 {
    // A byte is rotated once for each that follows. By eight bits it comes back to where it was, so that bytes eight
    // apart are added first, and then halves, which differ by four bits, by two and by one.
    let (first, eights) = bytes.as_rchunks::<8>();
    let mut sum = 0;
    for eight in eights {
        sum ^= u64::from_be_bytes(*eight);
    }
    let mut start = [0; 8];
    start[8 - first.len()..].copy_from_slice(first);
    sum ^= u64::from_be_bytes(start);
    let sum = rotate_bytes((sum >> 32) as u32, 4) ^ sum as u32;
    let sum = rotate_bytes(sum >> 16, 2) ^ sum;
    let sum = rotate_bytes(sum >> 8, 1) ^ sum;
    sum as u8 ^ 0xA5_u8.rotate_left(bytes.len() as u32 % 8)
}

/// Rotates each byte to the left.
#[inline]
fn rotate_bytes(bytes: u32, bits: u32) -> u32 {
    let low = (0xFF >> bits) * 0x0101_0101;
    (bytes & low) << bits | (bytes & !low) >> (8 - bits)
}

#[cfg(test)]
mod tests;
