//! Vectors written, found and deleted in simulated time: changes of the volume, and rows written with placement handles.

use host::bits::Handle;
use host::volume::{
    Change, Content, Extent, Group as GroupContent, Kind, Object, ObjectId,
    Vector as VectorContent, VolumeError,
};
use nvme::VectorId;
use nvme::command::Home;

use super::group::{GroupInfo, Rows, Vector};
use super::slot::{Absent, DriveVolume, id_of};
use crate::drive::Host;
use crate::driver::Queue;
use crate::error::Error;

impl Host {
    /// Writes vectors to the group `name`, which is made if there is none, under the next free numbers: all of them, or
    /// none.
    ///
    /// # Errors
    /// Rows of other lengths; another length or home than the group has; [`Error::Volume`]; what the drive reports,
    /// such as Vector Group Full.
    pub async fn write_vectors<R: AsRef<[u8]>>(
        &self,
        name: &str,
        what: &Rows,
        rows: &[R],
    ) -> Result<Vec<Vector>, Error> {
        what.check(rows.len())?;
        let write = async |volume: &mut DriveVolume| {
            let mut change = volume.change()?;
            let group = self.group_for(&mut change, name, what)?;
            let first = change.volume().next_number(group).unwrap_or(0);
            for (index, row) in rows.iter().enumerate() {
                let written = async {
                    let vector = add_row(&mut change, group, what, index)?;
                    self.write_row(&mut change, group, vector, what.inverse, row.as_ref())
                        .await
                };
                if let Err(error) = written.await {
                    return Err(undone(change, error).await);
                }
            }
            change.commit().await?;
            self.names.learn(volume, group);
            let written = |vector: &Vector| vector.number >= first;
            Ok(vectors_of(volume, group).filter(written).collect())
        };
        let written = self.names.with(self, Absent::Create, write).await?;
        Ok(written.unwrap_or_default())
    }

    /// Gives a vector other bits, and has its inverse stored from now on or not; as it was, if nothing is said. Whoever
    /// evaluates it meanwhile sees the old bits; a power cut leaves these or those.
    ///
    /// # Errors
    /// [`Error::NoVector`]; as [`Host::write_vectors`].
    pub async fn overwrite_vector(
        &self,
        id: VectorId,
        inverse: Option<bool>,
        data: &[u8],
    ) -> Result<Vector, Error> {
        let write = async |volume: &mut DriveVolume| {
            let (group, vector, mut content) = find(volume, id)?;
            let mut change = volume.change()?;
            content.inverse = inverse.unwrap_or(content.inverse);
            change.replace(vector, Content::Vector(content))?;
            let written = self.write_row(&mut change, group, vector, content.inverse, data);
            if let Err(error) = written.await {
                return Err(undone(change, error).await);
            }
            let _alone = self.names.alone().await;
            change.commit().await?;
            self.names.learn(volume, group);
            Ok(vectors_of(volume, group).find(|written| written.id == id))
        };
        let written = self.names.with(self, Absent::Leave, write).await?;
        written.flatten().ok_or(Error::NoVector(id))
    }

    /// The group `name`, made if there is none or if it has no vectors.
    pub(super) fn group_for(
        &self,
        change: &mut Change<'_, Queue>,
        name: &str,
        what: &Rows,
    ) -> Result<ObjectId, Error> {
        let wanted = what.home.map(|home| self.canonical(home)).transpose()?;
        let Some(found) = change.volume().named(name) else {
            let home = wanted.unwrap_or(Home::ALL);
            return Ok(change.create_group(name, what.bits, home.first, home.dies)?);
        };
        let group = content(&found)?;
        let home = home_of(&group);
        if change.volume().vectors(found.id).next().is_none() {
            // Nothing binds it: it becomes what is asked for.
            let home = wanted.unwrap_or(home);
            change.remove(found.id)?;
            return Ok(change.create_group(name, what.bits, home.first, home.dies)?);
        }
        if let Some(wanted) = wanted.filter(|wanted| *wanted != home) {
            return usage(format!(
                "group {name:?} lies on {}, not on {}: ask for it without a home, or delete it first",
                dies(home),
                dies(wanted)
            ));
        }
        if group.bits != what.bits {
            return usage(format!(
                "vectors of group {name:?} have {} bits, not {}; vectors of one group are equally long",
                group.bits, what.bits
            ));
        }
        Ok(found.id)
    }

