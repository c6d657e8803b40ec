//! Lists of a compute namespace: its programs, the types of programs that it takes, its memory range sets (CP).
//!
//! Descriptors of programs and of ranges lie as those of implementations of CP 1.1 do. What the lists begin with, and the records of
//! types and sets, could not be held against the standard: they are this drive's own.

use std::mem::size_of;

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::command::MemoryRange;

/// Bytes before the records of each list.
const HEAD_BYTES: usize = 64;
const OCCUPIED: u8 = 1;
const ACTIVE: u8 = 1 << 2;

/// What a list begins with.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    count: U16,
    reserved: [u8; 62],
}

/// What the Program List says of an index.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ProgramDescriptor {
    /// PEOCC in bits 1:0, ACT in bit 2, PIT in bits 5:3.
    flags: u8,
    /// What the program is written in (PTYPE).
    pub program_type: u8,
    reserved_2: [u8; 6],
    /// What its owner calls it (PID).
    pub identifier: U64,
    reserved_16: [u8; 48],
}

/// A type of programs that can be loaded.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ProgramType {
    /// PTYPE.
    pub program_type: u8,
    reserved: [u8; 63],
}

/// What the list of memory range sets says of one, before its ranges.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct SetHead {
    set: U16,
    ranges: u8,
    reserved: [u8; 29],
}

/// A memory range set that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeSetRecord {
    /// Its identifier (RSID).
    pub set: u16,
    /// Its ranges.
    pub ranges: Vec<MemoryRange>,
}

const _: () = {
    assert!(size_of::<Head>() == HEAD_BYTES);
    assert!(size_of::<ProgramDescriptor>() == 64);
    assert!(size_of::<ProgramType>() == 64);
    assert!(size_of::<SetHead>() == 32);
};

impl ProgramDescriptor {
    /// An index without program.
    pub fn empty() -> ProgramDescriptor {
        ProgramDescriptor::new_zeroed()
    }

    /// An index with a program.
    pub fn of(program_type: u8, identifier: u64, is_active: bool) -> ProgramDescriptor {
        let mut descriptor = ProgramDescriptor::new_zeroed();
        descriptor.flags = OCCUPIED | if is_active { ACTIVE } else { 0 };
        descriptor.program_type = program_type;
        descriptor.identifier.set(identifier);
        descriptor
    }

    /// Whether there is a program.
    pub fn is_occupied(&self) -> bool {
        self.flags & 3 == OCCUPIED
    }

    /// Whether it can run.
    pub fn is_active(&self) -> bool {
        self.flags & ACTIVE != 0
    }

    /// The Program List: a descriptor for each index.
    pub fn encode_list(descriptors: &[ProgramDescriptor]) -> Vec<u8> {
        let mut page = head(descriptors.len());
        page.extend(descriptors.as_bytes());
        page
    }

    /// The descriptors of a Program List, by index; none of a page that is cut short.
    pub fn decode_list(page: &[u8]) -> Option<Vec<ProgramDescriptor>> {
        let (count, rest) = split(page)?;
        let (list, _) = <[ProgramDescriptor]>::ref_from_prefix_with_elems(rest, count).ok()?;
        Some(list.to_vec())
    }
}

impl ProgramType {
    /// The Downloadable Program Types List.
    pub fn encode_list(types: &[u8]) -> Vec<u8> {
        let mut page = head(types.len());
        for program_type in types {
            let mut record = ProgramType::new_zeroed();
            record.program_type = *program_type;
            page.extend(record.as_bytes());
        }
        page
    }
}

impl RangeSetRecord {
    /// A set of these ranges, of which there are at most 255.
    pub fn new(set: u16, ranges: Vec<MemoryRange>) -> RangeSetRecord {
        RangeSetRecord { set, ranges }
    }

    /// The Memory Range Set List: a record of 32 bytes for each set, and its ranges behind it.
    pub fn encode_list(sets: &[RangeSetRecord]) -> Vec<u8> {
        let mut page = head(sets.len());
        for of in sets {
            let mut record = SetHead::new_zeroed();
            record.set.set(of.set);
            record.ranges = of.ranges.len() as u8;
            page.extend(record.as_bytes());
            page.extend(of.ranges.as_bytes());
        }
        page
    }

    /// The sets of such a list; none of a page that is cut short.
    pub fn decode_list(page: &[u8]) -> Option<Vec<RangeSetRecord>> {
        let (count, mut rest) = split(page)?;
        let mut sets = Vec::new();
        for _ in 0..count {
            let (of, behind) = SetHead::read_from_prefix(rest).ok()?;
            let bytes = usize::from(of.ranges) * MemoryRange::BYTES;
            let (ranges, after) = behind.split_at_checked(bytes)?;
            sets.push(RangeSetRecord {
                set: of.set.get(),
                ranges: MemoryRange::parse(ranges).to_vec(),
            });
            rest = after;
        }
        Some(sets)
    }
}

fn head(count: usize) -> Vec<u8> {
    let mut head = Head::new_zeroed();
    head.count.set(count as u16);
    head.as_bytes().to_vec()
}

fn split(page: &[u8]) -> Option<(usize, &[u8])> {
    let (head, rest) = Head::ref_from_prefix(page).ok()?;
    Some((usize::from(head.count.get()), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identifier::NamespaceId;

    #[test]
    fn lists_round_trip() {
        let programs = [
            ProgramDescriptor::empty(),
            ProgramDescriptor::of(0xC0, 7, true),
        ];
        let page = ProgramDescriptor::encode_list(&programs);
        assert_eq!(page[..2], [2, 0]);
        assert_eq!(page[128..137], [0b101, 0xC0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(ProgramDescriptor::decode_list(&page), Some(programs.into()));
        assert_eq!(ProgramDescriptor::decode_list(&page[..150]), None);

        let ranges = vec![MemoryRange::new(NamespaceId::new(2), 8, 4)];
        let sets = [
            RangeSetRecord::new(3, ranges),
            RangeSetRecord::new(9, Vec::new()),
        ];
        let page = RangeSetRecord::encode_list(&sets);
        assert_eq!(page[64..67], [3, 0, 1]);
        assert_eq!(RangeSetRecord::decode_list(&page), Some(sets.into()));
        assert_eq!(RangeSetRecord::decode_list(&page[..100]), None);
        assert_eq!(ProgramType::encode_list(&[0xC0])[64], 0xC0);
    }
}
