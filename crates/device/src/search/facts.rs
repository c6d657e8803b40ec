//! What outlives the power: data regions with their search regions, where the names of rows lie, the names that flash does
//! not hold yet, and deletions that have to be gone on with. Facts of the journal, all little-endian.

use std::collections::BTreeMap;
use std::rc::Rc;

use media::nand::BlockId;

use super::bits::ones;
use super::table::{Column, Table};
use crate::journal::{Change, FactKey, FactKind};

/// Data regions, by the number of their table.
pub(super) const TABLES: FactKind = FactKind::SEARCH_TABLES;
/// The blocks of rows whose names flash holds, by table and row.
pub(super) const ROWS: FactKind = FactKind::SEARCH_ROWS;
/// Entries of rows whose names it does not hold, by a number that rises.
pub(super) const LOGS: FactKind = FactKind::SEARCH_LOGS;
/// Entries that are deleted though their cells may not say so yet, likewise.
pub(super) const DELETIONS: FactKind = FactKind::SEARCH_DELETIONS;
/// Entries that are not there of rows whose cells are not believed, by table and row; as deletions are told.
pub(super) const GONE: FactKind = FactKind::SEARCH_GONE;

/// The fact of a row.
pub(super) fn row_key(table: u32, row: u32) -> FactKey {
    ROWS.key(table << 20 | row)
}

/// What cannot be told from the cells of a row: entries that are not there; no fact if there are none.
pub(super) fn gone(table: u32, row: u32, entries: Rc<[u32]>) -> Change {
    let is_any = !entries.is_empty();
    let rows = [(row, entries)].into();
    let fact = DeletionFact { table, rows };
    (gone_key(table, row), is_any.then(|| fact.encode().into()))
}

/// The key of that.
pub(super) fn gone_key(table: u32, row: u32) -> FactKey {
    GONE.key(table << 20 | row)
}

/// What the fact of a data region says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableFact {
    pub(super) namespace: u32,
    pub(super) start: u64,
    pub(super) first: u32,
    pub(super) rows_max: u32,
    pub(super) value_bytes: u32,
    pub(super) columns: Vec<Column>,
}

/// What happened to a row whose names flash does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LogItem {
    /// Entries were appended; their names and masks lie one after another.
    Appended {
        first: u32,
        count: u32,
        names: Vec<u8>,
    },
    /// Entries were deleted.
    Deleted(Vec<u32>),
    /// What follows is all that there is: facts of the row with lower numbers count no more.
    Afresh,
}

/// What a fact of a row's entries says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogFact {
    pub(super) table: u32,
    pub(super) row: u32,
    pub(super) items: Vec<LogItem>,
}

/// Entries that are deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeletionFact {
    pub(super) table: u32,
    /// By row, their numbers in it, ascending.
    pub(super) rows: BTreeMap<u32, Rc<[u32]>>,
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn word(&mut self, word: u32) -> &mut Writer {
        self.0.extend(word.to_le_bytes());
        self
    }

    fn words(&mut self, words: &[u32]) -> &mut Writer {
        self.word(words.len() as u32);
        words
            .iter()
            .for_each(|word| self.0.extend(word.to_le_bytes()));
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.word(bytes.len() as u32);
        self.0.extend(bytes);
        self
    }
}

/// Takes what [`Writer`] wrote; nothing of what is none.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        let bytes = self.take(4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn words(&mut self) -> Option<Vec<u32>> {
        let count = self.word()? as usize;
        let bytes = self.take(count.checked_mul(4)?)?;
        let (words, _) = bytes.as_chunks::<4>();
        Some(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let count = self.word()? as usize;
        Some(self.take(count)?.to_vec())
    }
}

