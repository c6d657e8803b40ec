//! Vectors written, found and deleted in simulated time: rows written with placement handles, and changes of the volume
//! that name them.

use host::volume::{Change, Content, Extent, Group as GroupContent, Object, ObjectId, VolumeError};
use nvme::VectorId;
use nvme::command::Home;

use super::information::{Rows, Vector, content, handle_of, home_of, usage};
use super::lookup::{find, vector_of};
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::Absent;
use crate::host_end::DriveVolume;
use crate::host_end::Host;
use crate::host_end::{HeldPages, Writing, erased};
use crate::sentences::counted;

impl Host {
    /// Writes vectors to the group `name`, which is made if there is none, under the next free numbers: all of them, or
    /// none. Other calls go on meanwhile; only the commit of their names is one's own.
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
        let Written { group, held, .. } = self.written(name, what, rows).await?;
        let commit = async |volume: &mut DriveVolume| {
            let mut change = volume.change()?;
            match name_rows(&mut change, name, &group, what, &held) {
                Ok((group, vectors)) => {
                    change.commit().await?;
                    Ok(self.learned(volume, group, &vectors))
                }
                Err(error) => Err(undone(change, error).await),
            }
        };
        match self.mount.with(self, Absent::Leave, commit).await {
            Ok(Some(written)) => Ok(written),
            Ok(None) => Err(erased()),
            Err(error) => Err(self.given_back(held, error).await),
        }
    }

    /// Writes rows for a group, which nothing names yet.
    pub(super) async fn written<'a, R: AsRef<[u8]>>(
        &'a self,
        name: &str,
        what: &Rows,
        rows: &[R],
    ) -> Result<Written<'a>, Error> {
        what.check(rows.len())?;
        let begin = async |volume: &mut DriveVolume| {
            let group = self.group_to_write(volume, name, what)?;
            for row in rows {
                check_length(&group, row.as_ref())?;
            }
            check_free(volume, name, what)?;
            let (mut reservations, mut lacks) = (Vec::with_capacity(rows.len()), None);
            for _ in rows {
                match volume.reserve_vector(&group) {
                    Ok(reservation) => reservations.push(reservation),
                    Err(error) => {
                        lacks = Some(error);
                        break;
                    }
                }
            }
            let written = Written {
                group,
                _writing: self.mount.reserved.write_group(name, group),
                held: self.mount.reserved.hold(reservations),
            };
            Ok((written, lacks))
        };
        let begun = self.mount.with(self, Absent::Create, begin).await?;
        let (written, lacks) = begun.expect("a volume is made where there is none");
        let (group, held) = (&written.group, &written.held);
        let mut result = Ok(());
        for (index, row) in rows.iter().enumerate().take(held.len()) {
            let extents = held.extents(index);
            result = self
                .write_row(group, extents, what.inverse, row.as_ref())
                .await;
            if result.is_err() {
                break;
            }
        }
        // Where both addresses and blocks for computing are short, the drive's own answer says more.
        match result.and_then(|()| lacks.map_or(Ok(()), |error| Err(error.into()))) {
            Ok(()) => Ok(written),
            Err(error) => Err(self.given_back(written.held, error).await),
        }
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
        let begin = async |volume: &mut DriveVolume| {
            let (of, _, content) = find(volume, id)?;
            let group = group_content(volume, of)?;
            check_length(&group, data)?;
            let reservation = volume.reserve_vector(&group)?;
            let name = volume.get(of).map(|group| group.name);
            let writing = self
                .mount
                .reserved
                .write_group(&name.unwrap_or_default(), group);
            let held = self.mount.reserved.hold(vec![reservation]);
            Ok((group, inverse.unwrap_or(content.inverse), writing, held))
        };
        let begun = self.mount.with(self, Absent::Leave, begin).await?;
        let (group, inverse, _writing, held) = begun.ok_or(Error::NoVector(id))?;
        let written = self.write_row(&group, held.extents(0), inverse, data);
        if let Err(error) = written.await {
            return Err(self.given_back(held, error).await);
        }
        let replace = async |volume: &mut DriveVolume| {
            let (group, vector, mut content) = find(volume, id)?;
            content.inverse = inverse;
            let mut change = volume.change()?;
            let (content, row) = (Content::Vector(content), held.redeem(0)?);
            if let Err(error) = change.replace_from(vector, content, row) {
                return Err(undone(change, error.into()).await);
            }
            change.commit().await?;
            Ok(self.learned(volume, group, &[vector]))
        };
        let mine = |volume: &DriveVolume| find(volume, id).map(|_| vec![id.vector]);
        match self.mount.alone_with(self, mine, replace).await {
            Ok(written) => written
                .and_then(|mut written| written.pop())
                .ok_or(Error::NoVector(id)),
            Err(error) => Err(self.given_back(held, error).await),
        }
    }

    /// Gives back at once what was reserved for something that failed.
    pub(super) async fn given_back(&self, held: HeldPages<'_>, error: Error) -> Error {
        drop(held);
        // What cannot be given back now is so with a later call; the first error tells more.
        let _ = self.mount.with(self, Absent::Leave, async |_| Ok(())).await;
        error
    }

    /// Vectors that were written, whose places everybody knows from now on.
    pub(super) fn learned(
        &self,
        volume: &DriveVolume,
        group: ObjectId,
        vectors: &[ObjectId],
    ) -> Vec<Vector> {
        self.mount.learn(|index| {
            index.learn(volume, group);
            vectors.iter().for_each(|id| index.learn(volume, *id));
        });
        let name = volume
            .get(group)
            .map(|group| group.name)
            .unwrap_or_default();
        let vectors = vectors.iter().filter_map(|id| volume.get(*id));
        vectors
            .filter_map(|vector| vector_of(&name, vector))
            .collect()
    }

    /// The group `name` as it is, or as it is to be if there is none or if it has no vectors.
    pub(super) fn group_to_write(
        &self,
        volume: &DriveVolume,
        name: &str,
        what: &Rows,
    ) -> Result<GroupContent, Error> {
        host::volume::check_name(name)?;
        let wanted = what.home.map(|home| self.canonical(home)).transpose()?;
        let found = volume.named(name);
        let there = found.as_ref().map(content).transpose()?;
        let has_vectors = |group: &Object| volume.vector_count(group.id) > 0;
        // Others may be writing the first vectors of it.
        let bound = match found.as_ref().is_some_and(has_vectors) {
            true => there,
            false => self.mount.reserved.written_group(name),
        };
        let Some(group) = bound else {
            // Nothing binds it: it becomes what is asked for.
            let home = wanted.or(there.map(|group| home_of(&group)));
            let home = home.unwrap_or(Home::ALL);
            let own = there.map(|group| group.handle);
            let is_taken = |handle| self.mount.reserved.has_handle(handle);
            let new = volume.new_group(what.bits, (home.first, home.dies), own, is_taken)?;
            Content::Group(new).check()?;
            return Ok(new);
        };
        let home = home_of(&group);
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
        Ok(group)
    }

    /// A home that the drive has, written in one way only: all dies of the drive are zero dies.
    pub(super) fn canonical(&self, home: Home) -> Result<Home, Error> {
        let dies = self.learned.dies;
        if u32::from(home.first) >= dies {
            let (first, last) = (home.first, dies - 1);
            return usage(format!(
                "first_die = {first}: this drive has dies 0 to {last}"
            ));
        }
        if u32::from(home.dies) > dies {
            let (wanted, last) = (home.dies, dies - 1);
            return usage(format!(
                "dies = {wanted}: this drive has {dies}, dies 0 to {last}"
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
        group: &GroupContent,
        extents: &[Extent],
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        self.open_handle(group).await?;
        let first = extents.first().map_or(0, |extent| extent.first);
        let blocks: u64 = extents.iter().map(|extent| extent.blocks).sum();
        let bytes = blocks * u64::from(self.block.block_bytes());
        let padded;
        let whole = if group.bits == bytes * 8 {
            data
        } else {
            padded = pad(data, group.bits, bytes);
            &padded
        };
        let written = self.bits.write(group.handle, inverse, first, whole);
        Ok(written.await?)
    }

    /// Opens the placement handle of a group, unless it is.
    pub(super) async fn open_handle(&self, group: &GroupContent) -> Result<(), Error> {
        let open = &self.mount.open_handles;
        if open.borrow().get(&group.handle) == Some(group) {
            return Ok(());
        }
        self.bits.open_handle(&handle_of(group)).await?;
        open.borrow_mut().insert(group.handle, *group);
        Ok(())
    }

    /// Deletes a vector, once nobody evaluates it.
    ///
    /// # Errors
    /// [`Error::NoVector`]; what the drive reports.
    pub async fn delete_vector(&self, id: VectorId) -> Result<(), Error> {
        let mine = |volume: &DriveVolume| find(volume, id).map(|_| vec![id.vector]);
        let delete = async |volume: &mut DriveVolume| {
            let (_, vector, _) = find(volume, id)?;
            let mut change = volume.change()?;
            change.remove(vector)?;
            change.commit().await?;
            self.mount.learn(|index| index.forget(id));
            Ok(())
        };
        let deleted = self.mount.alone_with(self, mine, delete).await?;
        deleted.ok_or(Error::NoVector(id))
    }
}

/// Rows that were written for a group, and that nothing names yet.
pub(super) struct Written<'a> {
    pub(super) group: GroupContent,
    _writing: Writing<'a>,
    pub(super) held: HeldPages<'a>,
}

/// Names vectors that were written, in the group that they were written for: the group and they.
pub(super) fn name_rows(
    change: &mut Change<'_, Queue>,
    name: &str,
    group: &GroupContent,
    what: &Rows,
    held: &HeldPages<'_>,
) -> Result<(ObjectId, Vec<ObjectId>), Error> {
    let id = group_in(change, name, group)?;
    let mut vectors = Vec::with_capacity(held.len());
    for index in 0..held.len() {
        let name = row_name(change.volume(), id, what, index);
        let row = held.redeem(index)?;
        vectors.push(change.create_vector_from(id, &name, what.inverse, row)?);
    }
    Ok((id, vectors))
}

/// The group that vectors were written for, made if it is not there yet.
pub(super) fn group_in(
    change: &mut Change<'_, Queue>,
    name: &str,
    group: &GroupContent,
) -> Result<ObjectId, Error> {
    let volume = change.volume();
    let same = volume.group_of_handle(group.handle);
    if let Some(same) = same.filter(|same| same.content == Content::Group(*group)) {
        return Ok(same.id);
    }
    let empty = volume.named(name).filter(|found| content(found).is_ok());
    let empty = empty.filter(|found| volume.vector_count(found.id) == 0);
    if let Some(empty) = empty {
        change.remove(empty.id)?;
    }
    Ok(change.create(name, Content::Group(*group))?)
}

/// Whether names that were given are free.
fn check_free(volume: &DriveVolume, name: &str, what: &Rows) -> Result<(), Error> {
    let group = volume.named(name);
    let mut seen = std::collections::BTreeSet::new();
    for vector in what.names.iter().flatten() {
        host::volume::check_name(vector)?;
        let found = group
            .as_ref()
            .and_then(|group| volume.vector(group.id, vector));
        if found.is_some() || !seen.insert(vector) {
            let (name, kind) = (vector.clone(), host::volume::Kind::Vector);
            return Err(VolumeError::Taken { name, kind }.into());
        }
    }
    Ok(())
}

/// Whether a row is as long as the vectors of its group.
fn check_length(group: &GroupContent, row: &[u8]) -> Result<(), Error> {
    let (bits, right) = (group.bits, group.bits.div_ceil(8));
    if row.len() as u64 == right {
        return Ok(());
    }
    let found = row.len();
    usage(format!(
        "{found} bytes for a vector of {bits} bits: {right} would be right"
    ))
}

/// Undoes a change that failed.
pub(super) async fn undone(change: Change<'_, Queue>, error: Error) -> Error {
    // What cannot be deallocated now is so with a later change; the first error tells more.
    let _ = change.abandon().await;
    error
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

pub(super) fn group_content(
    volume: &DriveVolume,
    group: ObjectId,
) -> Result<GroupContent, VolumeError> {
    let object = volume.get(group).ok_or_else(|| VolumeError::NotFound {
        what: format!("object {}", group.get()),
    });
    content(&object?)
}

/// The name of a row: its own, or a free one.
pub(super) fn row_name(volume: &DriveVolume, group: ObjectId, what: &Rows, index: usize) -> String {
    let own = what.name(index).map(str::to_owned);
    own.unwrap_or_else(|| free_name(volume, group))
}

/// A home in words.
fn dies(home: Home) -> String {
    match home.dies {
        0 => format!("all dies from die {} on", home.first),
        dies => {
            let dies = counted(dies.into(), "die");
            format!("{dies} from die {} on", home.first)
        }
    }
}

/// A name for a vector that was given none: its number, or the next that no vector is called.
fn free_name(volume: &DriveVolume, group: ObjectId) -> String {
    let number = volume.next_number(group).unwrap_or(u32::MAX);
    let mut names = (u64::from(number)..).map(|number| number.to_string());
    let free = names.find(|name| volume.vector(group, name).is_none());
    free.expect("there are fewer vectors than numbers")
}