    /// A home that the drive has, written in one way only: all dies of the drive are zero dies.
    fn canonical(&self, home: Home) -> Result<Home, Error> {
        let dies = self.dies;
        if u32::from(home.first) >= dies || u32::from(home.dies) > dies {
            return usage(format!(
                "{} dies from die {} on: this drive has dies 0 to {}",
                home.dies,
                home.first,
                dies - 1
            ));
        }
        let is_all = u32::from(home.dies) == dies;
        Ok(Home {
            dies: if is_all { 0 } else { home.dies },
            ..home
        })
    }

    async fn write_row(
        &self,
        change: &mut Change<'_, Queue>,
        group: ObjectId,
        vector: ObjectId,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        let group = group_content(change.volume(), group)?;
        let (bits, right) = (group.bits, group.bits.div_ceil(8));
        if data.len() as u64 != right {
            let found = data.len();
            return usage(format!(
                "{found} bytes for a vector of {bits} bits: {right} would be right"
            ));
        }
        let write = async |_: &DriveVolume, extents: &[Extent]| {
            self.open_handle(&group).await?;
            let first = extents.first().map_or(0, |extent| extent.first);
            let blocks: u64 = extents.iter().map(|extent| extent.blocks).sum();
            let bytes = blocks * u64::from(self.block().block_bytes());
            let padded;
            let whole = if bits == bytes * 8 {
                data
            } else {
                padded = pad(data, bits, bytes);
                &padded
            };
            let written = self.bits().write(group.handle, inverse, first, whole);
            Ok::<_, Error>(written.await?)
        };
        change.write_by(vector, write).await
    }

    /// Opens the placement handle of a group, unless it is.
    pub(super) async fn open_handle(&self, group: &GroupContent) -> Result<(), Error> {
        let open = &self.names.open_handles;
        if open.borrow().get(&group.handle) == Some(group) {
            return Ok(());
        }
        self.bits().open_handle(&handle_of(group)).await?;
        open.borrow_mut().insert(group.handle, *group);
        Ok(())
    }

    /// The vectors of a group by number; none if there is no such group.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn group_vectors(&self, name: &str) -> Result<Vec<Vector>, Error> {
        let list = async |volume: &mut DriveVolume| {
            let group = volume.named(name);
            Ok(group.map_or_else(Vec::new, |group| vectors_of(volume, group.id).collect()))
        };
        let found = self.names.with(self, Absent::Leave, list).await?;
        Ok(found.unwrap_or_default())
    }

    /// The groups, by name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn groups(&self) -> Result<Vec<GroupInfo>, Error> {
        let list = async |volume: &mut DriveVolume| {
            let info = |object: Object| {
                let group = content(&object).ok()?;
                Some(GroupInfo {
                    bits: group.bits,
                    home: home_of(&group),
                    vectors: volume.vectors(object.id).count(),
                    name: object.name,
                })
            };
            Ok(volume.objects().filter_map(info).collect())
        };
        let found = self.names.with(self, Absent::Leave, list).await?;
        Ok(found.unwrap_or_default())
    }

    /// A vector of a group by its name.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn vector(&self, group: &str, name: &str) -> Result<Vector, Error> {
        let vectors = self.group_vectors(group).await?;
        let found = vectors.into_iter().find(|vector| vector.name == name);
        found.ok_or_else(|| vector_not_found(group, name).into())
    }

    /// Deletes a vector.
    ///
    /// # Errors
    /// [`Error::NoVector`]; what the drive reports.
    pub async fn delete_vector(&self, id: VectorId) -> Result<(), Error> {
        let delete = async |volume: &mut DriveVolume| {
            let (group, vector, _) = find(volume, id)?;
            let mut change = volume.change()?;
            change.remove(vector)?;
            let _alone = self.names.alone().await;
            change.commit().await?;
            self.names.learn(volume, group);
            Ok(())
        };
        let deleted = self.names.with(self, Absent::Leave, delete).await?;
        deleted.ok_or(Error::NoVector(id))
    }
}

