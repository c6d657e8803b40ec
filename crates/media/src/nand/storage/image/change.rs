//! Changes of an image: each has the next number and writes a record, twice.

use super::super::PageRecord;
use super::Image;
use super::layout::{HEADER_BYTES, LAST_AT, REPLICAS, SPARE_INLINE};
use super::record::{
    AgeRecord, AgeVersion, BlockRecord, BlockVersion, Content, LastChange, PageEntry,
};
use crate::nand::cells::DriveAge;
use crate::nand::geometry::{BlockId, PageAddress};

impl Image {
    /// Header and text, at the beginning and at the end.
    pub(super) fn write_header(&mut self) {
        let header = self.header.to_bytes();
        for at in [self.layout.tail_at, 0] {
            let text = self.header.text.as_bytes();
            self.file.write(text, at + HEADER_BYTES as u64, "the text");
            self.file.write(&header, at, "the header");
        }
    }

    /// Notes a change of a block, after which its page records of `life` count.
    pub(super) fn change_block(&mut self, block: BlockId, change: BlockVersion) {
        self.number += 1;
        let now = BlockVersion {
            number: self.number,
            ..change
        };
        let known = &mut self.blocks[block.0 as usize];
        let mut others = self.sum.wrapping_sub(known.now.weight(block));
        if now.life != known.now.life {
            others = others.wrapping_sub(known.pages_weight);
            known.pages_weight = 0;
        }
        if known.now.number <= self.seal.number {
            known.sealed = known.now;
        }
        known.now = now;
        self.sum = others.wrapping_add(now.weight(block));
        let record = BlockRecord {
            now,
            sealed: known.sealed,
            others,
        };
        self.write_block(block, record);
        self.write_last();
    }

    pub(super) fn write_last(&mut self) {
        let last = LastChange(self.number).to_bytes();
        self.file.write(&last, LAST_AT, "the last change");
    }

    pub(super) fn write_block(&mut self, block: BlockId, record: BlockRecord) {
        let bytes = record.to_bytes(block);
        for replica in REPLICAS {
            let at = self.layout.block_at(replica, block);
            self.file.write(&bytes, at, "a block's state");
        }
    }

    pub(super) fn write_age(&mut self, record: AgeRecord) {
        let bytes = record.to_bytes();
        for replica in REPLICAS {
            let at = self.layout.age_at(replica);
            self.file.write(&bytes, at, "the age of the drive");
        }
    }

    pub(super) fn write_page(&mut self, page: PageAddress, entry: PageEntry, spare: &[u8]) -> u64 {
        let (bytes, weight) = entry.to_bytes(page, spare);
        for replica in REPLICAS {
            if let Some((_, long @ [_, ..])) = spare.split_at_checked(SPARE_INLINE) {
                let at = self.layout.long_spare_at(replica, page);
                self.file.write(long, at, "spare bytes");
            }
            let at = self.layout.page_at(replica, page);
            self.file.write(&bytes, at, "a page record");
        }
        weight
    }

    /// Before the first page of a block is programmed: nothing that is sealed may be overwritten.
    pub(super) fn begin_block(&mut self, block: BlockId) {
        let known = &self.blocks[block.0 as usize];
        if known.now.life != 0 {
            return;
        }
        if known.now.number > self.seal.number && known.sealed.life != 0 {
            self.seal_all();
        }
        self.erased.remove(&block.0);
    }

    /// Notes what became of a page.
    pub(super) fn change_page(&mut self, record: &PageRecord<'_>) {
        let page = record.page;
        let block = &mut self.blocks[page.block.0 as usize];
        let pages = self.header.geometry.pages_per_block_max();
        let content = match block.content(page) {
            Content::None => Content::Zeroes,
            content => content,
        };
        self.number += 1;
        let entry = PageEntry {
            number: self.number,
            life: block.now.life,
            others: self.sum,
            content,
            birth: record.birth,
            state: record.state,
            mode: record.mode,
            spare_bytes: record.spare.len() as u16,
        };
        let weight = self.write_page(page, entry, record.spare);
        self.write_last();
        self.sum = self.sum.wrapping_add(weight);
        self.blocks[page.block.0 as usize].program(page, pages, content, weight);
    }

    /// Notes how old the drive is from now on.
    pub(super) fn change_age(&mut self, age: &DriveAge) {
        self.number += 1;
        let now = AgeVersion {
            number: self.number,
            age: *age,
        };
        let others = self.sum.wrapping_sub(self.age.now.weight());
        if self.age.now.number <= self.seal.number {
            self.age.sealed = self.age.now;
        }
        self.age = AgeRecord {
            now,
            others,
            ..self.age
        };
        self.sum = others.wrapping_add(now.weight());
        self.write_age(self.age);
        self.write_last();
    }
}
