//! Collections: what comes over a port of the drive, into extents that the host sets aside or to a stream (TH-iSSD 3.2).

use crate::collector::Policy;
use crate::command::{bit, halves};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::NamespaceId;
use crate::status::Status;
use crate::task::{MAX_REQUEST_BYTES, REQUEST_BYTES_MIN};

/// Where the policy begins.
pub(super) const POLICY_BIT: u32 = 16;
/// Whether it goes on where one ended before.
pub(super) const GOES_ON_BIT: u32 = 24;

/// Opens the collection of a port: a request ([`crate::task::Request`]) with the identifier by which it is known, and at most one file, the
/// extents that it goes to; without one it is for a stream only. DW0 and DW1 of the completion are the byte at which it begins: 0, or where one
/// that goes on had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorOpen {
    /// The namespace that has the extents.
    pub namespace: NamespaceId,
    /// The port.
    pub port: u16,
    /// What becomes of packets for which there is no room.
    pub policy: Policy,
    /// It goes on where the last one of this identifier ended on this port.
    pub goes_on: bool,
    /// Bytes of the request.
    pub request_bytes: u32,
    /// Bytes that it may have in the drive's memory; 0 is the drive's choice.
    pub share_bytes: u32,
    /// Bytes of room below which the host is told by an event.
    pub low_bytes: u32,
    /// Where the request lies.
    pub data: DataPointer,
}

/// Adds extents behind those that a collection has: a request with one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorExtend {
    /// The namespace that has the extents.
    pub namespace: NamespaceId,
    /// The port.
    pub port: u16,
    /// Bytes of the request.
    pub request_bytes: u32,
    /// Where the request lies.
    pub data: DataPointer,
}

/// Ends a collection, and completes when all that had come is where it goes and that is durable; one that is over is forgotten. DW0 and DW1 of
/// the completion are how many bytes are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorClose {
    /// The collection's namespace.
    pub namespace: NamespaceId,
    /// The port.
    pub port: u16,
}

/// # Errors
/// Invalid Field for a length that no request has.
fn checked(bytes: u32) -> Result<u32, Status> {
    match (REQUEST_BYTES_MIN..=MAX_REQUEST_BYTES).contains(&bytes) {
        true => Ok(bytes),
        false => Err(Status::INVALID_FIELD),
    }
}

impl CollectorOpen {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<CollectorOpen, Status> {
        let (port, rest) = halves(entry.cdw10.get());
        Ok(CollectorOpen {
            namespace: entry.namespace(),
            port,
            policy: Policy::of_code(rest as u8).ok_or(Status::INVALID_FIELD)?,
            goes_on: bit(entry.cdw10.get(), GOES_ON_BIT),
            request_bytes: checked(entry.cdw11.get())?,
            share_bytes: entry.cdw12.get(),
            low_bytes: entry.cdw13.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let policy = u32::from(self.policy.code()) << POLICY_BIT;
        let goes_on = u32::from(self.goes_on) << GOES_ON_BIT;
        entry.cdw10.set(u32::from(self.port) | policy | goes_on);
        entry.cdw11.set(self.request_bytes);
        entry.cdw12.set(self.share_bytes);
        entry.cdw13.set(self.low_bytes);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl CollectorExtend {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<CollectorExtend, Status> {
        Ok(CollectorExtend {
            namespace: entry.namespace(),
            port: halves(entry.cdw10.get()).0,
            request_bytes: checked(entry.cdw11.get())?,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.port.into());
        entry.cdw11.set(self.request_bytes);
        self.data.encode_into(&mut entry);
        entry
    }
}

impl CollectorClose {
    pub(super) fn decode(entry: &SubmissionEntry) -> CollectorClose {
        CollectorClose {
            namespace: entry.namespace(),
            port: halves(entry.cdw10.get()).0,
        }
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.port.into());
        entry
    }
}
