//! An image whose records are read, and what was found of them so far.

use super::super::StorageError;
use super::file::Medium;
use super::layout::Layout;
use super::record::{AgeRecord, BlockRecord, Found, PageEntry};
use super::seal::Seal;
use super::{Block, io_error};
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use std::path::Path;

/// An image whose records are to be read.
pub(super) struct Scan<'a> {
    pub(super) medium: &'a dyn Medium,
    pub(super) path: &'a Path,
    pub(super) geometry: &'a Geometry,
    pub(super) layout: &'a Layout,
    /// Changes after this one are left out.
    pub(super) last: u64,
    /// Where the image was sealed.
    pub(super) sealed: u64,
}

/// What was found.
#[derive(Default)]
pub(super) struct Held {
    pub(super) blocks: Vec<Block>,
    pub(super) age: AgeRecord,
    /// The sum over all records.
    pub(super) sum: u64,
    /// Number, weight and sum of the others of the newest.
    newest: (u64, u64, u64),
    /// The last change, where the file tells.
    pub(super) last: Option<u64>,
    /// The highest number of all, those left out included.
    pub(super) highest: u64,
    /// Records of which one copy is to be written again.
    pub(super) mends: Vec<Mend>,
    /// The numbers of those whose other copy was sound but older.
    pub(super) lagging: Vec<u64>,
    /// Copies that did not match their checksum.
    pub(super) damaged_copies: u64,
    /// Blocks whose newest change was left out.
    pub(super) undone: Vec<BlockId>,
    /// Whether the drive was made older after the last change that counts.
    pub(super) age_undone: bool,
    /// Pages programmed after the last change that counts: they hold nothing of worth.
    pub(super) late: Vec<(PageAddress, PageEntry)>,
    /// Where records are of raises after the last change that counts.
    pub(super) stale: Vec<PageAddress>,
    /// Pages programmed or raised since the image was sealed.
    pub(super) unsealed: Vec<PageAddress>,
}

/// A record to be written again.
#[derive(Debug)]
pub(super) enum Mend {
    Age(AgeRecord),
    Block(BlockId, BlockRecord),
    Page(PageAddress, PageEntry, Vec<u8>),
}

impl Held {
    /// Whether every record is there of those that were there after the newest.
    pub(super) fn is_whole(&self, seal: &Seal) -> bool {
        let (number, weight, others) = self.newest;
        if self.last.is_some_and(|last| last > number) {
            return false;
        }
        if number <= seal.number {
            return number == seal.number && self.sum == seal.sum;
        }
        self.sum.wrapping_sub(weight) == others
    }

    /// Copies of records that were damaged or replaced by older ones. Only that of the newest may be older.
    pub(super) fn damaged_copies(&self) -> u64 {
        let lagging = self
            .lagging
            .iter()
            .filter(|number| **number != self.newest.0);
        self.damaged_copies + lagging.count() as u64
    }

    /// Takes a record into account.
    pub(super) fn count(&mut self, number: u64, weight: u64, others: u64) {
        self.sum = self.sum.wrapping_add(weight);
        if number > self.newest.0 {
            self.newest = (number, weight, others);
        }
    }

    /// The newer of two copies; whether one is to be mended. `None` if neither can be trusted.
    pub(super) fn choose<T>(
        &mut self,
        copies: [Found<T>; 2],
        number: impl Fn(&T) -> u64,
    ) -> Option<(Option<T>, bool)> {
        use Found::{Blank, Damaged, Sound};
        Some(match copies {
            [Blank, Blank] => (None, false),
            [Blank | Damaged, Damaged] | [Damaged, Blank] => return None,
            [Sound(record), Damaged] | [Damaged, Sound(record)] => {
                self.damaged_copies += 1;
                (Some(record), true)
            }
            [Sound(record), Blank] | [Blank, Sound(record)] => {
                self.lagging.push(number(&record));
                (Some(record), true)
            }
            [Sound(first), Sound(second)] => {
                let numbers = (number(&first), number(&second));
                if numbers.0 != numbers.1 {
                    self.lagging.push(numbers.0.max(numbers.1));
                }
                let newer = if numbers.0 >= numbers.1 {
                    first
                } else {
                    second
                };
                (Some(newer), numbers.0 != numbers.1)
            }
        })
    }
}

impl Scan<'_> {
    pub(super) fn read_at(
        &self,
        bytes: &mut [u8],
        at: u64,
        what: &str,
    ) -> Result<(), StorageError> {
        self.medium.read_at(bytes, at).map_err(|source| {
            let what = format!("read {what} ({} bytes at byte {at})", bytes.len());
            io_error(self.path, what, source)
        })
    }

    pub(super) fn damaged(&self, what: String, at: u64) -> StorageError {
        StorageError::Damaged {
            path: self.path.to_owned(),
            what,
            at,
        }
    }
}
