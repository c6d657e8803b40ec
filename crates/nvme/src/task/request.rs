//! What a run is asked to do: the files that it sees, its arguments, how it is kept apart from others, and what it may use.

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identifier::{Lba, RegionId};
use crate::status::Status;

/// The version of the records.
const VERSION: u8 = 1;
/// Bytes of a request without files and arguments.
pub const REQUEST_BYTES_MIN: u32 = size_of::<Head>() as u32;
/// The most bytes of a request.
pub const MAX_REQUEST_BYTES: u32 = 16 << 20;
/// The most files of a run.
pub const MAX_FILES: usize = 1024;
/// The most extents of all files of a run.
pub const MAX_EXTENTS: usize = 1 << 16;
/// The most search regions of a run.
pub const MAX_STORES: usize = 256;

const WRITABLE: u32 = 1;

/// How a run is kept apart from what else goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Snapshot isolation: it sees what had been committed when it began, and commits if nobody else has changed since what it
    /// wrote (TxISC III).
    #[default]
    Snapshot,
    /// The same, and if nobody else has changed what it read either: as if one transaction had followed the other.
    Serializable,
    /// No transaction: its writes count at once, each page for itself, as in INSIDER and λ-IO (FileISC, TxISC V-A).
    File,
    /// Likewise, of raw blocks without files, as in Willow and Summarizer (BlockISC). Here it does what `File` does, as the drive is
    /// told extents either way.
    Block,
}

/// What a run may use. What is 0 is the drive's default, but for [`Limits::log_bytes`] and [`Limits::return_bytes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the module's memory.
    pub memory_bytes: u64,
    /// Cycles of the core it runs on.
    pub cycles: u64,
    /// Bytes of its log.
    pub log_bytes: u32,
    /// Bytes of its return value.
    pub return_bytes: u32,
    /// Reads and writes that it may have submitted and not waited for.
    pub tickets: u32,
}

/// Logical blocks one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first.
    pub first: Lba,
    /// How many, at least 1.
    pub blocks: u64,
}

/// A file that a run sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether the run may write it.
    pub writable: bool,
    /// Where it lies, in its order.
    pub extents: Vec<Extent>,
}

/// What a run is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What the owner of the program calls it, so that no other is run which has its index by now; 0 is any.
    pub identifier: u64,
    /// How it is kept apart from others.
    pub isolation: Isolation,
    /// How often it is begun anew after a conflict.
    pub retries: u16,
    /// What it may use.
    pub limits: Limits,
    /// Its files, numbered from 0.
    pub files: Vec<File>,
    /// The search regions in which it may look names up, numbered from 0.
    pub stores: Vec<RegionId>,
    /// Its arguments.
    pub arguments: Vec<u8>,
}

/// Why a request is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Another version.
    #[error("version {0} of requests; this is version {VERSION}")]
    Version(u8),
    /// An isolation that there is none of.
    #[error("isolation {0}: 0 is snapshot, 1 serializable, 2 file, 3 block")]
    Isolation(u8),
    /// Flags of a file that are reserved.
    #[error("file {0} has flags that mean nothing")]
    Flags(usize),
    /// More than there may be.
    #[error("{found} {what}; there may be {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// Its parts are not as long as it is.
    #[error("a request of {found} bytes, whose parts are {wanted}")]
    Length {
        /// Bytes there.
        found: usize,
        /// Bytes that its parts are.
        wanted: u64,
    },
    /// An extent without blocks.
    #[error("file {0} has an extent without blocks")]
    Empty(usize),
    /// An extent beyond the namespace.
    #[error("file {file}: {blocks} blocks from {first} on; the namespace has {has}")]
    Beyond {
        /// Which file.
        file: usize,
        /// The first block.
        first: u64,
        /// How many.
        blocks: u64,
        /// Blocks of the namespace.
        has: u64,
    },
    /// Fewer blocks than its bytes take.
    #[error("file {file} of {bytes} bytes lies in {blocks} blocks of {block_bytes} bytes")]
    Short {
        /// Which file.
        file: usize,
        /// Its bytes.
        bytes: u64,
        /// Its blocks.
        blocks: u64,
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// Two extents have a block in common.
    #[error("block {block} belongs to file {one} and to file {other}, or to one of them twice")]
    Overlap {
        /// The block.
        block: u64,
        /// A file.
        one: usize,
        /// Another one, or the same.
        other: usize,
    },
}

