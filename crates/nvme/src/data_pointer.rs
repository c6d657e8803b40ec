//! Where a command's data lies in host memory: PRP entries and lists (Base 4.3.1) or one SGL Data
//! Block (Base 4.3.2).

use std::ops::{Deref, Range};

use crate::entry::SubmissionEntry;
use crate::memory::{Dma, MEMORY_PAGE_BYTES, MemoryError};
use crate::status::Status;

/// The most bytes one command may move; what a 32-bit SGL length can say. The drive's MDTS is
/// usually less.
pub const MAX_TRANSFER_BYTES: u64 = u32::MAX as u64;

/// Bytes of a PRP entry.
const PRP_BYTES: u64 = 8;
/// PRP entries fetched at once when a list is walked.
const PRP_BATCH: usize = 64;

const PSDT_PRP: u8 = 0;
const PSDT_SGL: u8 = 1;

const SGL_DATA_BLOCK: u8 = 0x0;
const SGL_SEGMENT: u8 = 0x2;
const SGL_LAST_SEGMENT: u8 = 0x3;
const SGL_DESCRIPTOR_BYTES: u32 = 16;

/// The data pointer of a command (DPTR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPointer {
    /// Two physical region page entries; the second may point to a list of further ones.
    Prp {
        /// PRP Entry 1: byte address of the first page's data.
        prp1: u64,
        /// PRP Entry 2: the second page, or a PRP list.
        prp2: u64,
    },
    /// One SGL Data Block descriptor with an address.
    Sgl {
        /// Byte address of the data.
        address: u64,
        /// Bytes that lie there.
        length: u32,
    },
}

impl DataPointer {
    /// Of a command that has no data, or none where a pointer could point: that is told otherwise.
    pub const NONE: DataPointer = DataPointer::Prp { prp1: 0, prp2: 0 };
}

/// Contiguous bytes of host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Byte address.
    pub address: u64,
    /// Bytes.
    pub length: u64,
}

impl Segment {
    /// Segments that two pages or fewer need are kept without allocation.
    const INLINE: usize = 2;
}

/// The segments of a transfer in order, adjacent pages merged; dereferences to a slice.
#[derive(Clone, Debug, Default)]
pub struct SegmentList {
    inline: [Segment; Segment::INLINE],
    inline_count: usize,
    /// All segments, once they are more than fit inline.
    spilled: Vec<Segment>,
}

