//! Lookups, and what they give.

use zerocopy::little_endian::U32;

use super::{query_bytes, region_of};
use crate::command::bit;
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{NamespaceId, RegionId};
use crate::status::Status;

/// What a lookup gives of the entries that it finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returned {
    /// Logical pages that have entries instead of the entries' values, one for each entry, or, where the drive suppresses
    /// duplicates, for entries that follow one another in it. For values within a page, without parts.
    pub pages: bool,
    /// Before each record the number of its entry (of a page, of the first one), 8 bytes, little-endian.
    pub numbers: bool,
    /// Only how many entries there are.
    pub count_only: bool,
}

/// Looks up one name of up to [`super::SIMPLE_NAME_BITS`] bits; longer names are compared in these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimpleLookup {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The search region.
    pub region: RegionId,
    /// What is returned.
    pub returned: Returned,
    /// Bytes of the buffer for it.
    pub buffer_bytes: u32,
    /// The name.
    pub name: [u8; 16],
    /// The bits of it that count.
    pub mask: [u8; 16],
    /// Where records go.
    pub data: DataPointer,
}

/// Looks up what a query finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// A search region of the data region that all terms are about.
    pub region: RegionId,
    /// What is returned.
    pub returned: Returned,
    /// Byte address in host memory of the [`crate::query::Query`].
    pub query_address: u64,
    /// Its length in bytes, 1 to [`crate::query::MAX_QUERY_BYTES`].
    pub query_bytes: u32,
    /// Bytes of the buffer for records.
    pub buffer_bytes: u32,
    /// Where records go.
    pub data: DataPointer,
}

/// Goes on with a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupContinue {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The search region of the lookup.
    pub region: RegionId,
    /// Which lookup: what its last completion said.
    pub cursor: u32,
    /// Bytes of the buffer for further records.
    pub buffer_bytes: u32,
    /// Where they go.
    pub data: DataPointer,
}

impl Returned {
    pub(super) const PAGES: u32 = 16;
    pub(super) const NUMBERS: u32 = 17;
    pub(super) const COUNT: u32 = 18;

    fn decode(entry: &SubmissionEntry) -> Returned {
        let cdw10 = entry.cdw10.get();
        Returned {
            pages: bit(cdw10, Returned::PAGES),
            numbers: bit(cdw10, Returned::NUMBERS),
            count_only: bit(cdw10, Returned::COUNT),
        }
    }

    /// CDW10 with the region.
    fn with(self, region: RegionId) -> U32 {
        let flags = u32::from(self.pages) << Returned::PAGES
            | u32::from(self.numbers) << Returned::NUMBERS
            | u32::from(self.count_only) << Returned::COUNT;
        (u32::from(region.get()) | flags).into()
    }
}

/// The 16 bytes of an entry from byte `from` on.
fn sixteen(entry: &SubmissionEntry, from: usize) -> [u8; 16] {
    let bytes = entry.to_bytes();
    std::array::from_fn(|at| bytes[from + at])
}

impl SimpleLookup {
    /// Where the entry of a Simple Lookup looks, and for what name; whether all else of it is right is not looked at.
    pub fn looked_for(entry: &SubmissionEntry) -> (RegionId, [u8; 16]) {
        (region_of(entry), sixteen(entry, 48))
    }

    pub(super) fn decode(entry: &SubmissionEntry) -> Result<SimpleLookup, Status> {
        let mask: [u8; 16] = sixteen(entry, 8);
        let (region, name) = SimpleLookup::looked_for(entry);
        if mask[15] & 0x80 != 0 {
            return Err(Status::INVALID_FIELD);
        }
        Ok(SimpleLookup {
            namespace: entry.namespace(),
            region,
            returned: Returned::decode(entry),
            buffer_bytes: entry.cdw11.get(),
            name,
            mask,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10 = self.returned.with(self.region);
        entry.cdw11.set(self.buffer_bytes);
        self.data.encode_into(&mut entry);
        let mut bytes = entry.to_bytes();
        bytes[8..24].copy_from_slice(&self.mask);
        bytes[48..64].copy_from_slice(&self.name);
        SubmissionEntry::from_bytes(bytes)
    }
}

impl Lookup {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<Lookup, Status> {
        Ok(Lookup {
            namespace: entry.namespace(),
            region: region_of(entry),
            returned: Returned::decode(entry),
            query_address: entry.metadata_pointer.get(),
            query_bytes: query_bytes(entry.cdw12.get())?,
            buffer_bytes: entry.cdw11.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.metadata_pointer.set(self.query_address);
        entry.cdw10 = self.returned.with(self.region);
        entry.cdw11.set(self.buffer_bytes);
        entry.cdw12.set(self.query_bytes);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl LookupContinue {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<LookupContinue, Status> {
        Ok(LookupContinue {
            namespace: entry.namespace(),
            region: region_of(entry),
            cursor: entry.cdw12.get(),
            buffer_bytes: entry.cdw11.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.region.get().into());
        entry.cdw11.set(self.buffer_bytes);
        entry.cdw12.set(self.cursor);
        self.data.encode_into(&mut entry);
        entry
    }
}
