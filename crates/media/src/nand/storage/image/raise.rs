//! Raising cells of a page: its data and its record, anew in another place.
//!
//! What is sealed is not overwritten, and a process may be killed at any moment. A page of one bit a cell has three places, for
//! in a denser block there were further pages on its wordline ([`Layout::in_place`](super::layout::Layout)). What counts is the
//! record with the highest number; neither that one nor the one that counted when the image was sealed is written over.

use super::super::StorageError;
use super::Image;
use super::checksum::crc32;
use super::layout::{PAGE_RECORD_BYTES, Place, REPLICAS};
use super::record::{Content, Found, PageEntry};
use crate::nand::geometry::PageAddress;

/// Places of a page: for the one that counts, the one that was sealed, and the next.
pub(super) const PLACES: u8 = 3;

impl Image {
    /// Keeps other data of a page, which then has all else that it had.
    pub(super) fn raise_page(
        &mut self,
        page: PageAddress,
        data: &[u8],
    ) -> Result<(), StorageError> {
        let known = &self.blocks[page.block.0 as usize];
        // What was programmed without data is all zeroes and has no cell to be raised.
        let Content::Data(_, place) = known.content(page) else {
            return Ok(());
        };
        let life = known.now.life;
        let Some((entry, spare)) = self.entry(page, place, life)? else {
            return Err(self.damaged_record(page, place));
        };
        let sealed = match entry.number > self.seal.number {
            true => self.sealed_place(page, life)?,
            false => Some(place),
        };
        let free = |other: &Place| *other != place && Some(*other) != sealed;
        let next = (0..PLACES).map(Place).find(free);
        let next = next.expect("two places of three are in use at most");
        let before = entry.to_bytes(self.layout.in_place(page, place), &spare).1;
        self.number += 1;
        let others = self.sum.wrapping_sub(before);
        let content = Content::Data(crc32(&[data]), next);
        let raised = PageEntry {
            number: self.number,
            others,
            content,
            ..entry
        };
        let at = self.layout.in_place(page, next);
        self.file.write(data, self.layout.data_at(at), "a page");
        let weight = self.write_page(at, raised, &spare);
        self.write_last();
        self.sum = others.wrapping_add(weight);
        let pages = self.header.geometry.pages_per_block_max();
        let difference = weight.wrapping_sub(before);
        self.blocks[page.block.0 as usize].program(page, pages, content, difference);
        Ok(())
    }

    /// The place of what counted when the image was sealed, if the page was programmed by then.
    fn sealed_place(&self, page: PageAddress, life: u64) -> Result<Option<Place>, StorageError> {
        let mut newest = None;
        for place in (0..PLACES).map(Place) {
            let entry = self.entry(page, place, life)?;
            let number = entry.map_or(0, |(entry, _)| entry.number);
            if (1..=self.seal.number).contains(&number) {
                newest = newest.max(Some((number, place)));
            }
        }
        Ok(newest.map(|(_, place)| place))
    }

    /// The record of a page in one of its places, with its spare bytes; `None` if there is none of this life, or no copy of it
    /// is sound.
    fn entry(
        &self,
        page: PageAddress,
        place: Place,
        life: u64,
    ) -> Result<Option<(PageEntry, Vec<u8>)>, StorageError> {
        let at = self.layout.in_place(page, place);
        for replica in REPLICAS {
            let mut bytes = [0; PAGE_RECORD_BYTES];
            let record_at = self.layout.page_at(replica, at);
            self.file.read(&mut bytes, record_at, "a page record")?;
            let found = PageEntry::read(at, life, self.geometry(), &bytes, |rest| {
                let at = self.layout.long_spare_at(replica, at);
                self.file.read(rest, at, "spare bytes")
            })?;
            if let Found::Sound((entry, spare)) = found {
                return Ok(Some((entry.in_place(place), spare)));
            }
        }
        Ok(None)
    }

    fn damaged_record(&self, page: PageAddress, place: Place) -> StorageError {
        let at = self.layout.in_place(page, place);
        StorageError::Damaged {
            path: self.path().to_owned(),
            what: format!(
                "both copies of the record of page {} of block {}; the first",
                page.page, page.block.0
            ),
            at: self.layout.page_at(REPLICAS[0], at),
        }
    }

    /// Removes a record that no longer counts, in both copies.
    pub(super) fn blank_page(&mut self, at: PageAddress) {
        for replica in REPLICAS {
            let at = self.layout.page_at(replica, at);
            self.file
                .write(&[0; PAGE_RECORD_BYTES], at, "a page record");
        }
    }
}
