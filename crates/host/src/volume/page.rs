//! A page of a catalogue: a header that says where and when it belongs, a checksum, and its share of a commit's
//! records.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::crc32;

/// What a page begins with.
const MAGIC: [u8; 4] = *b"BLct";

/// The header of a page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    /// CRC-32 of the page from the next field on.
    checksum: U32,
    /// The page's own first logical block.
    lba: U64,
    generation: U64,
    sequence: U64,
    part: U32,
    parts: U32,
    /// Bytes of records.
    used: U32,
    reserved: U32,
}

/// Where a page belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Rises with each area that is begun.
    pub(super) generation: u64,
    /// Rises with each commit, torn ones included, so that pages of two never make one.
    pub(super) sequence: u64,
}

/// A page that is as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) stamp: Stamp,
    /// Which page of its commit this is.
    pub(super) part: u32,
    /// Pages of its commit, more than `part`.
    pub(super) parts: u32,
    /// Its share of the records.
    pub(super) records: Vec<u8>,
}

/// Bytes of records that a page of `page_bytes` holds.
pub(super) fn room(page_bytes: usize) -> usize {
    page_bytes - size_of::<Header>()
}

/// Pages that `bytes` of records take; a commit has at least one.
pub(super) fn pages_for(bytes: usize, page_bytes: usize) -> u64 {
    bytes.div_ceil(room(page_bytes)).max(1) as u64
}

/// The pages of a commit, as they are written one after the other from block `lba` on.
pub(super) fn encode(
    stamp: Stamp,
    records: &[u8],
    lba: u64,
    page_bytes: usize,
    page_blocks: u64,
) -> Vec<u8> {
    let parts = pages_for(records.len(), page_bytes);
    let mut pages = vec![0; parts as usize * page_bytes];
    let mut shares = records.chunks(room(page_bytes));
    for (part, page) in pages.chunks_exact_mut(page_bytes).enumerate() {
        let share = shares.next().unwrap_or_default();
        let header = Header {
            magic: MAGIC,
            checksum: U32::ZERO,
            lba: U64::new(lba + part as u64 * page_blocks),
            generation: U64::new(stamp.generation),
            sequence: U64::new(stamp.sequence),
            part: U32::new(part as u32),
            parts: U32::new(parts as u32),
            used: U32::new(share.len() as u32),
            reserved: U32::ZERO,
        };
        let (head, body) = page.split_at_mut(size_of::<Header>());
        head.copy_from_slice(header.as_bytes());
        body[..share.len()].copy_from_slice(share);
        let checksum = crc32(&page[8..]);
        page[4..8].copy_from_slice(&checksum.to_le_bytes());
    }
    pages
}

/// The page in `bytes`, read from block `lba`; `None` if it is blank, torn, damaged, or of another place.
pub(super) fn decode(bytes: &[u8], lba: u64) -> Option<Page> {
    let (header, body) = Header::read_from_prefix(bytes).ok()?;
    let is_whole = header.magic == MAGIC
        && header.lba.get() == lba
        && header.part.get() < header.parts.get()
        && header.used.get() as usize <= body.len()
        && header.checksum.get() == crc32(&bytes[8..]);
    is_whole.then(|| Page {
        stamp: Stamp {
            generation: header.generation.get(),
            sequence: header.sequence.get(),
        },
        part: header.part.get(),
        parts: header.parts.get(),
        records: body[..header.used.get() as usize].to_vec(),
    })
}

#[test]
fn a_page_is_whole_at_its_own_place_only() {
    let stamp = Stamp {
        generation: 3,
        sequence: 4,
    };
    let records = vec![7; 2 * room(1024) - 1];
    let pages = encode(stamp, &records, 10, 1024, 2);
    let (first, second) = pages.split_at(1024);
    let expected = |part, records: &[u8]| Page {
        stamp,
        part,
        parts: 2,
        records: records.to_vec(),
    };
    assert_eq!(decode(first, 10), Some(expected(0, &records[..room(1024)])));
    assert_eq!(
        decode(second, 12),
        Some(expected(1, &records[room(1024)..]))
    );
    assert_eq!(decode(second, 10), None);
    for place in 0..1024 {
        let mut damaged = second.to_vec();
        damaged[place] ^= 0x10;
        assert_eq!(decode(&damaged, 12), None, "byte {place}");
    }
    assert_eq!(decode(&[], 0), None);
}
