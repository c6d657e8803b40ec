//! The logical blocks that a workload goes to.

/// Logical blocks of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamespaceBlocks {
    /// All of them.
    pub(super) blocks: u64,
    /// The first so many are for ordinary data; behind them is where vectors are by default.
    pub(super) data: u64,
}

/// A range of logical blocks within a namespace, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u64,
    pub(super) blocks: u64,
}

impl Range {
    /// The pages of so many blocks that it touches, counted from the beginning of the namespace.
    pub(super) fn pages(self, page_blocks: u64) -> std::ops::Range<u64> {
        self.first / page_blocks..(self.first + self.blocks).div_ceil(page_blocks)
    }

    /// The range from `first` on, of `range_blocks` or, if that is zero, of all that
    /// follow for ordinary data in a namespace, or at all if none do.
    pub(super) fn within(
        first: u64,
        range_blocks: u64,
        size: NamespaceBlocks,
    ) -> Result<Range, String> {
        let NamespaceBlocks { blocks, data } = size;
        let rest = blocks.saturating_sub(first);
        let range = match range_blocks {
            0 if first < data => data - first,
            0 => rest,
            some => some,
        };
        if range == 0 || range > rest {
            return Err(format!(
                "blocks {first} to {} must lie within the namespace's {blocks}",
                first.saturating_add(range)
            ));
        }
        Ok(Range {
            first,
            blocks: range,
        })
    }
}