pub(super) fn usage<T>(message: String) -> Result<T, Error> {
    Err(host::Error::Usage(message).into())
}

/// Undoes a change that failed.
pub(super) async fn undone(change: Change<'_, Queue>, error: Error) -> Error {
    // What cannot be deallocated now is so with a later change; the first error tells more.
    let _ = change.abandon().await;
    error
}

fn vector_not_found(group: &str, name: &str) -> VolumeError {
    VolumeError::NotFound {
        what: format!("vector {name:?} in group {group:?}"),
    }
}

/// A vector's bits in whole pages, what the last byte holds besides being clear.
fn pad(data: &[u8], bits: u64, bytes: u64) -> Vec<u8> {
    let mut padded = Vec::with_capacity(bytes as usize);
    padded.extend_from_slice(data);
    if let (Some(last), used @ 1..) = (padded.last_mut(), bits % 8) {
        *last &= (1 << used) - 1;
    }
    padded.resize(bytes as usize, 0);
    padded
}

/// A group as the drive is told of it.
pub(super) fn handle_of(group: &GroupContent) -> Handle {
    Handle {
        number: group.handle,
        anchor: group.anchor,
        pitch: group.pitch,
        home: home_of(group),
    }
}

fn home_of(group: &GroupContent) -> Home {
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

pub(super) fn group_content(
    volume: &DriveVolume,
    group: ObjectId,
) -> Result<GroupContent, VolumeError> {
    let object = volume.get(group).ok_or_else(|| VolumeError::NotFound {
        what: format!("object {}", group.get()),
    });
    content(&object?)
}

/// A vector and its group.
fn find(volume: &DriveVolume, id: VectorId) -> Result<(ObjectId, ObjectId, VectorContent), Error> {
    let vector = volume.find(id.vector);
    match vector.map(|vector| (vector.id, vector.content)) {
        Some((vector, Content::Vector(content))) if content.group.get() == id.group => {
            Ok((content.group, vector, content))
        }
        _ => Err(Error::NoVector(id)),
    }
}

/// Makes the vector for a row.
pub(super) fn add_row(
    change: &mut Change<'_, Queue>,
    group: ObjectId,
    what: &Rows,
    index: usize,
) -> Result<ObjectId, Error> {
    let name = match what.name(index) {
        Some(name) => name.to_owned(),
        None => free_name(change.volume(), group),
    };
    Ok(change.create_vector(group, &name, what.inverse)?)
}

/// A home in words.
fn dies(home: Home) -> String {
    match home.dies {
        0 => format!("all dies from die {} on", home.first),
        1 => format!("1 die from die {} on", home.first),
        dies => format!("{dies} dies from die {} on", home.first),
    }
}

/// A name for a vector that was given none: its number, or the next that no vector is called.
fn free_name(volume: &DriveVolume, group: ObjectId) -> String {
    let number = volume.next_number(group).unwrap_or(u32::MAX);
    let mut names = (u64::from(number)..).map(|number| number.to_string());
    let free = names.find(|name| volume.vector(group, name).is_none());
    free.expect("there are fewer vectors than numbers")
}

/// The vectors of a group, by number.
pub(super) fn vectors_of(volume: &DriveVolume, group: ObjectId) -> impl Iterator<Item = Vector> {
    let group = volume.get(group).filter(|group| content(group).is_ok());
    let of = group.as_ref().map(|group| volume.vectors(group.id));
    let vectors: Vec<Object> = of.into_iter().flatten().collect();
    vectors.into_iter().filter_map(move |object| {
        let group = group.as_ref()?;
        let Content::Vector(vector) = object.content else {
            return None;
        };
        Some(Vector {
            group: group.name.clone(),
            id: id_of(object.id, group.id),
            name: object.name,
            number: vector.number,
            bits: vector.bits,
            inverse: vector.inverse,
            extents: object.extents,
        })
    })
}
