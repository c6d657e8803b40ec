//! The kinds of objects of a volume.

use std::fmt;

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Vectors that will meet in operations.
    Group,
    /// A vector of bits.
    Vector,
    /// An array of numbers.
    Array,
    /// Bytes.
    File,
    /// Bytes with a schema.
    Table,
    /// Names and values that the drive looks up.
    Store,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Group => "a group",
            Kind::Vector => "a vector",
            Kind::Array => "an array",
            Kind::File => "a file",
            Kind::Table => "a table",
            Kind::Store => "a name-value store",
        })
    }
}
