//! Entries: appending, updating and deleting them.

use super::{positive, query_bytes, region_of};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{NamespaceId, RegionId};
use crate::status::Status;

/// Appends entries to a data region and all its search regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Append {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// A search region of the data region.
    pub region: RegionId,
    /// Records, at least 1.
    pub records: u32,
    /// Where they lie.
    pub data: DataPointer,
}

/// Deletes and appends as one: after a power cut both have happened or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The entries appended.
    pub append: Append,
    /// Byte address in host memory of the [`crate::query::Query`] that finds the entries to be deleted.
    pub query_address: u64,
    /// Its length in bytes; 0 for those that have exactly the names of the records in the region.
    pub query_bytes: u32,
}

/// Deletes the entries that a query finds, from all search regions of their data region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The namespace addressed.
    pub namespace: NamespaceId,
    /// A search region of the data region that all terms are about.
    pub region: RegionId,
    /// Bytes of the [`crate::query::Query`], 1 to [`crate::query::MAX_QUERY_BYTES`].
    pub query_bytes: u32,
    /// Where it lies.
    pub data: DataPointer,
}

impl Append {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<Append, Status> {
        Ok(Append {
            namespace: entry.namespace(),
            region: region_of(entry),
            records: positive(entry.cdw11.get())?,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.region.get().into());
        entry.cdw11.set(self.records);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl Update {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<Update, Status> {
        let bytes = match entry.cdw12.get() {
            0 => 0,
            bytes => query_bytes(bytes)?,
        };
        Ok(Update {
            append: Append::decode(entry)?,
            query_address: entry.metadata_pointer.get(),
            query_bytes: bytes,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.metadata_pointer.set(self.query_address);
        entry.cdw12.set(self.query_bytes);
        self.append.encode(entry)
    }
}

impl Delete {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<Delete, Status> {
        Ok(Delete {
            namespace: entry.namespace(),
            region: region_of(entry),
            query_bytes: query_bytes(entry.cdw11.get())?,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.region.get().into());
        entry.cdw11.set(self.query_bytes);
        self.data.encode_into(&mut entry);
        entry
    }
}
