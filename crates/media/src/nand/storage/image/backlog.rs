//! What goes to the file, in order, and what the file has not taken yet.
//!
//! When the host refuses a write (its disk is full, broken or read-only), that one and all later ones are
//! kept in memory, and the file stays what it was before: a state between two writes. The drive goes on, and
//! [`Backlog::drain`] tries again.

use super::super::StorageError;
use super::file::Medium;
use super::{Image, io_error};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes kept in memory, about, before a drive refuses to be written.
const KEPT_BYTES_MAX: u64 = 256 << 20;
/// Bytes of the extents of a file that are told apart when a sync has failed.
const EXTENT_BYTES: u64 = 256 << 10;

/// Something done to the file.
#[derive(Debug)]
enum Step {
    Write {
        at: u64,
        bytes: Box<[u8]>,
        what: &'static str,
    },
    Punch {
        at: u64,
        bytes: u64,
    },
    Sync,
}

impl Step {
    fn what(&self) -> String {
        match self {
            Step::Write { at, bytes, what } => {
                format!("write {what} ({} bytes at byte {at})", bytes.len())
            }
            Step::Punch { at, .. } => format!("give back a block at byte {at}"),
            Step::Sync => "sync the image".to_owned(),
        }
    }
}

/// The file, and the steps that are yet to be taken.
#[derive(Debug)]
pub(super) struct Backlog {
    pub(super) medium: Box<dyn Medium>,
    path: PathBuf,
    read_only: bool,
    steps: VecDeque<Step>,
    /// Steps taken out of `steps` so far.
    taken: usize,
    /// Bytes of the writes in `steps`.
    kept_bytes: u64,
    /// The newest step that writes at a byte, counted from the first there ever was.
    newest: BTreeMap<u64, usize>,
    /// Extents of the file written since the last sync.
    unsynced: BTreeSet<u64>,
    /// A sync failed: the host may have forgotten what `unsynced` extents hold.
    in_doubt: bool,
}

impl Backlog {
    pub(super) fn new(medium: Box<dyn Medium>, path: &Path, read_only: bool) -> Backlog {
        Backlog {
            medium,
            path: path.to_owned(),
            read_only,
            steps: VecDeque::new(),
            taken: 0,
            kept_bytes: 0,
            newest: BTreeMap::new(),
            unsynced: BTreeSet::new(),
            in_doubt: false,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether the host lags so far behind that nothing more should be written.
    pub(super) fn is_full(&self) -> bool {
        self.kept_bytes >= KEPT_BYTES_MAX
    }

    pub(super) fn write(&mut self, bytes: &[u8], at: u64, what: &'static str) {
        if !self.is_behind() && self.write_now(bytes, at).is_ok() {
            return;
        }
        self.kept_bytes += bytes.len() as u64;
        self.newest.insert(at, self.taken + self.steps.len());
        self.steps.push_back(Step::Write {
            at,
            bytes: bytes.into(),
            what,
        });
    }

    /// Gives room back; not before what was written earlier is in the file.
    pub(super) fn punch(&mut self, at: u64, bytes: u64) {
        if self.is_behind() || self.medium.punch(at, bytes).is_err() {
            self.steps.push_back(Step::Punch { at, bytes });
        }
    }

    /// What follows is not in the file before all that was written earlier is durable.
    pub(super) fn sync(&mut self) {
        if self.is_behind() || self.sync_now().is_err() {
            self.steps.push_back(Step::Sync);
        }
    }

    /// Reads what was last written at byte `at`, all of it.
    pub(super) fn read(&self, bytes: &mut [u8], at: u64, what: &str) -> Result<(), StorageError> {
        let kept = self.newest.get(&at);
        match kept.map(|step| &self.steps[step - self.taken]) {
            Some(Step::Write { bytes: kept, .. }) => {
                bytes.copy_from_slice(&kept[..bytes.len()]);
                Ok(())
            }
            _ => self.medium.read_at(bytes, at).map_err(|source| {
                let what = format!("read {what} ({} bytes at byte {at})", bytes.len());
                io_error(&self.path, what, source)
            }),
        }
    }

    /// Brings the file up to date.
    ///
    /// # Errors
    /// What the host refuses; everything is kept then.
    pub(super) fn drain(&mut self) -> Result<(), StorageError> {
        if self.read_only {
            let what = "write an image opened to look at it".to_owned();
            return Err(self.unsaved(what, io::ErrorKind::ReadOnlyFilesystem.into()));
        }
        while let Some(step) = self.steps.pop_front() {
            let done = match &step {
                Step::Write { at, bytes, .. } => self.write_now(bytes, *at),
                Step::Punch { at, bytes } => self.medium.punch(*at, *bytes),
                Step::Sync => self.sync_now(),
            };
            if let Err(source) = done {
                let error = self.unsaved(step.what(), source);
                self.steps.push_front(step);
                return Err(error);
            }
            if let Step::Write { at, bytes, .. } = step {
                self.kept_bytes -= bytes.len() as u64;
                if self.newest.get(&at) == Some(&self.taken) {
                    self.newest.remove(&at);
                }
            }
            self.taken += 1;
        }
        Ok(())
    }

    fn is_behind(&self) -> bool {
        self.read_only || !self.steps.is_empty()
    }

    fn write_now(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        let last = at + bytes.len().max(1) as u64 - 1;
        self.unsynced
            .extend(at / EXTENT_BYTES..=last / EXTENT_BYTES);
        self.medium.write_at(bytes, at)
    }

    fn sync_now(&mut self) -> io::Result<()> {
        if self.in_doubt {
            self.write_unsynced_again()?;
        }
        self.in_doubt = true;
        self.medium.sync()?;
        self.in_doubt = false;
        self.unsynced.clear();
        Ok(())
    }

    /// After a failed sync the host takes for written what it could not write, and a second sync would
    /// succeed without doing anything. What it still holds is written again; that it is
    /// what was written at first is then looked at.
    fn write_unsynced_again(&mut self) -> io::Result<()> {
        let end = self.medium.length()?;
        for extent in &self.unsynced {
            let at = extent * EXTENT_BYTES;
            let mut bytes = vec![0; EXTENT_BYTES.min(end - at) as usize];
            self.medium.read_at(&mut bytes, at)?;
            self.medium.write_at(&bytes, at)?;
        }
        Image::verify(&*self.medium, &self.path).map_err(io::Error::other)
    }

    fn unsaved(&self, what: String, source: io::Error) -> StorageError {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        let (path, bytes) = (self.path.clone(), self.kept_bytes);
        match source.kind() {
            StorageFull | QuotaExceeded => StorageError::DiskFull {
                path,
                bytes,
                source,
            },
            _ => StorageError::Unsaved {
                path,
                what,
                bytes,
                source,
            },
        }
    }
}
