//! A data region and the names of its entries: how long records are, and how many blocks it takes.

use nvme::RegionId;

use super::error::SearchError;
use crate::block::BlockDevice;
use crate::transport::Transport;

/// What names of a search region are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameKind {
    /// Bits of a name, 1 to [`nvme::query::MAX_NAME_BITS`].
    pub bits: u32,
    /// Whether stored names may have don't cares.
    pub ternary: bool,
}

impl NameKind {
    /// Bytes of a name, without its mask.
    pub fn name_bytes(self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Bytes of a name in a record, its mask included.
    pub fn record_bytes(self) -> usize {
        self.name_bytes() << usize::from(self.ternary)
    }
}

/// A search region of a data region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameField {
    /// The search region.
    pub region: RegionId,
    /// What its names are.
    pub kind: NameKind,
}

/// A data region and its search regions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataRegion {
    /// Its first logical block, which begins a chunk of NPWG blocks.
    pub start: u64,
    /// Entries that it was allocated for. It may have room for more: it has whole rows of them.
    pub entries: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Its search regions by number, as the names are in records.
    pub names: Vec<NameField>,
}

impl DataRegion {
    /// Bytes of a record that is appended: the names with their masks, then the value.
    pub fn record_bytes(&self) -> u64 {
        let names = self.names.iter().map(|name| name.kind.record_bytes());
        names.sum::<usize>() as u64 + u64::from(self.value_bytes)
    }

    /// The search region that commands about all of it name.
    pub(super) fn first(&self) -> Result<&NameField, SearchError> {
        let none = || SearchError::Usage("a data region without search regions".into());
        self.names.first().ok_or_else(none)
    }
}

/// Blocks of a data region, as [`super::SearchDevice::data_blocks`] has them.
pub(super) fn data_blocks<T: Transport>(
    block: &BlockDevice<T>,
    entries: u32,
    value_bytes: u32,
) -> Result<u64, SearchError> {
    if entries == 0 || value_bytes == 0 || value_bytes > nvme::command::MAX_VALUE_BYTES {
        return Err(SearchError::Usage(format!(
            "{entries} entries with values of {value_bytes} bytes: at least one entry, and values of 1 to {} bytes",
            nvme::command::MAX_VALUE_BYTES
        )));
    }
    let block_bytes = u64::from(block.block_bytes());
    let chunk_blocks = u64::from(block.preferred_write_blocks());
    let page_bytes = u64::from(block.unit_blocks()) * block_bytes;
    // A name takes a bitline, of which a flash page has a bit each.
    let row_names = 8 * chunk_blocks * block_bytes;
    let row_pages = pages_for(row_names, page_bytes, u64::from(value_bytes));
    let rows = u64::from(entries).div_ceil(row_names);
    let too_many = || SearchError::Usage(format!("{entries} entries: too many blocks"));
    let blocks = rows
        .checked_mul(row_pages)
        .and_then(|pages| pages.checked_mul(u64::from(block.unit_blocks())))
        .and_then(|blocks| blocks.checked_next_multiple_of(chunk_blocks));
    blocks.ok_or_else(too_many)
}

/// Logical pages of `values` values: several to a page, none across pages; a longer one begins at a page.
fn pages_for(values: u64, page_bytes: u64, value_bytes: u64) -> u64 {
    match page_bytes / value_bytes {
        0 => values * value_bytes.div_ceil(page_bytes),
        per_page => values.div_ceil(per_page),
    }
}

#[cfg(test)]
mod tests {
    use super::pages_for;

    #[test]
    fn values_lie_within_pages_or_begin_them() {
        assert_eq!(pages_for(100, 4096, 4096), 100);
        assert_eq!(pages_for(100, 4096, 2049), 100, "two would cross");
        assert_eq!(pages_for(101, 4096, 2048), 51);
        assert_eq!(pages_for(8, 4096, 4097), 16);
        assert_eq!(pages_for(131_072, 4096, 100), 131_072_u64.div_ceil(40));
    }
}
