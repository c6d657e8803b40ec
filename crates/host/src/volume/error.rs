//! What can go wrong with a volume.

use super::kind::Kind;
use crate::search::SearchError;

/// Errors of a volume. None of them has changed anything, except where it says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The drive refused, or cannot be reached.
    #[error(transparent)]
    Device(#[from] crate::Error),
    /// Nothing at this place says that it is a volume.
    #[error(
        "there is no volume at block {first}: create one, or give the block that one begins at"
    )]
    NoVolume {
        /// The block looked at.
        first: u64,
    },
    /// A volume is there already.
    #[error(
        "there is a volume at block {first} already: open it, or create one with `replace_existing`"
    )]
    Exists {
        /// Where it begins.
        first: u64,
    },
    /// What was read is no catalogue that this library writes.
    #[error("the volume is damaged at block {lba}: {reason}")]
    Damaged {
        /// Where.
        lba: u64,
        /// How.
        reason: String,
    },
    /// A volume of a version that this library does not know.
    #[error("the volume at block {first} has version {found}; this library reads version {known}")]
    Version {
        /// Where it begins.
        first: u64,
        /// Its version.
        found: u32,
        /// The version that this library reads.
        known: u32,
    },
    /// A range of blocks that can hold no volume.
    #[error("blocks {first} to {end} hold no volume: {reason}")]
    Range {
        /// The first block.
        first: u64,
        /// The block after the last.
        end: u64,
        /// Why not, and what would do.
        reason: String,
    },
    /// A name that an object cannot have.
    #[error("{name:?} is no name of an object: {reason}")]
    Name {
        /// The name, shortened if it is very long.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Another object has this name.
    #[error("there is {kind} {name:?} already")]
    Taken {
        /// The name.
        name: String,
        /// What has it.
        kind: Kind,
    },
    /// There is no such object.
    #[error("the volume has no {what}")]
    NotFound {
        /// What was asked for.
        what: String,
    },
    /// An object of another kind than was asked for.
    #[error("{name:?} is {found}, not {wanted}")]
    WrongKind {
        /// The object.
        name: String,
        /// What it is.
        found: Kind,
        /// What was asked for.
        wanted: Kind,
    },
    /// An attribute that cannot be.
    #[error("{what} is {value}; it must be {allowed}")]
    Attribute {
        /// Which attribute.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// The content has another length than its object.
    #[error("{found} bytes for {name:?}, which has {wanted}")]
    Length {
        /// The object.
        name: String,
        /// Bytes given.
        found: u64,
        /// Bytes that it has.
        wanted: u64,
    },
    /// Bytes behind the end of an object.
    #[error(
        "{bytes} bytes from {offset} on reach beyond the end of {name:?}, which has {has}: append to make it longer"
    )]
    Beyond {
        /// The object.
        name: String,
        /// The first byte asked for.
        offset: u64,
        /// How many.
        bytes: u64,
        /// How many it has.
        has: u64,
    },
    /// An array has whole rows.
    #[error(
        "{name:?} would have {bytes} bytes, and its rows are of {row}: it must be a whole number of rows, and an array \
         without rows is written anew"
    )]
    Rows {
        /// The array.
        name: String,
        /// Its length as asked for, bytes.
        bytes: u64,
        /// Bytes of a row; 0 if it has none.
        row: u64,
    },
    /// The length of vectors is their group's.
    #[error(
        "{name:?} is {found}, whose length does not change: write a file, table or array, or vectors to a new group"
    )]
    Fixed {
        /// The object.
        name: String,
        /// What it is.
        found: Kind,
    },
    /// An object is written when it is created or replaced, never in place.
    #[error("{name:?} was not created or replaced in this change: replace it, then write it")]
    InPlace {
        /// The object.
        name: String,
    },
    /// Names and values, of which the drive has search regions, come and go with these.
    #[error(
        "{name:?} is a name-value store, which has search regions in the drive: it is made and removed with them"
    )]
    Store {
        /// The object.
        name: String,
    },
    /// Name-value lookup is refused before the drive is asked.
    #[error(transparent)]
    Search(SearchError),
    /// The volume has no room for the content.
    #[error(
        "{needed} blocks are needed and {free} are free in the volume, of which not all may fit"
    )]
    NoSpace {
        /// Blocks needed.
        needed: u64,
        /// Blocks free.
        free: u64,
    },
    /// The catalogue has no room for the objects.
    #[error(
        "the catalogue would take {needed} pages of {pages}: remove objects, or create the volume with more `catalogue_pages`"
    )]
    CatalogueFull {
        /// Pages that all objects take.
        needed: u64,
        /// Pages that a catalogue area has.
        pages: u64,
    },
    /// The catalogue on the drive is not as this handle knows it.
    #[error(
        "the catalogue has changed on the drive, by a format or by another who writes it: open the volume again"
    )]
    Stale,
    /// An earlier change broke off while it was being written; it is whole on the drive, or not at all.
    #[error("an earlier change broke off while it was written, done or not: open the volume again")]
    Unsure,
}

impl From<SearchError> for VolumeError {
    fn from(error: SearchError) -> VolumeError {
        match error {
            SearchError::Device(error) => VolumeError::Device(error),
            other => VolumeError::Search(other),
        }
    }
}
