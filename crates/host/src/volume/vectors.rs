//! Groups and their vectors in a change of a volume.

use super::change::Change;
use super::error::VolumeError;
use super::kind::Kind;
use super::object::{Content, Group, ObjectId, Vector};
use super::reserve::Reservation;
use super::{page, record};
use crate::transport::Transport;

impl<T: Transport> Change<'_, T> {
    /// Creates a group for vectors of `bits` bits on some dies of the drive, from `first_die` on; 0 `dies` are all.
    /// It gets a placement handle that no other group has, and rows of as many pages as a vector takes.
    ///
    /// # Errors
    /// [`VolumeError::Name`], [`VolumeError::Taken`], [`VolumeError::Attribute`]; [`VolumeError::NoSpace`] if no volume
    /// has room for such a vector.
    pub fn create_group(
        &mut self,
        name: &str,
        bits: u64,
        first_die: u16,
        dies: u16,
    ) -> Result<ObjectId, VolumeError> {
        let group = self
            .volume
            .new_group(bits, (first_die, dies), None, |_| false)?;
        self.create(name, Content::Group(group))
    }

    /// Creates a vector of a group, as long as the group says, under the next free number.
    ///
    /// # Errors
    /// As [`Change::create`]; [`VolumeError::WrongKind`] if `group` is none.
    pub fn create_vector(
        &mut self,
        group: ObjectId,
        name: &str,
        inverse: bool,
    ) -> Result<ObjectId, VolumeError> {
        let vector = self.next_vector(group, inverse)?;
        self.create(name, Content::Vector(vector))
    }

    fn next_vector(&self, group: ObjectId, inverse: bool) -> Result<Vector, VolumeError> {
        let bits = self.group(group)?.bits;
        let number = self.volume.catalogue.next_number(group);
        let number = number.ok_or_else(|| VolumeError::Attribute {
            what: "the number of a vector",
            value: "beyond 32 bits".into(),
            allowed: "at most 4294967295: write the vectors to a new group".into(),
        })?;
        Ok(Vector {
            group,
            number,
            inverse,
            bits,
        })
    }

    /// Whether the catalogue cannot have room for so many more vectors.
    ///
    /// # Errors
    /// [`VolumeError::CatalogueFull`].
    pub fn check_room(&self, vectors: u32) -> Result<(), VolumeError> {
        let pages = u64::from(self.volume.layout.catalogue_pages);
        let bytes = u64::from(vectors) * record::VECTOR_BYTES_MIN;
        let needed = page::pages_for(bytes as usize, self.volume.layout.page_bytes());
        if needed > pages {
            return Err(VolumeError::CatalogueFull { needed, pages });
        }
        Ok(())
    }

    /// As [`Change::create_vector`], of a vector that was written to a reservation.
    ///
    /// # Errors
    /// As [`Change::create_vector`]; the reservation is then given back with the change.
    pub fn create_vector_from(
        &mut self,
        group: ObjectId,
        name: &str,
        inverse: bool,
        reservation: Reservation,
    ) -> Result<ObjectId, VolumeError> {
        let runs = self.adopt(reservation);
        let vector = Content::Vector(self.next_vector(group, inverse)?);
        self.create_on(name, vector, Some(runs))
    }

    pub(super) fn group(&self, id: ObjectId) -> Result<Group, VolumeError> {
        let entry = self.entry(id)?;
        match &entry.content {
            Content::Group(group) => Ok(*group),
            other => Err(VolumeError::WrongKind {
                name: entry.name.clone(),
                found: other.kind(),
                wanted: Kind::Group,
            }),
        }
    }
}
