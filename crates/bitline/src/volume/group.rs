//! Groups of vectors by name.

use std::ops::ControlFlow;

use host::volume::{Change, Content, Extent, Kind, Object, ObjectId, Volume, VolumeError};
use nvme::command::Home;
use nvme::{Expression, VectorId};

use super::slot::Absent;
use super::store::{self, Shape};
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
    /// The logical blocks it lies in; none while the drive keeps vectors by group and number.
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

    /// Writes vectors of `bits` bits under the next free numbers, and names them with one commit: a power cut leaves all
    /// of them or none. If an error ends the call early, those before it are stored.
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
    /// Writes vectors to the group `name`, which is made if there is none, under the next free numbers, and names them
    /// with one commit. If an error ends the call early, those before it are stored.
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
        let written = self
            .volume
            .with(self.block(), Absent::Create, async |volume| {
                let mut change = volume.change()?;
                let (group, is_new) = group_for(&mut change, name, what)?;
                let placed = Placed::of(change.volume(), group)?;
                if is_new {
                    // What a power cut left of an earlier group with this number.
                    store::delete(self, placed.number, None).await?;
                }
                let (mut stored, mut result) = (Vec::new(), Ok(()));
                for (index, row) in rows.iter().enumerate() {
                    match self.write_row(&mut change, group, what, index, row).await {
                        Ok(number) => stored.push(number),
                        Err(error) => {
                            result = Err(error);
                            break;
                        }
                    }
                }
                if !stored.is_empty() {
                    change.commit().await?;
                }
                result?;
                Ok::<_, Error>(
                    vectors_of(volume, group)
                        .filter(|vector| stored.contains(&vector.number))
                        .collect(),
                )
            });
        Ok(written.await?.unwrap_or_default())
    }

    async fn write_row(
        &self,
        change: &mut Change<'_, Queue>,
        group: ObjectId,
        what: &Rows,
        index: usize,
        row: &[u8],
    ) -> Result<u32, Error> {
        let placed = Placed::of(change.volume(), group)?;
        let number = change.volume().next_number(group);
        let name = what.name(index, number.unwrap_or(u32::MAX));
        let id = change.name_vector(group, &name, what.inverse)?;
        let Some(Content::Vector(vector)) = change.volume().get(id).map(|object| object.content)
        else {
            unreachable!("it was just made a vector");
        };
        let shape = Shape {
            id: VectorId::new(placed.number, vector.number),
            home: placed.home,
            bits: vector.bits,
            inverse: vector.inverse,
        };
        let written = store::write(self, shape, row).await;
        if written.is_err() {
            change.remove(id)?;
        }
        written?;
        Ok(vector.number)
    }

    /// The vectors of a group by number; none if there is no such group.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub async fn group_vectors(&self, name: &str) -> Result<Vec<Vector>, Error> {
        let found = self
            .volume
            .with(self.block(), Absent::Leave, async |volume| {
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
        let found = self
            .volume
            .with(self.block(), Absent::Leave, async |volume| {
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
        let deleted = self
            .volume
            .with(self.block(), Absent::Leave, async |volume| {
                let not_found = || VolumeError::NotFound { what: what() };
                let group = volume.named(name).ok_or_else(not_found)?;
                let placed = Placed::of(volume, group.id)?;
                let object = match vector {
                    Some(number) => volume.numbered(group.id, number).ok_or_else(not_found)?,
                    None => group,
                };
                let mut change = volume.change()?;
                change.remove(object.id)?;
                change.commit().await?;
                Ok::<_, Error>(store::delete(self, placed.number, vector).await?)
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
        let renamed = self
            .volume
            .with(self.block(), Absent::Leave, async |volume| {
                let object = volume.named(old).ok_or_else(not_found)?;
                let mut change = volume.change()?;
                change.rename(object.id, new)?;
                change.commit().await.map(drop)
            });
        renamed.await?.ok_or_else(|| not_found().into())
    }

    /// Names `count` vectors that are to be stored already; gives the first's number, too. Stores nothing if
    /// `count` is 0, but makes the group.
    async fn name_rows(&self, name: &str, what: &Rows, count: u32) -> Result<(Placed, u32), Error> {
        let named = self
            .volume
            .with(self.block(), Absent::Create, async |volume| {
                let mut change = volume.change()?;
                let (group, is_new) = group_for(&mut change, name, what)?;
                let placed = Placed::of(change.volume(), group)?;
                if is_new {
                    store::delete(self, placed.number, None).await?;
                }
                let first = change.volume().next_number(group).unwrap_or(u32::MAX);
                for index in 0..count {
                    let name = what.name(index as usize, first.saturating_add(index));
                    change.name_vector(group, &name, what.inverse)?;
                }
                change.commit().await?;
                Ok::<_, Error>((placed, first))
            });
        Ok(named.await?.expect("a volume is made where there is none"))
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
        let name_rows = |drive: &mut Drive, count| {
            let (name, what) = (name.clone(), what.clone());
            drive.run(move |host| async move { host.name_rows(&name, &what, count).await })?
        };
        let (placed, first) = name_rows(self, 0)?;
        let mut there = 0;
        let id = VectorId::new(placed.number, first);
        let result =
            self.place_vectors_at(placed.home, id, count, what.bits, what.inverse, |count| {
                there = count;
                observe(count)
            });
        let there = result.as_ref().map_or(there, |placed| placed.vectors);
        if there > 0 {
            name_rows(self, there)?;
        }
        result?;
        let vectors = self.run(|host| async move { host.group_vectors(&name).await })??;
        Ok(vectors
            .into_iter()
            .filter(|vector| vector.number >= first)
            .collect())
    }
}

/// Where the store has a group.
#[derive(Clone, Copy)]
struct Placed {
    number: u32,
    home: Home,
}

impl Placed {
    fn of(volume: &Volume<Queue>, group: ObjectId) -> Result<Placed, VolumeError> {
        let object = volume.get(group).ok_or_else(|| VolumeError::NotFound {
            what: format!("object {}", group.get()),
        })?;
        match object.content {
            Content::Group(group) => Ok(Placed {
                number: store::group_number(group.handle),
                home: Home {
                    first: group.first_die,
                    dies: group.dies,
                },
            }),
            other => Err(VolumeError::WrongKind {
                name: object.name,
                found: other.kind(),
                wanted: Kind::Group,
            }),
        }
    }
}

/// The group `name`, made if there is none; and whether it was.
fn group_for(
    change: &mut Change<'_, Queue>,
    name: &str,
    what: &Rows,
) -> Result<(ObjectId, bool), Error> {
    let Some(found) = change.volume().named(name) else {
        let home = what.home.unwrap_or(Home::ALL);
        let group = change.create_group(name, what.bits, home.first, home.dies)?;
        return Ok((group, true));
    };
    let usage = |message: String| Err(host::Error::Usage(message).into());
    let home = Placed::of(change.volume(), found.id)?.home;
    let Content::Group(group) = found.content else {
        unreachable!("only groups are placed");
    };
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
    Ok((found.id, false))
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