impl DataPointer {
    /// The data pointer of `entry`, read as its PSDT field says.
    ///
    /// # Errors
    /// Invalid Field for PSDT 2 (metadata by SGL, unsupported) and 3 (reserved); SGL Descriptor
    /// Type Invalid for descriptors other than Data Block by address; Invalid SGL Segment
    /// Descriptor for segment descriptors of illegal length.
    pub fn decode(entry: &SubmissionEntry) -> Result<DataPointer, Status> {
        let low = u64_at(&entry.data_pointer, 0);
        let high = u64_at(&entry.data_pointer, 8);
        match entry.psdt() {
            PSDT_PRP => Ok(DataPointer::Prp {
                prp1: low,
                prp2: high,
            }),
            PSDT_SGL => decode_sgl(low, high),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Puts this pointer into `entry`, its PSDT field included.
    pub fn encode_into(&self, entry: &mut SubmissionEntry) {
        let (psdt, low, high) = match *self {
            DataPointer::Prp { prp1, prp2 } => (PSDT_PRP, prp1, prp2),
            // The identifier of a Data Block by address is 0, in the top byte.
            DataPointer::Sgl { address, length } => (PSDT_SGL, address, u64::from(length)),
        };
        entry.flags = entry.flags & 0x3F | psdt << 6;
        entry.data_pointer[..8].copy_from_slice(&low.to_le_bytes());
        entry.data_pointer[8..].copy_from_slice(&high.to_le_bytes());
    }

    /// Where the `length` bytes of the transfer lie, reading PRP lists through `memory`.
    ///
    /// # Errors
    /// PRP Offset Invalid when an entry breaks the offset rules; Data SGL Length Invalid when the
    /// SGL describes fewer bytes; Data Transfer Error when a list cannot be read, or data would end
    /// beyond the last address; Invalid Field when `length` exceeds [`MAX_TRANSFER_BYTES`].
    #[inline]
    pub fn segments(&self, length: u64, memory: &dyn Dma) -> Result<SegmentList, Status> {
        if length > MAX_TRANSFER_BYTES {
            return Err(Status::INVALID_FIELD);
        }
        match *self {
            DataPointer::Sgl {
                length: described, ..
            } if u64::from(described) < length => Err(Status::DATA_SGL_LENGTH_INVALID),
            // Whoever walks the segments may add any offset within one to its address.
            DataPointer::Sgl { address, .. } if address.checked_add(length).is_none() => {
                Err(Status::DATA_TRANSFER_ERROR)
            }
            DataPointer::Sgl { address, .. } => Ok(SegmentList::of(Segment { address, length })),
            DataPointer::Prp { prp1, prp2 } => prp_segments(prp1, prp2, length, memory),
        }
    }

    /// Bytes of PRP lists the drive fetches for a transfer of `length` bytes, chain entries
    /// included: what the walk itself costs on the link. 0 for SGLs and for one or two pages.
    #[inline]
    pub fn list_bytes(&self, length: u64) -> u64 {
        let DataPointer::Prp { prp1, prp2 } = *self else {
            return 0;
        };
        // No list is fetched for a transfer that `segments` refuses, however long it says it is.
        if length > MAX_TRANSFER_BYTES {
            return 0;
        }
        let pages = (prp1 % MEMORY_PAGE_BYTES + length).div_ceil(MEMORY_PAGE_BYTES);
        if pages <= 2 {
            return 0;
        }
        let mut remaining = pages - 1;
        let mut slots = (MEMORY_PAGE_BYTES - prp2 % MEMORY_PAGE_BYTES) / PRP_BYTES;
        let mut entries = 0;
        while remaining > slots && slots > 0 {
            entries += slots;
            remaining -= slots - 1;
            slots = MEMORY_PAGE_BYTES / PRP_BYTES;
        }
        (entries + remaining) * PRP_BYTES
    }
}

/// A Data Block descriptor by address, or the status that says why it is none.
fn decode_sgl(address: u64, high: u64) -> Result<DataPointer, Status> {
    let length = high as u32;
    let identifier = (high >> 56) as u8;
    match (identifier >> 4, identifier & 0xF) {
        (SGL_DATA_BLOCK, 0) => Ok(DataPointer::Sgl { address, length }),
        (SGL_SEGMENT | SGL_LAST_SEGMENT, _)
            if length == 0 || !length.is_multiple_of(SGL_DESCRIPTOR_BYTES) =>
        {
            Err(Status::INVALID_SGL_SEGMENT)
        }
        _ => Err(Status::SGL_TYPE_INVALID),
    }
}

fn u64_at(bytes: &[u8; 16], start: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[start..start + 8]);
    u64::from_le_bytes(word)
}

/// Walks PRP entries (Base 4.3.1): the first may begin inside a page at a dword, list pointers at a
/// qword, all others must be page-aligned.
fn prp_segments(
    prp1: u64,
    prp2: u64,
    length: u64,
    memory: &dyn Dma,
) -> Result<SegmentList, Status> {
    let offset = prp1 % MEMORY_PAGE_BYTES;
    if !offset.is_multiple_of(4) {
        return Err(Status::INVALID_PRP_OFFSET);
    }
    let first = length.min(MEMORY_PAGE_BYTES - offset);
    let mut segments = SegmentList::of(Segment {
        address: prp1,
        length: first,
    });
    let remaining = length - first;
    if remaining == 0 {
        return Ok(segments);
    }
    if remaining <= MEMORY_PAGE_BYTES {
        segments.push_page(prp2, remaining)?;
        return Ok(segments);
    }
    if !prp2.is_multiple_of(PRP_BYTES) {
        return Err(Status::INVALID_PRP_OFFSET);
    }
    walk_list(prp2, remaining, memory, &mut segments)?;
    Ok(segments)
}

/// Appends the pages of the PRP list at `list` that hold `remaining` bytes. The last slot of a list
/// page points to the next list page, unless it is the last entry needed.
fn walk_list(
    mut list: u64,
    mut remaining: u64,
    memory: &dyn Dma,
    segments: &mut SegmentList,
) -> Result<(), Status> {
    let mut batch = [0u8; PRP_BATCH * PRP_BYTES as usize];
    while remaining > 0 {
        let slots_in_page = (MEMORY_PAGE_BYTES - list % MEMORY_PAGE_BYTES) / PRP_BYTES;
        let needed = remaining.div_ceil(MEMORY_PAGE_BYTES);
        let count = slots_in_page.min(needed).min(PRP_BATCH as u64);
        let bytes = &mut batch[..(count * PRP_BYTES) as usize];
        memory.read(list, bytes)?;
        // A list that reaches the last address ends there or goes on elsewhere, as in any page.
        list = list.saturating_add(count * PRP_BYTES);
        let chained = count == slots_in_page && needed > count;
        let (entries, _) = bytes.as_chunks::<{ PRP_BYTES as usize }>();
        for (index, entry) in entries.iter().enumerate() {
            let entry = u64::from_le_bytes(*entry);
            if chained && index + 1 == entries.len() {
                if !entry.is_multiple_of(MEMORY_PAGE_BYTES) {
                    return Err(Status::INVALID_PRP_OFFSET);
                }
                list = entry;
            } else {
                let length = remaining.min(MEMORY_PAGE_BYTES);
                segments.push_page(entry, length)?;
                remaining -= length;
            }
        }
    }
    Ok(())
}

impl SegmentList {
    /// A list of one segment; empty if that is.
    #[inline]
    fn of(segment: Segment) -> SegmentList {
        SegmentList {
            inline: [segment, Segment::default()],
            inline_count: usize::from(segment.length > 0),
            spilled: Vec::new(),
        }
    }

