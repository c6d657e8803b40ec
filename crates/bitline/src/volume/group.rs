//! Groups of vectors by name.

use std::ops::ControlFlow;

use host::volume::{
    Change, Content, Extent, Group as GroupContent, Kind, Object, ObjectId, Volume, VolumeError,
};
use nvme::command::Home;
use nvme::{Expression, VectorId};

use super::slot::Absent;
use super::store;
use crate::drive::{Drive, Host};
use crate::driver::Queue;
use crate::error::Error;

/// A vector that a drive holds under a name.
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
    /// Its number on the drive.
    pub number: u32,
    /// Length of each vector, bits.
    pub bits: u64,
    /// The dies it lies on.
    pub home: Home,
    /// How many vectors it has.
    pub vectors: usize,
}

/// What vectors that are written have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
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
            inverse: false,
            names: None,
            home: None,
        }
    }

    fn name(&self, index: usize, number: u32) -> String {
        let given = self.names.as_ref().and_then(|names| names.get(index));
        given.cloned().unwrap_or_else(|| number.to_string())
    }
}

/// A group of a drive, by name. It is made with the first vector.
pub struct Group<'d> {
    drive: &'d mut Drive,
    name: String,
    rows: Rows,
}

impl<'d> Group<'d> {
    pub(super) fn new(drive: &'d mut Drive, name: &str) -> Group<'d> {
        Group {
            drive,
            name: name.to_owned(),
            rows: Rows::new(0),
        }
    }

    /// On some dies of the drive.
    #[must_use]
    pub fn at(mut self, home: Home) -> Group<'d> {
        self.rows.home = Some(home);
        self
    }

    /// With the inverse of each vector stored, which suits ORs.
    #[must_use]
    pub fn inverse(mut self) -> Group<'d> {
        self.rows.inverse = true;
        self
    }

    /// With these names of the vectors to be written.
    #[must_use]
    pub fn named<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Group<'d> {
        self.rows.names = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Writes vectors of `bits` bits under the next free numbers: all of them, or none.
    ///
    /// # Errors
    /// As [`Host::write_vectors`].
    pub fn write<R: Into<Vec<u8>>>(
        self,
        bits: u64,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Vec<Vector>, Error> {
        let rows: Vec<Vec<u8>> = rows.into_iter().map(Into::into).collect();
        let what = Rows { bits, ..self.rows };
        let name = self.name;
        self.drive
            .run(|host| async move { host.write_vectors(&name, &what, &rows).await })?
    }

    /// Sets up `count` vectors of `bits` zeroes as if they had been written: no time but the catalogue's. `observe`
    /// is told how many there are, and may break off; those are stored then.
    ///
    /// # Errors
    /// As [`Host::write_vectors`], and [`Drive::place_vectors`].
    pub fn place(
        self,
        bits: u64,
        count: u32,
        observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Vec<Vector>, Error> {
        self.drive
            .place_rows(&self.name, &Rows { bits, ..self.rows }, count, observe)
    }

    /// Its vectors, by number.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn vectors(self) -> Result<Vec<Vector>, Error> {
        let name = self.name;
        self.drive
            .run(|host| async move { host.group_vectors(&name).await })?
    }

    /// Gives it another name.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Name`], [`VolumeError::Taken`].
    pub fn rename(self, name: &str) -> Result<(), Error> {
        let (old, new) = (self.name, name.to_owned());
        self.drive
            .run(|host| async move { host.rename_object(&old, &new).await })?
    }

    /// Deletes it with all of its vectors, or one vector by its number.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`].
    pub fn delete(self, vector: Option<u32>) -> Result<(), Error> {
        let name = self.name;
        self.drive
            .run(|host| async move { host.delete_vectors(&name, vector).await })?
    }
}

impl Host {
    /// Writes vectors to the group `name`, which is made if there is none, under the next free numbers: all of them, or
    /// none.
    ///
    /// # Errors
    /// Rows of other lengths; another length or home than the group has; [`Error::Volume`]; what the drive reports,
    /// such as Vector Group Full.
    pub async fn write_vectors(
        &self,
        name: &str,
        what: &Rows,
        rows: &[Vec<u8>],
    ) -> Result<Vec<Vector>, Error> {
        check_names(what, rows.len())?;
        let write = async |volume: &mut Volume<Queue>| {
            let mut change = volume.change()?;
            let group = group_for(&mut change, name, what)?;
            let first = change.volume().next_number(group).unwrap_or(0);
            for (index, row) in rows.iter().enumerate() {
                let written = self.write_row(&mut change, group, what, index, row).await;
                if let Err(error) = written {
                    change.abandon().await?;
                    return Err(error);
                }
            }
            change.commit().await?;
            let written = |vector: &Vector| vector.number >= first;
            Ok(vectors_of(volume, group).filter(written).collect())
        };
        let written = self.volume.with(self, Absent::Create, write).await?;
        Ok(written.unwrap_or_default())
    }

