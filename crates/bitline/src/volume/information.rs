//! What is told of groups and vectors, and how they are to be written.

use host::bits::PlacementHandle;
use host::volume::{Content, Extent, Group as GroupContent, Kind, Object, VolumeError};
use nvme::command::Home;
use nvme::{Expression, VectorId};

use crate::error::Error;
use crate::sentences::counted;

/// A vector that a drive holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vector {
    /// The name of its group.
    pub group: String,
    /// Its name in the group; its number, if it was given none.
    pub name: String,
    /// Its number in the group.
    pub number: u32,
    /// What it is called in expressions.
    pub id: VectorId,
    /// Its length, bits.
    pub bits: u64,
    /// Whether its inverse is what is stored.
    pub inverse: bool,
    /// The logical blocks it lies in: reading them gives its bits.
    pub extents: Vec<Extent>,
}

impl From<&Vector> for Expression {
    fn from(vector: &Vector) -> Expression {
        vector.id.into()
    }
}

/// A group that a drive holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupInfo {
    /// Its name.
    pub name: String,
    /// Length of each vector, bits.
    pub bits: u64,
    /// The dies it lies on.
    pub home: Home,
    /// How many vectors it has.
    pub vectors: usize,
}

/// What vectors that are written have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rows {
    /// Length of each, bits.
    pub bits: u64,
    /// Whether the inverse of each is stored.
    pub inverse: bool,
    /// Names, one for each; their numbers if there are none.
    pub names: Option<Vec<String>>,
    /// The dies the group is to lie on: where it lies, or all dies if it is new, if nothing is said.
    pub home: Option<Home>,
}

impl Rows {
    /// Rows of `bits` bits.
    pub fn new(bits: u64) -> Rows {
        Rows {
            bits,
            ..Rows::default()
        }
    }

    pub(super) fn name(&self, index: usize) -> Option<&str> {
        let names = self.names.as_ref()?;
        names.get(index).map(String::as_str)
    }

    pub(super) fn check(&self, rows: usize) -> Result<(), Error> {
        match &self.names {
            Some(names) if names.len() != rows => usage(format!(
                "{} for {}: give one for each",
                counted(names.len() as u64, "name"),
                counted(rows as u64, "vector")
            )),
            _ => Ok(()),
        }
    }
}

pub(crate) fn usage<T>(message: String) -> Result<T, Error> {
    Err(host::Error::Usage(message).into())
}

/// A group as the drive is told of it.
pub(super) fn handle_of(group: &GroupContent) -> PlacementHandle {
    PlacementHandle {
        number: group.handle,
        anchor: group.anchor,
        pitch: group.pitch,
        home: home_of(group),
    }
}

pub(super) fn home_of(group: &GroupContent) -> Home {
    Home {
        first: group.first_die,
        dies: group.dies,
    }
}

/// What a group is, if the object is one.
pub(super) fn content(object: &Object) -> Result<GroupContent, VolumeError> {
    match &object.content {
        Content::Group(group) => Ok(*group),
        other => Err(VolumeError::WrongKind {
            name: object.name.clone(),
            found: other.kind(),
            wanted: Kind::Group,
        }),
    }
}
