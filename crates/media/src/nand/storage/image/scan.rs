//! Reading all records of an image: what it holds, or held when it was last sealed.

use super::super::StorageError;
use super::checksum::crc32;
use super::file::Medium;
use super::layout::{AGE_RECORD_BYTES, BLOCK_RECORD_BYTES, LAST_AT, Layout, REPLICAS, Replica};
use super::record::{
    AgeRecord, BlockRecord, BlockVersion, Content, Found, LAST_BYTES, LastChange, PageEntry,
    is_zero,
};
use super::seal::Seal;
use super::versions::Pages;
use super::{Block, io_error};
use crate::nand::array::{Array, BlockCondition};
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use std::path::Path;

/// Records of blocks read at once.
const BLOCKS_AT_ONCE: usize = 1 << 14;

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
    last: Option<u64>,
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

    fn damaged(&self, what: String, at: u64) -> StorageError {
        StorageError::Damaged {
            path: self.path.to_owned(),
            what,
            at,
        }
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
