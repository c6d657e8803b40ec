//! Search regions: allocating and deallocating them, and telling what there is.

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{MAX_VALUE_BYTES, positive, region_of};
use crate::command::{bit, halves, join_dwords, join_halves};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{Lba, NamespaceId, RegionId};
use crate::query::MAX_NAME_BITS;
use crate::status::Status;

/// Allocates a search region, and with the first one of it a data region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionAllocate {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// The first logical block of the data region, which begins a chunk of NPWG blocks.
    pub start: Lba,
    /// Entries that the data region has room for, at least 1.
    pub entries: u32,
    /// Bits of a name, 1 to [`MAX_NAME_BITS`].
    pub name_bits: u32,
    /// Names may have don't cares.
    pub ternary: bool,
    /// One more search region of the data region that begins there: `entries` and `value_bytes` are as they are, and
    /// initial records are a name for each entry that there is, without values.
    pub linked: bool,
    /// Bytes of a value, 1 to [`MAX_VALUE_BYTES`].
    pub value_bytes: u32,
    /// Initial records.
    pub records: u32,
    /// Where they lie.
    pub data: DataPointer,
}

/// Deallocates a search region: its flash is erased. With its last one, a data region is one no more; its logical
/// blocks stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionDeallocate {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// Which.
    pub region: RegionId,
}

/// Lists the search regions of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionReport {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// Room for so many [`RegionRecord`]s.
    pub records: u32,
    /// Where they go, by number.
    pub data: DataPointer,
}

/// A search region, as its 48 bytes.
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
pub struct RegionRecord {
    /// Its number.
    pub region: U16,
    /// Bits of a name.
    pub name_bits: U16,
    /// 1 if names may have don't cares.
    pub ternary: U32,
    /// The first logical block of its data region.
    pub start: U64,
    /// Entries that there is room for.
    pub capacity: U32,
    /// Entries appended, deleted ones included.
    pub entries: U32,
    /// Entries that are not deleted.
    pub live: U32,
    /// Entries whose names wait in the drive's memory for a block to be full.
    pub buffered: U32,
    /// Bytes of a value.
    pub value_bytes: U32,
    /// Flash blocks that hold its names.
    pub blocks: U32,
    /// Logical pages from the values of one row of names to those of the next.
    pub row_pages: U32,
    /// Names that a row of flash blocks holds.
    pub row_names: U32,
}

const _: () = assert!(size_of::<RegionRecord>() == RegionRecord::BYTES);

impl RegionRecord {
    /// Bytes of a record.
    pub const BYTES: usize = 48;

    /// The records that a report's data holds.
    pub fn parse(bytes: &[u8]) -> &[RegionRecord] {
        let whole = bytes.len() / RegionRecord::BYTES * RegionRecord::BYTES;
        <[RegionRecord]>::ref_from_bytes(&bytes[..whole]).unwrap_or_default()
    }
}

impl RegionAllocate {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<RegionAllocate, Status> {
        let (name_bits, flags) = halves(entry.cdw13.get());
        let (name_bits, value_bytes) = (u32::from(name_bits), entry.cdw14.get());
        let names = (1..=MAX_NAME_BITS).contains(&name_bits);
        if !names || !(1..=MAX_VALUE_BYTES).contains(&value_bytes) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(RegionAllocate {
            namespace: entry.namespace(),
            start: Lba::new(join_dwords(entry.cdw10.get(), entry.cdw11.get())),
            entries: positive(entry.cdw12.get())?,
            name_bits,
            ternary: bit(flags.into(), 0),
            linked: bit(flags.into(), 1),
            value_bytes,
            records: entry.cdw15.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let start = self.start.get();
        let flags = u16::from(self.ternary) | u16::from(self.linked) << 1;
        entry.cdw10.set(start as u32);
        entry.cdw11.set((start >> 32) as u32);
        entry.cdw12.set(self.entries);
        entry.cdw13.set(join_halves(self.name_bits as u16, flags));
        entry.cdw14.set(self.value_bytes);
        entry.cdw15.set(self.records);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl RegionDeallocate {
    pub(super) fn decode(entry: &SubmissionEntry) -> RegionDeallocate {
        RegionDeallocate {
            namespace: entry.namespace(),
            region: region_of(entry),
        }
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.region.get().into());
        entry
    }
}

impl RegionReport {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<RegionReport, Status> {
        Ok(RegionReport {
            namespace: entry.namespace(),
            records: positive(entry.cdw11.get())?,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw11.set(self.records);
        self.data.encode_into(&mut entry);
        entry
    }
}