impl From<RequestError> for Status {
    fn from(error: RequestError) -> Status {
        match error {
            RequestError::Beyond { .. } => Status::LBA_OUT_OF_RANGE,
            RequestError::Overlap { .. } => Status::OVERLAPPING_IO_RANGE,
            _ => Status::INVALID_FIELD,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    version: u8,
    isolation: u8,
    retries: U16,
    files: U32,
    extents: U32,
    argument_bytes: U32,
    memory_bytes: U64,
    cycles: U64,
    log_bytes: U32,
    return_bytes: U32,
    tickets: U32,
    stores: U32,
    identifier: U64,
    reserved: [U32; 2],
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct FileRecord {
    bytes: U64,
    extents: U32,
    flags: U32,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ExtentRecord {
    first: U64,
    blocks: U64,
}

const _: () = assert!(size_of::<Head>() == 64);

impl Isolation {
    /// Whether what is done is undone if it does not end well.
    pub fn is_transaction(self) -> bool {
        matches!(self, Isolation::Snapshot | Isolation::Serializable)
    }

    /// All there are, by code.
    pub const ALL: [Isolation; 4] = [
        Isolation::Snapshot,
        Isolation::Serializable,
        Isolation::File,
        Isolation::Block,
    ];

    fn from_code(code: u8) -> Result<Isolation, RequestError> {
        let found = Isolation::ALL.get(usize::from(code));
        found.copied().ok_or(RequestError::Isolation(code))
    }
}

impl Request {
    /// Its bytes: a head of 64, a record of 16 for each file, one of 16 for each extent, the number of each search region as
    /// two, the arguments.
    ///
    /// # Errors
    /// [`RequestError::TooMany`].
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        let extents: usize = self.files.iter().map(|file| file.extents.len()).sum();
        check_count("files", self.files.len(), MAX_FILES)?;
        check_count("extents", extents, MAX_EXTENTS)?;
        check_count("search regions", self.stores.len(), MAX_STORES)?;
        let head = Head {
            version: VERSION,
            isolation: self.isolation as u8,
            retries: self.retries.into(),
            files: (self.files.len() as u32).into(),
            extents: (extents as u32).into(),
            argument_bytes: u32::try_from(self.arguments.len())
                .unwrap_or(u32::MAX)
                .into(),
            memory_bytes: self.limits.memory_bytes.into(),
            cycles: self.limits.cycles.into(),
            log_bytes: self.limits.log_bytes.into(),
            return_bytes: self.limits.return_bytes.into(),
            tickets: self.limits.tickets.into(),
            stores: (self.stores.len() as u32).into(),
            identifier: self.identifier.into(),
            reserved: Default::default(),
        };
        let mut bytes = head.as_bytes().to_vec();
        for file in &self.files {
            let record = FileRecord {
                bytes: file.bytes.into(),
                extents: (file.extents.len() as u32).into(),
                flags: u32::from(file.writable).into(),
            };
            bytes.extend(record.as_bytes());
        }
        for extent in self.files.iter().flat_map(|file| &file.extents) {
            let record = ExtentRecord {
                first: extent.first.get().into(),
                blocks: extent.blocks.into(),
            };
            bytes.extend(record.as_bytes());
        }
        let stores = self.stores.iter();
        bytes.extend(stores.flat_map(|region| region.get().to_le_bytes()));
        bytes.extend(&self.arguments);
        check_count(
            "bytes of a request",
            bytes.len(),
            MAX_REQUEST_BYTES as usize,
        )?;
        Ok(bytes)
    }

    /// The request that `bytes` are.
    ///
    /// # Errors
    /// What is wrong with them. Whether its files lie in a namespace, [`Request::check`] says.
    pub fn decode(bytes: &[u8]) -> Result<Request, RequestError> {
        check_count(
            "bytes of a request",
            bytes.len(),
            MAX_REQUEST_BYTES as usize,
        )?;
        let short = RequestError::Length {
            found: bytes.len(),
            wanted: REQUEST_BYTES_MIN.into(),
        };
        let (head, rest) = Head::read_from_prefix(bytes).map_err(|_| short)?;
        if head.version != VERSION {
            return Err(RequestError::Version(head.version));
        }
        let isolation = Isolation::from_code(head.isolation)?;
        let (files, extents) = (head.files.get() as usize, head.extents.get() as usize);
        check_count("files", files, MAX_FILES)?;
        check_count("extents", extents, MAX_EXTENTS)?;
        let stores = head.stores.get() as usize;
        check_count("search regions", stores, MAX_STORES)?;
        let arguments = head.argument_bytes.get() as usize;
        let wanted = (size_of::<Head>()
            + files * size_of::<FileRecord>()
            + extents * size_of::<ExtentRecord>()
            + stores * size_of::<U16>()) as u64
            + arguments as u64;
        let mismatch = RequestError::Length {
            found: bytes.len(),
            wanted,
        };
        if wanted != bytes.len() as u64 {
            return Err(mismatch);
        }
        // All are as long as was just added up.
        let (records, rest) =
            <[FileRecord]>::ref_from_prefix_with_elems(rest, files).map_err(|_| mismatch)?;
        let (places, rest) =
            <[ExtentRecord]>::ref_from_prefix_with_elems(rest, extents).map_err(|_| mismatch)?;
        let (regions, arguments) =
            <[U16]>::ref_from_prefix_with_elems(rest, stores).map_err(|_| mismatch)?;
        let regions = regions.iter().map(|region| RegionId::new(region.get()));
        Ok(Request {
            identifier: head.identifier.get(),
            isolation,
            retries: head.retries.get(),
            limits: head.limits(),
            files: decode_files(records, places).ok_or(mismatch)??,
            stores: regions.collect(),
            arguments: arguments.to_vec(),
        })
    }

    /// Whether its files lie in a namespace of so many blocks, each in as many as its bytes take, and none where another is.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, namespace_blocks: u64, block_bytes: u32) -> Result<(), RequestError> {
        let mut places = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let mut blocks = 0u64;
            for extent in &file.extents {
                let first = extent.first.get();
                if extent.blocks == 0 {
                    return Err(RequestError::Empty(number));
                }
                let end = first.checked_add(extent.blocks);
                if end.is_none_or(|end| end > namespace_blocks) {
                    return Err(RequestError::Beyond {
                        file: number,
                        first,
                        blocks: extent.blocks,
                        has: namespace_blocks,
                    });
                }
                blocks = blocks.saturating_add(extent.blocks);
                places.push((first, first + extent.blocks, number));
            }
            if blocks < file.bytes.div_ceil(block_bytes.into()) {
                return Err(RequestError::Short {
                    file: number,
                    bytes: file.bytes,
                    blocks,
                    block_bytes,
                });
            }
        }
        places.sort_unstable();
        let overlap = places.windows(2).find(|two| two[1].0 < two[0].1);
        match overlap {
            Some(two) => Err(RequestError::Overlap {
                block: two[1].0,
                one: two[0].2,
                other: two[1].2,
            }),
            None => Ok(()),
        }
    }
}

impl Head {
    fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_bytes.get(),
            cycles: self.cycles.get(),
            log_bytes: self.log_bytes.get(),
            return_bytes: self.return_bytes.get(),
            tickets: self.tickets.get(),
        }
    }
}

/// `None` if the files have more or fewer extents than there are.
fn decode_files(
    records: &[FileRecord],
    places: &[ExtentRecord],
) -> Option<Result<Vec<File>, RequestError>> {
    let mut rest = places;
    let mut files = Vec::with_capacity(records.len());
    for (number, record) in records.iter().enumerate() {
        let (own, after) = rest.split_at_checked(record.extents.get() as usize)?;
        rest = after;
        if record.flags.get() & !WRITABLE != 0 {
            return Some(Err(RequestError::Flags(number)));
        }
        let extents = own.iter().map(|place| Extent {
            first: Lba::new(place.first.get()),
            blocks: place.blocks.get(),
        });
        files.push(File {
            bytes: record.bytes.get(),
            writable: record.flags.get() & WRITABLE != 0,
            extents: extents.collect(),
        });
    }
    rest.is_empty().then_some(Ok(files))
}

fn check_count(what: &'static str, found: usize, most: usize) -> Result<(), RequestError> {
    match found <= most {
        true => Ok(()),
        false => Err(RequestError::TooMany { what, found, most }),
    }
}
