//! What a volume holds, in a map; and random changes that are made to both.

use std::collections::BTreeMap;

use super::drive::MemoryDrive;
use super::{MemoryVolume, Random, content, contents, now};
use crate::volume::{Change, Content, Kind, Object, ObjectId, VolumeError};

/// By name, vectors as group/vector: what it is and what it holds.
pub(super) type Oracle = BTreeMap<String, (Kind, Vec<u8>)>;

const BITS: u64 = 5000;

/// One step of a change.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Creates a file, or replaces it.
    File(String, Vec<u8>),
    /// Creates a table with a schema of so many bytes.
    Table(String, usize),
    /// Creates a group, if there is none, and vectors in it.
    Vectors(String, Vec<Vec<u8>>),
    /// Replaces the first vector of a group.
    Rewrite(String, Vec<u8>),
    /// Appends to a file.
    Append(String, Vec<u8>),
    /// Cuts a file to so many of 5000ths of its length.
    Shorten(String, u64),
    Rename(String, String),
    Remove(String),
}

impl Step {
    pub(super) fn random(random: &mut Random) -> Step {
        let name = |random: &mut Random| format!("n{}", random.below(6));
        let (first, second) = (name(random), name(random));
        let vector = |random: &mut Random| random.bytes(BITS.div_ceil(8) as usize);
        match random.below(16) {
            0..=3 => {
                let length = random.below(5000) as usize;
                Step::File(first, random.bytes(length))
            }
            4 => Step::Table(first, random.below(9000) as usize),
            5 | 6 => {
                let count = 1 + random.below(4);
                Step::Vectors(first, (0..count).map(|_| vector(random)).collect())
            }
            7 => Step::Rewrite(first, vector(random)),
            8 | 9 => Step::Rename(first, second),
            12 | 13 => {
                let length = random.below(3000) as usize;
                Step::Append(first, random.bytes(length))
            }
            14 => Step::Shorten(first, random.below(5001)),
            _ => Step::Remove(first),
        }
    }

    /// The same to the map; false if it cannot be, whatever is left then.
    fn imagine(&self, oracle: &mut Oracle) -> bool {
        let kind_of = |oracle: &Oracle, name: &str| oracle.get(name).map(|found| found.0);
        match self {
            Step::File(name, data) => {
                let may = matches!(kind_of(oracle, name), None | Some(Kind::File));
                oracle.insert(name.clone(), (Kind::File, data.clone()));
                may
            }
            Step::Table(name, _) => oracle.insert(name.clone(), (Kind::Table, vec![])).is_none(),
            Step::Vectors(name, vectors) => {
                let may = matches!(kind_of(oracle, name), None | Some(Kind::Group));
                oracle.insert(name.clone(), (Kind::Group, vec![]));
                for vector in vectors {
                    let number = of_group(oracle, name).count();
                    oracle.insert(format!("{name}/{number}"), (Kind::Vector, vector.clone()));
                }
                may
            }
            Step::Rewrite(name, data) => {
                let vector = oracle.get_mut(&format!("{name}/0"));
                vector.map(|vector| vector.1.clone_from(data)).is_some()
            }
            Step::Append(name, data) => match oracle.get_mut(name) {
                Some((Kind::File, held)) => {
                    held.extend(data);
                    true
                }
                _ => false,
            },
            Step::Shorten(name, share) => match oracle.get_mut(name) {
                Some((Kind::File, held)) => {
                    held.truncate(held.len() * *share as usize / 5000);
                    true
                }
                _ => false,
            },
            Step::Rename(old, new) => {
                let may = oracle.contains_key(old) && (old == new || !oracle.contains_key(new));
                let vectors: Vec<String> = of_group(oracle, old).cloned().collect();
                for name in vectors.into_iter().chain([old.clone()]) {
                    let renamed = name.replacen(old.as_str(), new, 1);
                    oracle
                        .remove(&name)
                        .and_then(|found| oracle.insert(renamed, found));
                }
                may
            }
            Step::Remove(name) => {
                let vectors: Vec<String> = of_group(oracle, name).cloned().collect();
                vectors.iter().for_each(|name| drop(oracle.remove(name)));
                oracle.remove(name).is_some()
            }
        }
    }

