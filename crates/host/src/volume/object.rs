//! The objects of a volume: what they are, and the bounds of their attributes.

use nvme::command::MAX_VALUE_BYTES;
use nvme::query::MAX_NAME_BITS;

use super::error::VolumeError;
use super::extent::Run;
use super::kind::Kind;
use crate::search::{DataRegion, NameField};

/// The most bytes of a table's or store's schema.
pub const SCHEMA_BYTES_MAX: usize = 0xFFFF;
/// The most dimensions of an array, as NumPy has them.
pub const DIMENSIONS_MAX: usize = 64;
/// The most extents of an object.
pub const EXTENTS_MAX: usize = 0xFFFF;
/// The longest vector, bits.
pub const BITS_MAX: u64 = (1 << 48) - 1;
/// The most search regions of a store.
pub const NAMES_MAX: usize = 255;
/// The largest placement handle: bits 14:0 of Directive Specific.
pub const HANDLE_MAX: u16 = 0x7FFF;

/// Names an object of a volume for as long as it exists; a later one may get its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub(super) u32);

impl ObjectId {
    /// What has no object: the parent of groups, arrays, files and tables.
    pub(super) const ROOT: ObjectId = ObjectId(0);

    /// Its number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// What an object is, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// A group.
    Group(Group),
    /// A vector of a group.
    Vector(Vector),
    /// An array.
    Array(Array),
    /// A file of so many bytes.
    File {
        /// Its length.
        bytes: u64,
    },
    /// A table of so many bytes.
    Table {
        /// What its bytes mean, to whoever wrote it.
        schema: Vec<u8>,
        /// Its length.
        bytes: u64,
    },
    /// A name-value store.
    Store(Store),
}

/// Names and values that the drive looks up ([`crate::search`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Store {
    /// Its search regions, 1 to [`NAMES_MAX`].
    pub names: Vec<NameField>,
    /// Entries that it was made for.
    pub entries: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Length of its data region in bytes.
    pub bytes: u64,
    /// What names and values mean, to whoever made it.
    pub schema: Vec<u8>,
}

impl Store {
    /// The data region that it is when it begins at logical block `start`.
    pub fn region(&self, start: u64) -> DataRegion {
        DataRegion {
            start,
            entries: self.entries,
            value_bytes: self.value_bytes,
            names: self.names.clone(),
        }
    }
}

/// Vectors of equal length, and how a drive that computes is to place them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// Its placement handle, at most [`HANDLE_MAX`].
    pub handle: u16,
    /// The logical block that row 0 of its matrix of pages begins at.
    pub anchor: u64,
    /// Logical blocks from a row to the next.
    pub pitch: u64,
    /// The die of the first page.
    pub first_die: u16,
    /// How many dies it lies on; 0 is all.
    pub dies: u16,
    /// Length of each vector, bits.
    pub bits: u64,
}

/// A vector of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vector {
    /// The group it belongs to.
    pub group: ObjectId,
    /// Its number in the group.
    pub number: u32,
    /// Whether its inverse is what is stored. A read gives what was written, all the same.
    pub inverse: bool,
    /// Its length, bits.
    pub bits: u64,
}

/// An array of numbers, in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Array {
    /// The type of its items, in NumPy's words, such as `<f8`; up to 255 bytes.
    pub dtype: String,
    /// Its shape, up to [`DIMENSIONS_MAX`] dimensions.
    pub shape: Vec<u64>,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Array {
    /// An array of items of this type, in NumPy's words, and of this shape, which takes so many bytes.
    pub fn new(dtype: impl Into<String>, shape: Vec<u64>, bytes: u64) -> Array {
        Array {
            dtype: dtype.into(),
            shape,
            bytes,
        }
    }

    /// Bytes of a row, all that an index of the first dimension has: also of an array that has no rows yet, unless its
    /// type does not tell how long an item is. `None` for one without dimensions.
    fn row_bytes(&self) -> Option<u64> {
        let (rows, others) = self.shape.split_first()?;
        if *rows > 0 {
            return Some(self.bytes / rows);
        }
        // As in `<f8`, `<M8[ns]` and `<U3`, of which a character takes four bytes (NumPy, array interface).
        let kind_and_length = self.dtype.strip_prefix(['<', '>', '|', '='])?;
        let mut length = kind_and_length.chars();
        let character = if length.next()? == 'U' { 4 } else { 1 };
        let digits = length.as_str().split('[').next()?;
        let item = digits.parse::<u64>().ok()?.checked_mul(character)?;
        others
            .iter()
            .try_fold(item, |row, next| row.checked_mul(*next))
    }
}

