//! Reading all records of an image: what it holds, or held when it was last sealed.

use super::super::StorageError;
use super::Block;
use super::checksum::crc32;
use super::held::{Held, Mend, Scan};
use super::layout::{AGE_RECORD_BYTES, BLOCK_RECORD_BYTES, LAST_AT, REPLICAS, Replica};
use super::record::{
    AgeRecord, BlockRecord, BlockVersion, Content, Found, LAST_BYTES, LastChange, is_zero,
};
use super::versions::Pages;
use crate::nand::array::{Array, BlockCondition};
use crate::nand::geometry::BlockId;

/// Records of blocks read at once.
const BLOCKS_AT_ONCE: usize = 1 << 14;

impl Scan<'_> {
    /// Reads everything, and brings an array in which nothing was programmed to the state that was kept.
    pub(super) fn run(&self, array: &mut Array) -> Result<Held, StorageError> {
        let mut held = Held::default();
        held.blocks
            .resize_with(self.geometry.blocks() as usize, Block::default);
        self.last_change(&mut held)?;
        self.age(&mut held)?;
        let blocks: Vec<u32> = (0..self.geometry.blocks()).collect();
        let mut pages = Pages::new(self.geometry);
        for some in blocks.chunks(BLOCKS_AT_ONCE) {
            let copies = REPLICAS.map(|replica| self.block_records(replica, some));
            let [first, second] = copies;
            let (first, second) = (first?, second?);
            let pairs = first
                .chunks_exact(BLOCK_RECORD_BYTES)
                .zip(second.chunks_exact(BLOCK_RECORD_BYTES));
            for (&block, (first, second)) in some.iter().zip(pairs) {
                if !(is_zero(first) && is_zero(second)) {
                    self.block(BlockId(block), [first, second], &mut held, array)?;
                    self.pages(BlockId(block), &mut pages, &mut held, array)?;
                }
            }
        }
        Ok(held)
    }

    /// Whether the data of pages programmed since the seal is what it was.
    pub(super) fn unsealed_data_is_sound(&self, held: &Held) -> Result<bool, StorageError> {
        let mut data = vec![0; self.geometry.page_bytes as usize];
        for &page in &held.unsealed {
            let block = &held.blocks[page.block.0 as usize];
            if let Content::Data(check, place) = block.content(page) {
                let at = self.layout.in_place(page, place);
                self.read_at(&mut data, self.layout.data_at(at), "a page")?;
                if crc32(&[&data]) != check {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn last_change(&self, held: &mut Held) -> Result<(), StorageError> {
        let mut bytes = [0; LAST_BYTES];
        self.read_at(&mut bytes, LAST_AT, "the last change")?;
        match LastChange::from_bytes(&bytes) {
            Found::Sound(last) => held.last = Some(last.0),
            Found::Blank | Found::Damaged => held.damaged_copies += 1,
        }
        Ok(())
    }

    fn age(&self, held: &mut Held) -> Result<(), StorageError> {
        let mut copies = [[0; AGE_RECORD_BYTES]; 2];
        for (replica, bytes) in REPLICAS.into_iter().zip(&mut copies) {
            self.read_at(bytes, self.layout.age_at(replica), "the age of the drive")?;
        }
        let found = copies.map(|bytes| AgeRecord::from_bytes(&bytes));
        let Some((record, mend)) = held.choose(found, |record| record.now.number) else {
            let what = "both copies of the age of the drive; the first".to_owned();
            return Err(self.damaged(what, self.layout.age_at(Replica::First)));
        };
        let Some(record) = record else {
            return Ok(());
        };
        held.highest = held.highest.max(record.now.number);
        held.age = record;
        if record.now.number > self.last {
            held.age.now = record.sealed;
            held.age_undone = true;
        } else if mend {
            held.mends.push(Mend::Age(record));
        }
        let now = held.age.now;
        held.count(now.number, now.weight(), record.others);
        Ok(())
    }

    fn block_records(&self, replica: Replica, blocks: &[u32]) -> Result<Vec<u8>, StorageError> {
        let mut records = vec![0; blocks.len() * BLOCK_RECORD_BYTES];
        let at = self.layout.block_at(replica, BlockId(blocks[0]));
        self.read_at(&mut records, at, "the states of blocks")?;
        Ok(records)
    }

    fn block(
        &self,
        block: BlockId,
        copies: [&[u8]; 2],
        held: &mut Held,
        array: &mut Array,
    ) -> Result<(), StorageError> {
        let damaged = || {
            let what = format!("both copies of the state of block {}; the first", block.0);
            self.damaged(what, self.layout.block_at(Replica::First, block))
        };
        let found = copies.map(|bytes| BlockRecord::from_bytes(block, bytes));
        let (record, mend) = held
            .choose(found, |record| record.now.number)
            .ok_or_else(damaged)?;
        let record = record.unwrap_or_default();
        held.highest = held.highest.max(record.now.number);
        let mut now = record.now;
        if now.number > self.last {
            held.undone.push(block);
            now = record.sealed;
        } else if mend {
            held.mends.push(Mend::Block(block, record));
        }
        let condition = now.block_condition().ok_or_else(damaged)?;
        held.count(now.number, now.weight(block), record.others);
        held.blocks[block.0 as usize] = Block {
            now,
            sealed: record.sealed,
            ..Block::default()
        };
        if now != BlockVersion::default() || condition != BlockCondition::Good {
            array.restore(block, now.erase_count, condition);
        }
        Ok(())
    }
}