    fn make(&self, change: &mut Change<'_, MemoryDrive>) -> Result<(), VolumeError> {
        let find = |change: &Change<'_, MemoryDrive>, name: &str| {
            let what = || VolumeError::NotFound { what: name.into() };
            change.volume().named(name).ok_or_else(what)
        };
        match self {
            Step::File(name, data) => {
                let id = match change.volume().named(name) {
                    Some(old) => change.replace(old.id, content(data)).map(|()| old.id),
                    None => change.create(name, content(data)),
                }?;
                now(change.write(id, data))
            }
            Step::Table(name, bytes) => {
                let (schema, bytes) = (vec![7; *bytes], 0);
                change
                    .create(name, Content::Table { schema, bytes })
                    .map(drop)
            }
            Step::Vectors(name, vectors) => {
                let group = match change.volume().named(name) {
                    Some(group) => group.id,
                    None => change.create_group(name, BITS, 0, 0)?,
                };
                for vector in vectors {
                    let name = change.volume().vectors(group).count().to_string();
                    let id = change.create_vector(group, &name, false)?;
                    now(change.write(id, vector))?;
                }
                Ok(())
            }
            Step::Rewrite(name, data) => {
                let group = find(change, name)?;
                let vector = change.volume().vectors(group.id).next();
                let vector = vector.ok_or_else(|| VolumeError::NotFound { what: name.clone() })?;
                change.replace(vector.id, vector.content)?;
                now(change.write(vector.id, data))
            }
            Step::Append(name, data) => {
                let id = find_file(change, name)?;
                now(change.append(id, data))
            }
            Step::Shorten(name, share) => {
                let id = find_file(change, name)?;
                let bytes = find(change, name)?.content.bytes() * share / 5000;
                now(change.shorten(id, Content::File { bytes }))
            }
            Step::Rename(old, new) => change.rename(find(change, old)?.id, new),
            Step::Remove(name) => change.remove(find(change, name)?.id),
        }
    }
}

fn find_file(change: &Change<'_, MemoryDrive>, name: &str) -> Result<ObjectId, VolumeError> {
    let found = change.volume().named(name);
    let file = found.filter(|object| object.content.kind() == Kind::File);
    let what = || VolumeError::NotFound { what: name.into() };
    file.map(|file| file.id).ok_or_else(what)
}

/// The names of a group's vectors.
fn of_group<'a>(oracle: &'a Oracle, name: &str) -> impl Iterator<Item = &'a String> {
    let prefix = format!("{name}/");
    oracle.keys().filter(move |key| key.starts_with(&prefix))
}

/// Makes the steps, all or none. What the map would be afterwards, or `None` if they cannot be made.
pub(super) fn imagine(steps: &[Step], oracle: &Oracle) -> Option<Oracle> {
    let mut after = oracle.clone();
    let made = steps.iter().all(|step| step.imagine(&mut after));
    made.then_some(after)
}

pub(super) fn make(steps: &[Step], volume: &mut MemoryVolume) -> Result<(), VolumeError> {
    let mut change = volume.change()?;
    for step in steps {
        step.make(&mut change)?;
    }
    now(change.commit()).map(drop)
}

/// What a volume holds, as the map would have it.
pub(super) fn found(volume: &MemoryVolume) -> Oracle {
    let object =
        |(name, object, data): (String, Object, Vec<u8>)| (name, (object.content.kind(), data));
    contents(volume).into_iter().map(object).collect()
}

/// Its objects' numbers do not matter to the map, but must be different.
pub(super) fn ids(volume: &MemoryVolume) -> Vec<ObjectId> {
    contents(volume)
        .iter()
        .map(|(_, object, _)| object.id)
        .collect()
}
