//! The root of a checkpoint, and its form on flash: numbers one after another, little-endian.

use media::nand::{BlockId, Ppa};

/// A group of facts, as a root has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ftl) struct RootFacts {
    pub(in crate::ftl) version: u64,
    /// Its pages, in order.
    pub(in crate::ftl) pages: Vec<Ppa>,
}

/// What recovery starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::ftl) struct Root {
    /// No page had this sequence number when the checkpoint began.
    pub(in crate::ftl) begin: u64,
    /// No change had this version when the root was written.
    pub(in crate::ftl) next_version: u64,
    /// No page had this sequence number when the root was written.
    pub(in crate::ftl) next_sequence: u64,
    /// Blocks that were not settled when the checkpoint began.
    pub(in crate::ftl) blocks: Vec<BlockId>,
    /// The journal.
    pub(in crate::ftl) journal: Vec<RootFacts>,
    /// Where each mapping page was.
    pub(in crate::ftl) mapping_pages: Vec<Option<Ppa>>,
}

/// Appends numbers.
struct Writer(Vec<u8>);

impl Writer {
    fn put(&mut self, width: usize, value: u64) -> &mut Writer {
        self.0.extend_from_slice(&value.to_le_bytes()[..width]);
        self
    }
}

/// Takes numbers.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn get(&mut self, width: usize) -> Option<u64> {
        let (number, rest) = self.0.split_at_checked(width)?;
        self.0 = rest;
        let digits = number.iter().rev();
        Some(digits.fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.get(4)?;
        (0..count).map(|_| item(self)).collect()
    }
}

impl Root {
    pub(in crate::ftl) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer(Vec::new());
        writer.put(8, self.begin);
        writer.put(8, self.next_version).put(8, self.next_sequence);
        writer.put(4, self.blocks.len() as u64);
        for block in &self.blocks {
            writer.put(4, block.0.into());
        }
        writer.put(4, self.journal.len() as u64);
        for group in &self.journal {
            writer.put(8, group.version);
            writer.put(4, group.pages.len() as u64);
            for page in &group.pages {
                writer.put(4, page.0.into());
            }
        }
        writer.put(4, self.mapping_pages.len() as u64);
        for page in &self.mapping_pages {
            writer.put(4, page.map_or(0, |page| u64::from(page.0) + 1));
        }
        writer.0
    }

    /// The root in these bytes, which may be followed by others; `None` if they end too early.
    pub(in crate::ftl) fn decode(bytes: &[u8]) -> Option<Root> {
        let mut reader = Reader(bytes);
        Some(Root {
            begin: reader.get(8)?,
            next_version: reader.get(8)?,
            next_sequence: reader.get(8)?,
            blocks: reader.list(|reader| Some(BlockId(reader.get(4)? as u32)))?,
            journal: reader.list(|reader| {
                Some(RootFacts {
                    version: reader.get(8)?,
                    pages: reader.list(|reader| Some(Ppa(reader.get(4)? as u32)))?,
                })
            })?,
            mapping_pages: reader.list(|reader| {
                let place = reader.get(4)? as u32;
                Some(place.checked_sub(1).map(Ppa))
            })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_survives_its_pages() {
        let root = Root {
            begin: 1 << 39,
            next_version: 77,
            next_sequence: (1 << 40) - 1,
            blocks: vec![BlockId(0), BlockId(u32::MAX)],
            journal: vec![RootFacts {
                version: 5,
                pages: vec![Ppa(9), Ppa(u32::MAX)],
            }],
            mapping_pages: vec![None, Some(Ppa(0)), Some(Ppa(12))],
        };
        let mut bytes = root.encode();
        let length = bytes.len();
        bytes.extend([0; 100]);
        assert_eq!(Root::decode(&bytes), Some(root));
        assert_eq!(Root::decode(&bytes[..length - 1]), None);
    }
}
