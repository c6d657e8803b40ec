//! The records of an image: of the drive's age, of blocks and of pages.
//!
//! Each change of an image has a *number*, one more than the one before, and writes one record, which has
//! that number. The *sum* adds up the [`weight`]s of all records that count; a record also holds the sum of
//! all others after its change, so the newest one vouches for the rest. For that one vouches [`LastChange`].

use super::checksum::{crc32, weight};
use super::layout::{AGE_RECORD_BYTES, BLOCK_RECORD_BYTES, PAGE_RECORD_BYTES, Place, SPARE_INLINE};
use crate::nand::array::{BlockCondition, PageState};
use crate::nand::cells::{Birth, DriveAge};
use crate::nand::geometry::{BlockId, PageAddress};
use crate::nand::mode::ProgramMode;

/// What a copy of a record turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<T> {
    /// Never written.
    Blank,
    /// Its checksum does not match.
    Damaged,
    Sound(T),
}

impl<T> Found<T> {
    /// Compares the checksum at `check_at` that [`Fields::check`] made with `salt`.
    pub(super) fn of(
        bytes: &[u8],
        check_at: usize,
        salt: u32,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Found<T> {
        let check = crc32(&[&salt.to_le_bytes(), &bytes[..check_at]]);
        if is_zero(bytes) {
            Found::Blank
        } else if word(bytes, check_at) == check && is_zero(&bytes[check_at + 4..]) {
            Found::Sound(read(bytes))
        } else {
            Found::Damaged
        }
    }
}

/// Whether a record was never written.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// The little-endian word at byte `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

/// The little-endian double word at byte `at`.
pub(super) fn double(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

/// Puts the fields of a record one after the other.
pub(super) struct Fields<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Fields<'a> {
        Fields { bytes, at: 0 }
    }

    pub(super) fn put(&mut self, field: &[u8]) -> &mut Fields<'a> {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
        self
    }

    /// Ends with the checksum of all before, and of a `salt` that tells records apart that lie elsewhere.
    pub(super) fn check(&mut self, salt: u32) {
        let check = crc32(&[&salt.to_le_bytes(), &self.bytes[..self.at]]);
        self.put(&check.to_le_bytes());
    }
}

/// The number of the last change, written after its record: both copies of that cannot go missing unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastChange(pub(super) u64);

pub(super) const LAST_BYTES: usize = 16;

impl LastChange {
    pub(super) fn to_bytes(self) -> [u8; LAST_BYTES] {
        let mut bytes = [0; LAST_BYTES];
        Fields::new(&mut bytes).put(&self.0.to_le_bytes()).check(0);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Found<LastChange> {
        Found::of(bytes, 8, 0, |bytes| LastChange(double(bytes, 0)))
    }
}

/// A block from some change on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockVersion {
    /// Of the change; 0 for a block never used.
    pub(super) number: u64,
    /// The number of the change that made its first page count since it was erased; 0 while it has none. Only
    /// pages' records of the same life count.
    pub(super) life: u64,
    pub(super) erase_count: u32,
    pub(super) condition: u32,
}

impl BlockVersion {
    const BYTES: usize = 24;

    fn to_bytes(self) -> [u8; BlockVersion::BYTES] {
        let mut bytes = [0; BlockVersion::BYTES];
        Fields::new(&mut bytes)
            .put(&self.number.to_le_bytes())
            .put(&self.life.to_le_bytes())
            .put(&self.erase_count.to_le_bytes())
            .put(&self.condition.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8], at: usize) -> BlockVersion {
        BlockVersion {
            number: double(bytes, at),
            life: double(bytes, at + 8),
            erase_count: word(bytes, at + 16),
            condition: word(bytes, at + 20),
        }
    }

    pub(super) fn weight(self, block: BlockId) -> u64 {
        match self.number {
            0 => 0,
            number => weight(number, crc32(&[&block.0.to_le_bytes(), &self.to_bytes()])),
        }
    }

    pub(super) fn block_condition(self) -> Option<BlockCondition> {
        match self.condition {
            0 => Some(BlockCondition::Good),
            1 => Some(BlockCondition::NeedsErase),
            2 => Some(BlockCondition::Bad),
            _ => None,
        }
    }
}

/// The code of a condition in records.
pub(super) fn condition_code(condition: BlockCondition) -> u32 {
    match condition {
        BlockCondition::Good => 0,
        BlockCondition::NeedsErase => 1,
        BlockCondition::Bad => 2,
    }
}

/// The record of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockRecord {
    pub(super) now: BlockVersion,
    /// What it was when the image was last sealed.
    pub(super) sealed: BlockVersion,
    /// The sum of all other records after the change.
    pub(super) others: u64,
}

impl BlockRecord {
    const CHECK_AT: usize = 2 * BlockVersion::BYTES + 8;

    pub(super) fn to_bytes(self, block: BlockId) -> [u8; BLOCK_RECORD_BYTES] {
        let mut bytes = [0; BLOCK_RECORD_BYTES];
        Fields::new(&mut bytes)
            .put(&self.now.to_bytes())
            .put(&self.sealed.to_bytes())
            .put(&self.others.to_le_bytes())
            .check(block.0);
        bytes
    }

    pub(super) fn from_bytes(block: BlockId, bytes: &[u8]) -> Found<BlockRecord> {
        Found::of(bytes, BlockRecord::CHECK_AT, block.0, |bytes| BlockRecord {
            now: BlockVersion::from_bytes(bytes, 0),
            sealed: BlockVersion::from_bytes(bytes, BlockVersion::BYTES),
            others: double(bytes, 2 * BlockVersion::BYTES),
        })
    }
}

/// How old the drive is from some change on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AgeVersion {
    /// Of the change; 0 for a drive that was never made older.
    pub(super) number: u64,
    pub(super) age: DriveAge,
}

