//! Groups and vectors looked up by their names and numbers: what that takes does not depend on how many there are.

use host::volume::{Content, Object, ObjectId, Vector as VectorContent, VolumeError};
use nvme::VectorId;

use super::information::{GroupInfo, Vector, content, home_of};
use crate::error::Error;
use crate::host_end::Absent;
use crate::host_end::DriveVolume;
use crate::host_end::Host;
use crate::host_end::id_of;

impl Host {
    /// The vectors of a group by number; none if there is no such group.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn group_vectors(&self, name: &str) -> Result<Vec<Vector>, Error> {
        let list = async |volume: &mut DriveVolume| {
            let group = volume.named(name);
            Ok(group.map_or_else(Vec::new, |group| vectors_of(volume, &group).collect()))
        };
        let found = self.mount.with(self, Absent::Leave, list).await?;
        Ok(found.unwrap_or_default())
    }

    /// The groups, by name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn groups(&self) -> Result<Vec<GroupInfo>, Error> {
        let list = async |volume: &mut DriveVolume| {
            let groups = volume.objects().filter_map(|object| info(volume, object));
            Ok(groups.collect())
        };
        let found = self.mount.with(self, Absent::Leave, list).await?;
        Ok(found.unwrap_or_default())
    }

    /// A group by its name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn group(&self, name: &str) -> Result<Option<GroupInfo>, Error> {
        let find = async |volume: &mut DriveVolume| {
            let object = volume.named(name);
            Ok(object.and_then(|object| info(volume, object)))
        };
        let found = self.mount.with(self, Absent::Leave, find).await?;
        Ok(found.flatten())
    }

    /// A vector of a group by its name.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn vector(&self, group: &str, name: &str) -> Result<Vector, Error> {
        let find = |volume: &DriveVolume, group: ObjectId| volume.vector(group, name);
        let found = self.vector_by(group, find).await?;
        found.ok_or_else(|| vector_not_found(group, &format!("{name:?}")).into())
    }

    /// A vector of a group by its number.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn vector_numbered(&self, group: &str, number: u32) -> Result<Vector, Error> {
        let find = |volume: &DriveVolume, group: ObjectId| volume.numbered(group, number);
        let found = self.vector_by(group, find).await?;
        found.ok_or_else(|| vector_not_found(group, &number.to_string()).into())
    }

    async fn vector_by(
        &self,
        group: &str,
        find: impl Fn(&DriveVolume, ObjectId) -> Option<Object>,
    ) -> Result<Option<Vector>, Error> {
        let look = async |volume: &mut DriveVolume| {
            let of = volume.named(group);
            let found = of.and_then(|of| find(volume, of.id));
            Ok(found.and_then(|vector| vector_of(group, vector)))
        };
        let found = self.mount.with(self, Absent::Leave, look).await?;
        Ok(found.flatten())
    }

    /// A vector as it is now, by what it is called in expressions.
    ///
    /// # Errors
    /// [`Error::NoVector`]; what the drive reports.
    pub async fn vector_called(&self, id: VectorId) -> Result<Vector, Error> {
        let look = async |volume: &mut DriveVolume| {
            let (group, vector, _) = find(volume, id)?;
            let name = volume.get(group).map(|group| group.name);
            let vector = volume.get(vector);
            Ok(name
                .zip(vector)
                .and_then(|(name, vector)| vector_of(&name, vector)))
        };
        let found = self.mount.with(self, Absent::Leave, look).await?;
        found.flatten().ok_or(Error::NoVector(id))
    }
}

/// A vector and its group.
pub(super) fn find(
    volume: &DriveVolume,
    id: VectorId,
) -> Result<(ObjectId, ObjectId, VectorContent), Error> {
    let vector = volume.find(id.vector);
    match vector.map(|vector| (vector.id, vector.content)) {
        Some((vector, Content::Vector(content))) if content.group.get() == id.group => {
            Ok((content.group, vector, content))
        }
        _ => Err(Error::NoVector(id)),
    }
}

fn vector_not_found(group: &str, name: &str) -> VolumeError {
    VolumeError::NotFound {
        what: format!("vector {name} in group {group:?}"),
    }
}

/// The vectors of a group, by number.
fn vectors_of<'v>(volume: &'v DriveVolume, group: &Object) -> impl Iterator<Item = Vector> + 'v {
    let (id, name) = (group.id, group.name.clone());
    let vectors = volume.vectors(id);
    vectors.filter_map(move |vector| vector_of(&name, vector))
}

/// A vector of the group `group`.
pub(super) fn vector_of(group: &str, object: Object) -> Option<Vector> {
    let Content::Vector(vector) = object.content else {
        return None;
    };
    Some(Vector {
        group: group.to_owned(),
        id: id_of(object.id, vector.group),
        name: object.name,
        number: vector.number,
        bits: vector.bits,
        inverse: vector.inverse,
        extents: object.extents,
    })
}

/// What is told of an object, if it is a group.
fn info(volume: &DriveVolume, object: Object) -> Option<GroupInfo> {
    let group = content(&object).ok()?;
    Some(GroupInfo {
        bits: group.bits,
        home: home_of(&group),
        vectors: volume.vector_count(object.id),
        name: object.name,
    })
}