    async fn write_row(
        &self,
        change: &mut Change<'_, Queue>,
        group: ObjectId,
        what: &Rows,
        index: usize,
        row: &[u8],
    ) -> Result<(), Error> {
        let content = group_content(change.volume(), group)?;
        let vector = add_row(change, group, what, index)?;
        let place = store::row(&change.extents(vector)?);
        Ok(store::write(self, &content, what.inverse, place, row).await?)
    }

    /// The vectors of a group by number; none if there is no such group.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn group_vectors(&self, name: &str) -> Result<Vec<Vector>, Error> {
        let found = self.volume.with(self, Absent::Leave, async |volume| {
            let group = volume
                .named(name)
                .filter(|object| object.content.kind() == Kind::Group);
            Ok::<_, Error>(group.map(|group| vectors_of(volume, group.id).collect()))
        });
        Ok(found.await?.flatten().unwrap_or_default())
    }

    /// The groups, by name.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn groups(&self) -> Result<Vec<GroupInfo>, Error> {
        let found = self.volume.with(self, Absent::Leave, async |volume| {
            let info = |object: Object| match object.content {
                Content::Group(group) => Some(GroupInfo {
                    number: store::group_number(group.handle),
                    bits: group.bits,
                    home: Home {
                        first: group.first_die,
                        dies: group.dies,
                    },
                    vectors: volume.vectors(object.id).count(),
                    name: object.name,
                }),
                _ => None,
            };
            Ok::<_, Error>(volume.objects().filter_map(info).collect())
        });
        Ok(found.await?.unwrap_or_default())
    }

    /// Deletes a group with all of its vectors, or one vector by its number.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`]; what the drive reports.
    pub async fn delete_vectors(&self, name: &str, vector: Option<u32>) -> Result<(), Error> {
        let what = || match vector {
            Some(number) => format!("vector {number} of group {name:?}"),
            None => format!("group {name:?}"),
        };
        let deleted = self.volume.with(self, Absent::Leave, async |volume| {
            let not_found = || VolumeError::NotFound { what: what() };
            let group = volume.named(name).ok_or_else(not_found)?;
            group_content(volume, group.id)?;
            let object = match vector {
                Some(number) => volume.numbered(group.id, number).ok_or_else(not_found)?,
                None => group,
            };
            let mut change = volume.change()?;
            change.remove(object.id)?;
            change.commit().await?;
            Ok::<_, Error>(())
        });
        let deleted: Option<()> = deleted.await?;
        deleted.ok_or_else(|| VolumeError::NotFound { what: what() }.into())
    }

    /// Gives a group, array, file or table another name.
    ///
    /// # Errors
    /// [`VolumeError::NotFound`], [`VolumeError::Name`], [`VolumeError::Taken`].
    pub async fn rename_object(&self, old: &str, new: &str) -> Result<(), Error> {
        let not_found = || VolumeError::NotFound {
            what: format!("object {old:?}"),
        };
        let renamed = self.volume.with(self, Absent::Leave, async |volume| {
            let object = volume.named(old).ok_or_else(not_found)?;
            let mut change = volume.change()?;
            change.rename(object.id, new)?;
            change.commit().await.map(drop)
        });
        renamed.await?.ok_or_else(|| not_found().into())
    }

    /// Makes `count` vectors, whose blocks are not written.
    async fn add_rows(
        &self,
        name: &str,
        what: &Rows,
        count: u32,
    ) -> Result<(GroupContent, Vec<Vector>), Error> {
        let add = async |volume: &mut Volume<Queue>| {
            let mut change = volume.change()?;
            let group = group_for(&mut change, name, what)?;
            let first = change.volume().next_number(group).unwrap_or(0);
            for index in 0..count as usize {
                add_row(&mut change, group, what, index)?;
            }
            change.commit().await?;
            let added = |vector: &Vector| vector.number >= first;
            let vectors = vectors_of(volume, group).filter(added).collect();
            Ok::<_, Error>((group_content(volume, group)?, vectors))
        };
        let added = self.volume.with(self, Absent::Create, add).await?;
        Ok(added.expect("a volume is made where there is none"))
    }

    /// Removes vectors that were made and could not be set up; the group, too, if it has no others.
    async fn remove_rows(&self, name: &str, numbers: &[u32]) -> Result<(), Error> {
        let remove = async |volume: &mut Volume<Queue>| {
            let mut change = volume.change()?;
            if let Some(group) = change.volume().named(name) {
                for number in numbers {
                    if let Some(vector) = change.volume().numbered(group.id, *number) {
                        change.remove(vector.id)?;
                    }
                }
                if change.volume().vectors(group.id).next().is_none() {
                    change.remove(group.id)?;
                }
            }
            change.commit().await?;
            Ok::<_, Error>(())
        };
        self.volume.with(self, Absent::Leave, remove).await?;
        Ok(())
    }
}