impl AgeVersion {
    const BYTES: usize = 36;

    fn to_bytes(self) -> [u8; AgeVersion::BYTES] {
        let mut bytes = [0; AgeVersion::BYTES];
        // Not a number stands for none.
        let celsius = self.age.celsius.unwrap_or(f64::NAN);
        Fields::new(&mut bytes)
            .put(&self.number.to_le_bytes())
            .put(&self.age.hours.to_le_bytes())
            .put(&self.age.effective_hours.to_le_bytes())
            .put(&celsius.to_le_bytes())
            .put(&self.age.cycles.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8], at: usize) -> AgeVersion {
        let real = |at: usize| f64::from_bits(double(bytes, at));
        AgeVersion {
            number: double(bytes, at),
            age: DriveAge {
                hours: real(at + 8),
                effective_hours: real(at + 16),
                celsius: Some(real(at + 24)).filter(|celsius| !celsius.is_nan()),
                cycles: word(bytes, at + 32),
            },
        }
    }

    pub(super) fn weight(self) -> u64 {
        match self.number {
            0 => 0,
            number => weight(number, crc32(&[&self.to_bytes()])),
        }
    }
}

/// The record of how old the drive is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AgeRecord {
    pub(super) now: AgeVersion,
    /// What it was when the image was last sealed.
    pub(super) sealed: AgeVersion,
    /// The sum of all other records after the change.
    pub(super) others: u64,
}

impl AgeRecord {
    const CHECK_AT: usize = 2 * AgeVersion::BYTES + 8;

    pub(super) fn to_bytes(self) -> [u8; AGE_RECORD_BYTES] {
        let mut bytes = [0; AGE_RECORD_BYTES];
        Fields::new(&mut bytes)
            .put(&self.now.to_bytes())
            .put(&self.sealed.to_bytes())
            .put(&self.others.to_le_bytes())
            .check(0);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Found<AgeRecord> {
        Found::of(bytes, AgeRecord::CHECK_AT, 0, |bytes| AgeRecord {
            now: AgeVersion::from_bytes(bytes, 0),
            sealed: AgeVersion::from_bytes(bytes, AgeVersion::BYTES),
            others: double(bytes, 2 * AgeVersion::BYTES),
        })
    }
}

/// What the file has of a page's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// The page was not programmed.
    #[default]
    None,
    /// It was programmed with zeroes, which are not in the file.
    Zeroes,
    /// Data of this checksum, in one of the places of the page.
    Data(u32, Place),
}

/// The record of a page, which comes after the data and the spare bytes that it vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageEntry {
    pub(super) number: u64,
    /// That of its block when it was programmed.
    pub(super) life: u64,
    /// The sum of all other records after the change.
    pub(super) others: u64,
    pub(super) content: Content,
    pub(super) birth: Birth,
    pub(super) state: PageState,
    pub(super) mode: ProgramMode,
    pub(super) spare_bytes: u16,
}

impl PageEntry {
    const CHECK_AT: usize = 40;
    const SPARE_AT: usize = PAGE_RECORD_BYTES - SPARE_INLINE;

    /// The record with the spare bytes it has room for, and what it weighs.
    pub(super) fn to_bytes(
        self,
        page: PageAddress,
        spare: &[u8],
    ) -> ([u8; PAGE_RECORD_BYTES], u64) {
        let mut bytes = [0; PAGE_RECORD_BYTES];
        let (kind, check) = match self.content {
            Content::None => (0, 0),
            Content::Zeroes => (1, 0),
            Content::Data(check, _) => (2, check),
        };
        Fields::new(&mut bytes)
            .put(&self.number.to_le_bytes())
            .put(&self.life.to_le_bytes())
            .put(&self.others.to_le_bytes())
            .put(&check.to_le_bytes())
            .put(&self.birth.0.to_le_bytes())
            .put(&self.spare_bytes.to_le_bytes())
            .put(&[self.state as u8, self.mode as u8, kind]);
        let address = [page.block.0.to_le_bytes(), page.page.to_le_bytes()];
        let check = crc32(&[address.as_flattened(), &bytes[..Self::CHECK_AT], spare]);
        bytes[Self::CHECK_AT..][..4].copy_from_slice(&check.to_le_bytes());
        let inline = spare.len().min(SPARE_INLINE);
        bytes[Self::SPARE_AT..][..inline].copy_from_slice(&spare[..inline]);
        (bytes, weight(self.number, check))
    }

    /// The record, its checksum yet to be compared; `None` if no record looks so.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<PageEntry> {
        Some(PageEntry {
            number: double(bytes, 0),
            life: double(bytes, 8),
            others: double(bytes, 16),
            content: match bytes[36] {
                0 => Content::None,
                1 => Content::Zeroes,
                2 => Content::Data(word(bytes, 24), Place::default()),
                _ => return None,
            },
            birth: Birth(word(bytes, 28)),
            spare_bytes: u16::from_le_bytes([bytes[32], bytes[33]]),
            state: match bytes[34] {
                1 => PageState::Programmed,
                2 => PageState::Torn,
                3 => PageState::Failed,
                _ => return None,
            },
            mode: ProgramMode::from_code(bytes[35])?,
        })
    }

    /// The same with its data in that place, if it has any.
    pub(super) fn in_place(self, place: Place) -> PageEntry {
        let content = match self.content {
            Content::Data(check, _) => Content::Data(check, place),
            content => content,
        };
        PageEntry { content, ..self }
    }

    /// The spare bytes in a record.
    pub(super) fn inline_spare(bytes: &[u8]) -> &[u8] {
        &bytes[Self::SPARE_AT..PAGE_RECORD_BYTES]
    }
}