    /// Appends `length` bytes of the page at `address`, which must be page-aligned.
    fn push_page(&mut self, address: u64, length: u64) -> Result<(), Status> {
        if !address.is_multiple_of(MEMORY_PAGE_BYTES) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        self.push(Segment { address, length });
        Ok(())
    }

    fn push(&mut self, segment: Segment) {
        if segment.length == 0 {
            return;
        }
        if let Some(last) = self.last_mut()
            && last.address.checked_add(last.length) == Some(segment.address)
        {
            last.length += segment.length;
            return;
        }
        if !self.spilled.is_empty() {
            self.spilled.push(segment);
        } else if self.inline_count < Segment::INLINE {
            self.inline[self.inline_count] = segment;
            self.inline_count += 1;
        } else {
            self.spilled.extend_from_slice(&self.inline);
            self.spilled.push(segment);
        }
    }

    fn last_mut(&mut self) -> Option<&mut Segment> {
        if self.spilled.is_empty() {
            self.inline[..self.inline_count].last_mut()
        } else {
            self.spilled.last_mut()
        }
    }

    /// Bytes of all segments.
    pub fn total_bytes(&self) -> u64 {
        self.iter().map(|segment| segment.length).sum()
    }

    /// Copies the transfer's bytes from host memory into `into`, as many as fit.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn read(&self, memory: &dyn Dma, into: &mut [u8]) -> Result<(), MemoryError> {
        for (address, range) in self.stretches(0, into.len()) {
            memory.read(address, &mut into[range])?;
        }
        Ok(())
    }

    /// Copies `from` into host memory, as much as the transfer has room for.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`]; segments before the bad one are written.
    pub fn write(&self, memory: &mut dyn Dma, from: &[u8]) -> Result<(), MemoryError> {
        for (address, range) in self.stretches(0, from.len()) {
            memory.write(address, &from[range])?;
        }
        Ok(())
    }

    /// Where in host memory so many bytes of the transfer lie, from `offset` on: stretch by stretch, the address and
    /// which of the bytes are there. They end with the transfer.
    #[inline]
    pub fn stretches(
        &self,
        offset: u64,
        bytes: usize,
    ) -> impl Iterator<Item = (u64, Range<usize>)> + '_ {
        let (mut segments, mut skip, mut from) = (self.iter(), offset, 0);
        std::iter::from_fn(move || {
            while from < bytes {
                let segment = segments.next()?;
                if skip >= segment.length {
                    skip -= segment.length;
                    continue;
                }
                let rest = (bytes - from) as u64;
                let range = from..from + (segment.length - skip).min(rest) as usize;
                let address = segment.address + skip;
                (skip, from) = (0, range.end);
                return Some((address, range));
            }
            None
        })
    }
}

impl Deref for SegmentList {
    type Target = [Segment];

    fn deref(&self) -> &[Segment] {
        if self.spilled.is_empty() {
            &self.inline[..self.inline_count]
        } else {
            &self.spilled
        }
    }
}
