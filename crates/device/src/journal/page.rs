//! Journal pages: records one after another, which go on from page to page of their group; before
//! them, in each page, the checksum and the length of what follows.

use super::checksum::crc32;
use super::{Fact, FactKey, FactKind};

/// Bytes of a page before its payload: checksum and length.
const PAGE_OVERHEAD: usize = 8;
/// Bytes of a record before its value: part, key, length.
const RECORD_OVERHEAD: usize = 10;
/// Instead of a length: there is no such fact any more. The group that it was last in follows.
const REMOVED: u32 = u32::MAX;

/// Bytes of records that a page holds.
pub(super) const fn payload(page_bytes: usize) -> usize {
    page_bytes - PAGE_OVERHEAD
}

/// A record of a fact.
pub(super) struct Record<'a> {
    key: FactKey,
    fact: &'a Fact,
}

impl<'a> Record<'a> {
    pub(super) fn of(key: FactKey, fact: &'a Fact) -> Record<'a> {
        Record { key, fact }
    }

    /// Bytes of it.
    pub(super) fn bytes(&self) -> usize {
        RECORD_OVERHEAD + self.fact.value.as_ref().map_or(8, |value| value.len())
    }

    fn write(&self, into: &mut Vec<u8>) {
        into.extend(self.key.kind.0.to_le_bytes());
        into.extend(self.key.key.to_le_bytes());
        match &self.fact.value {
            Some(value) => {
                into.extend((value.len() as u32).to_le_bytes());
                into.extend(value);
            }
            None => {
                into.extend(REMOVED.to_le_bytes());
                into.extend(self.fact.hides.to_le_bytes());
            }
        }
    }
}

/// The pages of a group of these records; at least one.
pub(super) fn lay_out<'a>(
    records: impl Iterator<Item = Record<'a>>,
    page_bytes: usize,
) -> Vec<Vec<u8>> {
    let mut stream = Vec::new();
    records.for_each(|record| record.write(&mut stream));
    if stream.is_empty() {
        return vec![page(&[])];
    }
    stream.chunks(payload(page_bytes)).map(page).collect()
}

fn page(payload: &[u8]) -> Vec<u8> {
    let mut page = vec![0; 4];
    page.extend((payload.len() as u32).to_le_bytes());
    page.extend(payload);
    let sum = crc32(&page[4..]);
    page[..4].copy_from_slice(&sum.to_le_bytes());
    page
}

/// The payload of a page; `None` if it is damaged.
pub(crate) fn open(page: &[u8]) -> Option<&[u8]> {
    let (sum, rest) = page.split_first_chunk()?;
    let (length, _) = rest.split_first_chunk()?;
    let end = 4usize.checked_add(u32::from_le_bytes(*length) as usize)?;
    let covered = rest.get(..end)?;
    (crc32(covered) == u32::from_le_bytes(*sum)).then(|| &covered[4..])
}

/// The records in the payloads of a whole group.
pub(super) fn records(stream: &[u8]) -> impl Iterator<Item = (FactKey, Fact)> + '_ {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let (record, behind) = record(rest)?;
        rest = behind;
        Some(record)
    })
}

fn record(stream: &[u8]) -> Option<((FactKey, Fact), &[u8])> {
    let (kind, rest) = stream.split_first_chunk()?;
    let (key, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let key = FactKind(u16::from_le_bytes(*kind)).key(u32::from_le_bytes(*key));
    let length = u32::from_le_bytes(*length);
    let bytes = if length == REMOVED { 8 } else { length };
    let (value, rest) = rest.split_at_checked(bytes as usize)?;
    let removed = (length == REMOVED).then(|| value.first_chunk()).flatten();
    let fact = Fact {
        value: removed.is_none().then(|| value.into()),
        group: 0,
        hides: removed.map_or(0, |hides| u64::from_le_bytes(*hides)),
    };
    Some(((key, fact), rest))
}