impl Drive {
    /// As [`Group::place`].
    fn place_rows(
        &mut self,
        name: &str,
        what: &Rows,
        count: u32,
        mut observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Vec<Vector>, Error> {
        check_names(what, count as usize)?;
        let (name, what) = (name.to_owned(), what.clone());
        let add = {
            let (name, what) = (name.clone(), what.clone());
            move |host: Host| async move { host.add_rows(&name, &what, count).await }
        };
        let (group, mut vectors) = self.run(add)??;
        let (mut placed, mut result) = (0, Ok(()));
        for vector in &vectors {
            let (handle, row) = (store::handle_of(&group), store::row(&vector.extents));
            result = self.set_up_row(vector.id, handle, row, what.inverse);
            if result.is_err() {
                break;
            }
            placed += 1;
            if observe(placed).is_break() {
                break;
            }
        }
        let rest = vectors.split_off(placed as usize);
        if !rest.is_empty() {
            let numbers: Vec<u32> = rest.iter().map(|vector| vector.number).collect();
            self.run(|host| async move { host.remove_rows(&name, &numbers).await })??;
        }
        result.map(|()| vectors)
    }
}

/// What a group is.
fn group_content(volume: &Volume<Queue>, group: ObjectId) -> Result<GroupContent, VolumeError> {
    let object = volume.get(group).ok_or_else(|| VolumeError::NotFound {
        what: format!("object {}", group.get()),
    })?;
    match object.content {
        Content::Group(group) => Ok(group),
        other => Err(VolumeError::WrongKind {
            name: object.name,
            found: other.kind(),
            wanted: Kind::Group,
        }),
    }
}

/// Makes the vector for a row.
fn add_row(
    change: &mut Change<'_, Queue>,
    group: ObjectId,
    what: &Rows,
    index: usize,
) -> Result<ObjectId, VolumeError> {
    let number = change.volume().next_number(group).unwrap_or(u32::MAX);
    change.create_vector(group, &what.name(index, number), what.inverse)
}

/// The group `name`, made if there is none.
fn group_for(change: &mut Change<'_, Queue>, name: &str, what: &Rows) -> Result<ObjectId, Error> {
    let Some(found) = change.volume().named(name) else {
        let home = what.home.unwrap_or(Home::ALL);
        return Ok(change.create_group(name, what.bits, home.first, home.dies)?);
    };
    let usage = |message: String| Err(host::Error::Usage(message).into());
    let group = group_content(change.volume(), found.id)?;
    let home = store::home_of(&group);
    if let Some(wanted) = what.home.filter(|wanted| *wanted != home) {
        return usage(format!(
            "group {name:?} lies on {} dies from {} on, not on {} from {} on (0: all): ask for it without a home, or delete it first",
            home.dies, home.first, wanted.dies, wanted.first
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

fn check_names(what: &Rows, rows: usize) -> Result<(), Error> {
    match &what.names {
        Some(names) if names.len() != rows => {
            let message = format!(
                "{} names for {rows} vectors: give one for each",
                names.len()
            );
            Err(host::Error::Usage(message).into())
        }
        _ => Ok(()),
    }
}

/// The vectors of a group, by number.
fn vectors_of(volume: &Volume<Queue>, group: ObjectId) -> impl Iterator<Item = Vector> {
    let of = volume.get(group);
    volume.vectors(group).filter_map(move |object| {
        let group = of.as_ref()?;
        match (object.content, &group.content) {
            (Content::Vector(vector), Content::Group(placed)) => Some(Vector {
                group: group.name.clone(),
                name: object.name,
                number: vector.number,
                id: store::leaf(placed.handle, vector.number),
                bits: vector.bits,
                inverse: vector.inverse,
                extents: object.extents,
            }),
            _ => None,
        }
    })
}