impl TableFact {
    pub(super) fn of(table: &Table) -> TableFact {
        TableFact {
            namespace: table.namespace.get(),
            start: table.start,
            first: table.values.first.0,
            rows_max: table.rows_max,
            value_bytes: table.values.value_bytes,
            columns: table.columns.borrow().clone(),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.word(self.namespace);
        writer
            .word(self.start as u32)
            .word((self.start >> 32) as u32);
        writer.word(self.first).word(self.rows_max);
        writer.word(self.value_bytes);
        for column in &self.columns {
            writer.word(column.region.into());
            writer.word(column.bits).word(column.ternary.into());
        }
        writer.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<TableFact> {
        let mut reader = Reader(bytes);
        let mut fact = TableFact {
            namespace: reader.word()?,
            start: u64::from(reader.word()?) | u64::from(reader.word()?) << 32,
            first: reader.word()?,
            rows_max: reader.word()?,
            value_bytes: reader.word()?,
            columns: Vec::new(),
        };
        while !reader.0.is_empty() {
            fact.columns.push(Column {
                region: reader.word()? as u16,
                bits: reader.word()?,
                ternary: reader.word()? != 0,
            });
        }
        Some(fact)
    }
}

/// The blocks of a row, of each search region.
pub(super) fn encode_blocks(entries: u32, blocks: &[Vec<BlockId>]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.word(entries);
    for of_column in blocks {
        let numbers: Vec<u32> = of_column.iter().map(|block| block.0).collect();
        writer.words(&numbers);
    }
    writer.0
}

/// What [`encode_blocks`] wrote.
pub(super) fn decode_blocks(bytes: &[u8]) -> Option<(u32, Vec<Vec<BlockId>>)> {
    let mut reader = Reader(bytes);
    let entries = reader.word()?;
    let mut blocks = Vec::new();
    while !reader.0.is_empty() {
        blocks.push(reader.words()?.into_iter().map(BlockId).collect());
    }
    Some((entries, blocks))
}

impl LogFact {
    const DELETED: u32 = u32::MAX;
    const AFRESH: u32 = u32::MAX - 1;

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.word(self.table).word(self.row);
        for item in &self.items {
            match item {
                LogItem::Appended {
                    first,
                    count,
                    names,
                } => {
                    writer.word(*first).word(*count);
                    writer.bytes(names);
                }
                LogItem::Deleted(entries) => {
                    writer.word(LogFact::DELETED).words(entries);
                }
                LogItem::Afresh => {
                    writer.word(LogFact::AFRESH);
                }
            }
        }
        writer.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<LogFact> {
        let mut reader = Reader(bytes);
        let (table, row) = (reader.word()?, reader.word()?);
        let mut items = Vec::new();
        while !reader.0.is_empty() {
            items.push(match reader.word()? {
                LogFact::DELETED => LogItem::Deleted(reader.words()?),
                LogFact::AFRESH => LogItem::Afresh,
                first => LogItem::Appended {
                    first,
                    count: reader.word()?,
                    names: reader.bytes()?,
                },
            });
        }
        Some(LogFact { table, row, items })
    }
}

impl DeletionFact {
    /// Tells, in the word with a row's number, that a bit an entry follows and not their numbers.
    const BITS: u32 = 1 << 31;

    /// Of each row the numbers or, where that is shorter, a bit for each entry up to the last: 8 bytes a row, and at most 4 for each
    /// entry deleted, and at most those of a page.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.word(self.table);
        for (row, entries) in &self.rows {
            let words = entries.last().map_or(0, |last| *last as usize / 32 + 1);
            if entries.len() <= words {
                writer.word(*row).words(entries);
                continue;
            }
            let mut bits = vec![0u32; words];
            for entry in entries.iter() {
                bits[*entry as usize / 32] |= 1 << (entry % 32);
            }
            writer.word(*row | DeletionFact::BITS).words(&bits);
        }
        writer.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<DeletionFact> {
        let mut reader = Reader(bytes);
        let table = reader.word()?;
        let mut rows = BTreeMap::new();
        while !reader.0.is_empty() {
            let (row, words) = (reader.word()?, reader.words()?);
            let entries = match row & DeletionFact::BITS {
                0 => words,
                _ => ones(words.chunks(2).map(|two| {
                    let high = two.get(1).copied().unwrap_or(0);
                    u64::from(two[0]) | u64::from(high) << 32
                }))
                .collect(),
            };
            rows.insert(row & !DeletionFact::BITS, entries.into());
        }
        Some(DeletionFact { table, rows })
    }
}

/// That a fact is what these bytes say.
pub(super) fn put(key: FactKey, bytes: Vec<u8>) -> Change {
    (key, Some(bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back() {
        let column = |region, bits, ternary| Column {
            region,
            bits,
            ternary,
        };
        let table = TableFact {
            namespace: 2,
            start: 5 << 32 | 7,
            first: 9,
            rows_max: 3,
            value_bytes: 128,
            columns: vec![column(1, 97, false), column(4, 8192, true)],
        };
        assert_eq!(TableFact::decode(&table.encode()), Some(table.clone()));
        let log = LogFact {
            table: 1,
            row: 2,
            items: vec![
                LogItem::Afresh,
                LogItem::Appended {
                    first: 4,
                    count: 2,
                    names: vec![1, 2, 3, 4],
                },
                LogItem::Deleted(vec![4]),
            ],
        };
        assert_eq!(LogFact::decode(&log.encode()), Some(log.clone()));
        let bytes = log.encode();
        assert_eq!(
            LogFact::decode(&bytes[..bytes.len() - 1]),
            None,
            "cut short"
        );
        let blocks = vec![vec![BlockId(3), BlockId(9)], vec![BlockId(4)]];
        let encoded = encode_blocks(77, &blocks);
        assert_eq!(decode_blocks(&encoded), Some((77, blocks)));
        let many: Vec<u32> = (0..500).filter(|entry| entry % 7 != 3).collect();
        let deletion = DeletionFact {
            table: 3,
            rows: [(2, [1, 5000].into()), (9, many.into())].into(),
        };
        let bytes = deletion.encode();
        assert_eq!(bytes.len(), 4 + (8 + 8) + (8 + 64));
        assert_eq!(DeletionFact::decode(&bytes), Some(deletion));
    }
}
