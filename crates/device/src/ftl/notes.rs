//! Durable notes: small facts that other parts of the firmware keep on flash, such as
//! the format of a namespace or a saved feature.
//!
//! A note is a page whose spare bytes hold key and value. Of each key the last one
//! counts; it is copied by collection and found again by recovery.

use std::collections::BTreeMap;

use media::nand::Ppa;

use super::checkpoint::RootNote;
use super::spare::Content;
use super::{Ftl, FtlError};
use crate::memory::Purpose;

/// The current note of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    value: u64,
    version: u64,
    page: Ppa,
}

/// The current notes, by key.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<u16, Note>);

impl Notes {
    /// Takes a note that is on flash in `page`, unless the one kept is newer. Gives the
    /// page that is not needed any more, which may be this one.
    pub(super) fn take(&mut self, key: u16, value: u64, version: u64, page: Ppa) -> Option<Ppa> {
        let note = Note {
            value,
            version,
            page,
        };
        match self.0.get(&key) {
            Some(kept) if kept.version > version => Some(page),
            _ => self.0.insert(key, note).map(|replaced| replaced.page),
        }
    }

    /// The page of a key's note has been copied.
    pub(super) fn moved(&mut self, key: u16, from: Ppa, to: Ppa) {
        if let Some(note) = self.0.get_mut(&key)
            && note.page == from
        {
            note.page = to;
        }
    }

    /// The notes as a checkpoint keeps them.
    pub(super) fn for_root(&self) -> Vec<RootNote> {
        let notes = self.0.iter();
        notes
            .map(|(key, note)| RootNote {
                key: *key,
                value: note.value,
                version: note.version,
                page: note.page,
            })
            .collect()
    }

    /// The pages that hold current notes.
    pub(super) fn pages(&self) -> impl Iterator<Item = Ppa> + '_ {
        self.0.values().map(|note| note.page)
    }
}

impl Ftl {
    /// Keeps `value` under `key`, for all lives of the drive. When this returns, it is on
    /// flash. Of several calls for one key at a time, the last one begun counts.
    ///
    /// # Errors
    /// No space.
    pub async fn put_note(&self, key: u16, value: u64) -> Result<(), FtlError> {
        let _room = self.buffers.room(Purpose::Record).await;
        let version = self.next_version();
        let home = self.homes[key as usize % self.homes.len()];
        let blank = self.buffers.take();
        self.buffers.with_mut(blank.id(), |page| page.fill(0xFF));
        let content = Content::Note { key, value };
        let page = self
            .program_record(home, blank.id(), content, version)
            .await?;
        self.settle(page, true);
        let page = self.geometry.ppa(page);
        let replaced = self.notes.borrow_mut().take(key, value, version, page);
        if let Some(page) = replaced {
            self.forget(page);
        }
        Ok(())
    }

    /// What was last kept under `key`.
    pub fn note(&self, key: u16) -> Option<u64> {
        self.notes.borrow().0.get(&key).map(|note| note.value)
    }
}
