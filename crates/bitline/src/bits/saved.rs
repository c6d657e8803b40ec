//! The table of vectors on the drive: a file in a small volume behind the vectors, for drives whose bits outlive the
//! process. It is written when the drive is flushed or closed, and before anything goes that it names: so a process that
//! is killed leaves the vectors that there were when the drive was flushed last, or later ones.

use host::volume::{Content, Volume, VolumeError, VolumeOptions};
use nvme::VectorId;
use nvme::command::Home;
use serde::{Deserialize, Serialize};

use super::table::{Entry, Group, Table, Vectors};

const NAME: &str = "vectors";
const CATALOGUE_PAGES: u32 = 4;
/// Copies of a volume's superblock, and catalogue areas.
const COPIES: u64 = 2;
/// Bytes that a vector and its group take at most, about.
const ENTRY_BYTES: u64 = 128;

/// What is written.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Saved {
    /// Number, handle, bits of a vector, first die, dies.
    groups: Vec<(u32, u16, u64, u16, u16)>,
    /// Group, number, first page, bits, whether inverted.
    vectors: Vec<(u32, u32, u64, u64, bool)>,
}

/// Pages for the volume of a table of vectors in so many pages.
pub(crate) fn volume_pages(vectors: u64, page_bytes: u32) -> u64 {
    // The file is written anew beside its old copy.
    let file = (vectors * ENTRY_BYTES).div_ceil(page_bytes.into()) + 1;
    COPIES + COPIES * u64::from(CATALOGUE_PAGES) + 2 * file
}

impl Saved {
    pub(super) fn of(table: &Table) -> Saved {
        let vectors = table.vectors().map(|(id, entry)| {
            let Entry {
                page,
                bits,
                inverse,
                ..
            } = *entry;
            (id.group, id.vector, page, bits, inverse)
        });
        let groups = table.groups().map(|(number, group)| {
            let Group { handle, bits, home } = *group;
            (number, handle, bits, home.first, home.dies)
        });
        Saved {
            vectors: vectors.collect(),
            groups: groups.collect(),
        }
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = (u32, Group)> + '_ {
        self.groups
            .iter()
            .map(|&(number, handle, bits, first, dies)| {
                let home = Home { first, dies };
                (number, Group { handle, bits, home })
            })
    }

    pub(super) fn vectors(&self) -> impl Iterator<Item = (VectorId, Entry)> + '_ {
        let vectors = self.vectors.iter();
        vectors.map(|&(group, vector, page, bits, inverse)| {
            let entry = Entry {
                page,
                bits,
                inverse,
                change: 0,
            };
            (VectorId::new(group, vector), entry)
        })
    }
}

impl Vectors {
    /// Writes the table to the drive, where it has a place there and has changed.
    ///
    /// # Errors
    /// What the volume reports.
    pub(crate) async fn save(&self) -> Result<(), VolumeError> {
        let Some((place, change, saved)) = self.table().borrow().unsaved() else {
            return Ok(());
        };
        let bytes = serde_json::to_vec(&saved).expect("numbers can be written");
        let (first, blocks) = (self.lba(place.start), self.lba(place.end - place.start));
        let device = self.device().block().clone();
        let mut volume = match Volume::open(device.clone(), first).await {
            Err(VolumeError::NoVolume { .. }) => {
                let options = VolumeOptions {
                    catalogue_pages: Some(CATALOGUE_PAGES),
                    ..VolumeOptions::new(first, blocks)
                };
                Volume::create(device, options).await?
            }
            opened => opened?,
        };
        let old = volume.named(NAME).map(|object| object.id);
        let content = Content::File {
            bytes: bytes.len() as u64,
        };
        let mut commit = volume.change()?;
        let file = match old {
            Some(old) => {
                commit.replace(old, content)?;
                old
            }
            None => commit.create(NAME, content)?,
        };
        commit.write(file, &bytes).await?;
        commit.commit().await?;
        self.table().borrow_mut().is_saved(change);
        Ok(())
    }

    /// Takes up the table that the drive has, if it has one. A drive that refuses to be read has none: its blocks are
    /// being erased, or were.
    ///
    /// # Errors
    /// [`VolumeError::Damaged`].
    pub(crate) async fn load(&self) -> Result<(), VolumeError> {
        let Some(place) = self.table().borrow().place_on_drive() else {
            return Ok(());
        };
        let first = self.lba(place.start);
        let volume = match Volume::open(self.device().block().clone(), first).await {
            Err(VolumeError::NoVolume { .. } | VolumeError::Device(_)) => return Ok(()),
            opened => opened?,
        };
        let Some(file) = volume.named(NAME) else {
            return Ok(());
        };
        let bytes = volume.read(file.id).await?;
        let saved: Saved =
            serde_json::from_slice(&bytes).map_err(|error| VolumeError::Damaged {
                lba: first,
                reason: format!("the list of vectors: {error}"),
            })?;
        let known = self.table().borrow_mut().take_up(&saved);
        known.map_err(|reason| VolumeError::Damaged { lba: first, reason })
    }
}