impl Content {
    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Content::Group(_) => Kind::Group,
            Content::Vector(_) => Kind::Vector,
            Content::Array(_) => Kind::Array,
            Content::File { .. } => Kind::File,
            Content::Table { .. } => Kind::Table,
            Content::Store(_) => Kind::Store,
        }
    }

    /// Bytes that are stored for it.
    pub fn bytes(&self) -> u64 {
        match self {
            Content::Group(_) => 0,
            Content::Vector(vector) => vector.bits.div_ceil(8),
            Content::Array(array) => array.bytes,
            Content::Store(store) => store.bytes,
            Content::File { bytes } | Content::Table { bytes, .. } => *bytes,
        }
    }

    /// The same with another length: that of a file or table is any, an array has whole rows.
    ///
    /// # Errors
    /// [`VolumeError::Rows`]; [`VolumeError::Fixed`] for a group, vector or store.
    pub fn resized(&self, name: &str, bytes: u64) -> Result<Content, VolumeError> {
        match self {
            Content::File { .. } => Ok(Content::File { bytes }),
            Content::Table { schema, .. } => Ok(Content::Table {
                schema: schema.clone(),
                bytes,
            }),
            Content::Array(array) => {
                let row = array.row_bytes().unwrap_or(0);
                if row == 0 || !bytes.is_multiple_of(row) {
                    return Err(VolumeError::Rows {
                        name: name.to_owned(),
                        bytes,
                        row,
                    });
                }
                let mut shape = array.shape.clone();
                shape[0] = bytes / row;
                Ok(Content::Array(Array {
                    shape,
                    bytes,
                    ..array.clone()
                }))
            }
            Content::Group(_) | Content::Vector(_) | Content::Store(_) => Err(VolumeError::Fixed {
                name: name.to_owned(),
                found: self.kind(),
            }),
        }
    }

    /// Whether attributes are within their bounds, each looked at by itself.
    ///
    /// # Errors
    /// [`VolumeError::Attribute`].
    pub fn check(&self) -> Result<(), VolumeError> {
        let bad = |what, value: String, allowed: String| {
            Err(VolumeError::Attribute {
                what,
                value,
                allowed,
            })
        };
        let bits = match self {
            Content::Group(group) => Some(group.bits),
            Content::Vector(vector) => Some(vector.bits),
            _ => None,
        };
        if let Some(bits) = bits.filter(|bits| !(1..=BITS_MAX).contains(bits)) {
            return bad("bits", bits.to_string(), format!("1 to {BITS_MAX}"));
        }
        match self {
            Content::Group(group) if group.handle > HANDLE_MAX => {
                let allowed = format!("at most {HANDLE_MAX}");
                bad("handle", group.handle.to_string(), allowed)
            }
            Content::Group(group) if group.pitch == 0 => {
                bad("pitch", "0".into(), "at least one page".into())
            }
            Content::Array(array) if array.dtype.len() > 255 || array.dtype.is_empty() => {
                let value = format!("{} bytes long", array.dtype.len());
                bad("dtype", value, "1 to 255 bytes".into())
            }
            Content::Array(array) if array.shape.len() > DIMENSIONS_MAX => {
                let value = format!("of {} dimensions", array.shape.len());
                bad("shape", value, format!("of at most {DIMENSIONS_MAX}"))
            }
            Content::Store(store) if !(1..=NAMES_MAX).contains(&store.names.len()) => {
                let value = store.names.len().to_string();
                bad("the number of names", value, format!("1 to {NAMES_MAX}"))
            }
            Content::Store(store) if store.entries == 0 => {
                bad("entries", "0".into(), "at least 1".into())
            }
            Content::Store(store) if !(1..=MAX_VALUE_BYTES).contains(&store.value_bytes) => {
                let allowed = format!("1 to {MAX_VALUE_BYTES} bytes");
                bad("the size of values", store.value_bytes.to_string(), allowed)
            }
            Content::Store(store) if store.names.iter().any(|name| !has_size(name)) => {
                let allowed = format!("1 to {MAX_NAME_BITS} bits each");
                bad("a name", "of other bits".into(), allowed)
            }
            Content::Store(Store { schema, .. }) | Content::Table { schema, .. }
                if schema.len() > SCHEMA_BYTES_MAX =>
            {
                let value = format!("{} bytes long", schema.len());
                bad("schema", value, format!("at most {SCHEMA_BYTES_MAX}"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether names of a search region have as many bits as names may.
fn has_size(name: &NameField) -> bool {
    (1..=MAX_NAME_BITS).contains(&name.kind.bits)
}

/// An object as the catalogue has it. Runs are pages of the data area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) content: Content,
    pub(super) runs: Vec<Run>,
}

impl Entry {
    /// Whose names its own must differ from.
    pub(super) fn parent(&self) -> ObjectId {
        match &self.content {
            Content::Vector(vector) => vector.group,
            _ => ObjectId::ROOT,
        }
    }
}
