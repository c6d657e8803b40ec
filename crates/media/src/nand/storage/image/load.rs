//! Opening an image: which state it is in, and bringing it to one that is whole.

use super::super::StorageError;
use super::file::Medium;
use super::header::Header;
use super::held::{Held, Mend, Scan};
use super::layout::{Layout, REPLICAS, Replica, SEALS};
use super::record::{BlockVersion, Found, PageEntry};
use super::seal::{Boot, SEAL_BYTES, Seal};
use super::{Image, io_error};
use crate::nand::array::{Array, PageState};
use std::path::Path;

/// Numbers left out after changes were given up, whose records are still in the file. No host makes
/// as many between two seals.
const NUMBERS_SKIPPED: u64 = 1 << 40;

/// The seal that counts, and how many copies of seals were damaged.
pub(super) fn newest_seal(
    medium: &dyn Medium,
    path: &Path,
    layout: &Layout,
) -> Result<(Seal, u64), StorageError> {
    let (mut newest, mut damaged) = (Seal::default(), 0);
    for slot in 0..SEALS {
        let mut copies = [Found::Blank; REPLICAS.len()];
        for (replica, copy) in REPLICAS.into_iter().zip(&mut copies) {
            let at = layout.seal_at(replica, slot);
            let mut bytes = [0; SEAL_BYTES];
            medium
                .read_at(&mut bytes, at)
                .map_err(|source| io_error(path, format!("read a seal at byte {at}"), source))?;
            *copy = Seal::from_bytes(&bytes);
            if let Found::Sound(seal) = *copy
                && seal.generation > newest.generation
            {
                newest = seal;
            }
        }
        damaged += u64::from(copies[0] != copies[1]);
    }
    if newest.generation > 0 {
        return Ok((newest, damaged));
    }
    Err(StorageError::Damaged {
        path: path.to_owned(),
        what: "all copies of the seals; the first".to_owned(),
        at: layout.seal_at(Replica::First, 0),
    })
}

impl Image {
    /// Brings a blank array to the state that was kept, and the file to one that is whole.
    pub(in crate::nand) fn load_into(&mut self, array: &mut Array) -> Result<(), StorageError> {
        let (mut held, rolled_back) = self.recover(array)?;
        self.number = held.highest.max(self.seal.number);
        self.sum = held.sum;
        self.age = held.age;
        self.damaged_copies += held.damaged_copies();
        self.rolled_back = rolled_back;
        self.blocks = std::mem::take(&mut held.blocks);
        let pending = |(number, block): &(u32, &super::Block)| {
            let erased = block.now.life == 0 && block.sealed.life != 0;
            (erased && block.now.number > self.seal.number).then_some(*number)
        };
        self.erased = (0..)
            .zip(&self.blocks)
            .filter_map(|pair| pending(&pair))
            .collect();
        if !self.file.is_read_only() {
            self.settle(held);
        }
        Ok(())
    }

    /// What the image holds; whether changes after the seal were given up.
    fn recover(&self, array: &mut Array) -> Result<(Held, bool), StorageError> {
        let scan = self.scan(u64::MAX);
        let same_host = self.boot == self.seal.boot && self.boot != Boot::default();
        let whole = scan.run(array).and_then(|held| {
            let whole =
                held.is_whole(&self.seal) && (same_host || scan.unsealed_data_is_sound(&held)?);
            whole.then_some(held).ok_or_else(|| self.inconsistent())
        });
        let error = match whole {
            Ok(held) => return Ok((held, false)),
            // What this host was given to write is there: something was damaged.
            Err(error) if same_host => return Err(error),
            Err(error) => error,
        };
        *array = Array::new(self.geometry());
        match self.scan(self.seal.number).run(array) {
            Ok(held) if held.sum == self.seal.sum => Ok((held, true)),
            _ => Err(error),
        }
    }

    fn scan(&self, last: u64) -> Scan<'_> {
        Scan {
            medium: &*self.file.medium,
            path: self.path(),
            geometry: self.geometry(),
            layout: &self.layout,
            last,
            sealed: self.seal.number,
        }
    }

    fn inconsistent(&self) -> StorageError {
        StorageError::Inconsistent {
            path: self.path().to_owned(),
        }
    }

    /// Writes again what was damaged, and gives up what came after the seal for good.
    fn settle(&mut self, held: Held) {
        let mended = self.damaged_copies > 0 || !held.mends.is_empty();
        if self.header_is_damaged {
            self.write_header();
        }
        for mend in held.mends {
            match mend {
                Mend::Age(record) => self.write_age(record),
                Mend::Block(block, record) => self.write_block(block, record),
                // It weighs what it did.
                Mend::Page(at, entry, spare) => drop(self.write_page(at, entry, &spare)),
            }
        }
        if self.rolled_back {
            self.number += NUMBERS_SKIPPED;
            for block in held.undone {
                let now = self.blocks[block.0 as usize].now;
                self.change_block(block, BlockVersion { number: 0, ..now });
            }
            if held.age_undone {
                let age = self.age.now.age;
                self.change_age(&age);
            }
            for (page, entry) in held.late {
                self.tear(page, entry);
            }
            for at in held.stale {
                self.blank_page(at);
            }
            self.write_last();
        }
        if mended {
            self.write_last();
        }
        if mended || self.rolled_back || self.boot != self.seal.boot {
            // Both seals, so that none is left damaged.
            self.seal_all();
            self.seal_all();
        }
    }

    /// Says for good of a page that it holds nothing of worth.
    fn tear(&mut self, page: crate::nand::geometry::PageAddress, entry: PageEntry) {
        self.number += 1;
        let entry = PageEntry {
            number: self.number,
            others: self.sum,
            state: PageState::Torn,
            spare_bytes: 0,
            ..entry
        };
        let weight = self.write_page(page, entry, &[]);
        self.sum = self.sum.wrapping_add(weight);
        let pages = self.geometry().pages_per_block_max();
        self.blocks[page.block.0 as usize].program(page, pages, entry.content, weight);
    }

    /// Whether a file holds all that was written to it so far, read from the file itself.
    pub(super) fn verify(medium: &dyn Medium, path: &Path) -> Result<(), StorageError> {
        let header = Header::read(medium, path)?.0;
        let layout = Layout::of(&header.geometry);
        let (seal, _) = newest_seal(medium, path, &layout)?;
        let scan = Scan {
            medium,
            path,
            geometry: &header.geometry,
            layout: &layout,
            last: u64::MAX,
            sealed: seal.number,
        };
        let held = scan.run(&mut Array::new(&header.geometry))?;
        match held.is_whole(&seal) && scan.unsealed_data_is_sound(&held)? {
            true => Ok(()),
            false => Err(StorageError::Inconsistent {
                path: path.to_owned(),
            }),
        }
    }
}
